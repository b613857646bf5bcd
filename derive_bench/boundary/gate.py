"""The gate: nothing is timed that does not compute the same.

Contract: `compare(found, expected)` is empty for outcomes that are equal, trades exactly and profits within `TOLERANCE`, and says
otherwise what differs first. `fingerprint(outcomes)` is what a run prints and stores.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

import numpy as np

from derive_bench.boundary.frames import Outcomes

__all__ = ["TOLERANCE", "Fingerprint", "compare", "fingerprint"]

TOLERANCE: Final = 1e-6
"""Percentage points of profit by which two implementations of one combination may differ."""


@dataclass(frozen=True)
class Fingerprint:
    """Outcomes in short: the first combination's profit, all trades, and a hash of everything.

    The hash is over each combination's trades and its profit to six decimals.
    """

    first_profit: float
    total_trades: int
    digest: str

    def __str__(self) -> str:
        return f"first profit {self.first_profit:.6f}, trades {self.total_trades}, {self.digest}"


def fingerprint(outcomes: Outcomes) -> Fingerprint:
    """Return the fingerprint of at least one combination's outcomes."""
    profits, trades = outcomes
    lines = "".join(f"{profit + 0.0:.6f} {count}\n" for profit, count in zip(profits.tolist(), trades.tolist(), strict=True))
    return Fingerprint(float(profits[0]), int(trades.sum()), hashlib.sha256(lines.encode()).hexdigest()[:16])


def compare(found: Outcomes, expected: Outcomes) -> str:
    """Return what differs, one line, or an empty text."""
    profits, trades = found
    if profits.shape != expected[0].shape or trades.shape != expected[1].shape:
        return f"{len(profits)} combinations instead of {len(expected[0])}"
    # Written so that a NaN differs.
    wrong = np.flatnonzero((trades != expected[1]) | ~(np.abs(profits - expected[0]) <= TOLERANCE))
    if not len(wrong):
        return ""
    k = int(wrong[0])
    first = f"{trades[k]} trades and {profits[k]:.9g} % instead of {expected[1][k]} and {expected[0][k]:.9g} %"
    return f"{len(wrong)} of {len(trades)} combinations differ; combination {k}: {first}"
