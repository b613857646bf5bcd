"""Domain types: public, immutable, and exact whatever the thread's decimal context says."""

from __future__ import annotations

import decimal
from decimal import Decimal
from enum import Enum
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from derive_bench.adapter import model
from derive_bench.adapter.model import (
    AggressorSide,
    Bar,
    FundingRateUpdate,
    IndexPriceUpdate,
    MarkPriceUpdate,
    OptionGreeks,
    OrderSide,
    QuoteTick,
    TradeTick,
)

RAW = st.integers(-(10**45), 10**45)
PRECISION = st.integers(0, 18)


def test_every_public_type_is_a_frozen_struct_or_an_enum_of_words() -> None:
    for name in model.__all__:
        kind = getattr(model, name)
        if issubclass(kind, Enum):
            assert all(isinstance(member, str) and member == name for name, member in kind.__members__.items())
        else:
            assert kind.__struct_config__.frozen


def test_words_are_texts() -> None:
    assert OrderSide.BUY == "BUY"
    assert msgspec.json.encode(AggressorSide.BUYER) == b'"BUYER"'


@given(RAW, RAW, PRECISION, PRECISION)
def test_decimal_views_are_the_raw_numbers_at_their_precision(price: int, size: int, price_precision: int, size_precision: int) -> None:
    with decimal.localcontext(decimal.Context(prec=4, Emax=9, Emin=-9)):
        quote = QuoteTick("X.DERIVE", price, price, size, size, price_precision, size_precision, 1, 2)
        trade = TradeTick("X.DERIVE", price, size, price_precision, size_precision, AggressorSide.BUYER, "t", 1, 2)
        bar = Bar("X.DERIVE", price, price, price, price, size, price_precision, size_precision, 1, 2)
        mark = MarkPriceUpdate("X.DERIVE", price, price_precision, 1, 2)
        prices: list[Decimal] = [quote.bid_price, quote.ask_price, trade.price, bar.open, bar.high, bar.low, bar.close, mark.value]
        sizes: list[Decimal] = [quote.bid_size, quote.ask_size, trade.size, bar.volume]
    for values, raw, precision in ((prices, price, price_precision), (sizes, size, size_precision)):
        assert {value.as_tuple() for value in values} == {Decimal((raw < 0, Decimal(abs(raw)).as_tuple().digits, -precision)).as_tuple()}


def test_a_mark_is_no_index_price() -> None:
    mark: Any = MarkPriceUpdate("X.DERIVE", 1, 2, 3, 4)
    assert mark != IndexPriceUpdate("X.DERIVE", 1, 2, 3, 4)
    assert mark == MarkPriceUpdate("X.DERIVE", 1, 2, 3, 4)


def greeks_of(**changes: Any) -> OptionGreeks:
    numbers: dict[str, Any] = {
        "delta": "0.5",
        "gamma": "0.00036344",
        "vega": "0.40175",
        "theta": "-0.90562",
        "rho": "16.38143",
        "mark_iv": "0.67698",
        "bid_iv": "0",
        "ask_iv": "0.88815",
        "underlying_price": "1992.6",
        "open_interest": "42.13",
    }
    fields: dict[str, Any] = {"instrument_id": "X.DERIVE", "ts_event": 1, "ts_init": 2}
    for name, value in changes.items():
        (numbers if name in numbers else fields)[name] = value
    return OptionGreeks(**fields, numbers=f"[{','.join(numbers.values())}]".encode())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delta", "0.6"),
        ("open_interest", "null"),
        ("open_interest", "1"),
        ("ts_event", 5),
        ("ts_init", 5),
        ("instrument_id", "Y.DERIVE"),
    ],
)
def test_greeks_differ_when_one_of_their_values_does(name: str, value: Any) -> None:
    assert greeks_of() == greeks_of(delta="0.50", bid_iv="0.000")
    assert (greeks_of() != greeks_of(delta="0.50")) is False
    assert greeks_of() != greeks_of(**{name: value})
    assert (greeks_of() == greeks_of(**{name: value})) is False


def test_greeks_read_one_by_one_are_those_read_together() -> None:
    greeks = greeks_of()
    one_by_one = (
        *(greeks.delta, greeks.gamma, greeks.vega, greeks.theta, greeks.rho, greeks.mark_iv, greeks.bid_iv, greeks.ask_iv),
        *(greeks.underlying_price, greeks.open_interest),
    )
    assert greeks.as_decimals() == one_by_one
    assert greeks.as_floats() == tuple(map(float, one_by_one))  # type: ignore[arg-type]


def test_funding_rates_differ_when_one_of_their_values_does() -> None:
    rate = FundingRateUpdate("X.DERIVE", "0.10", 1, 2)
    assert rate == FundingRateUpdate("X.DERIVE", "0.1", 1, 2)
    assert (rate != FundingRateUpdate("X.DERIVE", "0.1", 1, 2)) is False
    for other in (
        FundingRateUpdate("Y.DERIVE", "0.10", 1, 2),
        FundingRateUpdate("X.DERIVE", "0.11", 1, 2),
        FundingRateUpdate("X.DERIVE", "0.10", 3, 2),
        FundingRateUpdate("X.DERIVE", "0.10", 1, 3),
        "0.10",
    ):
        assert rate != other
