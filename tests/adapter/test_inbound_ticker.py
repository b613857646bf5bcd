"""`parse_ticker`: the values of a ticker in one pass are those that the single functions give, whatever the texts."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from derive_bench.adapter.errors import DecodeError
from derive_bench.adapter.inbound import (
    parse_funding_rate,
    parse_index_price,
    parse_mark_price,
    parse_option_greeks,
    parse_quote,
    parse_ticker,
)
from derive_bench.adapter.instruments import Instrument, InstrumentRegistry
from derive_bench.adapter.messages import OptionPricing, Ticker, TickerBody
from derive_bench.measure.inputs import Inputs

RECORD = Inputs().instruments[0]
TEXTS = st.one_of(
    st.decimals(0, 10**9, places=2).map(str),
    st.decimals(-(10**6), 10**6, places=6).map(lambda value: f"{value:f}"),
    st.sampled_from(
        [
            "0",
            "-0",
            "1e3",
            "1E-2",
            "0.005",
            "0.015",
            "99999999999999999999.99",
            "9" * 41,
            "",
            " 1",
            "1,2",
            "01",
            "+1",
            "x",
            "1.",
            "NaN",
            "é",
        ]
    ),
)


def instrument(tick: str, step: str) -> Instrument:
    name = RECORD["instrument_name"]
    return InstrumentRegistry([{**RECORD, "tick_size": tick, "amount_step": step}])[name]


SINGLE = (parse_quote, parse_mark_price, parse_index_price, parse_funding_rate, parse_option_greeks)
RATES = st.one_of(
    st.none(), TEXTS, st.decimals(-1, 1, places=12).map(lambda value: f"{value:f}"), st.sampled_from(["-", "--1", "-1e-8", "- 1"])
)
PRICING = ("ai", "bi", "d", "f", "g", "i", "m", "r", "t", "v")
PRICINGS = st.one_of(st.none(), st.just(["0.5"] * 10), st.lists(TEXTS, min_size=10, max_size=10))


@given(
    st.lists(TEXTS, min_size=6, max_size=6),
    RATES,
    PRICINGS,
    st.sampled_from([("0.01", "0.001"), ("0.5", "10"), ("1", "0.00000001"), ("0.000000000001", "1")]),
)
def test_a_ticker_in_one_pass_is_what_the_single_functions_give(
    texts: list[str], rate: str | None, pricing: list[str] | None, units: tuple[str, str]
) -> None:
    bid, ask, bid_size, ask_size, mark, index = texts
    greeks = None if pricing is None else OptionPricing(**dict(zip(PRICING, pricing, strict=True)))
    ticker = Ticker(TickerBody(A=ask_size, B=bid_size, I=index, M=mark, a=ask, b=bid, t=4, f=rate, option_pricing=greeks), 5)
    traded = instrument(*units)
    singly = outcome(lambda: tuple(part for parse in SINGLE if (part := parse(ticker, traded, 9)) is not None))
    assert outcome(lambda: parse_ticker(ticker, traded, 9)) == singly


def outcome(parse: Callable[[], object]) -> object:
    """What a call gives, or the text of its refusal."""
    try:
        return parse()
    except DecodeError as error:
        return str(error)
