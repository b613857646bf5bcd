"""Scaling to wei: exact or refused, against decimal arithmetic of a precision that loses nothing."""

from __future__ import annotations

import decimal
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive_bench.adapter.errors import SigningError
from derive_bench.adapter.protocol import V2_MAINNET, V3_MAINNET, Protocol
from derive_bench.adapter.signing import to_wei, wei_converter
from derive_bench.adapter.signing.wei import wei_limits

EXACT = decimal.Context(prec=2_000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[decimal.Inexact])
PROTOCOLS = pytest.mark.parametrize("protocol", [V3_MAINNET, V2_MAINNET], ids=lambda p: p.name)


def expected(value: Decimal, protocol: Protocol, field: str) -> int | None:
    """The wei of a value, or None where it must be refused."""
    unit = EXACT.scaleb(value, protocol.max_fraction_digits)
    wei = EXACT.scaleb(value, 18)
    low, high = wei_limits(protocol, field)
    if unit != unit.to_integral_value() or not low <= wei <= high:
        return None
    return int(wei)


def converted(value: Any, protocol: Protocol, field: str) -> int | None:
    try:
        return to_wei(value, protocol, field)
    except SigningError as error:
        if not str(error).startswith(f"{field}: "):
            raise
        return None


decimals = st.builds(
    lambda sign, digits, exponent: Decimal((sign, tuple(map(int, str(digits))), exponent)),
    st.integers(0, 1),
    st.one_of(st.integers(0, 10**6), st.integers(0, 10**40), st.integers(10**27, 10**30)),
    st.integers(-45, 45),
)


@PROTOCOLS
@settings(max_examples=500)
@given(value=decimals, field=st.sampled_from(["limit_price", "amount", "max_fee"]))
def test_decimals_and_their_texts(protocol: Protocol, value: Decimal, field: str) -> None:
    right = expected(value, protocol, field)
    assert converted(value, protocol, field) == right
    assert converted(format(value, "f"), protocol, field) == right
    assert converted(str(value), protocol, field) == right


@PROTOCOLS
@given(value=st.one_of(st.integers(-(10**6), 10**6), st.integers(-(10**80), 10**80)))
def test_integers(protocol: Protocol, value: int) -> None:
    assert converted(value, protocol, "amount") == expected(Decimal(value), protocol, "amount")


@PROTOCOLS
def test_the_default_context_s_28_digits_do_not_matter(protocol: Protocol) -> None:
    text = "12345678901234567.890123456789"
    with decimal.localcontext(decimal.Context(prec=5)):
        assert to_wei(text, protocol, "limit_price") == 12345678901234567890123456789 * 10**6
        assert to_wei(Decimal(text), protocol, "limit_price") == 12345678901234567890123456789 * 10**6


def test_forty_digits_and_the_smallest_size() -> None:
    text = "1234567890123456789012.123456789012345678"
    assert to_wei(text, V2_MAINNET, "limit_price") == 1234567890123456789012123456789012345678
    assert to_wei("0.000000000000000001", V2_MAINNET, "amount") == 1
    assert to_wei("-0.000000000000000001", V2_MAINNET, "amount") == -1
    assert to_wei("0.000000000001", V3_MAINNET, "amount") == 10**6
    assert to_wei("1." + "0" * 100, V3_MAINNET, "amount") == 10**18


@pytest.mark.parametrize(("protocol", "digits"), [(V3_MAINNET, 12), (V2_MAINNET, 18)])
def test_one_digit_too_many_is_refused_not_rounded(protocol: Protocol, digits: int) -> None:
    for value in (Decimal(1).scaleb(-digits - 1), Decimal(5).scaleb(-digits - 1), Decimal("1e-3000"), Decimal("1e-300000")):
        for field in ("limit_price", "amount", "max_fee"):
            with pytest.raises(SigningError, match=rf"^{field}: .* more than {digits} fractional digits"):
                to_wei(value, protocol, field)


@pytest.mark.parametrize(
    ("protocol", "field", "low", "high", "kind"),
    [
        (V3_MAINNET, "limit_price", -(2**127), 2**127 - 1, "int128"),
        (V3_MAINNET, "amount", -(2**127), 2**127 - 1, "int128"),
        (V3_MAINNET, "max_fee", 0, 2**128 - 1, "uint128"),
        (V2_MAINNET, "limit_price", -(2**255), 2**255 - 1, "int256"),
        (V2_MAINNET, "amount", -(2**255), 2**255 - 1, "int256"),
        (V2_MAINNET, "max_fee", 0, 2**256 - 1, "uint256"),
    ],
)
def test_edges_of_the_ranges(protocol: Protocol, field: str, low: int, high: int, kind: str) -> None:
    unit = 10 ** (18 - protocol.max_fraction_digits)
    lowest, highest = -(-low // unit) * unit, high // unit * unit
    for wei in (lowest, highest):
        value = EXACT.scaleb(Decimal(wei), -18)
        assert to_wei(value, protocol, field) == wei
        assert to_wei(format(value, "f"), protocol, field) == wei
    for wei in (lowest - unit, highest + unit):
        with pytest.raises(SigningError, match=rf"^{field}: .* is outside {kind}, {low} to {high}$"):
            to_wei(EXACT.scaleb(Decimal(wei), -18), protocol, field)


@pytest.mark.parametrize("value", ["1e90", "-1e99999", Decimal("1e119"), Decimal("9" * 130), Decimal("1e999999"), 10**200, 10**4_000])
def test_far_out_of_range(value: Any) -> None:
    with pytest.raises(SigningError, match=r"^amount: .* is outside int128"):
        to_wei(value, V3_MAINNET, "amount")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1 ",
        " 1",
        "+1",
        ".5",
        "1.",
        "01",
        "-",
        "1_0",
        "0x10",
        "NaN",
        "Infinity",
        "-inf",
        "1,5",
        "١",
        "1\n",
        "1e",
        "9" * 300,
        "1e1234567",
    ],
)
def test_texts_that_are_no_numbers(text: str) -> None:
    with pytest.raises(SigningError, match=r"^limit_price: .* is not a decimal number"):
        to_wei(text, V3_MAINNET, "limit_price")


@pytest.mark.parametrize("value", [Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("-Infinity")])
def test_decimals_that_are_no_numbers(value: Decimal) -> None:
    with pytest.raises(SigningError, match=r"^amount: .* is not a finite number"):
        to_wei(value, V3_MAINNET, "amount")


@pytest.mark.parametrize("value", [1.5, True, None, b"1", [1], 1j])
def test_other_types_are_refused(value: Any) -> None:
    with pytest.raises(SigningError, match=rf"^amount: .* is a {type(value).__name__}; give a Decimal"):
        to_wei(value, V3_MAINNET, "amount")


def test_subclasses_are_taken_by_value() -> None:
    class Price(Decimal):
        pass

    class Lots(int):
        pass

    assert to_wei(Price("1.5"), V3_MAINNET, "amount") == 1_500_000_000_000_000_000
    assert to_wei(Lots(2), V3_MAINNET, "amount") == 2 * 10**18


@pytest.mark.parametrize("text", ["0", "-0", "0.000", "0e500", "0e-500"])
def test_zeros(text: str) -> None:
    assert to_wei(text, V3_MAINNET, "max_fee") == 0
    assert to_wei(Decimal(text), V3_MAINNET, "max_fee") == 0


def test_a_long_value_is_named_in_short() -> None:
    with pytest.raises(SigningError) as caught:
        to_wei(Decimal("1." + "1" * 5_000), V3_MAINNET, "amount")
    assert len(str(caught.value)) < 200


def test_a_changed_protocol_changes_the_rule() -> None:
    assert wei_converter(V3_MAINNET.replace(max_fraction_digits=18), "amount")("0.000000000000000001") == 1
