"""Rounding by real multiples, against exact fractions; the least fee cap."""

from __future__ import annotations

import decimal
import random
from decimal import Decimal, localcontext
from fractions import Fraction
from math import ceil, floor
from typing import Any

import pytest

from derive_bench.adapter.errors import CallerError, OrderRefused
from derive_bench.adapter.instruments import Instrument, InstrumentRegistry
from derive_bench.adapter.outbound import least_max_fee, round_to_step, round_to_tick
from tests.adapter.outbound_support import make_encoder, make_order, record

MODES = [name for name in dir(decimal) if name.startswith("ROUND_") and name != "ROUND_05UP"]


def instrument(**changes: Any) -> Instrument:
    return InstrumentRegistry([record(**changes)])["ETH-PERP"]


def rounded(value: Fraction, multiple: Fraction, mode: str) -> Fraction:
    quotient = value / multiple
    low, high = floor(quotient), ceil(quotient)
    toward, away = (low, high) if quotient >= 0 else (high, low)
    nearer = low if quotient - low < high - quotient else high
    tie = quotient - low == high - quotient
    choice = {
        "ROUND_FLOOR": low,
        "ROUND_CEILING": high,
        "ROUND_DOWN": toward,
        "ROUND_UP": away,
        "ROUND_HALF_DOWN": toward if tie else nearer,
        "ROUND_HALF_UP": away if tie else nearer,
        "ROUND_HALF_EVEN": (low if low % 2 == 0 else high) if tie else nearer,
    }[mode]
    return choice * multiple


@pytest.mark.parametrize("mode", MODES)
def test_rounding_is_exact(mode: str) -> None:
    rng = random.Random(mode)
    for _ in range(300):
        multiple = rng.choice(("0.01", "0.5", "5", "0.3", "0.00001", "100"))
        places = rng.choice((0, 1, 3, 18))
        value = Decimal(rng.randint(-(10**25), 10**25)).scaleb(-places)
        if rng.random() < 0.5:
            value = Decimal(multiple) * rng.randint(-1000, 1000) / 2
        with localcontext(prec=3):
            price = round_to_tick(instrument(tick_size=multiple), value, mode)
            amount = round_to_step(instrument(amount_step=multiple), str(value), mode)
        expected = rounded(Fraction(value), Fraction(multiple), mode)
        assert Fraction(price) == Fraction(amount) == expected


def test_the_usual_modes() -> None:
    eth = instrument(tick_size="0.5", amount_step="0.3")
    assert [round_to_tick(eth, price) for price in ("3500.25", "3500.75", 7)] == [
        Decimal(3500),
        Decimal(3501),
        Decimal(7),
    ]
    assert round_to_step(eth, "0.89") == Decimal("0.6"), "an amount is not made larger"


def test_what_was_rounded_is_taken() -> None:
    fields = record(tick_size="0.3", amount_step="5", minimum_amount="5")
    eth = InstrumentRegistry([fields])["ETH-PERP"]
    order = make_order(limit_price=round_to_tick(eth, "3500.01"), amount=round_to_step(eth, "13.7"))
    assert b'"amount":"10","limit_price":"3500.1"' in make_encoder(make_encoder()._protocol, fields).submit(order)


@pytest.mark.parametrize("value", [1.5, "abc", None, Decimal("NaN"), "1e-19"])
def test_what_is_no_value_is_refused(value: Any) -> None:
    with pytest.raises(CallerError):
        round_to_tick(instrument(), value)


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(OrderRefused, match="ROUND_FLOOR") as refusal:
        round_to_step(instrument(), 1, "floor")
    assert refusal.value.field == "rounding"


def test_the_least_max_fee() -> None:
    eth = instrument(taker_fee_rate="0.0003", maker_fee_rate="0.0001", base_fee="0.1")
    assert least_max_fee(eth, 3500) == Decimal("2.1"), "2 * 0.0003 * 3500"
    assert least_max_fee(eth, "3500", "0.5") == Decimal("2.3"), "and 0.1 / 0.5"
    assert least_max_fee(eth, 3500, 3) == Decimal("2.133333333334"), "rounded up to what v3 can carry"
    assert least_max_fee(eth, 3500, 3, digits=2) == Decimal("2.14")
    dearer = instrument(taker_fee_rate="0", maker_fee_rate="0.0002", base_fee="0")
    assert least_max_fee(dearer, 1000, 1) == Decimal("0.4")
    with localcontext(prec=3):
        assert least_max_fee(eth, Decimal("123456789.123")) == Decimal("74074.0734738")
    with pytest.raises(OrderRefused, match="amount"):
        least_max_fee(eth, 3500, 0)
