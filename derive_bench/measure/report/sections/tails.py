"""Tails: the percentiles of single calls under three modes of the cyclic collector, and what a burst after a pause costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from derive_bench.measure.checks.verdict import MARK, marks
from derive_bench.measure.report.figures import COLOURS, Chart, axis, lanes
from derive_bench.measure.report.files import Material, Tail
from derive_bench.measure.report.section import Section
from derive_bench.measure.tables import Table, seconds_text

__all__ = ["make"]

FIGURES = {"p50_ns": "p50", "p99_ns": "p99", "p999_ns": "p99.9", "max_ns": "max"}
SYMBOLS = ("circle", "diamond", "square", "x")


def make(material: Material) -> Section | None:
    """None without a file of tails."""
    if not material.tails:
        return None
    text = "Single calls, timed one by one: from left to right p50 (circle), p99 (diamond), p99.9 (square) and the slowest (cross)."
    tables = [table for tail in material.tails for table in (_collectors(tail), _bursts(tail))]
    return Section("tails", "Tails", [text], [_chart(tail) for tail in material.tails], [table for table in tables if table.rows])


def _title(tail: Tail) -> str:
    return f"{tail.source} {MARK}" if marks(tail.document.get("metadata", {})) else tail.source


def _chart(tail: Tail) -> Chart:
    rows: Mapping[str, Any] = tail.document["rows"]
    traces = []
    for number, mode in enumerate(("on", "off", "frozen")):
        xs: list[float | None] = []
        ys: list[float | None] = []
        for lane, row in enumerate(rows.values()):
            if figures := row["collector"].get(mode):
                xs += [*(figures[key] / 1000 for key in FIGURES), None]
                ys += [*[lane + (number - 1) * 0.2 + 0.1] * len(FIGURES), None]
        point = {"type": "scatter", "mode": "lines+markers", "name": f"collector {mode}", "x": xs, "y": ys, "hoverinfo": "x"}
        symbols = [*SYMBOLS, "circle"] * (len(xs) // 5)
        traces.append(
            {**point, "line": {"width": 1, "color": COLOURS[number]}, "marker": {"size": 7, "color": COLOURS[number], "symbol": symbols}}
        )
    names = [f"<b>{name}</b>" for name in rows]
    return lanes(
        _title(tail), f"Percentiles of single calls of {len(rows)} rows, logarithmic.", traces, names, axis("µs", type="log", dtick=1)
    )


def _collectors(tail: Tail) -> Table:
    cells = []
    for name, row in tail.document["rows"].items():
        for mode, figures in row["collector"].items():
            cells.append([name, mode, *(seconds_text(figures[key] * 1e-9) for key in FIGURES), f"{figures['calls']:,}"])
    return Table(f"Collector, {_title(tail)}", ["row", "collector", *FIGURES.values(), "calls"], cells)


def _bursts(tail: Tail) -> Table:
    cells = []
    for name, row in tail.document["rows"].items():
        if burst := row.get("burst"):
            figures = [seconds_text(burst[key] * 1e-9) for key in ("first_ns", *FIGURES, "rest_p50_ns")]
            memory = row.get("memory") or {}
            cells.append(
                [name, *figures, _count(burst["settled_after"]), _count(memory.get("allocations")), _count(memory.get("peak_bytes"))]
            )
    headings = ["row", "first call", *FIGURES.values(), "p50 of the rest", "settled after", "allocations a call", "bytes a call"]
    return Table(f"Burst after a pause, {_title(tail)}", headings, cells)


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.6g}"
