"""Selection: which records of which files, in which order.

Contract: `merged` gives the records of several tapes in order of their times, each with the number of its tape; one tape keeps its own
order, whatever its times. `Filter.wants` tells whether a record is to be played: what we sent and the connects and disconnects of
wanted connections always are, received frames where channel, instrument and time fit. Channels are globs over topics; a
private frame has an instrument if its payload names it, a reply has no channel.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from derive_bench.adapter.channels import ChannelKind, parse_channel
from derive_bench.replay.reader import Tape
from derive_bench.replay.records import Frame, Record

__all__ = ["Filter", "merged"]

_CHANNEL: Final = b'"channel":"'
_TOPICS_MOST: Final = 16_384


@dataclass(frozen=True, slots=True)
class Filter:
    """What is wanted; an empty tuple or None wants all.

    Attributes:
        channels: globs over topics, such as ``orderbook.ETH-*``.
        instruments: names.
        connections: ids.
        begin_ns, end_ns: times of receipt, the end not included.
    """

    channels: tuple[str, ...] = ()
    instruments: tuple[str, ...] = ()
    connections: tuple[str, ...] = ()
    begin_ns: int | None = None
    end_ns: int | None = None

    def chooser(self) -> Chooser:
        """Return what decides on records; it remembers topics."""
        return Chooser(self)


class Chooser:
    """Decides on the records of one replay."""

    def __init__(self, wanted: Filter) -> None:
        self._wanted = wanted
        self._by_topic = bool(wanted.channels or wanted.instruments)
        self._topics: dict[bytes, bool] = {}
        self._named = tuple(f'"instrument_name":"{name}"'.encode() for name in wanted.instruments)
        self.all = wanted == Filter()
        """Whether every record is wanted."""

    def wants(self, record: Record) -> bool:
        """Whether a record is to be played."""
        wanted = self._wanted
        if wanted.connections and record.connection not in wanted.connections:
            return False
        if wanted.begin_ns is not None and record.time_ns < wanted.begin_ns:
            # Orders placed before are known all the same.
            return isinstance(record, Frame) and record.direction == "out"
        if wanted.end_ns is not None and record.time_ns >= wanted.end_ns:
            return False
        if not self._by_topic or not isinstance(record, Frame) or record.direction == "out":
            return True
        return self._wants_topic(record.raw)

    def _wants_topic(self, raw: bytes) -> bool:
        start = raw.find(_CHANNEL)
        if start < 0:
            return False
        start += len(_CHANNEL)
        topic = raw[start : raw.find(b'"', start)]
        wants = self._topics.get(topic)
        if wants is None:
            if len(self._topics) >= _TOPICS_MOST:
                self._topics.clear()
            wants = self._topics[topic] = self._fits(topic.decode("utf-8", "replace"))
        if wants and self._named and not self._names_instrument(topic):
            return any(name in raw for name in self._named)
        return wants

    def _fits(self, topic: str) -> bool:
        wanted = self._wanted
        if wanted.channels and not any(fnmatchcase(topic, glob) for glob in wanted.channels):
            return False
        channel = parse_channel(topic)
        if not wanted.instruments or channel.instrument_name is None:
            return not wanted.instruments or channel.kind is not ChannelKind.OTHER
        return channel.instrument_name in wanted.instruments

    @staticmethod
    def _names_instrument(topic: bytes) -> bool:
        return parse_channel(topic.decode("utf-8", "replace")).instrument_name is not None


def merged(tapes: Sequence[Tape]) -> Iterator[tuple[int, Record]]:
    """Yield the records of all tapes by time, each with its tape's place in the list."""
    streams = [_placed(place, tape) for place, tape in enumerate(tapes)]
    return streams[0] if len(streams) == 1 else heapq.merge(*streams, key=lambda item: item[1].time_ns)


def _placed(place: int, tape: Tape) -> Iterator[tuple[int, Record]]:
    for record in tape:
        yield place, record
