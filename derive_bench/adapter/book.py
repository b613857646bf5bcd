"""Order books: a snapshot message to deltas or to ten fixed levels.

Contract: `parse_order_book_deltas` checks the shape and the legality of every price and amount when it is called
(`DecodeError` with the path), and converts them when somebody looks: a book of 100 levels a side that only passes through
does not pay for 200 objects. What is seen is the same either way: one CLEAR, then an ADD for each level whose amount,
rounded half-even to the size precision, is not zero; bids, then asks, best first; `order_id` is the level's index in
bids-then-asks; every delta carries F_SNAPSHOT, the last also F_LAST. `sequence` is the `publish_id`, or the ms timestamp
where there is none.

How exactness is kept: levels made of digits and points alone, none longer than 40 characters, are read by a JSON parser
into doubles v. With y = v * 10**p and r = round(y), |y| < 2**45 puts the exact product within 2**-7 of y, so r is its
half-even rounding whenever |y - r| < 0.49, which one Euclidean distance over all levels proves at once. Any other book
goes through exact decimals, number by number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from itertools import compress, count, cycle, repeat
from math import dist
from operator import mul
from typing import Any, Final, overload

import msgspec
from msgspec import Raw, Struct
from orjson import JSONDecodeError, loads

from derive_bench.adapter.errors import DecodeError
from derive_bench.adapter.instruments import Instrument
from derive_bench.adapter.lenient import FAULTS
from derive_bench.adapter.messages import OrderBook
from derive_bench.adapter.model import OrderSide
from derive_bench.adapter.numbers import MAX_DIGITS, exact, from_scaled, scaled

__all__ = [
    "DEPTH10",
    "F_LAST",
    "F_SNAPSHOT",
    "BookAction",
    "BookHeader",
    "BookLevel",
    "OrderBookDelta",
    "OrderBookDeltas",
    "OrderBookDepth10",
    "parse_order_book_deltas",
    "parse_order_book_depth10",
]

F_LAST: Final = 128
"""The last delta of a message."""
F_SNAPSHOT: Final = 32
"""A delta that belongs to a snapshot."""
DEPTH10: Final = 10


class BookAction(StrEnum):
    """What a delta does to a book."""

    CLEAR = "CLEAR"
    ADD = "ADD"


class BookHeader(Struct, frozen=True, gc=False):
    """What all deltas of a message share. `sequence` is the venue's `publish_id`; timestamps are ns."""

    instrument_id: str
    price_precision: int
    size_precision: int
    sequence: int
    ts_event: int
    ts_init: int


class OrderBookDelta(Struct, frozen=True, gc=False):
    """One change of a book; a CLEAR has no side, price and size 0."""

    header: BookHeader
    action: BookAction
    side: OrderSide
    price_raw: int
    size_raw: int
    order_id: int
    flags: int

    @property
    def price(self) -> Decimal:
        """The level's price."""
        return from_scaled(self.price_raw, self.header.price_precision)

    @property
    def size(self) -> Decimal:
        """The level's amount."""
        return from_scaled(self.size_raw, self.header.size_precision)

    @property
    def instrument_id(self) -> str:
        """The instrument, `ETH-PERP.DERIVE`."""
        return self.header.instrument_id

    @property
    def sequence(self) -> int:
        """The venue's publication id, which shows gaps."""
        return self.header.sequence

    @property
    def ts_event(self) -> int:
        """Publication time, ns."""
        return self.header.ts_event

    @property
    def ts_init(self) -> int:
        """The caller's time, ns."""
        return self.header.ts_init


class OrderBookDeltas(Struct, gc=False, eq=False):
    """The deltas of one snapshot: a sequence of `OrderBookDelta`, made when first looked at. Treat it as immutable.

    Two are equal when their deltas are. Copies and pickles hold the book as it came.
    """

    _message: OrderBook
    _instrument: Instrument
    ts_init: int
    _n_bids: int
    _doubles: list[float] | None
    """Price, amount, price, amount ..., bids first; None where only exact texts will do."""
    _texts: list[str] | None = None
    _deltas: list[OrderBookDelta] | None = None

    @property
    def instrument_id(self) -> str:
        """The instrument, `ETH-PERP.DERIVE`."""
        return self._instrument.id

    @property
    def sequence(self) -> int:
        """The venue's publication id, or the ms timestamp where there is none."""
        return _sequence(self._message)

    @property
    def ts_event(self) -> int:
        """Publication time, ns."""
        return self._message.timestamp * 1_000_000

    @property
    def flags(self) -> int:
        """The flags of the message as a whole: those of its last delta."""
        return F_SNAPSHOT | F_LAST

    @property
    def header(self) -> BookHeader:
        """What all deltas share."""
        return _header(self._message, self._instrument, self.ts_init)

    @property
    def as_read(self) -> tuple[str, int, int, int, int, int, int, list[float]]:
        """The values of `header`, in its order, how many levels are bids, and all levels as read.

        Levels are price, amount, price, amount …, bids first, as JSON readers give them: not yet rounded.
        """
        message, instrument, doubles = self._message, self._instrument, self._doubles
        return (
            instrument.id,
            instrument.price_precision,
            instrument.size_precision,
            _sequence(message),
            message.timestamp * 1_000_000,
            self.ts_init,
            self._n_bids,
            [loads(text) for text in self._all_texts()] if doubles is None else doubles,
        )

    @property
    def deltas(self) -> Sequence[OrderBookDelta]:
        """The deltas themselves."""
        return tuple(self._made())

    def __len__(self) -> int:
        return len(self._made())

    def __iter__(self) -> Iterator[OrderBookDelta]:
        return iter(self._made())

    @overload
    def __getitem__(self, index: int) -> OrderBookDelta: ...
    @overload
    def __getitem__(self, index: slice) -> list[OrderBookDelta]: ...
    def __getitem__(self, index: int | slice) -> OrderBookDelta | list[OrderBookDelta]:
        return self._made()[index]

    def __eq__(self, other: object) -> bool:
        return self._made() == other._made() if isinstance(other, OrderBookDeltas) else NotImplemented

    def __ne__(self, other: object) -> bool:
        # A Struct's own is by identity here.
        return not self == other

    def __hash__(self) -> int:
        return hash(tuple(self._made()))

    def __repr__(self) -> str:
        return f"OrderBookDeltas(instrument_id={self.instrument_id!r}, sequence={self.sequence}, len={len(self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        message = self._message
        plain = OrderBook(
            asks=Raw(bytes(message.asks)),
            bids=Raw(bytes(message.bids)),
            instrument_name=message.instrument_name,
            publish_id=message.publish_id,
            timestamp=message.timestamp,
        )
        return parse_order_book_deltas, (plain, self._instrument, self.ts_init)

    def _made(self) -> list[OrderBookDelta]:
        if self._deltas is None:
            self._deltas = _make_deltas(self)
        return self._deltas

    def _all_texts(self) -> list[str]:
        """Return the numbers as the venue wrote them."""
        if self._texts is None:
            pairs = loads(bytes(self._message.bids)) + loads(bytes(self._message.asks))
            self._texts = [text for pair in pairs for text in pair]
        return self._texts

    def _prices_and_sizes(self) -> tuple[list[int], list[int]]:
        """Return all prices and all amounts, bids first, in raw units, rounded half-even."""
        instrument = self._instrument
        if self._doubles is not None:
            products = list(map(mul, self._doubles, cycle((instrument.price_unit, instrument.size_unit))))
            rounded = [product.__round__() for product in products]
            # No number has a sign here, so that none is above the sum of all.
            if dist(products, rounded) < _SAFE_DISTANCE and sum(products) < _SAFE_PRODUCT:
                return rounded[0::2], rounded[1::2]
        texts = self._all_texts()
        return (
            [scaled(text, instrument.price_precision) for text in texts[0::2]],
            [scaled(text, instrument.size_precision) for text in texts[1::2]],
        )


class BookLevel(Struct, frozen=True, gc=False):
    """A place in a depth-10 book: price and size in raw units, and a count of 1, or 0 where the size is zero."""

    price_raw: int
    size_raw: int
    count: int


class OrderBookDepth10(Struct, frozen=True, gc=False):
    """Ten levels a side in fixed places, best first; places without a level are zero."""

    header: BookHeader
    bids: tuple[BookLevel, ...]
    asks: tuple[BookLevel, ...]
    flags: int

    @property
    def instrument_id(self) -> str:
        """The instrument, `ETH-PERP.DERIVE`."""
        return self.header.instrument_id

    @property
    def sequence(self) -> int:
        """The venue's publication id, or the ms timestamp where there is none."""
        return self.header.sequence

    @property
    def ts_event(self) -> int:
        """Publication time, ns."""
        return self.header.ts_event

    @property
    def ts_init(self) -> int:
        """The caller's time, ns."""
        return self.header.ts_init

    def price(self, level: BookLevel) -> Decimal:
        """Return a level's price."""
        return from_scaled(level.price_raw, self.header.price_precision)

    def size(self, level: BookLevel) -> Decimal:
        """Return a level's amount."""
        return from_scaled(level.size_raw, self.header.size_precision)


def parse_order_book_deltas(message: OrderBook, instrument: Instrument, ts_init: int) -> OrderBookDeltas:
    """Turn a snapshot into deltas; `ts_init` is the caller's time in ns.

    Raises `DecodeError` with the path of the first side, level or number that is not one.
    """
    json = b"".join((b"{", message.bids, b",", message.asks, b"}"))
    skeleton = json.translate(None, _DIGITS)
    try:
        n_bids, n_numbers = _layouts[skeleton]
    except KeyError:
        return (parse_order_book_deltas if _learn(skeleton) else _parse_exactly)(message, instrument, ts_init)
    numbers = json.translate(_OUTER, _MARKUP)
    if len(json) <= _SHORT or numbers.translate(_TO_ZERO).find(_TOO_LONG) < 0:
        try:
            doubles = loads(numbers)
        except JSONDecodeError:
            return _parse_one_sided(message, instrument, ts_init, numbers, n_bids, n_numbers)
        if len(doubles) == n_numbers:
            return OrderBookDeltas(message, instrument, ts_init, n_bids, doubles)
    return _parse_exactly(message, instrument, ts_init)


def parse_order_book_depth10(message: OrderBook, instrument: Instrument, ts_init: int) -> OrderBookDepth10:
    """Turn a snapshot into ten levels a side. Raises as `parse_order_book_deltas` does."""
    book = parse_order_book_deltas(message, instrument, ts_init)
    prices, sizes = book._prices_and_sizes()
    places = [BookLevel(price, size, int(size != 0)) for price, size in zip(prices, sizes, strict=True)]
    return OrderBookDepth10(book.header, _ten(places[: book._n_bids]), _ten(places[book._n_bids :]), F_SNAPSHOT)


_SAFE_DISTANCE: Final = 0.49
_SAFE_PRODUCT: Final = float(1 << 45)
_TOO_LONG: Final = b"0" * (MAX_DIGITS + 1)
_DIGITS: Final = b"0123456789."
_MARKUP: Final = b'[]"'
_OUTER: Final = bytes(ord({"{": "[", "}": "]"}.get(chr(code), chr(code))) for code in range(256))
_SHORT: Final = MAX_DIGITS + 15
"""Length of JSON with at least 14 characters of markup and a second number, in which no number can be too long."""
_TO_ZERO: Final = bytes(ord("0") if chr(code) in "0123456789." else code for code in range(256))
_LEVEL: Final = b'["",""]'
_LAYOUTS_MAX: Final = 4_096
_SKELETON_MAX: Final = 4_096
"""The longest skeleton kept, of some 500 levels; the venue's deepest book has 200."""

_EMPTY_PLACE: Final = BookLevel(0, 0, 0)
_LAST: Final = F_SNAPSHOT | F_LAST
_CLEAR: Final = BookAction.CLEAR
_ADD: Final = BookAction.ADD
_NO_SIDE: Final = OrderSide.NO_ORDER_SIDE
_BUY: Final = OrderSide.BUY
_SELL: Final = OrderSide.SELL
_layouts: Final[dict[bytes, tuple[int, int]]] = {}
_pairs: Final = msgspec.json.Decoder(list[tuple[Raw, Raw]]).decode


def _learn(skeleton: bytes) -> bool:
    """Remember the numbers of bids and of all numbers of a book whose JSON, without digits and points, is `skeleton`.

    Returns False for one that is not as documented.
    """
    if len(skeleton) > _SKELETON_MAX:
        return False
    n_levels = skeleton.count(_LEVEL)
    n_bids = skeleton.partition(b"],[[")[0].count(_LEVEL) if b"],[[" in skeleton else n_levels
    n_asks = n_levels - n_bids
    if n_levels == 0 or skeleton != b"{[%b],[%b]}" % (b",".join([_LEVEL] * n_bids), b",".join([_LEVEL] * n_asks)):
        return False
    if len(_layouts) >= _LAYOUTS_MAX:
        _layouts.clear()
    _layouts[skeleton] = (n_bids, 2 * n_levels)
    return True


def _parse_one_sided(
    message: OrderBook, instrument: Instrument, ts_init: int, numbers: bytes, n_bids: int, n_numbers: int
) -> OrderBookDeltas:
    """Read a book with an empty side, which leaves a comma before or behind its numbers."""
    if n_bids == 0 and numbers.startswith(b"[,"):
        numbers = b"[" + numbers[2:]
    elif 2 * n_bids == n_numbers and numbers.endswith(b",]"):
        numbers = numbers[:-2] + b"]"
    else:
        return _parse_exactly(message, instrument, ts_init)
    try:
        doubles = loads(numbers)
    except JSONDecodeError:
        return _parse_exactly(message, instrument, ts_init)
    return OrderBookDeltas(message, instrument, ts_init, n_bids, doubles)


def _parse_exactly(message: OrderBook, instrument: Instrument, ts_init: int) -> OrderBookDeltas:
    bids = _side_texts(message.bids, "$.params.data.bids")
    asks = _side_texts(message.asks, "$.params.data.asks")
    return OrderBookDeltas(message, instrument, ts_init, len(bids) // 2, None, bids + asks)


def _side_texts(side: Raw, path: str) -> list[str]:
    try:
        pairs = _pairs(side)
    except FAULTS as error:
        raise DecodeError.from_msgspec(error, path) from None
    return [_text(raw, f"{path}[{level}][{place}]") for level, pair in enumerate(pairs) for place, raw in enumerate(pair)]


def _text(raw: Raw, path: str) -> str:
    try:
        value = bytes(raw).decode()
        text = msgspec.json.decode(value, type=str) if value.startswith('"') else value
    except FAULTS as error:
        raise DecodeError.from_msgspec(error, path) from None
    exact(text, path)
    return text


def _make_deltas(book: OrderBookDeltas) -> list[OrderBookDelta]:
    header = book.header
    prices, sizes = book._prices_and_sizes()
    sides, flags = _sides_and_flags(book._n_bids, len(prices))
    order_ids: Iterable[int] = count()
    if 0 in sizes:
        kept = [size != 0 for size in sizes]
        sides, prices = list(compress(sides, kept)), list(compress(prices, kept))
        sizes, order_ids = list(compress(sizes, kept)), list(compress(order_ids, kept))
        flags = _sides_and_flags(0, len(prices))[1]
    if not prices:
        return [OrderBookDelta(header, _CLEAR, _NO_SIDE, 0, 0, 0, _LAST)]
    deltas = [OrderBookDelta(header, _CLEAR, _NO_SIDE, 0, 0, 0, F_SNAPSHOT)]
    deltas += map(OrderBookDelta, repeat(header), repeat(_ADD), sides, prices, sizes, order_ids, flags)
    return deltas


@lru_cache(maxsize=1_024)
def _sides_and_flags(n_bids: int, n_levels: int) -> tuple[list[OrderSide], list[int]]:
    """Return what does not vary between books of one shape; not to be changed by those who get it."""
    sides = [_BUY] * n_bids + [_SELL] * (n_levels - n_bids)
    return sides, [F_SNAPSHOT] * (n_levels - 1) + [_LAST]


def _ten(places: list[BookLevel]) -> tuple[BookLevel, ...]:
    return tuple((places + [_EMPTY_PLACE] * DEPTH10)[:DEPTH10])


def _header(message: OrderBook, instrument: Instrument, ts_init: int) -> BookHeader:
    return BookHeader(
        instrument.id,
        instrument.price_precision,
        instrument.size_precision,
        _sequence(message),
        message.timestamp * 1_000_000,
        ts_init,
    )


def _sequence(message: OrderBook) -> int:
    return message.timestamp if message.publish_id is None else message.publish_id
