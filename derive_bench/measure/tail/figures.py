"""Figures of many single calls: percentiles of the nearest rank, and how a burst settles. Durations are whole ns."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median
from typing import Any

__all__ = ["burst", "distribution", "percentile"]

SETTLED_CALLS, SETTLED_RATIO = 10, 1.5
SKIPPED = 100


def percentile(ordered: Sequence[int], per_mille: int) -> int:
    """The smallest duration that at least ``per_mille`` thousandths of ``ordered``, which rises, do not exceed."""
    return ordered[max(0, -(-len(ordered) * per_mille // 1_000) - 1)]


def distribution(durations: Sequence[int]) -> dict[str, Any]:
    """p50, p99, p99.9, max and mean of some calls."""
    ordered = sorted(durations)
    ranks = {"p50_ns": 500, "p99_ns": 990, "p999_ns": 999}
    return {name: percentile(ordered, per_mille) for name, per_mille in ranks.items()} | {
        "max_ns": ordered[-1],
        "mean_ns": round(fmean(ordered), 1),
    }


def burst(durations: Sequence[Sequence[int]]) -> dict[str, Any]:
    """What several bursts of calls have in common, each after a pause: the first call against the rest.

    Args:
        durations: of each burst, in order; more than :data:`SKIPPED` calls each.
    """
    usual = median(duration for one in durations for duration in one[SKIPPED:])
    return distribution([duration for one in durations for duration in one]) | {
        "first_ns": round(median(one[0] for one in durations)),
        "rest_p50_ns": round(usual),
        "settled_after": round(median(_settled(one, SETTLED_RATIO * usual) for one in durations)),
    }


def _settled(durations: Sequence[int], most: float) -> int:
    """Number of the first call from which ten in a row took no longer than ``most``; how many calls there are if none is."""
    for number in range(len(durations) - SETTLED_CALLS + 1):
        if max(durations[number : number + SETTLED_CALLS]) <= most:
            return number
    return len(durations)
