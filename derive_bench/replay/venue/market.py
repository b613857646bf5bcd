"""The market: what the tape has said of each instrument so far.

Contract: :meth:`Market.feed` takes each frame of the tape as it is played. Frames are kept and decoded when somebody asks, so that
playing costs nothing where nobody trades; for an instrument that is *watched*, because an order rests there, they are decoded at once
and :meth:`Market.feed` says what moved. A frame that cannot be decoded changes nothing.

The best prices are those of the latest book (of group 1: others are rounded) or ticker, whichever came last.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from derive_bench.adapter.channels import Channel, ChannelKind
from derive_bench.adapter.errors import DecodeError
from derive_bench.adapter.frames import Subscription, decode
from derive_bench.adapter.lenient import NumberText, decode_payload
from derive_bench.adapter.messages import FullTicker, OrderBook, PublicTrade, Ticker, TickerBody
from derive_bench.replay.venue.units import to_units

__all__ = ["QUOTING", "Level", "Market", "Quote", "levels_of"]

_FULL_GROUP = "1"
_RECENT = 1_000
"""Trade frames of an instrument that are remembered."""
QUOTING = frozenset({ChannelKind.ORDERBOOK, ChannelKind.TICKER_SLIM, ChannelKind.TICKER})
"""Kinds of channels that prices are taken from."""

Level = tuple[int, int]
"""Price and amount in units of 1e-18."""


@dataclass(slots=True)
class Quote:
    """What is known of one instrument, in units of 1e-18; None where it is not known or there is none."""

    bid: Level | None = None
    ask: Level | None = None
    index: int | None = None
    mark: int | None = None
    low: int | None = None
    high: int | None = None
    """Beyond `low` and `high` a limit order behaves as post-only."""
    ticker: TickerBody | None = None
    raw_ticker: bytes | None = None
    """The frame `ticker` came in."""

    @property
    def spot(self) -> int | None:
        """The price that fees are reckoned from: index, else mark, else the middle of the best prices."""
        if self.index or self.mark:
            return self.index or self.mark
        sides = [level[0] for level in (self.bid, self.ask) if level]
        return sum(sides) // len(sides) if sides else None


class Market:
    """Quotes by instrument name, made from the tape's frames."""

    def __init__(self) -> None:
        self._quotes: dict[str, Quote] = {}
        self._waiting: dict[str, dict[ChannelKind, bytes]] = {}
        self.watched: set[str] = set()
        self._trades: dict[str, deque[bytes]] = {}

    def feed(self, channel: Channel, frame: bytes) -> list[tuple[str, Quote, list[int]]]:
        """Take a frame of the tape: for a watched instrument, its name, quote and the prices it has just traded at."""
        kind, name = channel.kind, channel.instrument_name
        if name is not None and kind in QUOTING:
            if kind is ChannelKind.ORDERBOOK and channel.group != _FULL_GROUP:
                return []
            waiting = self._waiting.setdefault(name, {})
            waiting.pop(kind, None)  # so that the latest stands last
            waiting[kind] = frame
            return [(name, self.quote(name), [])] if name in self.watched else []
        if kind is not ChannelKind.TRADES:
            return []
        if name is not None:
            self._trades.setdefault(name, deque(maxlen=_RECENT)).append(frame)
        return self._traded(frame) if self.watched else []

    def trade_frames(self, name: str) -> list[bytes]:
        """The latest frames of an instrument's own trade channel, oldest first."""
        return list(self._trades.get(name, ()))

    def quote(self, name: str) -> Quote:
        """What is known of an instrument now."""
        quote = self._quotes.get(name)
        if quote is None:
            quote = self._quotes[name] = Quote()
        waiting = self._waiting.get(name)
        if waiting:
            for frame in waiting.values():
                _apply(quote, _payload(frame), frame)
            waiting.clear()
        return quote

    def _traded(self, frame: bytes) -> list[tuple[str, Quote, list[int]]]:
        prices: dict[str, list[int]] = {}
        payload = _payload(frame)
        for trade in payload if isinstance(payload, list) else ():
            if isinstance(trade, PublicTrade) and trade.instrument_name in self.watched:
                try:
                    prices.setdefault(trade.instrument_name, []).append(to_units(trade.trade_price))
                except DecodeError:
                    continue
        return [(name, self.quote(name), traded) for name, traded in prices.items()]


def levels_of(side: Any) -> list[Level]:
    """A book's side, best first, without empty levels. Raises `DecodeError`."""
    rows = decode_payload(list[list[NumberText]], side)
    levels = [(to_units(row[0]), to_units(row[1])) for row in rows if len(row) == 2]
    return [level for level in levels if level[1] > 0]


def _payload(frame: bytes) -> Any:
    try:
        message = decode(frame)
    except DecodeError:
        return None
    return message.data if isinstance(message, Subscription) else None


def _apply(quote: Quote, payload: Any, frame: bytes) -> None:
    try:
        if isinstance(payload, OrderBook):
            bids, asks = levels_of(payload.bids), levels_of(payload.asks)
            quote.bid, quote.ask = (bids[0] if bids else None), (asks[0] if asks else None)
        elif isinstance(payload, (Ticker, FullTicker)):
            body = payload.instrument_ticker if isinstance(payload, Ticker) else payload.body()
            _apply_ticker(quote, body)
            quote.ticker, quote.raw_ticker = body, frame
    except DecodeError:
        return


def _apply_ticker(quote: Quote, body: TickerBody) -> None:
    bid, ask = _level(body.b, body.B), _level(body.a, body.A)
    index, mark = to_units(body.I), to_units(body.M)
    low, high = _known(body.minp), _known(body.maxp)
    quote.bid, quote.ask, quote.index, quote.mark, quote.low, quote.high = bid, ask, index, mark, low, high


def _level(price: str, amount: str) -> Level | None:
    level = (to_units(price), to_units(amount))
    return level if level[0] > 0 and level[1] > 0 else None


def _known(text: str | None) -> int | None:
    return None if text is None else to_units(text)
