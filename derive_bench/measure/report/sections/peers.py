"""Ours beside other libraries: how many times ours each takes, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from derive_bench.measure.checks.verdict import MARK, marks
from derive_bench.measure.peers.report import peer_notes, peer_tables
from derive_bench.measure.peers.session import OURS
from derive_bench.measure.report.figures import COLOURS, Chart, axis, lanes
from derive_bench.measure.report.files import Material
from derive_bench.measure.report.section import Section

__all__ = ["make"]


def make(material: Material) -> Section | None:
    """None without a comparison."""
    if not material.peers:
        return None
    charts = [chart for document in material.peers if (chart := _chart(document))]
    tables = [table for document in material.peers for table in peer_tables(document)]
    notes = [note for document in material.peers for note in peer_notes(document)]
    text = "Right of 1× a library takes longer than ours for the same inputs; lines reach from quartile to quartile."
    return Section("peers", "Other libraries", [text], charts, tables, notes)


def _chart(document: Mapping[str, Any]) -> Chart | None:
    stages = [stage for stage in document["stages"] if any("ratio" in each for each in stage["results"].values())]
    contenders = [each["name"] for each in document["contenders"] if not each["name"].startswith(OURS)]
    traces = []
    for number, name in enumerate(contenders):
        hits = [(lane, each) for lane, stage in enumerate(stages) if "ratio" in (each := stage["results"].get(name, {}))]
        if not hits:
            continue
        ratios = [each["ratio"] for _, each in hits]
        errors = {
            "type": "data",
            "symmetric": False,
            "array": [each["ratio_high"] - each["ratio"] for _, each in hits],
            "arrayminus": [each["ratio"] - each["ratio_low"] for _, each in hits],
        }
        point = {"type": "scatter", "mode": "markers", "name": name, "x": ratios, "y": [lane for lane, _ in hits], "error_x": errors}
        traces.append({**point, "marker": {"size": 9, "color": COLOURS[number % len(COLOURS)], "symbol": number}, "hoverinfo": "name+x"})
    if not traces:
        return None
    title = f"Times ours {MARK}" if marks(document["run"]) else "Times ours"
    names = [f"<b>{stage['name']}</b>" for stage in stages]
    return lanes(
        title,
        f"Ratios of {len(traces)} libraries to ours in {len(stages)} stages.",
        traces,
        names,
        axis("times ours", type="log", dtick=1, ticksuffix="×"),
    )
