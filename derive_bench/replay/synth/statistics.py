"""Statistics of a session, made up or recorded: how hard it is.

Contract: feed `Statistics` the records; `as_dict` gives plain numbers, `lines` the same as text. The share of levels that change is
that of levels of a book snapshot which were not in the one before on the same channel, price and amount taken together.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from derive_bench.adapter.channels import ChannelKind
from derive_bench.adapter.errors import DecodeError
from derive_bench.adapter.frames import ErrorResponse, Response, Subscription, decode
from derive_bench.adapter.messages import OrderBook
from derive_bench.replay.records import Connect, Disconnect, Frame, Record

__all__ = ["Statistics"]


class _Sizes(Struct):
    frames: int = 0
    bytes: int = 0
    smallest: int = 1 << 62
    largest: int = 0

    def add(self, size: int) -> None:
        self.frames += 1
        self.bytes += size
        self.smallest = min(self.smallest, size)
        self.largest = max(self.largest, size)


class Statistics:
    """Counts what it is fed."""

    def __init__(self) -> None:
        self.frames = 0
        """Frames received."""
        self.requests = 0
        """Frames sent."""
        self.connects = 0
        self.disconnects = 0
        self.first_ns = 0
        self.last_ns = 0
        self._sizes: dict[str, _Sizes] = {}
        self._levels: dict[str, frozenset[bytes]] = {}
        self._seen_levels = 0
        self._changed_levels = 0

    def add(self, record: Record) -> None:
        """Take up one record."""
        self.first_ns = self.first_ns or record.time_ns
        self.last_ns = record.time_ns
        if isinstance(record, Frame):
            if record.direction == "out":
                self.requests += 1
            else:
                self.frames += 1
                self._sizes.setdefault(self._kind(record.raw), _Sizes()).add(len(record.raw))
        elif isinstance(record, Connect):
            self.connects += 1
        elif isinstance(record, Disconnect):
            self.disconnects += 1

    @property
    def changed(self) -> float:
        """The share of levels that change from one snapshot to the next, 0 to 1."""
        return self._changed_levels / self._seen_levels if self._seen_levels else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return all figures; times in ns, sizes in bytes."""
        return {
            "frames": self.frames,
            "requests": self.requests,
            "connects": self.connects,
            "disconnects": self.disconnects,
            "duration_ns": self.last_ns - self.first_ns,
            "levels_changed": round(self.changed, 4),
            "kinds": {
                kind: {
                    "frames": sizes.frames,
                    "bytes": sizes.bytes,
                    "smallest": sizes.smallest,
                    "mean": round(sizes.bytes / sizes.frames),
                    "largest": sizes.largest,
                }
                for kind, sizes in sorted(self._sizes.items())
            },
        }

    def _kind(self, raw: bytes) -> str:
        try:
            message = decode(raw)
        except DecodeError:
            return "undecodable"
        if isinstance(message, Subscription):
            if isinstance(message.data, OrderBook):
                self._compare(message.topic, message.data)
            kind = message.channel.kind
            return "unknown" if kind is ChannelKind.OTHER else kind.value
        return "reply" if isinstance(message, (Response, ErrorResponse)) else "other"

    def _compare(self, topic: str, book: OrderBook) -> None:
        # Levels stand as `["price","amount"]`; sides are told apart by their prices.
        levels = frozenset((bytes(book.bids)[2:-2] + b"],[" + bytes(book.asks)[2:-2]).split(b"],["))
        before = self._levels.get(topic)
        if before is not None:
            self._seen_levels += len(levels)
            self._changed_levels += len(levels - before)
        self._levels[topic] = levels
