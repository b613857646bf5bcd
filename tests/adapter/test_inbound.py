"""Typed messages to domain types: each rule, each number against decimal arithmetic, each illegal text at its path."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

import msgspec
import pytest

from derive_bench.adapter.errors import DecodeError, UnknownInstrument
from derive_bench.adapter.frames import Subscription, decode, decode_candles
from derive_bench.adapter.inbound import (
    parse_bar,
    parse_fill_report,
    parse_funding_rate,
    parse_index_price,
    parse_mark_price,
    parse_option_greeks,
    parse_order_report,
    parse_quote,
    parse_trade,
    parse_trades,
)
from derive_bench.adapter.instruments import Instrument, InstrumentRegistry
from derive_bench.adapter.messages import Candle, PublicTrade, Ticker
from derive_bench.adapter.model import (
    AggressorSide,
    QuoteTick,
)
from tests.adapter.generated import schema_messages
from tests.adapter.wire import (
    ILLEGAL_TEXTS,
    TOMORROW,
    TS_INIT,
    Num,
    envelope,
    fill_of,
    inputs,
    is_legal,
    made_instrument,
    number_text,
    order_of,
    payload_of,
    registry,
    rounded,
    write,
)
from tests.shared import SHARED, needs_shared

PERP = registry()["ETH-PERP"]
INSTRUMENTS = [
    made_instrument(tick, step)
    for tick, step in (("0.01", "0.001"), ("0.1", "0.01"), ("1", "1"), ("0.5", "5"), ("0.0000001", "0.00001"), ("1e-18", "1e-12"))
]
GREEKS = {
    "delta": "d",
    "gamma": "g",
    "vega": "v",
    "theta": "t",
    "rho": "r",
    "mark_iv": "i",
    "bid_iv": "bi",
    "ask_iv": "ai",
    "underlying_price": "f",
}
PARSERS: tuple[Callable[[Ticker, Instrument, int], Any], ...] = (
    *(parse_quote, parse_mark_price, parse_index_price, parse_funding_rate, parse_option_greeks),
)


def ticker_of(*, bare: float = 0.0, stats: Any = None, pricing: Any = None, timestamp: Any = 1_790_871_617_137, **fields: Any) -> Ticker:
    """The decoded slim ticker of our data with fields changed."""
    tree = json.loads(inputs().payload_bytes("ticker"))
    tree["timestamp"] = timestamp
    tree["instrument_ticker"].update(fields)
    if stats is not None:
        tree["instrument_ticker"]["stats"] = stats
    if pricing is not None:
        tree["instrument_ticker"]["option_pricing"] = pricing
    return payload_of("ticker_slim.ETH-PERP.100", tree, bare)  # type: ignore[no-any-return]


def trade_of(bare: float = 0.0, **fields: Any) -> PublicTrade:
    return payload_of("trades.ETH-PERP", [{**inputs().payload("trade")[0], **fields}], bare)[0]  # type: ignore[no-any-return]


def candle_of(bare: float = 0.0, **fields: Any) -> Candle:
    return decode_candles(write([{**inputs().payload("candles")[0], **fields}], bare=bare).encode())[0]


def same_scale(value: Decimal, text: str, precision: int) -> bool:
    return value.as_tuple()[1:] == rounded(text, precision).as_tuple()[1:] and value == rounded(text, precision)


# Quotes and prices


def test_a_quote_is_best_bid_and_ask_at_the_publication_time() -> None:
    quote = parse_quote(ticker_of(b="10.5", a="10.51", B="1", A="2.25", t=5), PERP, TS_INIT)
    assert quote == QuoteTick("ETH-PERP.DERIVE", 1050, 1051, 1000, 2250, 2, 3, 1_790_871_617_137_000_000, TS_INIT)
    assert [str(n) for n in (quote.bid_price, quote.ask_price, quote.bid_size, quote.ask_size)] == ["10.50", "10.51", "1.000", "2.250"]


def test_an_empty_side_is_price_and_size_zero() -> None:
    quote = parse_quote(ticker_of(a="0", A="0", b="1", B="1"), PERP, TS_INIT)
    assert (str(quote.ask_price), str(quote.ask_size), str(quote.bid_price)) == ("0.00", "0.000", "1.00")
    both = parse_quote(ticker_of(a="0", A="0", b="0.0", B="-0"), PERP, TS_INIT)
    assert (both.bid_price_raw, both.ask_price_raw, both.bid_size_raw, both.ask_size_raw) == (0, 0, 0, 0)


def test_the_venues_publication_time_counts_and_not_the_tickers_creation() -> None:
    ticker = ticker_of(timestamp=1_700_000_000_123, t=1_600_000_000_000, f="0")
    for parse in PARSERS[:4]:
        update = parse(ticker, PERP, 99)
        assert (update.ts_event, update.ts_init) == (1_700_000_000_123_000_000, 99)


def test_thousands_of_tickers_are_rounded_as_decimal_arithmetic_rounds() -> None:
    rng = Random(5)
    for _ in range(1_500):
        instrument = rng.choice(INSTRUMENTS)
        price, size = instrument.price_precision, instrument.size_precision
        plain = rng.random() < 0.5
        texts = {
            name: f"{rng.randrange(10**5)}.{rng.randrange(10)}" if plain and places else number_text(rng, places)
            for name, places in (("b", price), ("a", price), ("B", size), ("A", size), ("M", price), ("I", price))
        }
        ticker = ticker_of(bare=rng.choice((0, 0, 1)), **{name: Num(text) for name, text in texts.items()})
        quote = parse_quote(ticker, instrument, 0)
        assert same_scale(quote.bid_price, texts["b"], price), texts
        assert same_scale(quote.ask_price, texts["a"], price), texts
        assert same_scale(quote.bid_size, texts["B"], size), texts
        assert same_scale(quote.ask_size, texts["A"], size), texts
        assert same_scale(parse_mark_price(ticker, instrument, 0).value, texts["M"], price), texts
        assert same_scale(parse_index_price(ticker, instrument, 0).value, texts["I"], price), texts


def test_mark_and_index_price_are_two_things() -> None:
    ticker = ticker_of(M="10.005", I="10.015")
    mark, index = parse_mark_price(ticker, PERP, 1), parse_index_price(ticker, PERP, 1)
    assert (str(mark.value), str(index.value)) == ("10.00", "10.02")
    assert (mark.instrument_id, index.price_precision) == ("ETH-PERP.DERIVE", 2)
    same: tuple[Any, Any] = parse_mark_price(ticker_of(M="1"), PERP, 1), parse_index_price(ticker_of(I="1"), PERP, 1)
    assert same[0] != same[1]


# Funding and greeks


@pytest.mark.parametrize("text", ["0.000012500", "-0.00001", "0", "1e-5", "-1.5E-7", "9" * 40, "1e60", "1e-60", "0." + "1" * 40])
@pytest.mark.parametrize("bare", [0, 1])
def test_a_funding_rate_is_exact(text: str, bare: float) -> None:
    update = parse_funding_rate(ticker_of(f=Num(text), bare=bare), PERP, 3)
    assert update is not None
    assert update.rate == Decimal(text)
    assert (update.instrument_id, update.ts_event, update.ts_init) == ("ETH-PERP.DERIVE", 1_790_871_617_137_000_000, 3)


def test_no_funding_rate_is_none() -> None:
    assert parse_funding_rate(ticker_of(f=None), PERP, 3) is None


def pricing_of(**fields: Any) -> dict[str, Any]:
    return {**json.loads(inputs().payload_bytes("ticker_option"))["instrument_ticker"]["option_pricing"], **fields}


def test_without_option_pricing_there_are_no_greeks() -> None:
    assert parse_option_greeks(ticker_of(), PERP, 1) is None


def test_greeks_are_exact_decimals_with_a_view_as_floats() -> None:
    rng = Random(8)
    for number in range(600):
        texts = {name: number_text(rng, rng.randrange(10)) for name in GREEKS.values()} if number else dict.fromkeys(GREEKS.values(), "0.5")
        interest = number_text(rng, 3)
        ticker = ticker_of(
            pricing=pricing_of(**{name: Num(text) for name, text in texts.items()}),
            stats={**inputs().payload("ticker")["instrument_ticker"]["stats"], "oi": Num(interest)},
            bare=rng.choice((0, 0, 1)),
        )
        greeks = parse_option_greeks(ticker, PERP, 4)
        assert greeks is not None
        assert {name: getattr(greeks, name) for name in GREEKS} == {name: Decimal(texts[short]) for name, short in GREEKS.items()}
        assert greeks.open_interest == Decimal(interest)
        assert greeks.as_decimals() == (*(Decimal(texts[short]) for short in GREEKS.values()), Decimal(interest))
        assert greeks.as_floats() == (*(float(texts[short]) for short in GREEKS.values()), float(interest))
        assert (greeks.instrument_id, greeks.ts_event, greeks.ts_init) == ("ETH-PERP.DERIVE", 1_790_871_617_137_000_000, 4)


@pytest.mark.parametrize("stats", [None, {}, {"oi": None}, {"c": "1"}])
def test_greeks_without_an_open_interest(stats: Any) -> None:
    tree = json.loads(inputs().payload_bytes("ticker_option"))
    tree["instrument_ticker"]["stats"] = stats
    greeks = parse_option_greeks(payload_of("ticker_slim.ETH-20261127-2800-C.100", tree), PERP, 1)
    assert greeks is not None
    assert (greeks.open_interest, greeks.as_decimals()[-1], greeks.as_floats()[-1]) == (None, None, None)
    del tree["instrument_ticker"]["stats"]
    missing = parse_option_greeks(payload_of("ticker_slim.ETH-20261127-2800-C.100", tree), PERP, 1)
    assert missing == greeks


@pytest.mark.parametrize("stats", [5, "x", [], {"oi": True}, {"oi": []}])
def test_statistics_of_another_type_are_an_error_at_their_path(stats: Any) -> None:
    ticker = ticker_of(pricing=pricing_of(), stats=stats)
    with pytest.raises(DecodeError) as caught:
        parse_option_greeks(ticker, PERP, 1)
    assert caught.value.path.startswith("$.params.data.instrument_ticker.stats")


def test_funding_and_greeks_are_equal_when_their_values_are() -> None:
    one, same, other = (parse_funding_rate(ticker_of(f=text), PERP, 1) for text in ("0.10", "1e-1", "0.11"))
    assert one == same
    assert hash(one) == hash(same)
    assert (one != same) is False
    assert one != other
    assert one != 5
    first, second, third = (parse_option_greeks(ticker_of(pricing=pricing_of(d=text)), PERP, 1) for text in ("0.5", "0.500", "0.6"))
    assert first == second
    assert hash(first) == hash(second)
    assert (first != second) is False
    assert first != third
    assert first != one


# Trades


@pytest.mark.parametrize(
    ("role", "direction", "aggressor"),
    [
        ("taker", "buy", "BUYER"),
        ("taker", "sell", "SELLER"),
        ("maker", "buy", "SELLER"),
        ("maker", "sell", "BUYER"),
        (None, "buy", "BUYER"),
        (None, "sell", "SELLER"),
        (TOMORROW, "buy", "NO_AGGRESSOR"),
        (TOMORROW, "sell", "NO_AGGRESSOR"),
        ("", "buy", "NO_AGGRESSOR"),
        ("taker", TOMORROW, "NO_AGGRESSOR"),
        ("maker", TOMORROW, "NO_AGGRESSOR"),
        (None, TOMORROW, "NO_AGGRESSOR"),
    ],
)
def test_the_aggressor_follows_direction_and_role(role: str | None, direction: str, aggressor: str) -> None:
    assert parse_trade(trade_of(direction=direction, liquidity_role=role), PERP, 1).aggressor_side is AggressorSide(aggressor)
    if role is None:
        lean = {k: v for k, v in inputs("v2").payload("trade")[0].items() if k != "liquidity_role"}
        assert parse_trade(payload_of("trades.ETH-PERP", [{**lean, "direction": direction}])[0], PERP, 1).aggressor_side.value == aggressor


def test_a_trade_keeps_its_id_and_time() -> None:
    trade = parse_trade(trade_of(trade_id="as it came ", timestamp=5, trade_price="10.5", trade_amount="0.25"), PERP, 9)
    assert (trade.instrument_id, trade.trade_id, trade.ts_event, trade.ts_init) == ("ETH-PERP.DERIVE", "as it came ", 5_000_000, 9)
    assert (trade.price_raw, trade.size_raw, str(trade.price), str(trade.size)) == (1050, 250, "10.50", "0.250")
    assert (trade.price_precision, trade.size_precision) == (2, 3)


def test_thousands_of_trades_are_rounded_as_decimal_arithmetic_rounds() -> None:
    rng = Random(6)
    for _ in range(1_500):
        instrument = rng.choice(INSTRUMENTS)
        price, size = number_text(rng, instrument.price_precision), number_text(rng, instrument.size_precision)
        trade = parse_trade(trade_of(rng.choice((0, 1)), trade_price=Num(price), trade_amount=Num(size)), instrument, 0)
        assert same_scale(trade.price, price, instrument.price_precision), (price, size)
        assert same_scale(trade.size, size, instrument.size_precision), (price, size)


def test_all_trades_of_a_message_each_with_its_own_instrument() -> None:
    rows = [{**inputs().payload("trade")[0], "trade_id": name, "instrument_name": name} for name in ("ETH-PERP", "ETH-USDC", "ETH-PERP")]
    trades = parse_trades(payload_of("trades.perp.ETH", rows), registry(), 2)
    assert [(t.trade_id, t.instrument_id, t.price_precision) for t in trades] == [
        (name, f"{name}.DERIVE", registry()[name].price_precision) for name in ("ETH-PERP", "ETH-USDC", "ETH-PERP")
    ]
    assert parse_trades(payload_of("trades.perp.ETH", []), registry(), 2) == []
    with pytest.raises(UnknownInstrument, match="NO-PERP"):
        parse_trades(payload_of("trades.perp.ETH", [{**rows[0], "instrument_name": "NO-PERP"}]), registry(), 2)


def test_an_illegal_number_in_a_later_trade_has_its_index() -> None:
    rows = [inputs().payload("trade")[0], {**inputs().payload("trade")[0], "trade_price": "NaN"}]
    with pytest.raises(DecodeError) as caught:
        parse_trades(payload_of("trades.ETH-PERP", rows), registry(), 2)
    assert caught.value.path == "$.params.data[1].trade_price"


# Bars


def test_a_bar_starts_with_its_bucket() -> None:
    bar = parse_bar(candle_of(open_price="1", high_price="3.005", low_price="0.5", close_price="2", volume_contracts="7.25"), PERP, 4)
    assert (bar.open_raw, bar.high_raw, bar.low_raw, bar.close_raw, bar.volume_raw) == (100, 300, 50, 200, 7250)
    assert [str(n) for n in (bar.open, bar.high, bar.low, bar.close, bar.volume)] == ["1.00", "3.00", "0.50", "2.00", "7.250"]
    row = inputs().payload("candles")[0]
    assert (bar.instrument_id, bar.ts_event, bar.ts_init) == ("ETH-PERP.DERIVE", row["timestamp_bucket"] * 10**9, 4)
    assert row["timestamp"] != row["timestamp_bucket"]


def test_bars_are_rounded_as_decimal_arithmetic_rounds() -> None:
    rng = Random(9)
    for _ in range(1_000):
        instrument = rng.choice(INSTRUMENTS)
        names = {"open": "open_price", "high": "high_price", "low": "low_price", "close": "close_price", "volume": "volume_contracts"}
        places = {name: instrument.size_precision if name == "volume" else instrument.price_precision for name in names}
        plain = rng.random() < 0.5
        texts = {name: f"{rng.randrange(10**5)}" if plain else number_text(rng, places[name]) for name in names}
        bar = parse_bar(candle_of(rng.choice((0, 1)), **{long: Num(texts[name]) for name, long in names.items()}), instrument, 0)
        for name, text in texts.items():
            assert same_scale(getattr(bar, name), text, places[name]), texts


@pytest.mark.parametrize("seconds", [-1, 2**63, 18_446_744_074, 1.5, "5", None])
def test_a_bucket_out_of_range_is_an_error(seconds: Any) -> None:
    with pytest.raises(DecodeError) as caught:
        candle_of(timestamp_bucket=seconds)
    assert caught.value.path == "$[0].timestamp_bucket"
    assert parse_bar(candle_of(timestamp_bucket=18_446_744_073), PERP, 0).ts_event < 2**64


# Illegal numbers, wherever a number is read

Reader = tuple[Callable[[str], Any], str]
BODY = "$.params.data.instrument_ticker"


def _read_ticker(name: str, parse: Callable[..., Any]) -> Reader:
    return lambda text: parse(ticker_of(**{name: text}), PERP, 0), f"{BODY}.{name}"


def _read_greek(name: str) -> Reader:
    return lambda text: parse_option_greeks(ticker_of(pricing=pricing_of(**{name: text})), PERP, 0), f"{BODY}.option_pricing.{name}"


def _read_interest(text: str) -> Any:
    return parse_option_greeks(ticker_of(pricing=pricing_of(), stats={"oi": text}), PERP, 0)


def _read_order(name: str) -> Reader:
    return lambda text: parse_order_report(order_of(**{name: text}), 0), f"$.{name}"


def _read_fill(name: str) -> Reader:
    return lambda text: parse_fill_report(fill_of(**{name: text}), 0), f"$.{name}"


def _read_candle(name: str) -> Reader:
    return lambda text: parse_bar(candle_of(**{name: text}), PERP, 0, 3), f"$[3].{name}"


READERS: dict[str, Reader] = {
    **{f"quote.{name}": _read_ticker(name, parse_quote) for name in "baBA"},
    "mark": _read_ticker("M", parse_mark_price),
    "index": _read_ticker("I", parse_index_price),
    "funding": _read_ticker("f", parse_funding_rate),
    **{f"greeks.{name}": _read_greek(name) for name in GREEKS.values()},
    "interest": (_read_interest, f"{BODY}.stats.oi"),
    "trade.price": (lambda text: parse_trade(trade_of(trade_price=text), PERP, 0, 2), "$.params.data[2].trade_price"),
    "trade.amount": (lambda text: parse_trade(trade_of(trade_amount=text), PERP, 0, 2), "$.params.data[2].trade_amount"),
    **{f"bar.{name}": _read_candle(name) for name in ("open_price", "high_price", "low_price", "close_price", "volume_contracts")},
    **{f"order.{name}": _read_order(name) for name in ("amount", "average_price", "filled_amount", "limit_price", "trigger_price")},
    **{f"fill.{name}": _read_fill(name) for name in ("trade_amount", "trade_fee", "trade_price")},
}


@pytest.mark.parametrize("where", READERS)
def test_every_illegal_text_is_an_error_at_its_path(where: str) -> None:
    read, path = READERS[where]
    for text in ILLEGAL_TEXTS:
        with pytest.raises(DecodeError) as caught:
            read(text)
        if text != "\ud800":  # which the JSON reader refuses
            assert caught.value.path.rpartition(".")[2] == path.rpartition(".")[2], (text, caught.value.path)
            assert caught.value.path == path or len(text) > 40, (text, caught.value.path)


@pytest.mark.parametrize("where", READERS)
def test_every_legal_edge_is_taken(where: str) -> None:
    read, _ = READERS[where]
    for text in ("0", "-0", "1e60", "-1E-60", "9" * 40, "0." + "9" * 40, "-" + "9" * 39 + ".9", "1e+00", "0." + "0" * 50 + "1"):
        assert is_legal(text)
        assert read(text) is not None


@pytest.mark.parametrize("where", ["quote.b", "quote.A", "trade.price", "bar.close_price", "greeks.d", "interest", "mark", "funding"])
def test_a_text_never_borrows_from_its_neighbours(where: str) -> None:
    """Texts that would close a list, add to it or hide in a string, were they pasted into JSON."""
    read, _ = READERS[where]
    for text in (
        "1,2",
        "1e2,-3",
        "1],[2",
        "1]",
        "[1",
        '1","2',
        '"1"',
        "1e0,-1",
        "1 ,-2",
        "1/*",
        "1\\",
        "1}",
        "1\n,2",
        "-1,-1",
        "--1",
        "1e-",
        "1-2",
        "1.2.3",
    ):
        with pytest.raises(DecodeError):
            read(text)


def test_two_spoiled_texts_do_not_make_a_right_count() -> None:
    for first, second in (("1,2", ""), ("1,-2", ""), ("1e2,-3", "\n"), ('1,"', '"'), ("", "1,2"), ("[1", "2]"), ('"1', '1"')):
        with pytest.raises(DecodeError):
            parse_quote(ticker_of(b=first, a=second), PERP, 0)
        with pytest.raises(DecodeError):
            parse_trade(trade_of(trade_price=first, trade_amount=second), PERP, 0)
        with pytest.raises(DecodeError):
            parse_option_greeks(ticker_of(pricing=pricing_of(d=first, g=second)), PERP, 0)


@pytest.mark.parametrize("text", ["1" * 41, "0." + "1" * 41, "1." + "0" * 40, "0." + "0" * 39 + "1" * 41])
def test_a_message_that_was_not_decoded_is_checked_all_the_same(text: str) -> None:
    """A caller may build a message; short neighbours must not make room for a number of 41 digits."""
    body = msgspec.structs.replace(ticker_of().instrument_ticker, **dict.fromkeys("abABMI", "1"))
    candle = candle_of(0, **dict.fromkeys(("open_price", "high_price", "low_price", "close_price", "volume_contracts"), "1"))
    spoiled: list[Callable[[], Any]] = [
        *(lambda name=name: parse_quote(Ticker(msgspec.structs.replace(body, **{name: text}), 1), PERP, 0) for name in "abAB"),
        lambda: parse_mark_price(Ticker(msgspec.structs.replace(body, M=text), 1), PERP, 0),
        lambda: parse_index_price(Ticker(msgspec.structs.replace(body, I=text), 1), PERP, 0),
        lambda: parse_funding_rate(Ticker(msgspec.structs.replace(body, f=text), 1), PERP, 0),
        lambda: parse_trade(msgspec.structs.replace(trade_of(), trade_price=text, trade_amount="1"), PERP, 0),
        lambda: parse_trade(msgspec.structs.replace(trade_of(), trade_price="1", trade_amount=text), PERP, 0),
        lambda: parse_bar(msgspec.structs.replace(candle, close_price=text), PERP, 0),
        lambda: parse_bar(msgspec.structs.replace(candle, volume_contracts=text), PERP, 0),
    ]
    for read in spoiled:
        with pytest.raises(DecodeError):
            read()


# The full ticker


@pytest.mark.parametrize("full", ["ticker_full", "ticker_full_flat", "ticker_full_option"])
def test_a_full_ticker_comes_to_the_same_as_the_slim_one(full: str) -> None:
    """The long names, in either shape, against the short ones made of them by hand."""
    payload = inputs().payload(full)
    long = payload.get("instrument_ticker", payload)
    pricing = long.get("option_pricing")
    stats = long["stats"]
    slim = {
        "timestamp": payload["timestamp"],
        "instrument_ticker": {
            "A": long["best_ask_amount"],
            "B": long["best_bid_amount"],
            "a": long["best_ask_price"],
            "b": long["best_bid_price"],
            "I": long["index_price"],
            "M": long["mark_price"],
            "minp": long["min_price"],
            "maxp": long["max_price"],
            "t": 1,
            "f": (long.get("perp_details") or {}).get("funding_rate"),
            "stats": {"c": stats["contract_volume"], "h": stats["high"], "l": stats["low"], "oi": stats["open_interest"]},
            "option_pricing": pricing
            and {
                "ai": pricing["ask_iv"],
                "bi": pricing["bid_iv"],
                "d": pricing["delta"],
                "f": pricing["forward_price"],
                "g": pricing["gamma"],
                "i": pricing["iv"],
                "m": pricing["mark_price"],
                "r": pricing["rho"],
                "t": pricing["theta"],
                "v": pricing["vega"],
            },
        },
    }
    instrument = registry()[long["instrument_name"]]
    ticker = payload_of(f"ticker.{instrument.name}.100", payload)
    short = payload_of(f"ticker_slim.{instrument.name}.100", slim)
    for parse in PARSERS:
        got = parse(ticker, instrument, TS_INIT)
        assert got == parse(short, instrument, TS_INIT)
        assert (got is None) == ((parse is parse_funding_rate and bool(pricing)) or (parse is parse_option_greeks and not pricing))


# Everything made of the venue's own schema


@needs_shared
def test_numbers_of_generated_messages_are_those_of_decimal_arithmetic() -> None:
    known = registry()
    checked = 0
    for topic, tree in schema_messages(SHARED / "spec" / "subscriptions.json", 2026, 4_000):
        message = decode(envelope(topic, tree))
        assert isinstance(message, Subscription)
        name = message.channel.instrument_name
        if topic.startswith("ticker_slim."):
            instrument, body = known[str(name)], tree["instrument_ticker"]
            quote = parse_quote(message.data, instrument, 0)
            assert quote.ts_event == tree["timestamp"] * 10**6
            checked += _agree((quote.bid_price, quote.ask_price), (body["b"], body["a"]), instrument.price_precision)
            checked += _agree((quote.bid_size, quote.ask_size), (body["B"], body["A"]), instrument.size_precision)
            mark, index = parse_mark_price(message.data, instrument, 0), parse_index_price(message.data, instrument, 0)
            checked += _agree((mark.value, index.value), (body["M"], body["I"]), instrument.price_precision)
            greeks, pricing = parse_option_greeks(message.data, instrument, 0), body.get("option_pricing")
            assert (greeks is None) == (pricing is None)
            assert greeks is None or (greeks.delta, greeks.open_interest) == (Decimal(pricing["d"]), Decimal(body["stats"]["oi"]))
        elif topic.startswith("trades."):
            for trade, sent in zip(parse_trades(message.data, known, 0), tree, strict=True):
                instrument = known[sent["instrument_name"]]
                checked += _agree((trade.price,), (sent["trade_price"],), instrument.price_precision)
                checked += _agree((trade.size,), (sent["trade_amount"],), instrument.size_precision)
        elif topic.endswith(".orders"):
            for order, sent in zip(message.data, tree, strict=True):
                report = parse_order_report(order, 0)
                assert (report.quantity, report.price) == (Decimal(sent["amount"]), Decimal(sent["limit_price"]))
        elif ".trades" in topic:
            for row, sent in zip(message.data, tree, strict=True):
                fill = parse_fill_report(row, 0)
                assert (fill.last_px, fill.commission) == (Decimal(sent["trade_price"]), Decimal(sent["trade_fee"]))
    assert checked > 2_500


def _agree(got: tuple[Decimal, ...], texts: tuple[str, ...], precision: int) -> int:
    assert got == tuple(rounded(text, precision) for text in texts)
    return len(got)


# Domain objects travel


def test_domain_objects_are_frozen_copied_pickled_and_hashed() -> None:
    ticker = ticker_of(pricing=pricing_of())
    objects: list[Any] = [
        *(parse(ticker, PERP, 1) for parse in PARSERS),
        *(
            parse_trade(trade_of(), PERP, 1),
            parse_bar(candle_of(), PERP, 1),
            parse_order_report(order_of(), 1),
            parse_fill_report(fill_of(), 1),
        ),
    ]
    for each in objects:
        for duplicate in (copy.copy(each), copy.deepcopy(each), pickle.loads(pickle.dumps(each))):
            assert duplicate == each
            assert hash(duplicate) == hash(each)
        with pytest.raises(AttributeError):
            each.ts_init = 5
        assert each.instrument_id == "ETH-PERP.DERIVE"


def test_each_instrument_has_its_own_precision() -> None:
    ticker = ticker_of(b="10.555", B="3.5")
    seen: list[tuple[Instrument, QuoteTick]] = [(i, parse_quote(ticker, i, 0)) for i in InstrumentRegistry(inputs().instruments).values()]
    assert len({(quote.bid_price_raw, quote.instrument_id) for _, quote in seen}) == len(seen)
    for instrument, quote in seen:
        assert quote.bid_price == rounded("10.555", instrument.price_precision)
        assert quote.bid_size == rounded("3.5", instrument.size_precision)
