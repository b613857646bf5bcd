"""The echo curve's line, and what follows from it."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derive_bench.boundary.breakeven import LIMIT, advise, granularity, share
from derive_bench.boundary.echo import DOUBLES, Fit, fit

FLOORS, SLOPES = st.floats(1e2, 1e6), st.floats(1e-3, 1e2)


@given(FLOORS, SLOPES)
def test_a_line_is_found_again(floor: float, slope: float) -> None:
    found = fit({8 * count: floor + slope * 8 * count for count in DOUBLES})
    assert found.round_trip_ns(0) == pytest.approx(floor, rel=1e-6)
    assert found.ns_per_byte == pytest.approx(slope, rel=1e-6)
    assert found.worst < 1e-6
    assert found.bandwidth == pytest.approx(2e9 / slope, rel=1e-6)


def test_noise_shows_in_the_errors_and_not_in_the_held_out_sizes() -> None:
    noise = random.Random(3)
    inside = 0
    for _ in range(200):
        points = {8 * count: (20_000 + 0.5 * 8 * count) * noise.gauss(1, 0.03) for count in DOUBLES}
        found = fit(points)
        inside += abs(found.floor_ns - 20_000) <= 2 * found.floor_error_ns
        for held_out in (24, 2_000, 100_000):
            assert found.round_trip_ns(held_out) == pytest.approx(20_000 + 0.5 * held_out, rel=0.12)
    assert inside > 160


def test_two_points_have_no_error() -> None:
    with pytest.raises(ValueError, match="three points, and there are 2"):
        fit({8: 1.0, 16: 2.0})


@given(st.floats(1, 1e9), st.floats(1, 1e9))
def test_share_and_granularity_belong_together(compute: float, overhead: float) -> None:
    assert share(granularity(compute, overhead)) == pytest.approx(overhead / (overhead + compute))


@given(st.floats(1, 1e9), st.integers(0, 10**7), FLOORS, SLOPES)
def test_advice_keeps_its_promise(compute: float, size: int, floor: float, slope: float) -> None:
    (found,) = advise(compute, size, {"unix": Fit(floor, 0, slope, 0, 0)})
    assert found.share == pytest.approx((floor + slope * size) / (floor + slope * size + compute))
    if found.calls_worth > 0:
        crossing, computing = floor + slope * size * found.calls_worth, compute * found.calls_worth
        assert crossing / (crossing + computing) <= LIMIT * (1 + 1e-9)
        if found.calls_worth > 1 and math.isfinite(found.calls_worth):
            crossing, computing = floor + slope * size * (found.calls_worth - 1), compute * (found.calls_worth - 1)
            assert crossing / (crossing + computing) > LIMIT * (1 - 1e-6)
    else:
        assert slope * size >= LIMIT / (1 - LIMIT) * compute * (1 - 1e-9)


def test_advice_begins_with_the_cheapest() -> None:
    fits = {name: Fit(floor, 0, 1, 0, 0) for name, floor in (("tcp", 40_000.0), ("shm", 10_000.0), ("unix", 30_000.0))}
    assert [each.transport for each in advise(1000, 8, fits)] == ["shm", "unix", "tcp"]
