"""The sweep's data: bars and combinations, the same on every machine for the same seed.

Contract: `Workload(bars, combinations, seed)` holds `closes`, a float64 array of positive prices in the manner of a geometric Brownian
motion, and `windows`, an int64 array of six window lengths a row: half, full, smooth, third, mid, period.

A length L of the Hull moving average gives all six. The slow line is HMA(L): an average over √L of twice the average over L/2 less the
one over L. The fast line is HMA3(L) with the period p = L/2: an average over p of three times the average over p/3 less those over p/2
and p. Seven weighted moving averages in all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

__all__ = ["LONGEST", "SHORTEST", "Closes", "Windows", "Workload", "windows_of"]

Closes = npt.NDArray[np.float64]
Windows = npt.NDArray[np.int64]

SHORTEST, LONGEST = 6, 200
"""The range of Hull lengths."""

VOLATILITY = 0.0008
"""Standard deviation of a bar's log return."""

DECIMALS = 4
"""Prices are rounded to this, so that the last bit of a machine's `exp` does not show."""


@dataclass(frozen=True)
class Workload:
    """Bars and combinations of one sweep.

    Attributes:
        bars: number of closes.
        combinations: number of Hull lengths, spread evenly over `SHORTEST` to `LONGEST`.
        seed: of the bars.
    """

    bars: int = 150_000
    combinations: int = 80
    seed: int = 7
    start: float = field(default=100.0, repr=False)

    @cached_property
    def closes(self) -> Closes:
        """The bars' closes, float64, shape (bars,)."""
        returns = np.random.default_rng(self.seed).standard_normal(self.bars) * VOLATILITY
        return np.round(self.start * np.exp(np.cumsum(returns)), DECIMALS)

    @cached_property
    def windows(self) -> Windows:
        """Window lengths, int64, shape (combinations, 6)."""
        lengths = np.linspace(SHORTEST, LONGEST, self.combinations).round().astype(np.int64)
        return np.array([windows_of(int(length)) for length in lengths], dtype=np.int64).reshape(-1, 6)


def windows_of(length: int) -> tuple[int, int, int, int, int, int]:
    """Return half, full, smooth, third, mid and period for one Hull length."""
    period = max(length // 2, 3)
    return max(length // 2, 1), length, max(math.isqrt(length), 1), max(period // 3, 1), max(period // 2, 1), period
