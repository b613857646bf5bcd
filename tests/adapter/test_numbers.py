"""Number texts: legal or refused by the grammar and the limits, exact and half-even against decimal arithmetic."""

from __future__ import annotations

import decimal
from decimal import Decimal
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derive_bench.adapter.errors import DecodeError
from derive_bench.adapter.numbers import exact, from_scaled, plain, scaled
from tests.adapter.wire import ILLEGAL_TEXTS, is_legal, number_text, rounded_raw

LEGAL_EDGES = (
    *("0", "-0", "0.0", "1", "10", "0.1", "1e0", "1E5", "1e+5", "1e-5", "1.0E-0", "-1.5", "9" * 40, "0." + "9" * 40, "-" + "9" * 40),
    *("9" * 39 + ".9", "1e60", "1e-60", "9" * 40 + "e60", "0." + "0" * 100 + "1", "0e60", "1e00000000000060", "1e-000000000000001"),
    *("0." + "0" * 5_000, "1e" + "0" * 1_000 + "2"),
)
GRAMMAR = st.tuples(
    st.sampled_from(["", "", "-", "+", "0"]),
    st.integers(0, 10**21).map(str),
    st.one_of(st.just(""), st.text("0123456789", max_size=25).map(".{}".format)),
    st.one_of(st.just(""), st.integers(-70, 70).map("e{}".format), st.integers(0, 70).map("E+{}".format)),
).map("".join)
NEARLY = st.text(alphabet='0123456789+-.eE_ nx,\n"', max_size=12)


@pytest.mark.parametrize("text", ILLEGAL_TEXTS, ids=lambda text: ascii(text[:12]))
def test_illegal_texts_are_refused_with_the_path(text: str) -> None:
    assert not is_legal(text)
    with pytest.raises(DecodeError) as caught:
        exact(text, "$.here")
    assert caught.value.path == "$.here"
    assert len(str(caught.value)) < 250
    for precision in (0, 2, 18):
        with pytest.raises(DecodeError) as caught:
            scaled(text, precision, "$.there")
        assert caught.value.path == "$.there"


@pytest.mark.parametrize("text", LEGAL_EDGES, ids=lambda text: text[:12])
def test_legal_texts_at_the_edges_are_taken_exactly(text: str) -> None:
    assert is_legal(text)
    assert exact(text) == Decimal(text)
    for precision in range(19):
        assert scaled(text, precision) == rounded_raw(text, precision)


@given(st.one_of(GRAMMAR, NEARLY), st.integers(0, 18))
def test_any_text_is_taken_or_refused_as_the_rules_say(text: str, precision: int) -> None:
    if is_legal(text):
        assert exact(text).as_tuple() == Decimal(text).as_tuple()
        assert scaled(text, precision) == rounded_raw(text, precision)
    else:
        for read in (lambda: exact(text), lambda: scaled(text, precision)):
            with pytest.raises(DecodeError):
                read()


def test_thousands_of_numbers_are_scaled_as_decimal_arithmetic_scales_them() -> None:
    rng = Random(1)
    for _ in range(8_000):
        precision = rng.randrange(19)
        text = number_text(rng, precision)
        assert scaled(text, precision) == rounded_raw(text, precision), (text, precision)


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize(
    ("text", "raw"), [("0.005", 0), ("0.015", 2), ("0.025", 2), ("0.0250000001", 3), ("0.0249999999", 2), ("1.995", 200), ("2.345", 234)]
)
def test_ties_go_to_the_even_neighbour(text: str, raw: int, sign: str) -> None:
    assert scaled(sign + text, 2) == (-raw if sign else raw)


@pytest.mark.parametrize("power", [51, 52, 53, 54])
def test_a_fraction_that_a_double_cannot_hold_still_counts(power: int) -> None:
    for whole in range(2**power - 3, 2**power + 4):
        for fraction, up in ((".5", whole % 2), (".50000000000000000001", 1), (".49999999999999999999", 0), (".9999", 1), (".0001", 0)):
            assert scaled(f"{whole}{fraction}", 0) == whole + up


def test_the_threads_decimal_context_changes_nothing() -> None:
    with decimal.localcontext(decimal.Context(prec=3, rounding=decimal.ROUND_UP, Emax=5, Emin=-5)):
        assert scaled("12345678901234567890.125", 2) == 1234567890123456789012
        assert str(exact("12345678901234567890.125")) == "12345678901234567890.125"
        assert str(from_scaled(1234567890123456789012, 2)) == "12345678901234567890.12"


def test_a_scaled_number_keeps_its_scale_and_a_plain_text_has_no_exponent() -> None:
    assert from_scaled(150, 2).as_tuple() == Decimal("1.50").as_tuple()
    assert from_scaled(-7, 0).as_tuple() == Decimal(-7).as_tuple()
    assert plain(Decimal("1E+3")) == "1000"
    assert plain(Decimal("1.50E-10")) == "0.000000000150"


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_a_plain_text_is_the_same_value(value: Decimal) -> None:
    text = plain(value)
    assert "e" not in text.lower()
    assert Decimal(text) == value
