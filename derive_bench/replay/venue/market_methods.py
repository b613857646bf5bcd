"""Methods of the market, for everybody: instruments, tickers, currencies, trades, time.

Contract: instruments are the records the venue was given, as they are. A ticker is the tape's latest; where the tape has none, one made
from the best prices, with zeros for what is not known.
"""

from __future__ import annotations

from typing import Any

import msgspec

from derive_bench.adapter.errors import DecodeError
from derive_bench.adapter.frames import Subscription, decode
from derive_bench.replay.venue.market import Level, Quote
from derive_bench.replay.venue.params import InstrumentsParams, NameParams, PublicTradesParams, TypeParams
from derive_bench.replay.venue.refusals import Refused
from derive_bench.replay.venue.rpc import Method
from derive_bench.replay.venue.units import text_of
from derive_bench.replay.venue.venue import Peer, Venue
from derive_bench.replay.venue.views import page_of

__all__ = ["market_methods"]

View = dict[str, Any]


class _Nothing(msgspec.Struct):
    pass


class _Slim(msgspec.Struct):
    instrument_ticker: msgspec.Raw


class _SlimParams(msgspec.Struct):
    data: _Slim


class _SlimFrame(msgspec.Struct):
    params: _SlimParams


class _ArrayParams(msgspec.Struct):
    data: list[dict[str, Any]]


class _ArrayFrame(msgspec.Struct):
    params: _ArrayParams


_array_frame = msgspec.json.Decoder(_ArrayFrame).decode
_slim_frame = msgspec.json.Decoder(_SlimFrame).decode


def market_methods(venue: Venue) -> dict[str, Method[Any]]:
    """``public/…`` but for the login."""

    def chosen(params: InstrumentsParams | TypeParams | PublicTradesParams) -> list[View]:
        records = venue.records.values()
        return [
            record
            for record in records
            if params.instrument_type in (None, record["instrument_type"]) and params.currency in (None, record["base_currency"])
        ]

    def get_all_instruments(_peer: Peer, params: InstrumentsParams) -> View:
        active = [record for record in chosen(params) if bool(record["is_active"]) is not params.expired]
        page, pagination = page_of(active, params.page, params.page_size)
        return {"instruments": page, "pagination": pagination}

    def get_instruments(_peer: Peer, params: InstrumentsParams) -> list[View]:
        return [record for record in chosen(params) if bool(record["is_active"]) is not params.expired]

    def get_instrument(_peer: Peer, params: NameParams) -> View:
        return venue.records[venue.engine.instrument(params.instrument_name).name]

    def get_all_live_instruments(_peer: Peer, _params: _Nothing) -> list[str]:
        return [name for name, record in venue.records.items() if record["is_active"]]

    def get_ticker(_peer: Peer, params: NameParams) -> View | msgspec.Raw:
        name = venue.engine.instrument(params.instrument_name).name
        ticker = _ticker(venue.market.quote(name), venue.clock_ns() // 10**6)
        return ticker if venue.protocol.dialect == "v3" else _full(venue.records[name], _values(ticker))

    def get_tickers(_peer: Peer, params: TypeParams) -> View:
        now_ms = venue.clock_ns() // 10**6
        names = [record["instrument_name"] for record in chosen(params)]
        return {"tickers": {name: _ticker(venue.market.quote(name), now_ms) for name in names}}

    def get_trade_history(_peer: Peer, params: PublicTradesParams) -> View:
        if params.instrument_name is not None:
            names = [venue.engine.instrument(params.instrument_name).name]
        else:
            names = [record["instrument_name"] for record in chosen(params)]
        trades = [trade for name in names for frame in venue.market.trade_frames(name) for trade in _elements(frame)]
        trades.sort(key=lambda trade: trade.get("timestamp", 0), reverse=True)
        page, pagination = page_of(trades, params.page, params.page_size)
        return {"trades": page, "pagination": pagination}

    def get_all_currencies(_peer: Peer, _params: _Nothing) -> list[View]:
        currencies = dict.fromkeys(record["base_currency"] for record in venue.records.values())
        return [_currency(currency, venue) for currency in currencies]

    def get_currency(_peer: Peer, params: View) -> View:
        currency = params.get("currency")
        if currency not in [record["base_currency"] for record in venue.records.values()]:
            raise Refused(12002, f"Currency {str(currency)[:64]} does not exist")
        return _currency(str(currency), venue)

    def get_time(_peer: Peer, _params: _Nothing) -> int:
        return venue.clock_ns() // 10**6

    return {
        "public/get_all_instruments": Method(InstrumentsParams, get_all_instruments),
        "public/get_instruments": Method(InstrumentsParams, get_instruments),
        "public/get_instrument": Method(NameParams, get_instrument),
        "public/get_all_live_instruments": Method(_Nothing, get_all_live_instruments),
        "public/get_ticker": Method(NameParams, get_ticker),
        "public/get_tickers": Method(TypeParams, get_tickers),
        "public/get_trade_history": Method(PublicTradesParams, get_trade_history),
        "public/get_all_currencies": Method(_Nothing, get_all_currencies),
        "public/get_currency": Method(dict, get_currency),
        "public/get_time": Method(_Nothing, get_time),
    }


def _ticker(quote: Quote, now_ms: int) -> View | msgspec.Raw:
    """The slim ticker: the tape's own bytes where it came as one."""
    if quote.raw_ticker is not None:
        try:
            if isinstance(decode(quote.raw_ticker), Subscription):
                body = _slim_frame(quote.raw_ticker).params.data.instrument_ticker
                if b'"b"' in bytes(body):
                    return body
        except (DecodeError, msgspec.MsgspecError):
            pass
    return _made(quote, now_ms)


def _elements(frame: bytes) -> list[View]:
    """The elements of a frame's array, as the tape has them."""
    try:
        return _array_frame(frame).params.data
    except (msgspec.MsgspecError, UnicodeError):
        return []


def _made(quote: Quote, now_ms: int) -> View:
    def price(level: Level | None) -> str:
        return text_of(level[0]) if level else "0"

    def amount(level: Level | None) -> str:
        return text_of(level[1]) if level else "0"

    spot = text_of(quote.spot or 0)
    return {
        "t": now_ms,
        "A": amount(quote.ask),
        "B": amount(quote.bid),
        "a": price(quote.ask),
        "b": price(quote.bid),
        "I": text_of(quote.index) if quote.index else spot,
        "M": text_of(quote.mark) if quote.mark else spot,
        "f": None,
        "minp": text_of(quote.low or 0),
        "maxp": text_of(quote.high or 0),
        "option_pricing": None,
        "stats": {"c": "0", "h": "0", "l": "0", "n": 0, "oi": "0", "p": "0", "pr": "0", "v": "0"},
    }


def _values(ticker: View | msgspec.Raw) -> View:
    values: View = msgspec.json.decode(ticker) if isinstance(ticker, msgspec.Raw) else ticker
    return values


def _full(record: View, slim: View) -> View:
    """v2's ticker: the instrument's record, with the ticker in long names."""
    stats = slim.get("stats") or {}
    return record | {
        "timestamp": slim["t"],
        "best_ask_amount": slim["A"],
        "best_ask_price": slim["a"],
        "best_bid_amount": slim["B"],
        "best_bid_price": slim["b"],
        "index_price": slim["I"],
        "mark_price": slim["M"],
        "min_price": slim.get("minp", "0"),
        "max_price": slim.get("maxp", "0"),
        "option_pricing": None,
        "stats": {
            "contract_volume": stats.get("c", "0"),
            "high": stats.get("h", "0"),
            "low": stats.get("l", "0"),
            "num_trades": str(stats.get("n", 0)),
            "open_interest": stats.get("oi", "0"),
            "percent_change": stats.get("p", "0"),
            "usd_change": "0",
        },
    }


def _currency(currency: str, venue: Venue) -> View:
    spots = [venue.market.quote(name).spot for name, record in venue.records.items() if record["base_currency"] == currency]
    known = next((spot for spot in spots if spot), 0)
    manager = {"risk_universe_id": 1, "risk_universe_name": "LOCAL", "sm": 1, "pm": None}
    prices = {"spot_price": text_of(known), "spot_price_24h": None}
    return {"currency": currency, "market_type": "ALL", "managers": [manager], "option": None, "perp": None, "spot": []} | prices
