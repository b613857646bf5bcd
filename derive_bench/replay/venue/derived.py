"""Derived channels: what the venue would also have sent, made from what is on the tape.

Contract: a channel that the tape has is played as it stands there, byte for byte, and nothing here touches it. Where somebody listens to
one that it has not, it is made from a sibling: a book of other depth or group from the deepest book of group 1, prices put together
in steps of `group` ticks as the venue does (bids down, asks up); a ticker of the slower interval by leaving out, of the faster one as
it is; `trades.{type}.{currency}` from `trades.{instrument}`. What cannot be decoded makes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from derive_bench.adapter.channels import Channel, ChannelKind, parse_channel
from derive_bench.adapter.errors import DecodeError
from derive_bench.adapter.frames import Subscription, decode
from derive_bench.adapter.instruments import Instrument
from derive_bench.adapter.messages import OrderBook
from derive_bench.replay.venue.market import Level, levels_of
from derive_bench.replay.venue.units import text_of, to_units

__all__ = ["Derived"]

_SLOW_NS: Final = 1_000_000_000


class _Params(msgspec.Struct):
    channel: str
    data: msgspec.Raw


class _Notification(msgspec.Struct):
    method: str
    params: _Params


_raw_notification: Final = msgspec.json.Decoder(_Notification).decode


class Derived:
    """What is to be made from the tape's channels for those that somebody listens to."""

    def __init__(self, instruments: Mapping[str, Instrument]) -> None:
        self._instruments = instruments
        self._native: dict[str, Channel] = {}
        self._wanted: list[Channel] = []
        self._makes: dict[str, list[Channel]] = {}
        self._last_ns: dict[str, int] = {}

    def want(self, topics: list[str]) -> None:
        """These are all the channels that somebody listens to."""
        self._wanted = [parse_channel(topic) for topic in topics]
        self._plan()

    def see(self, channel: Channel) -> None:
        """The tape has this channel."""
        if channel.topic not in self._native:
            self._native[channel.topic] = channel
            self._plan()

    def make(self, channel: Channel, frame: bytes, now_ns: int) -> Iterator[tuple[str, bytes]]:
        """The topics and frames to be sent besides the tape's own; `now_ns` is the tape's time."""
        for wanted in self._makes.get(channel.topic, ()):
            made = self._made(wanted, frame, now_ns)
            if made is not None:
                yield wanted.topic, made

    def _plan(self) -> None:
        makes: dict[str, list[Channel]] = {}
        for wanted in self._wanted:
            if wanted.topic not in self._native:
                for topic in self._sources(wanted):
                    makes.setdefault(topic, []).append(wanted)
        self._makes = makes

    def _sources(self, wanted: Channel) -> list[str]:
        siblings = [channel for channel in self._native.values() if _is_source(channel, wanted, self._instruments)]
        if wanted.kind is ChannelKind.ORDERBOOK and siblings:
            siblings = [max(siblings, key=lambda channel: int(channel.depth or 0))]
        return [channel.topic for channel in siblings]

    def _made(self, wanted: Channel, frame: bytes, now_ns: int) -> bytes | None:
        try:
            if wanted.kind is ChannelKind.ORDERBOOK:
                return self._book(wanted, frame)
            if wanted.interval == "1000" and self._too_soon(wanted.topic, now_ns):
                return None
            return _notification(wanted.topic, _raw_notification(frame).params.data)
        except (DecodeError, msgspec.MsgspecError, UnicodeError):
            return None

    def _too_soon(self, topic: str, now_ns: int) -> bool:
        last = self._last_ns.get(topic)
        if last is not None and 0 <= now_ns - last < _SLOW_NS:
            return True
        self._last_ns[topic] = now_ns
        return False

    def _book(self, wanted: Channel, frame: bytes) -> bytes | None:
        message = decode(frame)
        if not (isinstance(message, Subscription) and isinstance(message.data, OrderBook)):
            return None
        book: OrderBook = message.data
        instrument = self._instruments[wanted.instrument_name or ""]
        step = int(wanted.group or 1) * to_units(f"{instrument.tick:f}")
        depth = int(wanted.depth or 1)
        data: dict[str, Any] = {"instrument_name": book.instrument_name, "timestamp": book.timestamp}
        if book.publish_id is not None:
            data["publish_id"] = book.publish_id
        data["bids"] = _grouped(levels_of(book.bids), step, depth, up=False)
        data["asks"] = _grouped(levels_of(book.asks), step, depth, up=True)
        return _notification(wanted.topic, data)


def _is_source(channel: Channel, wanted: Channel, instruments: Mapping[str, Instrument]) -> bool:
    if wanted.kind is ChannelKind.TRADES and wanted.instrument_type is not None:
        instrument = instruments.get(channel.instrument_name or "")
        if channel.kind is not ChannelKind.TRADES or instrument is None:
            return False
        return (str(instrument.kind), instrument.base_currency) == (wanted.instrument_type, wanted.currency)
    if channel.kind is not wanted.kind or channel.instrument_name is None or channel.instrument_name != wanted.instrument_name:
        return False
    if wanted.kind is ChannelKind.ORDERBOOK:
        return channel.group == "1" and (channel.depth or "").isdigit() and channel.instrument_name in instruments
    return wanted.kind in (ChannelKind.TICKER_SLIM, ChannelKind.TICKER)


def _grouped(levels: list[Level], step: int, depth: int, *, up: bool) -> list[list[str]]:
    amounts: dict[int, int] = {}
    for price, amount in levels:
        rounded = -(-price // step) * step if up else price // step * step
        if rounded not in amounts and len(amounts) == depth:
            break
        amounts[rounded] = amounts.get(rounded, 0) + amount
    return [[text_of(price), text_of(amount)] for price, amount in amounts.items()]


def _notification(topic: str, data: Any) -> bytes:
    return msgspec.json.encode({"method": "subscription", "params": {"channel": topic, "data": data}})
