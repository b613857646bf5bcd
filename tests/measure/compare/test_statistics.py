"""Statistics: Student's tail against tables, Holm by hand, quantiles against the standard library."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive_bench.measure.compare.statistics import Samples, critical, estimate, holm, quantile, student


@pytest.mark.parametrize(
    ("freedom", "p", "t"),
    [
        (1, 0.05, 12.706205), (2, 0.05, 4.302653), (4, 0.05, 2.776445), (8, 0.05, 2.306004), (9, 0.001, 4.780913), (18, 0.01, 2.878440),
    ],
)  # fmt: skip
def test_student_agrees_with_the_tables(freedom: int, p: float, t: float) -> None:
    assert student(t, freedom) == pytest.approx(p, rel=1e-5)
    assert critical(freedom, p) == pytest.approx(t, rel=1e-6)


@settings(max_examples=60)
@given(st.floats(-8, 8), st.integers(1, 60))
def test_student_agrees_with_the_integral_of_its_density(t: float, freedom: int) -> None:
    constant = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    steps = 400
    width = abs(t) / steps

    def density(x: float) -> float:
        value: float = constant * (1 + x * x / freedom) ** (-(freedom + 1) / 2)
        return value

    inside = width / 3 * sum((1 if i in (0, steps) else 4 if i % 2 else 2) * density(i * width) for i in range(steps + 1))
    assert student(t, freedom) == pytest.approx(1 - 2 * inside, abs=1e-5)


def test_holm_corrects_by_rank_and_keeps_the_order() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_is_never_below_the_chance_itself(values: list[float]) -> None:
    corrected = holm(values)
    assert all(value <= other <= 1 for value, other in zip(values, corrected, strict=True))
    assert min(corrected) == pytest.approx(min(1, min(values) * len(values)))


@given(st.lists(st.floats(0.1, 100), min_size=2, max_size=40))
def test_quantiles_agree_with_the_standard_library(values: list[float]) -> None:
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    assert (quantile(values, 0.25), quantile(values, 0.75)) == pytest.approx((low, high))


def test_one_bad_round_moves_the_estimate_little() -> None:
    base = [0.0, 0.01, -0.01, 0.005, -0.005, 0.0, 0.01, -0.01]
    good = Samples(base, [value + 0.2 for value in base], paired=False)
    bad = Samples(base, [*(value + 0.2 for value in base[:-1]), 2.0], paired=False)
    assert estimate(good, 0.01).change == pytest.approx(0.2)
    assert estimate(bad, 0.01).change == pytest.approx(0.2, abs=0.01)


def test_a_row_is_never_believed_to_be_steadier_than_the_floor() -> None:
    steady = Samples([0.0, 0.0, 0.0], [0.1, 0.1, 0.1], paired=True)
    assert estimate(steady, 0.02).error == pytest.approx(0.02 / math.sqrt(3))


def test_pairs_take_out_what_both_met() -> None:
    weather = [0.0, 0.5, -0.3, 0.8, 0.1]
    pairs = Samples(weather, [value + 0.1 for value in weather], paired=True)
    assert estimate(pairs, 0.001).change == pytest.approx(0.1)
    assert estimate(pairs, 0.001).error < 0.001
    assert (pairs.freedom, pairs.agreement) == (4, 1.0)
    assert Samples([0.0], [1.0], paired=False).freedom == 0
