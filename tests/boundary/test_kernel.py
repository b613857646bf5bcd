"""The kernel against its definition in plain Python, and bar by bar against the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive_bench.boundary import kernel
from derive_bench.boundary.gate import compare
from derive_bench.boundary.workload import Workload, windows_of


def average(values: Sequence[float], window: int) -> list[float]:
    """A weighted moving average as a textbook has it; NaN where a value of its window is missing."""
    weights = range(1, window + 1)
    found = [math.nan] * len(values)
    for i in range(window - 1, len(values)):
        found[i] = math.fsum(w * v for w, v in zip(weights, values[i + 1 - window : i + 1], strict=True)) / sum(weights)
    return found


def by_definition(closes: Sequence[float], windows: Sequence[int]) -> tuple[float, int]:
    half, full, smooth, third, mid, period = windows
    slow = average([2 * a - b for a, b in zip(average(closes, half), average(closes, full), strict=True)], smooth)
    parts = zip(average(closes, third), average(closes, mid), average(closes, period), strict=True)
    fast = average([3 * a - b - c for a, b, c in parts], period)
    side, entry, profit, trades = 0, 0.0, 0.0, 0
    for price, up, down in zip(closes, fast, slow, strict=True):
        wanted = side if math.isnan(up) or math.isnan(down) or up == down else (1 if up > down else -1)
        if wanted != side:
            if side:
                profit += side * (price / entry - 1) * 100 - 0.09
                trades += 1
            side, entry = wanted, price
    return profit, trades


@pytest.mark.parametrize(("bars", "seed"), [(1, 1), (5, 2), (60, 3), (400, 4), (600, 5)])
def test_the_kernel_does_what_its_definition_says(bars: int, seed: int) -> None:
    work = Workload(bars, 12, seed)
    expected = [by_definition(work.closes.tolist(), windows) for windows in work.windows.tolist()]
    profits, trades = zip(*expected, strict=True)
    assert not compare(kernel.sweep(work.closes, work.windows), (np.array(profits), np.array(trades)))
    assert bars < 100 or sum(trades) > 10


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 400), st.lists(st.integers(6, 120), min_size=1, max_size=5), st.integers(0, 2**32 - 1))
def test_bar_by_bar_is_the_whole(bars: int, lengths: list[int], seed: int) -> None:
    closes = Workload(bars, 1, seed).closes
    windows = np.array([windows_of(length) for length in lengths], dtype=np.int64)
    stream = kernel.Stream(windows)
    for count, close in enumerate(closes, 1):
        profits, trades = stream.step(float(close))
        if count in (1, bars // 2, bars):
            expected = kernel.sweep(closes[:count], windows)
            assert (profits == expected[0]).all()
            assert (trades == expected[1]).all()


def test_windows_longer_than_the_data_trade_nothing() -> None:
    profits, trades = kernel.sweep(Workload(20, 1).closes, np.array([windows_of(200)], dtype=np.int64))
    assert (profits[0], trades[0]) == (0.0, 0)


def test_the_workload_is_the_same_every_time() -> None:
    work = Workload(1000, 80)
    assert (work.closes == Workload(1000, 80).closes).all()
    assert (work.closes[:3].tolist(), work.windows[0].tolist(), work.windows[-1].tolist()) == (
        work.closes[:3].round(4).tolist(),
        list(windows_of(6)),
        list(windows_of(200)),
    )
    assert (work.closes > 0).all()
    assert (Workload(1000, 80, seed=8).closes != work.closes).any()
