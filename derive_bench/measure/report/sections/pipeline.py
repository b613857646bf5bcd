"""Pipeline rows as bars broken into their parts, with the rest that no part explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from derive_bench.measure.report.figures import COLOURS, REST, Chart, axis, lanes, scaled
from derive_bench.measure.report.files import Material, Run
from derive_bench.measure.report.section import Section, grouped, marked
from derive_bench.measure.results import Result, Results
from derive_bench.measure.tables import Table, seconds_text, share_table

__all__ = ["Broken", "broken", "make"]

TEXT = (
    "Each bar is the sum of the row's parts, every part measured by itself; the upright line is the row's own median. Grey is what no part "
    "explains. Where the parts reach beyond the line they are not additive: measured alone, a part costs more than within the row."
)


@dataclass(frozen=True, slots=True)
class Broken:
    """A row and its parts, in seconds.

    Attributes:
        rest: median less the parts: negative where they are not additive.
        missing: parts that were not measured; the rest then holds them, too.
    """

    row: Result
    parts: tuple[tuple[str, float], ...]
    missing: tuple[str, ...]

    @property
    def rest(self) -> float:
        return self.row.median - sum(seconds for _, seconds in self.parts)


def broken(results: Results) -> list[Broken]:
    """The rows that name parts of which at least one was measured, in the run's order."""
    found = []
    for row in results.rows.values():
        parts = tuple((part, results.rows[part].median) for part in row.parts if part in results.rows)
        if parts:
            found.append(Broken(row, parts, tuple(part for part in row.parts if part not in results.rows)))
    return found


def make(material: Material) -> Section | None:
    """None without a row that has measured parts."""
    run = material.latest
    rows = broken(run.results) if run else []
    if run is None or not rows:
        return None
    by_row = {each.row.name: each for each in rows}
    charts = [_chart(group, [by_row[row.name] for row in members], run) for group, members in grouped([each.row for each in rows]).items()]
    share = share_table(run.results)
    return Section("parts", marked("Rows and their parts", run), [TEXT], charts, [_table(rows, run), *([share] if share else [])])


def _chart(group: str, rows: Sequence[Broken], run: Run) -> Chart:
    unit, scale = scaled(max(each.row.median for each in rows))
    kinds = list(dict.fromkeys(part.partition("/")[0] for each in rows for part, _ in each.parts))
    most = max(len(each.parts) for each in rows)
    traces: list[dict[str, object]] = []
    for number in range(most):
        for kind in kinds:
            hits = [
                (lane, *each.parts[number]) for lane, each in enumerate(rows) if len(each.parts) > number and _is(each.parts[number], kind)
            ]
            if hits:
                colour = COLOURS[kinds.index(kind) % len(COLOURS)]
                shown = all(trace["name"] != kind for trace in traces)
                traces.append(
                    _bars(
                        kind, colour, [(lane, seconds / scale, f"{part}: {seconds_text(seconds)}") for lane, part, seconds in hits], shown
                    )
                )
    rests = [(lane, each.rest / scale, f"unexplained: {seconds_text(each.rest)}") for lane, each in enumerate(rows) if each.rest > 0]
    if rests:
        traces.append(_bars("no part explains", REST, rests, shown=True))
    own = {
        "type": "scatter",
        "mode": "markers",
        "name": "the row itself",
        "x": [each.row.median / scale for each in rows],
        "y": list(range(len(rows))),
        "text": [f"{each.row.name}: {seconds_text(each.row.median)}" for each in rows],
        "hoverinfo": "text",
        "marker": {"symbol": "line-ns", "size": 15, "line": {"width": 3, "color": "#c026d3"}},
    }
    names = [f"<b>{each.row.name.partition('/')[2]}</b>  {seconds_text(each.row.median)}{_told(each)}" for each in rows]
    said = f"Bars of {len(rows)} rows of {group}, each broken into its parts; the values are in the table below."
    return lanes(marked(group, run), said, [*traces, own], names, axis(unit, rangemode="tozero"), barmode="stack", bargap=0.62)


def _is(part: tuple[str, float], kind: str) -> bool:
    return part[0].partition("/")[0] == kind


def _told(each: Broken) -> str:
    share = each.rest / each.row.median
    return f", {share:.0%} unexplained" if share >= 0 else f", parts {-share:.0%} beyond"


def _bars(name: str, colour: str, hits: Sequence[tuple[int, float, str]], shown: bool) -> dict[str, object]:
    lane, x, text = zip(*hits, strict=True)
    bar = {"type": "bar", "orientation": "h", "name": name, "x": x, "y": lane, "hovertext": text, "hoverinfo": "text"}
    return {**bar, "marker": {"color": colour}, "showlegend": shown, "legendgroup": name}


def _table(rows: Sequence[Broken], run: Run) -> Table:
    cells = []
    for each in rows:
        cells.append([each.row.name, "", seconds_text(each.row.median), "100%"])
        cells += [["", part, seconds_text(seconds), f"{seconds / each.row.median:.0%}"] for part, seconds in each.parts]
        cells += [["", part, "not measured", ""] for part in each.missing]
        sign = "-" if each.rest < 0 else ""
        cells.append(["", "unexplained", f"{sign}{seconds_text(abs(each.rest))}", f"{each.rest / each.row.median:.0%}"])
    return Table(marked("Rows and their parts", run), ["row", "part", marked("median", run), "share"], cells)
