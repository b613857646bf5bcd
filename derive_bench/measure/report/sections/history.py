"""The history of each row over several runs: its change against the first of them, with the spread of each."""

from __future__ import annotations

from collections.abc import Sequence

from derive_bench.measure.report.figures import COLOURS, Chart, axis, lanes
from derive_bench.measure.report.files import Material, Run
from derive_bench.measure.report.section import Section, grouped, marked
from derive_bench.measure.results import Result
from derive_bench.measure.tables import Table, seconds_text

__all__ = ["changes", "make"]

TEXT = (
    "A line a row, from the oldest run on the left to the newest; upwards is slower than its first run, bars are the median absolute "
    "deviation. Runs taken at different times drift apart: for a verdict, compare or interleave."
)
HALF = 0.3
"""How far a line may go from the middle of its lane."""


def changes(runs: Sequence[Run], name: str) -> list[tuple[int, float, float]]:
    """Number of the run, change since the first run that has the row, and spread, both as shares of that first median."""
    having = [(number, run.results.rows[name]) for number, run in enumerate(runs) if name in run.results.rows]
    first = having[0][1].median
    return [(number, row.median / first - 1, row.mad / first) for number, row in having]


def make(material: Material) -> Section | None:
    """None with fewer than two runs."""
    runs, latest = material.runs, material.latest
    if latest is None or len(runs) < 2:
        return None
    rows = {row.name: row for run in runs for row in run.results.rows.values()}
    groups = grouped(list(rows.values()))
    charts = [_chart(group, members, runs) for group, members in groups.items()]
    heads = [marked(run.label, run) for run in runs]
    tables = [
        Table(group, ["row", *heads, "last over first"], [_cells(row.name, runs) for row in members]) for group, members in groups.items()
    ]
    return Section("history", "History", [TEXT], charts, tables)


def _chart(group: str, rows: Sequence[Result], runs: Sequence[Run]) -> Chart:
    found = [changes(runs, row.name) for row in rows]
    limit = max(0.05, *(abs(change) + spread for row in found for _, change, spread in row))
    xs, ys, errors = [], [], []
    for lane, row in enumerate(found):
        xs += [*(number for number, _, _ in row), None]
        ys += [*(round(lane - change / limit * HALF, 4) for _, change, _ in row), None]
        errors += [*(round(spread / limit * HALF, 4) for _, _, spread in row), 0]
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": xs,
        "y": ys,
        "name": "",
        "hoverinfo": "skip",
        "marker": {"size": 6, "color": COLOURS[1]},
    }
    line |= {"line": {"color": COLOURS[0], "width": 2}, "error_y": {"type": "data", "array": errors, "thickness": 1, "color": COLOURS[0]}}
    names = [f"<b>{row.name.partition('/')[2]}</b>  {each[-1][1]:+.1%}" for row, each in zip(rows, found, strict=True)]
    ticks = [run.label.replace(" ", "<br>") if len(runs) <= 4 else str(number + 1) for number, run in enumerate(runs)]
    title = axis("runs, by date", tickvals=list(range(len(runs))), ticktext=ticks, range=[-0.4, len(runs) - 0.6])
    mark = next((marked(group, run) for run in runs if run.results.marks), group)
    return lanes(
        mark, f"Change of {len(rows)} rows of {group} over {len(runs)} runs; a lane is {2 * limit:.0%} high.", [line], names, title
    )


def _cells(name: str, runs: Sequence[Run]) -> list[str]:
    rows = [run.results.rows.get(name) for run in runs]
    told = [f"{seconds_text(row.median)} ± {row.mad / row.median:.1%}" if row else "–" for row in rows]
    having = [row.median for row in rows if row]
    return [name, *told, f"{having[-1] / having[0] - 1:+.1%}"]
