"""Statistics: is a row's change more than chance?

All on logarithms of the rounds' figures, a round being one worker process. Interleaved results are compared round by round (the
differences of pairs), others as two samples. A round beyond three robust standard deviations of its row is pulled in to there, so that
one bad moment neither makes a verdict nor hides one. The test is Student's, with one change: a row's standard deviation never counts as
smaller than the typical row's, since among many rows with few rounds each some are steady by chance, and these make false alarms. Holm's
correction holds the chance of any false alarm in a whole comparison at :data:`ALPHA`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, median

__all__ = ["ALPHA", "Estimate", "Samples", "critical", "estimate", "holm", "quantile", "robust_deviation", "student"]

ALPHA = 0.05
"""Chance of one false alarm or more among all rows of a comparison, by the test alone; threshold and quartiles lower it."""

NORMAL = 1.4826
"""Makes the median absolute deviation a standard deviation for normal noise."""

FENCE = 3.0


@dataclass(frozen=True, slots=True)
class Samples:
    """Logarithms of a row's figures, one a round; in paired ones, place by place of the same round."""

    base: Sequence[float]
    head: Sequence[float]
    paired: bool

    def parts(self) -> list[list[float]]:
        """What is spread about one value each: the differences of pairs, or either side."""
        if self.paired:
            return [[after - before for before, after in zip(self.base, self.head, strict=True)]]
        return [list(self.base), list(self.head)]

    @property
    def freedom(self) -> int:
        """Degrees of freedom; 0: no repetition."""
        return sum(map(len, self.parts())) - len(self.parts()) if min(map(len, self.parts())) > 1 else 0

    @property
    def agreement(self) -> float:
        """Share of comparisons of a head round with a base round (of the same round if paired) that go the commoner way."""
        if self.paired:
            signs = [after > before for before, after in zip(self.base, self.head, strict=True)]
        else:
            signs = [after > before for before in self.base for after in self.head]
        return max(fmean(signs), 1 - fmean(signs))


@dataclass(frozen=True, slots=True)
class Estimate:
    """Change as a logarithm of head over base, its standard error, and degrees of freedom."""

    change: float
    error: float
    freedom: int


def robust_deviation(values: Sequence[float]) -> float:
    """A standard deviation that outliers do not move."""
    middle = median(values)
    return NORMAL * median(abs(value - middle) for value in values)


def _clipped(values: Sequence[float], floor: float) -> list[float]:
    middle = median(values)
    reach = FENCE * max(robust_deviation(values), floor)
    return [min(max(value, middle - reach), middle + reach) for value in values]


def _pooled(parts: Sequence[Sequence[float]]) -> float:
    freedom = sum(map(len, parts)) - len(parts)
    squares = sum((value - fmean(part)) ** 2 for part in parts for value in part)
    return math.sqrt(squares / freedom) if freedom > 0 else 0.0


def typical_deviation(samples: Mapping[str, Samples]) -> float:
    """The median row's standard deviation."""
    found = [_pooled([_clipped(part, 0.0) if len(part) > 4 else part for part in sample.parts()]) for sample in samples.values()]
    return median(found) if found else 0.0


def estimate(samples: Samples, floor: float) -> Estimate:
    """Change and error of a row; ``floor`` is the least standard deviation that a row is believed to have."""
    parts = [_clipped(part, floor) for part in samples.parts()]
    change = fmean(parts[0]) if samples.paired else fmean(parts[1]) - fmean(parts[0])
    deviation = max(_pooled(parts), floor)
    return Estimate(change, deviation * math.sqrt(sum(1 / len(part) for part in parts)), samples.freedom)


def student(t: float, freedom: int) -> float:
    """Chance of a value of Student's distribution at least as far from 0, on either side: the finite sums for whole degrees of freedom."""
    angle = math.atan(abs(t) / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = total = cosine if odd else 1.0
    for step in range(3 if odd else 2, freedom, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    inside = 2 / math.pi * (angle + sine * (total if freedom > 1 else 0.0)) if odd else sine * total
    return max(0.0, 1 - inside)


@lru_cache
def critical(freedom: int, p: float = 0.05) -> float:
    """The value that Student's distribution passes, on either side, with chance ``p``; by bisection."""
    low, high = 0.0, 1e4
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if student(middle, freedom) > p else (low, middle)
    return high


def holm(values: Sequence[float]) -> list[float]:
    """Chances corrected for their number, in the same order (Holm 1979)."""
    corrected = [1.0] * len(values)
    running = 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        running = max(running, min(1.0, values[place] * (len(values) - rank)))
        corrected[place] = running
    return corrected


def quantile(values: Sequence[float], share: float) -> float:
    """Linear between order statistics."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
