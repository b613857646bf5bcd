"""The distribution of each row's values about its median."""

from __future__ import annotations

from collections.abc import Sequence

from derive_bench.measure.report.figures import COLOURS, Chart, axis, lanes
from derive_bench.measure.report.files import Material, Run
from derive_bench.measure.report.section import Section, grouped, marked
from derive_bench.measure.results import Result
from derive_bench.measure.tables import group_tables, notes, seconds_text

__all__ = ["make"]

TEXT = "Every value of each row as its distance from the row's median, in percent: boxes from quartile to quartile, points are all values."


def make(material: Material) -> Section | None:
    """None without a run."""
    run = material.latest
    if run is None:
        return None
    charts = [_chart(group, rows, run) for group, rows in grouped(list(run.results.rows.values())).items()]
    return Section("rows", marked("All rows", run), [TEXT], charts, group_tables(run.results), notes(run.results))


def _chart(group: str, rows: Sequence[Result], run: Run) -> Chart:
    distances, lane = [], []
    for number, row in enumerate(rows):
        values = run.values[row.name]
        distances += [round((value / row.median - 1) * 100, 2) for value in values]
        lane += [number] * len(values)
    box = {"type": "box", "orientation": "h", "x": distances, "y": lane, "boxpoints": "all", "pointpos": 0, "jitter": 0.35}
    box |= {"line": {"width": 1.2, "color": COLOURS[0]}, "marker": {"size": 3, "color": COLOURS[1], "opacity": 0.75}, "width": 0.4}
    names = [f"<b>{row.name.partition('/')[2]}</b>  {seconds_text(row.median)} ± {row.mad / row.median:.1%}" for row in rows]
    said = f"Boxes of the values of {len(rows)} rows of {group} about their medians."
    return lanes(marked(group, run), said, [{**box, "hoverinfo": "x", "name": ""}], names, axis("from the median", ticksuffix=" %"))
