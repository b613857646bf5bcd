"""Counts: what a session held and what was wrong with it.

Contract: `Counts.frame` takes a frame that was decoded, with its message, `Counts.unusable` one that was not. A `publish_id` is
compared with the one before on its channel and connection: above its successor is a gap, not above itself a regression; a
disconnect begins anew. `late_private` counts private orders whose `last_update_timestamp` lies before that of an earlier one on
their channel: frames that came in another order than they were sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from derive_bench.adapter.channels import ChannelKind, parse_channel
from derive_bench.adapter.frames import ErrorResponse, Frame, Response, Subscription
from derive_bench.adapter.messages import OrderBook, PrivateOrder

__all__ = ["REPLY", "SHOWN", "BadFrame", "ChannelCount", "Counts", "excerpt"]

SHOWN: Final = 10
"""How many undecodable frames and unknown names are kept to be shown."""

REPLY: Final = "reply"
"""Stands for the channel of replies, `other` for that of notifications and pings, `unknown` for those nobody knows."""
_OTHER: Final = "other"
_UNKNOWN: Final = "unknown"
_EXCERPT: Final = 120
_NAMES_MOST: Final = 1_000
_TOPICS_MOST: Final = 65_536


class BadFrame(Struct, frozen=True):
    """A frame that could not be decoded or used: where it stood, why, and how it begins."""

    number: int
    time_ns: int
    connection: str
    reason: str
    excerpt: str


class ChannelCount(Struct):
    """Frames of one kind of channel."""

    frames: int = 0
    bytes: int = 0


class _Topic(Struct, gc=False):
    kind: str
    publish_id: int | None = None
    updated_ms: int = 0


class Counts:
    """Counts what it is given."""

    def __init__(self) -> None:
        self.frames = 0
        """Frames received, decodable or not."""
        self.bytes = 0
        self.sent = 0
        """Frames that we sent."""
        self._events: Counter[tuple[type, ...]] = Counter()
        self.channels: dict[str, ChannelCount] = {}
        self.undecodable = 0
        self.unknown_instruments: Counter[str] = Counter()
        self.bad: list[BadFrame] = []
        self.gaps = 0
        self.missing = 0
        """Numbers missing in all gaps together."""
        self.regressions = 0
        self.late_private = 0
        self.connects = 0
        self.disconnects = 0
        self.unknown_topics: Counter[str] = Counter()
        self._topics: dict[tuple[str, str], _Topic] = {}

    def frame(self, message: Frame | None, size: int, connection: str, events: Sequence[Any]) -> str:
        """Count a frame and its events; return its kind of channel."""
        self.frames += 1
        self.bytes += size
        self._events[tuple(map(type, events))] += 1
        if type(message) is Subscription:
            topic = self._topics.get((connection, message.topic)) or self._learn(connection, message.topic)
            kind = topic.kind
            if type(message.data) is OrderBook:
                self._check_publish_id(topic, message.data.publish_id)
            elif kind == ChannelKind.ORDERS:
                self._check_order_times(topic, message.data)
            elif kind == _UNKNOWN:
                self._count_name(self.unknown_topics, message.topic)
        else:
            kind = REPLY if isinstance(message, (Response, ErrorResponse)) else _OTHER
        self._add(kind, size)
        return kind

    def unusable(self, bad: BadFrame, size: int, unknown_instrument: str | None = None) -> None:
        """Count a frame that made no events because it could not be decoded, or speaks of an instrument nobody knows."""
        self.frames += 1
        self.bytes += size
        self._add("undecodable" if unknown_instrument is None else "unknown_instrument", size)
        if unknown_instrument is None:
            self.undecodable += 1
            if len(self.bad) < SHOWN:
                self.bad.append(bad)
        else:
            self._count_name(self.unknown_instruments, unknown_instrument)

    def events(self) -> dict[str, int]:
        """Return how many events of each type there were, in order of their names."""
        counts: Counter[str] = Counter()
        for kinds, frames in self._events.items():
            for kind in kinds:
                counts[kind.__name__] += frames
        return dict(sorted(counts.items()))

    def disconnected(self, connection: str) -> None:
        """Count a disconnect; numbers on this connection begin anew."""
        self.disconnects += 1
        for at in [at for at in self._topics if at[0] == connection]:
            del self._topics[at]

    def new_pass(self) -> None:
        """Forget what numbers came before: the session begins anew."""
        self._topics.clear()

    def as_dict(self) -> dict[str, Any]:
        """Return all counts."""
        return {
            "frames": self.frames,
            "bytes": self.bytes,
            "sent": self.sent,
            "undecodable": self.undecodable,
            "unknown_topics": self.unknown_topics.total(),
            "unknown_instruments": self.unknown_instruments.total(),
            "publish_id_gaps": self.gaps,
            "publish_ids_missing": self.missing,
            "publish_id_regressions": self.regressions,
            "late_private": self.late_private,
            "connects": self.connects,
            "disconnects": self.disconnects,
        }

    @staticmethod
    def _count_name(names: Counter[str], name: str) -> None:
        """Count a name; once there are very many, new ones count as `…`, so that memory stays bounded."""
        names[name if name in names or len(names) < _NAMES_MOST else "…"] += 1

    def _learn(self, connection: str, topic: str) -> _Topic:
        kind = parse_channel(topic).kind
        if len(self._topics) >= _TOPICS_MOST:
            self._topics.clear()
        new = self._topics[connection, topic] = _Topic(_UNKNOWN if kind is ChannelKind.OTHER else kind.value)
        return new

    def _check_publish_id(self, topic: _Topic, publish_id: int | None) -> None:
        last = topic.publish_id
        if publish_id is None:
            return
        if last is not None and publish_id != last + 1:
            if publish_id <= last:
                self.regressions += 1
                return
            self.gaps += 1
            self.missing += publish_id - last - 1
        topic.publish_id = publish_id

    def _check_order_times(self, topic: _Topic, orders: Sequence[Any]) -> None:
        for order in orders:
            if isinstance(order, PrivateOrder):
                if order.last_update_timestamp < topic.updated_ms:
                    self.late_private += 1
                else:
                    topic.updated_ms = order.last_update_timestamp

    def _add(self, kind: str, size: int) -> None:
        channel = self.channels.get(kind)
        if channel is None:
            channel = self.channels[kind] = ChannelCount()
        channel.frames += 1
        channel.bytes += size


def excerpt(raw: bytes) -> str:
    """Return the beginning of a frame as it can be shown."""
    shown = raw[:_EXCERPT].decode("utf-8", "backslashreplace")
    return shown if len(raw) <= _EXCERPT else f"{shown}…"
