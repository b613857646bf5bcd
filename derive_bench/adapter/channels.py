"""Topics and channels: the text a subscription names, and what it means.

Contract: `parse_channel` takes any topic; a form it does not know becomes `Channel(kind=OTHER)` with its topic kept.
Instrument names may hold dots, so topics are split from the right, where the number of parts is fixed. `Channel.topic`
is always the text that was parsed, and `format_channel` of the parts gives that text back. Forms: PROTOCOL.md's table of
the venue's channels, v2 and v3.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from derive_bench.adapter.errors import CallerError

__all__ = ["INSTRUMENT_TYPES", "Channel", "ChannelKind", "format_channel", "parse_channel"]

INSTRUMENT_TYPES: Final = frozenset({"perp", "option", "erc20"})
"""The types that `trades.{type}.{currency}` takes; any other second part is an instrument's name."""

_CACHE_SIZE: Final = 16_384


class ChannelKind(StrEnum):
    """What a topic carries."""

    ORDERBOOK = "orderbook"
    TICKER_SLIM = "ticker_slim"
    TICKER = "ticker"
    TRADES = "trades"
    SETTLED_TRADES = "settled_trades"
    SPOT_FEED = "spot_feed"
    ORDERS = "orders"
    PRIVATE_TRADES = "private_trades"
    BALANCES = "balances"
    OTHER = "other"


class Channel(msgspec.Struct, frozen=True):
    """A topic taken apart; parts that the form has not are None.

    `group` and `depth` belong to books, `interval` (ms) to tickers, `status` to settled trades, `subaccount` (an id)
    to private topics. Numbers stay text: the venue may name values that are none.
    """

    kind: ChannelKind
    topic: str
    instrument_name: str | None = None
    group: str | None = None
    depth: str | None = None
    interval: str | None = None
    instrument_type: str | None = None
    currency: str | None = None
    status: str | None = None
    subaccount: int | None = None


_cache: dict[str, Channel] = {}


def parse_channel(topic: str) -> Channel:
    """Take a topic apart; never fails. Remembers the last thousands of topics."""
    channel = _cache.get(topic)
    if channel is None:
        channel = _parse(topic)
        if len(_cache) >= _CACHE_SIZE:
            _cache.clear()
        _cache[topic] = channel
    return channel


def format_channel(kind: ChannelKind, **parts: str | int) -> str:
    """Return the topic of `kind` with the named parts filled in (the fields of `Channel`).

    Raises `CallerError` when a part is missing, empty or does not belong to the form.
    """
    filled = {name: str(part) for name, part in parts.items()}
    for form in _FORMS.get(kind, ()):
        if set(form.parts) == set(filled):
            if not all(filled.values()):
                raise CallerError(f"a {kind.value} topic's parts must not be empty: {parts}")
            return form.template.format(**filled)
    forms = " or ".join(form.template for form in _FORMS.get(kind, ())) or "none"
    raise CallerError(f"a {kind.value} topic is {forms}; got the parts {sorted(filled)}")


class _Form(msgspec.Struct, frozen=True):
    template: str
    parts: tuple[str, ...]


_FORMS: Final[dict[ChannelKind, tuple[_Form, ...]]] = {
    ChannelKind.ORDERBOOK: (_Form("orderbook.{instrument_name}.{group}.{depth}", ("instrument_name", "group", "depth")),),
    ChannelKind.TICKER_SLIM: (_Form("ticker_slim.{instrument_name}.{interval}", ("instrument_name", "interval")),),
    ChannelKind.TICKER: (_Form("ticker.{instrument_name}.{interval}", ("instrument_name", "interval")),),
    ChannelKind.TRADES: (
        _Form("trades.{instrument_name}", ("instrument_name",)),
        _Form("trades.{instrument_type}.{currency}", ("instrument_type", "currency")),
    ),
    ChannelKind.SETTLED_TRADES: (_Form("trades.{instrument_type}.{currency}.{status}", ("instrument_type", "currency", "status")),),
    ChannelKind.SPOT_FEED: (_Form("spot_feed.{currency}", ("currency",)),),
    ChannelKind.ORDERS: (_Form("{subaccount}.orders", ("subaccount",)),),
    ChannelKind.PRIVATE_TRADES: (
        _Form("{subaccount}.trades", ("subaccount",)),
        _Form("{subaccount}.trades.{status}", ("subaccount", "status")),
    ),
    ChannelKind.BALANCES: (_Form("{subaccount}.balances", ("subaccount",)),),
}


def _parse(topic: str) -> Channel:
    head, _, rest = topic.partition(".")
    parse = _PUBLIC.get(head)
    channel = parse(topic, rest) if parse is not None else _private(topic, head, rest)
    return channel or Channel(ChannelKind.OTHER, topic)


def _orderbook(topic: str, rest: str) -> Channel | None:
    parts = rest.rsplit(".", 2)
    if len(parts) != 3 or not all(parts):
        return None
    return Channel(ChannelKind.ORDERBOOK, topic, instrument_name=parts[0], group=parts[1], depth=parts[2])


def _ticker_slim(topic: str, rest: str) -> Channel | None:
    return _any_ticker(ChannelKind.TICKER_SLIM, topic, rest)


def _ticker(topic: str, rest: str) -> Channel | None:
    return _any_ticker(ChannelKind.TICKER, topic, rest)


def _any_ticker(kind: ChannelKind, topic: str, rest: str) -> Channel | None:
    name, _, interval = rest.rpartition(".")
    return Channel(kind, topic, instrument_name=name, interval=interval) if name and interval else None


def _trades(topic: str, rest: str) -> Channel | None:
    kind, _, tail = rest.partition(".")
    if kind not in INSTRUMENT_TYPES or not tail:
        return Channel(ChannelKind.TRADES, topic, instrument_name=rest) if rest else None
    currency, dot, status = tail.rpartition(".")
    if not dot:
        return Channel(ChannelKind.TRADES, topic, instrument_type=kind, currency=tail)
    if not (currency and status):
        return None
    return Channel(ChannelKind.SETTLED_TRADES, topic, instrument_type=kind, currency=currency, status=status)


def _spot_feed(topic: str, rest: str) -> Channel | None:
    return Channel(ChannelKind.SPOT_FEED, topic, currency=rest) if rest else None


def _private(topic: str, subaccount: str, rest: str) -> Channel | None:
    if not (subaccount.isascii() and subaccount.isdigit() and len(subaccount) <= 20):
        return None
    number = int(subaccount)
    if str(number) != subaccount:
        return None
    stream, _, status = rest.partition(".")
    if stream == "trades" and (status or rest == "trades"):
        return Channel(ChannelKind.PRIVATE_TRADES, topic, status=status or None, subaccount=number)
    kind = _PRIVATE.get(rest)
    return Channel(kind, topic, subaccount=number) if kind is not None else None


_PUBLIC: Final = {
    "orderbook": _orderbook,
    "ticker_slim": _ticker_slim,
    "ticker": _ticker,
    "trades": _trades,
    "spot_feed": _spot_feed,
}
_PRIVATE: Final = {"orders": ChannelKind.ORDERS, "balances": ChannelKind.BALANCES}
