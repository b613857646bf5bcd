"""The tape as a venue plays it: what its own connection received, in order, with the topic each frame goes to.

Contract: notifications are played as they came, byte for byte. Replies to the tape's own requests, its login among them, are not, nor
are heartbeats. A frame that cannot be decoded is played too: to those who hear the topic that can be made out in it, to all who listen
to anything where none can.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from derive_bench.adapter.errors import DecodeError
from derive_bench.adapter.frames import Notification, Subscription, decode

__all__ = ["Item", "Tape", "playable"]

_HEADS: Final = (
    b'{"method":"subscription","params":{"channel":"',
    b'{"jsonrpc":"2.0","method":"subscription","params":{"channel":"',
)
_CHANNEL: Final = re.compile(rb'"channel"\s*:\s*"([^"\\]{1,200})"')
_METHOD: Final = b'"method"'
_REPLY: Final = re.compile(rb'"(?:result|error)"\s*:')


class Item(NamedTuple):
    """One thing to be played: a frame, or with None in its place the end of the tape's connection. `received_ns` is UTC."""

    received_ns: int
    frame: bytes | None
    topic: str | None = None


class Tape:
    """Opens as often as it is to be played. `open_items` gives the items from the beginning."""

    def __init__(self, open_items: Callable[[], Iterable[Item]]) -> None:
        self._open_items = open_items

    def items(self) -> Iterator[Item]:
        """All items, from the beginning."""
        return iter(self._open_items())


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
