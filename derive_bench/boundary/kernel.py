"""The sweep in process: compiled by numba, the measure of all others.

Contract: `sweep(closes, windows)` gives each combination's profit in percentage points and its number of closed trades. The position
follows the crossing of the two lines of `workload`: long where the fast one is above the slow one, short where it is below, unchanged
where they are equal or one of them does not exist yet. Each reversal books the old position's return on its entry price less `FEE`; a
position that is still open at the end is not booked. `engine/kernel.rs` does the same operations in the same order, so the results
are equal to the last bit, but for builds that reorder additions.

`Stream` is the same for one bar at a time, as the engine's calls for single bars are.

Importing this module imports numba, which takes most of a second.
"""

from __future__ import annotations

from typing import Final

import numba
import numpy as np

from derive_bench.boundary.frames import Outcomes
from derive_bench.boundary.workload import Closes, Windows

__all__ = ["FEE", "Stream", "sweep"]

FEE: Final = 0.09
"""Percentage points that a round trip costs."""


_compiled = numba.njit(cache=True, nogil=True)


@_compiled
def _average(values, window, last):  # type: ignore[no-untyped-def]
    total = 0.0
    first = last + 1 - window
    for j in range(window):
        total += values[first + j] * (j + 1)
    return total / (window * (window + 1) / 2.0)


@_compiled
def _step(price, fast, slow, position, entry, profit, trades):  # type: ignore[no-untyped-def]
    wanted = position
    if fast > slow:
        wanted = 1
    elif fast < slow:
        wanted = -1
    if wanted != position:
        if position != 0:
            profit += position * (price - entry) / entry * 100.0 - FEE
            trades += 1
        position = wanted
        entry = price
    return position, entry, profit, trades


@_compiled
def _combination(closes, half, full, smooth, third, mid, period, raw, slow):  # type: ignore[no-untyped-def]
    bars = len(closes)
    for i in range(full - 1, bars):
        raw[i] = 2.0 * _average(closes, half, i) - _average(closes, full, i)
    slow_from = full + smooth - 2
    slow[:slow_from] = np.nan
    for i in range(slow_from, bars):
        slow[i] = _average(raw, smooth, i)
    for i in range(period - 1, bars):
        raw[i] = 3.0 * _average(closes, third, i) - _average(closes, mid, i) - _average(closes, period, i)
    fast_from = 2 * period - 2
    position, entry, profit, trades = 0, 0.0, 0.0, 0
    for i in range(bars):
        fast = np.nan if i < fast_from else _average(raw, period, i)
        position, entry, profit, trades = _step(closes[i], fast, slow[i], position, entry, profit, trades)
    return profit, trades


@_compiled
def _sweep(closes, windows, profits, trades):  # type: ignore[no-untyped-def]
    raw = np.full(len(closes), np.nan)
    slow = np.full(len(closes), np.nan)
    for k in range(len(windows)):
        half, full, smooth, third, mid, period = windows[k]
        profits[k], trades[k] = _combination(closes, half, full, smooth, third, mid, period, raw, slow)


def sweep(closes: Closes, windows: Windows) -> Outcomes:
    """Return (profits float64, trades int64), each of shape (combinations,)."""
    profits, trades = np.zeros(len(windows)), np.zeros(len(windows), dtype=np.int64)
    _sweep(closes, windows, profits, trades)
    return profits, trades


@_compiled
def _stream_step(closes, count, windows, raws, fills, states, profits, trades):  # type: ignore[no-untyped-def]
    i = count - 1
    for k in range(len(windows)):
        half, full, smooth, third, mid, period = windows[k]
        if count >= full:
            _push(raws[k, 0], fills, k, 0, smooth, 2.0 * _average(closes, half, i) - _average(closes, full, i))
        if count >= period:
            newest = 3.0 * _average(closes, third, i) - _average(closes, mid, i) - _average(closes, period, i)
            _push(raws[k, 1], fills, k, 1, period, newest)
        slow = _average(raws[k, 0], smooth, smooth - 1) if fills[k, 0] == smooth else np.nan
        fast = _average(raws[k, 1], period, period - 1) if fills[k, 1] == period else np.nan
        position, entry, profits[k], trades[k] = _step(closes[i], fast, slow, states[k, 0], states[k, 1], profits[k], trades[k])
        states[k, 0] = position
        states[k, 1] = entry


@_compiled
def _push(line, fills, k, which, window, value):  # type: ignore[no-untyped-def]
    if fills[k, which] == window:
        line[: window - 1] = line[1:window]
        line[window - 1] = value
    else:
        line[fills[k, which]] = value
        fills[k, which] += 1


class Stream:
    """Combinations fed bar by bar; after each bar the outcomes are those of `sweep` over the bars so far.

    Args:
        windows: int64, shape (combinations, 6).
    """

    def __init__(self, windows: Windows) -> None:
        count, longest = len(windows), int(windows.max(initial=1))
        self._windows = windows
        self._closes = np.empty(1024)
        self._count = 0
        self._raws = np.empty((count, 2, longest))
        self._fills = np.zeros((count, 2), dtype=np.int64)
        self._states = np.zeros((count, 2))
        self._profits, self._trades = np.zeros(count), np.zeros(count, dtype=np.int64)

    @staticmethod
    def size(windows: Windows) -> int:
        """Bytes that the lines of these combinations take."""
        return 16 * len(windows) * int(windows.max(initial=1))

    def step(self, close: float) -> Outcomes:
        """Take the newest bar's close; return the outcomes so far, in arrays that the next call changes."""
        if self._count == len(self._closes):
            self._closes = np.concatenate([self._closes, np.empty_like(self._closes)])
        self._closes[self._count] = close
        self._count += 1
        _stream_step(self._closes, self._count, self._windows, self._raws, self._fills, self._states, self._profits, self._trades)
        return self._profits, self._trades
