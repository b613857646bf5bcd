"""Cost against the depth of the book, with the straight line through it."""

from __future__ import annotations

from collections.abc import Mapping

from derive_bench.measure import depth
from derive_bench.measure.report.figures import COLOURS, Chart, axis, plain, scaled
from derive_bench.measure.report.files import Material, Run
from derive_bench.measure.report.section import Section, marked
from derive_bench.measure.tables import LINE, depth_table, seconds_text

__all__ = ["make"]


def make(material: Material) -> Section | None:
    """None if no row was measured at all depths."""
    run = material.latest
    table = depth_table(run.results) if run else None
    if run is None or table is None:
        return None
    groups: dict[str, dict[str, Mapping[int, float]]] = {}
    for name, points in depth.families({name: row.median for name, row in run.results.rows.items()}).items():
        groups.setdefault(name.partition("/")[0], {})[name] = points
    charts = [_chart(group, families, run) for group, families in groups.items()]
    text = "Points are medians, lines the least squares through them: where a line starts is the fixed cost, its slope the cost per level."
    return Section("depth", marked("Cost over the depth of the book", run), [text], charts, [table], [LINE])


def _chart(group: str, families: Mapping[str, Mapping[int, float]], run: Run) -> Chart:
    unit, scale = scaled(max(max(points.values()) for points in families.values()))
    traces: list[dict[str, object]] = []
    for number, (name, points) in enumerate(families.items()):
        line, colour = depth.fit(points), COLOURS[number % len(COLOURS)]
        short, ends = name.partition("/")[2], (0, max(points))
        dash = "solid" if number < len(COLOURS) else "dot"
        told = f"{short}: {seconds_text(line.per_level)} per level" if line.per_level > 0 else short
        common = {"type": "scatter", "legendgroup": name}
        traces.append(
            common
            | {"mode": "markers", "name": told, "x": list(points), "y": [value / scale for value in points.values()]}
            | {"marker": {"color": colour, "size": 7}, "error_y": _errors(name, points, run, scale, colour)}
        )
        ys = [(line.fixed + line.per_level * end) / scale for end in ends]
        traces.append(
            common
            | {
                "mode": "lines",
                "name": told,
                "x": ends,
                "y": ys,
                "line": {"color": colour, "width": 1.5, "dash": dash},
                "showlegend": False,
            }
        )
    said = f"Cost of {len(families)} kinds of rows of {group} at 1, 10, 20 and 100 levels a side with the fitted lines."
    return plain(marked(group, run), said, traces, axis("levels a side", rangemode="tozero"), axis(unit, rangemode="tozero"))


def _errors(name: str, points: Mapping[int, float], run: Run, scale: float, colour: str) -> dict[str, object]:
    spreads = {row.median: row.mad for row in run.results.rows.values() if row.group == name.partition("/")[0]}
    return {"type": "data", "array": [spreads[value] / scale for value in points.values()], "color": colour, "thickness": 1}
