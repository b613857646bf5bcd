"""The event digest: a hash over every field of every event, in an encoding that anyone can write anew.

Contract: SHA-256 over, for each frame that made events, two MessagePack arrays: the names of the events' types, and their fields as
maps, names and order as the types declare them. Whole numbers take their shortest form, texts and enumerations are strings,
decimals their text, bytes `bin`, None nil; `event_id`, which is random, is nil, and the error of a bad element is its text.

A book (`OrderBookDeltas`) is the one event that is a sequence. Its map is that of the header its deltas share; behind it
come a MessagePack array of four arrays, one value for each delta (action, side, order id, flags), and two JSON arrays, the prices and the
sizes of all deltas but CLEAR: decimals without exponents and trailing zeros (`2874.3`, `5`).
docs/replay.md says the same with an example.

How it is fast: books of one shape have the same four arrays, which are made from real deltas once. Where every number has at most
as many places as the instrument and fits 15 digits, the text of the number that the adapter read is that of the exact one
(DBL_DIG of IEEE 754), and no delta is made; any other book is written from its deltas.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import orjson

from derive_bench.adapter.book import BookAction, OrderBookDeltas
from derive_bench.adapter.numbers import from_scaled, plain

__all__ = ["EventDigest", "encode_book", "encode_fields"]

_EXACT: Final = 1e15
_SHAPES_MOST: Final = 4_096
_TOO_FINE: Final = tuple(b"." + b"0" * (places + 1) for places in range(19))
"""What a number with more places than so many contains once every digit of it is a 0."""
_TO_ZERO: Final = bytes(ord("0") if chr(code) in "123456789" else code for code in range(256))


def _hook(value: Any) -> str | None:
    return str(value) if isinstance(value, Exception) else None


encode_fields: Final = msgspec.msgpack.Encoder(enc_hook=_hook).encode
"""Returns the MessagePack of an event's fields, or of several events'."""


class EventDigest:
    """Takes events frame by frame."""

    def __init__(self) -> None:
        self.events = 0
        """Events taken; a book counts as one."""
        self._hash = hashlib.sha256()
        self._update = self._hash.update
        self._names: dict[tuple[type, ...], bytes] = {}
        self._shapes: dict[tuple[int, int], bytes] = {}

    def update(self, events: Sequence[Any]) -> None:
        """Take the events of one frame; without any, nothing happens."""
        if not events:
            return
        self.events += len(events)
        kinds = tuple(map(type, events))
        names = self._names.get(kinds)
        if names is None:
            names = self._names[kinds] = encode_fields([kind.__name__ for kind in kinds])
        if kinds[0] is OrderBookDeltas:
            self._update(names + self._book(events[0]))
        else:
            self._update(names + encode_fields(events))

    def hexdigest(self) -> str:
        """Return the digest of what was taken so far, 64 hex digits."""
        return self._hash.hexdigest()

    def _book(self, book: OrderBookDeltas) -> bytes:
        header = book.header
        bids, doubles = book.as_read
        if doubles and all(doubles):
            prices, sizes = orjson.dumps(doubles[0::2]), orjson.dumps(doubles[1::2])
            shape = self._shapes.get((bids, len(doubles)))
            if (
                shape is not None
                and _fits(prices, header.price_precision)
                and _fits(sizes, header.size_precision)
                and sum(doubles) * 10 ** max(header.price_precision, header.size_precision) < _EXACT
            ):
                return b"".join((encode_fields((header,)), shape, prices, sizes))
            if shape is None and len(book) == 1 + len(doubles) // 2:
                if len(self._shapes) >= _SHAPES_MOST:
                    self._shapes.clear()
                self._shapes[bids, len(doubles)] = _shape(book)
        return encode_book(book)


def encode_book(book: OrderBookDeltas) -> bytes:
    """Return the fields of a book as they are hashed, from its deltas."""
    header = book.header
    levels = [delta for delta in book if delta.action is not BookAction.CLEAR]
    prices = ",".join(_decimal(delta.price_raw, header.price_precision) for delta in levels)
    sizes = ",".join(_decimal(delta.size_raw, header.size_precision) for delta in levels)
    return encode_fields((header,)) + _shape(book) + f"[{prices}][{sizes}]".encode()


def _shape(book: OrderBookDeltas) -> bytes:
    columns = [[getattr(delta, name) for delta in book] for name in ("action", "side", "order_id", "flags")]
    return encode_fields(columns)


def _decimal(raw: int, precision: int) -> str:
    text = plain(from_scaled(raw, precision))
    return text.rstrip("0").rstrip(".") if "." in text else text


def _fits(numbers: bytes, precision: int) -> bool:
    """Whether a JSON array has plain numbers alone, as `_decimal` would write them, of at most `precision` places."""
    if b"e" in numbers:
        return False
    if precision == 0:
        return b"." not in numbers
    if b".0," in numbers or numbers.endswith(b".0]"):
        return False
    return numbers.translate(_TO_ZERO).find(_TOO_FINE[precision]) < 0
