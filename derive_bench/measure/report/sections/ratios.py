"""How many times the reference each row takes, and how many times its control."""

from __future__ import annotations

from derive_bench.measure import reference
from derive_bench.measure.report.figures import COLOURS, axis, lanes
from derive_bench.measure.report.files import Material
from derive_bench.measure.report.section import Section, marked
from derive_bench.measure.tables import ELSEWHERE, HERE, Table, seconds_text

__all__ = ["make"]


def make(material: Material) -> Section | None:
    """None if no row has a reference."""
    run = material.latest
    if run is None:
        return None
    here, elsewhere = [], []
    for row in run.results.rows.values():
        if row.reference:
            here.append((row, row.reference.median))
        elif row.name in reference.PUBLISHED:
            elsewhere.append((row, reference.PUBLISHED[row.name] * 1e-9))
    both = [*((row, figure, "†") for row, figure in here), *((row, figure, "*") for row, figure in elsewhere)]
    if not both:
        return None
    names = [f"<b>{row.name}</b>  {row.median / figure:.3g}× {sign}" for row, figure, sign in both]
    traces = []
    for number, (sign, name) in enumerate((("†", "† on this machine"), ("*", "* published, on another machine"))):
        hits = [(lane, row.median / figure) for lane, (row, figure, own) in enumerate(both) if own == sign]
        if hits:
            lane, ratio = zip(*hits, strict=True)
            point = {"type": "scatter", "mode": "markers", "name": name, "x": ratio, "y": lane, "hoverinfo": "x"}
            traces.append({**point, "marker": {"size": 9, "color": COLOURS[number]}})
    cells = [
        [row.name, seconds_text(row.median), f"{seconds_text(figure)} {sign}", f"{row.median / figure:.3g}"] for row, figure, sign in both
    ]
    notes = [*([HERE] if here else []), *([f"* {ELSEWHERE}"] if elsewhere else [])]
    said = f"Ratios of {len(both)} rows to the reference, on a logarithmic axis."
    one = {"type": "line", "x0": 1, "x1": 1, "y0": 0, "y1": 1, "yref": "paper", "line": {"width": 1, "dash": "dot", "color": "#8b929c"}}
    title = marked("Ratios to the reference", run)
    chart = lanes(title, said, traces, names, axis("times the reference", type="log", dtick=1, ticksuffix="×"), shapes=[one])
    return Section(
        "ratios",
        title,
        ["Left of 1× a row is faster than the Rust reference, right of it slower."],
        [chart],
        [Table(title, ["row", marked("median", run), "reference", "ratio"], cells)],
        notes,
    )
