"""The depth fit: families of rows, and the line against exact and disturbed points."""

from __future__ import annotations

import math
from statistics import linear_regression

import pytest

from derive_bench.measure.depth import DEPTHS, families, fit

BASE = "inbound_pipeline/book_deltas"


def rows(base: str, tail: str = "") -> dict[str, float]:
    return {base + tail: 1.0} | {f"{base}_d{depth}{tail}": float(depth) for depth in DEPTHS[1:]}


def test_a_family_is_a_row_and_its_twins_of_other_depths() -> None:
    assert families(rows(BASE)) == {BASE: {1: 1.0, 10: 10.0, 20: 20.0, 100: 100.0}}


def test_suffixes_make_families_of_their_own() -> None:
    tails = ("", "_cold", "_consumed", "_consumed_cold")
    medians = {name: median for tail in tails for name, median in rows(BASE, tail).items()}
    assert set(families(medians)) == {BASE + tail for tail in tails}


def test_only_whole_families_count() -> None:
    medians = rows(BASE)
    del medians[f"{BASE}_d20"]
    assert families(medians) == {}
    assert families({"atom/price_from_decimal_dp": 1.0, "inbound_pipeline/quotes": 1.0}) == {}


def test_points_on_a_line() -> None:
    line = fit({depth: 3e-7 + 2e-7 * depth for depth in DEPTHS})
    assert (line.fixed, line.per_level) == pytest.approx((3e-7, 2e-7))
    assert (line.fixed_error, line.per_level_error, line.worst) == pytest.approx((0, 0, 0), abs=1e-12)
    assert line.r_squared == pytest.approx(1)


def test_points_beside_a_line() -> None:
    points = {1: 0.8e-6, 10: 2.1e-6, 20: 3.5e-6, 100: 16.2e-6}
    line = fit(points)
    slope, intercept = linear_regression(list(points), list(points.values()))
    assert (line.fixed, line.per_level) == pytest.approx((intercept, slope))
    residuals = [y - intercept - slope * x for x, y in points.items()]
    sigma = math.sqrt(sum(r * r for r in residuals) / 2)
    mean = sum(points) / 4
    spread = sum((x - mean) ** 2 for x in points)
    assert line.per_level_error == pytest.approx(sigma / math.sqrt(spread))
    assert line.fixed_error == pytest.approx(sigma * math.sqrt(1 / 4 + mean**2 / spread))
    assert line.worst == pytest.approx(max(abs(r) / y for r, y in zip(residuals, points.values(), strict=True)))
    assert 0.999 < line.r_squared < 1


def test_growth_that_is_not_linear_shows() -> None:
    line = fit({depth: 1e-9 * depth**2 for depth in DEPTHS})
    assert line.r_squared < 0.99
    assert line.worst > 1


def test_constant_cost_has_no_slope() -> None:
    line = fit(dict.fromkeys(DEPTHS, 2.0))
    assert (line.per_level, line.r_squared) == (0, 1)
