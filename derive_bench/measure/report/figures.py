"""Charts: figures of plotly as plain values, in one look.

All charts with rows are lanes: one row of the benchmark a lane, its name and figure written above what is drawn, so that names have
the whole width also on a phone. Colours are of middling lightness and serve light and dark pages; texts, grid and axes take their
colours from the page's style sheet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["COLOURS", "REST", "Chart", "axis", "lanes", "plain", "scaled"]

COLOURS = ("#3b82c4", "#d9822b", "#2f9e6e", "#b35fb0", "#c9504c", "#8a7a2e", "#4a9fb0", "#8577d6", "#b56a45", "#6f8f3a")
"""Told apart also without red and green, by lightness."""

REST = "#8b929c"

LANE = 38
"""Height of a lane in pixels: the name's line and the mark below it."""

LEGEND_LINE = 22

EDGES = {"l": 10, "r": 16, "t": 10, "b": 46}

_UNITS = (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0))

_AXIS: Mapping[str, Any] = {"zeroline": False, "fixedrange": True, "automargin": True, "ticks": ""}


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart.

    Attributes:
        alternative: what it shows, in a sentence, for who does not see it.
        marks: how many marks it draws: bars, boxes, points or lines, one a lane at least.
    """

    title: str
    alternative: str
    figure: Mapping[str, Any]
    height: int
    marks: int


def scaled(largest: float) -> tuple[str, float]:
    """Unit and scale, in seconds, in which the largest of some durations is at least 1."""
    return next(((unit, scale) for unit, scale in reversed(_UNITS) if largest >= scale), _UNITS[0])


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis with a title, which a chart of ours cannot be dragged along: a finger on it scrolls the page."""
    return {**_AXIS, "title": {"text": title, "standoff": 8}, **more}


def lanes(
    title: str, alternative: str, traces: Sequence[Mapping[str, Any]], names: Sequence[str], x: Mapping[str, Any], **layout: Any
) -> Chart:
    """A chart with a lane for each of ``names``, the first on top; traces have lane numbers as y."""
    legend = LEGEND_LINE * _legend_lines(traces)
    labels = [
        {"x": 0, "xref": "paper", "xanchor": "left", "y": lane, "yanchor": "bottom", "yshift": 7, "showarrow": False, "text": name}
        for lane, name in enumerate(names)
    ]
    height = LANE * len(names) + EDGES["t"] + EDGES["b"] + legend
    y = {**_AXIS, "visible": False, "range": [len(names) - 0.5, -0.85]}
    figure = _figure(traces, x, y, annotations=labels, height=height, showlegend=bool(legend), **layout)
    return Chart(title, alternative, figure, height, len(names))


def plain(title: str, alternative: str, traces: Sequence[Mapping[str, Any]], x: Mapping[str, Any], y: Mapping[str, Any]) -> Chart:
    """A chart with two axes."""
    height = 340 + LEGEND_LINE * _legend_lines(traces)
    return Chart(title, alternative, _figure(traces, x, y, height=height, showlegend=True), height, len(traces))


def _legend_lines(traces: Sequence[Mapping[str, Any]]) -> int:
    shown = [trace for trace in traces if trace.get("showlegend", True) and trace.get("name")]
    return len(shown) if len(shown) > 1 else 0


def _figure(traces: Sequence[Mapping[str, Any]], x: Mapping[str, Any], y: Mapping[str, Any], **layout: Any) -> dict[str, Any]:
    legend = {"orientation": "v", "x": 0, "xanchor": "left", "y": 1, "yanchor": "top", "yref": "container"}
    legend |= {"itemclick": False, "itemdoubleclick": False}
    lines = LEGEND_LINE * _legend_lines(traces)
    common = {
        "margin": {**EDGES, "t": EDGES["t"] + (lines if layout.get("showlegend") else 0)},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 12},
        "dragmode": False,
        "hovermode": "closest",
        "legend": {**legend, "bgcolor": "rgba(0,0,0,0)", "traceorder": "normal"},
        "xaxis": dict(x),
        "yaxis": dict(y),
    }
    return {"data": [dict(trace) for trace in traces], "layout": {**common, **layout}}
