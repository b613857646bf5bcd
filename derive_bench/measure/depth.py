"""Cost over depth: a straight line through the rows of one kind that differ in the depth of their book alone.

A family is a row and its twins with ``_d10``, ``_d20`` and ``_d100`` in their names; the row itself has a depth of 1. Ordinary least
squares over the four medians give ``cost = fixed + per_level * depth``, where a level is one a side: a bid and an ask. The errors are
the standard errors of the two, which rest on two degrees of freedom; R² and the row farthest from the line tell whether the cost
grows linearly at all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["DEPTHS", "Line", "families", "fit"]

DEPTHS = (1, 10, 20, 100)
"""Levels a side."""

_DEEP = re.compile(r"(?P<head>.*[^/])_d(?P<depth>\d+)(?P<tail>(?:_[a-z]\w*)?)")


@dataclass(frozen=True, slots=True)
class Line:
    """A fit, in seconds.

    Attributes:
        fixed_error, per_level_error: standard errors.
        r_squared: share of the variance that the line explains.
        worst: the largest distance of a row from the line, as a share of that row.
    """

    fixed: float
    fixed_error: float
    per_level: float
    per_level_error: float
    r_squared: float
    worst: float


def families(medians: Mapping[str, float]) -> dict[str, dict[int, float]]:
    """The families of which all four depths were measured: name of the row of depth 1 -> median by depth."""
    found: dict[str, dict[int, float]] = {}
    for name, median in medians.items():
        match = _DEEP.fullmatch(name)
        if match:
            found.setdefault(match["head"] + match["tail"], {})[int(match["depth"])] = median
    for name, members in found.items():
        if name in medians:
            members[1] = medians[name]
    return {name: dict(sorted(members.items())) for name, members in found.items() if set(DEPTHS) <= set(members)}


def fit(points: Mapping[int, float]) -> Line:
    """Ordinary least squares through at least three points: depth -> seconds."""
    count = len(points)
    mean_x, mean_y = sum(points) / count, sum(points.values()) / count
    spread = sum((x - mean_x) ** 2 for x in points)
    per_level = sum((x - mean_x) * (y - mean_y) for x, y in points.items()) / spread
    fixed = mean_y - per_level * mean_x
    residuals = {x: y - fixed - per_level * x for x, y in points.items()}
    unexplained = sum(residual**2 for residual in residuals.values())
    total = sum((y - mean_y) ** 2 for y in points.values())
    variance = unexplained / (count - 2)
    return Line(
        fixed=fixed,
        fixed_error=math.sqrt(variance * (1 / count + mean_x**2 / spread)),
        per_level=per_level,
        per_level_error=math.sqrt(variance / spread),
        r_squared=1 - unexplained / total if total else 1.0,
        worst=max(abs(residuals[x]) / y for x, y in points.items()),
    )
