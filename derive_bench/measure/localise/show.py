"""Explanations in words: a tree in text or Markdown, and plain values for JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from derive_bench.measure.count import UNIT as INSTRUCTIONS
from derive_bench.measure.localise.explain import UNEXPLAINED, Explanation, Part
from derive_bench.measure.tables import seconds_text

__all__ = ["document", "text"]


def text(explanations: Sequence[Explanation]) -> str:
    """A tree for each slower row: the change of each part, its margin and its share, and who is to blame."""
    return "\n\n".join("\n".join(_lines(each)) for each in explanations)


def document(explanations: Sequence[Explanation]) -> list[dict[str, Any]]:
    """For JSON; a margin that is not known is null."""
    return [{"row": _plain(asdict(each.row)), "culprits": list(each.culprits), "missing": list(each.missing)} for each in explanations]


def _plain(part: dict[str, Any]) -> dict[str, Any]:
    known = {key: None if isinstance(value, float) and math.isinf(value) else value for key, value in part.items()}
    return known | {"parts": [_plain(each) for each in part["parts"]]}


def _lines(explanation: Explanation) -> Iterator[str]:
    row = explanation.row
    culprits = " and ".join(explanation.culprits) or "no single part"
    yield f"{row.name} is slower by {_change(row.change, row.margin, explanation.unit)}: {culprits}"
    told = [line for part in row.parts for line in _tree(part, 1)]
    told.append(("  rest, in no part", row.rest, row.rest_margin, row.rest / row.change, row.blamed))
    width = max(len(name) for name, *_ in told)
    for name, change, margin, share, blamed in told:
        mark = f"  <- {UNEXPLAINED if name.strip().startswith('rest') else 'here'}" if blamed else ""
        yield f"{name:<{width}}  {_change(change, margin, explanation.unit):>22}  {share:>5.0%}{mark}"
    if explanation.missing:
        yield f"  not measured: {', '.join(explanation.missing)}"


def _tree(part: Part, depth: int) -> Iterator[tuple[str, float, float, float, bool]]:
    times = f" × {part.times}" if part.times > 1 else ""
    yield f"{'  ' * depth}{part.name}{times}", part.change, part.margin, part.share, part.blamed
    for below in part.parts:
        yield from _tree(below, depth + 1)


def _change(change: float, margin: float, unit: str) -> str:
    sign = "-" if change < 0 else "+"
    around = "" if math.isinf(margin) else f" ± {_amount(margin, unit)}"
    return f"{sign}{_amount(abs(change), unit)}{around}"


def _amount(value: float, unit: str) -> str:
    return f"{value:,.0f} instructions" if unit == INSTRUCTIONS else seconds_text(value)
