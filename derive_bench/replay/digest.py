"""The event digest: a hash over every field of every event, in an encoding that anyone can write anew.

Contract: SHA-256 over, for each frame that made events, two MessagePack arrays: the names of the events' types, and their fields as
maps, names and order as the types declare them. Whole numbers take their shortest form, texts and enumerations are strings,
decimals their text, bytes `bin`, None nil; `event_id`, which is random, is nil, and the error of a bad element is its text.

A book (`OrderBookDeltas`) is the one event that is a sequence, made when somebody looks. Its array holds the values of the header that its
deltas share, in its order, how many levels are bids, and all prices and amounts as read, whole numbers where they were sent without a
point, else doubles. Every
`FULL_EVERY`th book, the first included, is followed by four arrays with one value for each delta (action, side, order id, flags)
and two with the raw prices and sizes, which is what the conversion made of them; so is any book with a number too large for doubles.
docs/replay.md says the same with an example.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import msgspec

from derive_bench.adapter.book import OrderBookDeltas

__all__ = ["FULL_EVERY", "EventDigest"]

FULL_EVERY: Final = 256
"""Books from one that is hashed delta by delta to the next: making all deltas costs ten times as much as reading a book."""

_SAFE: Final = 1 << 45
_COLUMNS: Final = ("action", "side", "order_id", "flags", "price_raw", "size_raw")
_BOOK: Final = msgspec.msgpack.encode([OrderBookDeltas.__name__])


def _hook(value: Any) -> str | None:
    return str(value) if isinstance(value, Exception) else None


_encoder: Final = msgspec.msgpack.Encoder(enc_hook=_hook)
_append: Final = _encoder.encode_into
_encode: Final = _encoder.encode

_GATHERED: Final = 1 << 15
"""Bytes that are gathered before they are hashed: less to do for each frame."""


class EventDigest:
    """Takes events frame by frame."""

    def __init__(self) -> None:
        self.events = 0
        """Events taken; a book counts as one."""
        self._books = 0
        self._hash = hashlib.sha256()
        self._gathered = bytearray()
        self._names: dict[tuple[type, ...], bytes] = {}

    def update(self, events: Sequence[Any]) -> None:
        """Take the events of one frame; without any, nothing happens."""
        if not events:
            return
        self.events += len(events)
        gathered = self._gathered
        if type(events[0]) is OrderBookDeltas:
            _append_book(gathered, events[0], self._books % FULL_EVERY == 0)
            self._books += 1
        else:
            kinds = tuple(map(type, events))
            names = self._names.get(kinds)
            if names is None:
                names = self._names[kinds] = _encode([kind.__name__ for kind in kinds])
            gathered += names
            _append(events, gathered, -1)
        if len(gathered) > _GATHERED:
            self._hash.update(gathered)
            gathered.clear()

    def hexdigest(self) -> str:
        """Return the digest of what was taken so far, 64 hex digits."""
        self._hash.update(self._gathered)
        self._gathered.clear()
        return self._hash.hexdigest()


def _append_book(gathered: bytearray, book: OrderBookDeltas, full: bool) -> None:
    """Append a book as it is hashed, its deltas included where `full` or where doubles would not tell numbers apart."""
    values = book.as_read
    gathered += _BOOK
    _append(values, gathered, -1)
    if full or sum(values[-1]) >= _most(values[1], values[2]):
        _append([[getattr(delta, name) for delta in book] for name in _COLUMNS], gathered, -1)


@cache
def _most(price_precision: int, size_precision: int) -> float:
    """Return the sum of numbers below which each is less than 2**45 units: its nearest double is that of no other number of units."""
    return float(_SAFE) / 10.0 ** max(price_precision, size_precision)
