"""Percentiles of the nearest rank and how a burst settles."""

from __future__ import annotations

import numbers
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derive_bench.measure.tail.figures import burst, distribution, percentile


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=50), st.integers(1, 1_000))
def test_percentile_is_the_least_duration_that_so_many_do_not_exceed(durations: list[int], per_mille: int) -> None:
    found = percentile(sorted(durations), per_mille)
    needed = ceil(len(durations) * per_mille / 1_000)
    assert found in durations
    assert sum(one <= found for one in durations) >= needed
    assert sum(one < found for one in durations) < needed


def test_distribution_of_a_thousand_calls() -> None:
    found = distribution(list(range(1_000, 0, -1)))
    assert found == {"p50_ns": 500, "p99_ns": 990, "p999_ns": 999, "max_ns": 1_000, "mean_ns": 500.5}
    assert all(isinstance(value, numbers.Real) for value in found.values())


def test_burst_tells_the_first_call_from_the_rest() -> None:
    one = [900, 400, 160, 140, *[100] * 996]
    found = burst([one, [*one], [100_000, *one[1:]]])
    assert (found["first_ns"], found["rest_p50_ns"], found["settled_after"]) == (900, 100, 3)
    assert found["max_ns"] == 100_000


@pytest.mark.parametrize(("durations", "settled"), [([100] * 200, 0), ([100, 1_000] * 100, 200)])
def test_settled_at_once_and_never(durations: list[int], settled: int) -> None:
    assert burst([durations])["settled_after"] == settled
