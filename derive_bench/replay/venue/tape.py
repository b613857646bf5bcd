"""The tape as a venue plays it: what its own connection received, in order, with the topic each frame goes to.

Contract: notifications are played as they came, byte for byte. Replies to the tape's own requests, its login among them, are not, nor
are heartbeats and binary messages. A frame that cannot be decoded is played too: to those who hear the topic that can be made out in it,
to all who listen to anything where none can.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from derive_bench.adapter.errors import DecodeError
from derive_bench.adapter.frames import Notification, Subscription, decode
from derive_bench.replay.records import Disconnect, Frame, Record

__all__ = ["Item", "at_rate", "items_of", "playable"]

_HEADS: Final = (
    b'{"method":"subscription","params":{"channel":"',
    b'{"jsonrpc":"2.0","method":"subscription","params":{"channel":"',
)
_CHANNEL: Final = re.compile(rb'"channel"\s*:\s*"([^"\\]{1,200})"')
_METHOD: Final = b'"method"'
_SEC_NS: Final = 1_000_000_000
_REPLY: Final = re.compile(rb'"(?:result|error)"\s*:')


class Item(NamedTuple):
    """One thing to be played: a frame, or with None in its place the end of the tape's connection. `received_ns` is UTC."""

    received_ns: int
    frame: bytes | None
    topic: str | None = None


def items_of(records: Iterable[Record], connection: str | None = None) -> Iterator[Item]:
    """The items of a tape's records, of all its connections or of one."""
    for record in records:
        if connection is not None and record.connection != connection:
            continue
        if isinstance(record, Frame):
            item = playable(record.time_ns, record.raw) if record.direction == "in" and not record.binary else None
            if item is not None:
                yield item
        elif isinstance(record, Disconnect):
            yield Item(record.time_ns, None)


def at_rate(items: Iterable[Item], frames_per_sec: float) -> Iterator[Item]:
    """The frames of a tape at even distances, whenever they were received."""
    frames = (item for item in items if item.frame is not None)
    for index, item in enumerate(frames):
        yield item._replace(received_ns=round(index * _SEC_NS / frames_per_sec))


def playable(received_ns: int, frame: bytes) -> Item | None:
    """A received frame as an item; None for one that is not played."""
    for head in _HEADS:
        if frame.startswith(head):
            end = frame.find(b'"', len(head))
            topic = frame[len(head) : end]
            if end > 0 and b"\\" not in topic and topic.isascii():
                return Item(received_ns, frame, topic.decode())
    try:
        message = decode(frame)
    except DecodeError:
        return _undecodable(received_ns, frame)
    if isinstance(message, Subscription):
        return Item(received_ns, frame, message.topic)
    return Item(received_ns, frame) if isinstance(message, Notification) else None


def _undecodable(received_ns: int, frame: bytes) -> Item | None:
    match = _CHANNEL.search(frame)
    if match is not None:
        return Item(received_ns, frame, match[1].decode("utf-8", "replace"))
    if _METHOD not in frame and _REPLY.search(frame):
        return None  # a reply, spoilt
    return Item(received_ns, frame)
