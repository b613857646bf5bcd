"""Order books: each rule of the deltas, and thousands of books against a slow reading of the same text."""

from __future__ import annotations

import copy
import json
import pickle
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from derive_bench.adapter import book as book_module
from derive_bench.adapter.book import (
    F_LAST,
    F_SNAPSHOT,
    BookAction,
    OrderBookDeltas,
    parse_order_book_deltas,
    parse_order_book_depth10,
)
from derive_bench.adapter.errors import DecodeError
from derive_bench.adapter.frames import Subscription, decode
from derive_bench.adapter.instruments import Instrument
from derive_bench.adapter.messages import OrderBook
from derive_bench.adapter.model import OrderSide
from tests.adapter.wire import ILLEGAL_TEXTS, TS_INIT, Num, envelope, is_legal, made_instrument, number_text, rounded, snapshot, write

CENTS = made_instrument("0.01", "0.001")
Levels = list[list[str]]


def message_of(bids: Any, asks: Any, *, publish_id: int | None = 7, bare: float = 0.0, rng: Random | None = None) -> OrderBook:
    """The decoded message of a book; numbers are strings unless `bare`."""
    tree = {"instrument_name": "ETH-PERP", "timestamp": 1_790_871_617_137, "publish_id": publish_id, "bids": bids, "asks": asks}
    message = decode(envelope("orderbook.ETH-PERP.1.100", write(tree, rng, bare)))
    assert isinstance(message, Subscription)
    assert isinstance(message.data, OrderBook)
    return message.data


def deltas_of(bids: Any, asks: Any, instrument: Instrument = CENTS, **how: Any) -> OrderBookDeltas:
    return parse_order_book_deltas(message_of(bids, asks, **how), instrument, TS_INIT)


def seen(deltas: OrderBookDeltas) -> list[tuple[Any, ...]]:
    return [(d.action, d.side, d.price, d.size, d.order_id, d.flags) for d in deltas]


def slow(bids: Levels, asks: Levels, instrument: Instrument) -> list[tuple[Any, ...]]:
    """DESIGN.md's rules, one by one, with decimal arithmetic."""
    kept = []
    for order_id, (side, (price, amount)) in enumerate([*((OrderSide.BUY, x) for x in bids), *((OrderSide.SELL, x) for x in asks)]):
        size = rounded(amount, instrument.size_precision)
        if size != 0:
            kept.append((BookAction.ADD, side, rounded(price, instrument.price_precision), size, order_id))
    zero = (Decimal(0).scaleb(-instrument.price_precision), Decimal(0).scaleb(-instrument.size_precision))
    rows = [(BookAction.CLEAR, OrderSide.NO_ORDER_SIDE, *zero, 0), *kept]
    return [(*row, 32 | 128 if index == len(rows) - 1 else 32) for index, row in enumerate(rows)]


# The rules


def test_a_snapshot_is_a_clear_then_bids_then_asks_best_first() -> None:
    deltas = deltas_of([["10.01", "1"], ["10", "2.5"]], [["10.02", "0.001"]])
    assert [(d.action.value, d.side.value, str(d.price), str(d.size), d.order_id, d.flags) for d in deltas] == [
        ("CLEAR", "NO_ORDER_SIDE", "0.00", "0.000", 0, 32),
        ("ADD", "BUY", "10.01", "1.000", 0, 32),
        ("ADD", "BUY", "10.00", "2.500", 1, 32),
        ("ADD", "SELL", "10.02", "0.001", 2, 160),
    ]
    assert (F_SNAPSHOT, F_LAST, deltas.flags) == (32, 128, 160)


def test_every_delta_carries_the_head_of_its_message() -> None:
    deltas = deltas_of([["10", "1"]], [["11", "1"]], publish_id=9582)
    for each in (deltas, *deltas):
        assert (each.instrument_id, each.sequence, each.ts_event, each.ts_init) == (
            "ETH-PERP.DERIVE",
            9582,
            1_790_871_617_137_000_000,
            TS_INIT,
        )
    assert deltas.header == deltas[0].header
    assert deltas.header.price_precision == 2


@pytest.mark.parametrize("zero", ["0", "0.0", "-0", "0e5", "0.0004", "0.0005", "-0.0005", "1e-60"])
def test_a_level_whose_amount_rounds_to_zero_is_left_out_and_keeps_its_number(zero: str) -> None:
    deltas = deltas_of([["10", "1"], ["9", zero], ["8", "2"]], [["11", zero], ["12", "1"]])
    assert [(str(d.price), d.order_id) for d in deltas][1:] == [("10.00", 0), ("8.00", 2), ("12.00", 4)]
    assert [d.flags for d in deltas] == [32, 32, 32, 160]


def test_the_last_flag_is_on_the_last_level_that_is_left() -> None:
    deltas = deltas_of([["10", "1"]], [["11", "0.0001"]])
    assert [(d.side, d.flags) for d in deltas] == [(OrderSide.NO_ORDER_SIDE, 32), (OrderSide.BUY, 160)]


@pytest.mark.parametrize(("bids", "asks"), [([], []), ([["10", "0"]], []), ([["10", "0.0004"]], [["11", "0.0"]])])
def test_an_empty_book_is_a_single_clear_with_both_flags(bids: Levels, asks: Levels) -> None:
    assert seen(deltas_of(bids, asks)) == [(BookAction.CLEAR, OrderSide.NO_ORDER_SIDE, Decimal(0), Decimal(0), 0, 160)]


@pytest.mark.parametrize(("bids", "asks", "side"), [([["10", "1"]], [], OrderSide.BUY), ([], [["10", "1"]], OrderSide.SELL)])
def test_a_book_of_one_side(bids: Levels, asks: Levels, side: OrderSide) -> None:
    assert seen(deltas_of(bids, asks))[1] == (BookAction.ADD, side, Decimal(10), Decimal(1), 0, 160)


def test_a_zero_price_is_a_price() -> None:
    assert [d.price for d in deltas_of([["0", "1"]], [["0.001", "1"]])][1:] == [0, 0]


@pytest.mark.parametrize("publish_id", [0, 1, 225453, 2**63])
def test_the_sequence_is_the_publication_id(publish_id: int) -> None:
    message = message_of([["1", "1"]], [], publish_id=publish_id)
    assert parse_order_book_deltas(message, CENTS, 0).sequence == publish_id
    assert parse_order_book_depth10(message, CENTS, 0).sequence == publish_id


def test_without_a_publication_id_the_sequence_is_the_timestamp() -> None:
    message = message_of([["1", "1"]], [], publish_id=None)
    assert parse_order_book_deltas(message, CENTS, 0)[1].sequence == 1_790_871_617_137
    assert parse_order_book_depth10(message, CENTS, 0).sequence == 1_790_871_617_137


@pytest.mark.parametrize(
    ("price", "size", "raw"),
    [
        ("10.005", "0.0015", (1000, 2)),
        ("10.015", "0.0025", (1002, 2)),
        ("10.0150000000000000000001", "0.0024999999999999999999", (1002, 2)),
        ("10.0050000000000000000001", "0.0025000000000000000001", (1001, 3)),
        ("-10.005", "-1.5", (-1000, -1500)),
        ("1e3", "25E-1", (100000, 2500)),
        ("90071992547409.93", "9007199254740.993", (9007199254740993, 9007199254740993)),
        ("9" * 38 + ".99", "9" * 37 + ".999", (10**40 - 1, 10**40 - 1)),
    ],
)
def test_numbers_are_exact_and_rounded_half_even(price: str, size: str, raw: tuple[int, int]) -> None:
    for bids, asks in (([[price, size]], [["11", "1"]]), ([["9", "1"]], [[price, size]]), ([], [[price, size]])):
        for bare in (0, 1):
            deltas = deltas_of([[Num(n) for n in level] for level in bids], [[Num(n) for n in level] for level in asks], bare=bare)
            hit = deltas[-1] if bids[:1] != [[price, size]] else deltas[1]
            assert (hit.price_raw, hit.size_raw) == raw


# Thousands of books


def made_book(rng: Random) -> tuple[Levels, Levels, Instrument]:
    """A book of one temper: plain, of more digits, of ties, whole, huge, negative, empty amounts, or all of them mixed."""
    instrument = INSTRUMENTS[rng.randrange(len(INSTRUMENTS))]
    price, size = instrument.price_precision, instrument.size_precision
    temper = rng.randrange(8)
    odd = rng.choice((0.02, 0.3, 1.0))

    def text(precision: int) -> str:
        plain = f"{rng.randrange(10**7)}" + (f".{rng.randrange(10**precision):0{precision}d}" if precision else "")
        if temper == 0 or rng.random() > odd:
            return plain
        tail = "." if precision == 0 else ""
        match temper:
            case 1:
                return f"{plain}{tail}{rng.randrange(10**4):04d}"
            case 2:
                return f"{plain}{tail}5{rng.choice(('', '0', '00000000000000000000', '0000000000001'))}"
            case 3:
                return str(rng.randrange(10**6))
            case 4:
                return f"{rng.randrange(2**44, 2**54)}" + (f".{rng.randrange(10**9)}" if rng.random() < 0.5 else "")
            case 5:
                return rng.choice(("0", "0.0", "0." + "0" * precision + "5", "0." + "0" * precision + "4999", "-" + plain, "-0", "0e9"))
            case 6:
                return f"0.{rng.randrange(10**12)}"
            case _:
                return number_text(rng, precision)

    def legal(precision: int) -> str:
        made = text(precision)
        return made if is_legal(made) else f"{rng.randrange(10**6)}"

    def side() -> Levels:
        levels = rng.choice((0, 1, 1, 2, 5, 10, 10, 20, rng.randrange(1, 101)))
        return [[Num(legal(price)), Num(legal(size))] for _ in range(levels)]

    return side(), side(), instrument


INSTRUMENTS = [
    made_instrument(tick, step)
    for tick, step in (
        *(("0.01", "0.001"), ("0.01", "0.001"), ("0.1", "0.01"), ("1", "1"), ("0.5", "5"), ("0.0001", "10")),
        *(("0.00000001", "0.000000000001"), ("1e-18", "1e-18")),
    )
]


def test_thousands_of_books_are_what_a_slow_reading_makes_of_them() -> None:
    rng = Random(20261130)
    for number in range(1_500):
        bids, asks, instrument = made_book(rng)
        message = message_of(bids, asks, bare=rng.choice((0, 0, 0, 0.5, 1)), rng=Random(number) if number % 3 == 0 else None)
        expected = slow(bids, asks, instrument)
        assert seen(parse_order_book_deltas(message, instrument, TS_INIT)) == expected, (bids, asks, instrument)


def test_books_give_ten_fixed_places_a_side() -> None:
    rng = Random(7)
    for _ in range(400):
        bids, asks, instrument = made_book(rng)
        depth = parse_order_book_depth10(message_of(bids, asks), instrument, TS_INIT)
        assert depth.flags == 32
        for places, levels in ((depth.bids, bids), (depth.asks, asks)):
            expected = [
                (rounded(price, instrument.price_precision), rounded(size, instrument.size_precision)) for price, size in levels[:10]
            ]
            got = [(depth.price(place), depth.size(place)) for place in places]
            assert len(got) == 10
            assert got == expected + [(Decimal(0), Decimal(0))] * (10 - len(expected))
            assert [place.count for place in places] == [int(size != 0) for _, size in got]


def test_depth_10_carries_the_head_of_its_message() -> None:
    depth = parse_order_book_depth10(message_of([["10.005", "1"]], []), CENTS, TS_INIT)
    assert (depth.instrument_id, depth.sequence, depth.ts_event, depth.ts_init) == (
        "ETH-PERP.DERIVE",
        7,
        1_790_871_617_137_000_000,
        TS_INIT,
    )
    assert (str(depth.price(depth.bids[0])), str(depth.size(depth.bids[0]))) == ("10.00", "1.000")


def test_a_level_that_rounds_to_zero_keeps_its_place_without_a_count() -> None:
    depth = parse_order_book_depth10(message_of([["10", "0.0004"], ["9", "1"]], []), CENTS, TS_INIT)
    assert [(place.size_raw, place.count) for place in depth.bids[:3]] == [(0, 0), (1000, 1), (0, 0)]


# A sequence made late


def test_deltas_are_a_sequence() -> None:
    deltas = deltas_of([["10", "1"], ["9", "2"]], [["11", "3"]])
    rows = list(deltas)
    assert len(deltas) == len(rows) == 4
    assert list(deltas.deltas) == rows
    assert (deltas[0], deltas[-1], deltas[1:3], deltas[::-1]) == (rows[0], rows[-1], rows[1:3], rows[::-1])
    assert rows[2] in deltas
    with pytest.raises(IndexError):
        deltas[4]
    assert next(iter(deltas)) is deltas[0], "made once"


def test_books_are_equal_when_their_deltas_are() -> None:
    one, same = deltas_of([["10.0", "1"]], []), deltas_of([["10", "1.000"], ["9", "0"]], [["11", "0.0001"]])
    assert one == same
    assert hash(one) == hash(same)
    assert (one != same) is False
    for other in (deltas_of([["10.01", "1"]], []), deltas_of([["10", "1"]], [], publish_id=8), deltas_of([], [["10", "1"]])):
        assert one != other
    assert one != list(one)
    assert len({one, same}) == 1


@pytest.mark.parametrize("bids", [[["10", "1"], ["9.123456", "2"]], [["10.01", "1"], ["9.01", "0"]], []])
@pytest.mark.parametrize("looked_at", [False, True])
def test_copies_and_pickles_are_equal_and_independent_of_the_frame(bids: Levels, looked_at: bool) -> None:
    deltas = deltas_of(bids, [["11", "1"]])
    if looked_at:
        list(deltas)
    for duplicate in (copy.copy(deltas), copy.deepcopy(deltas), pickle.loads(pickle.dumps(deltas))):
        assert duplicate == deltas
        assert seen(duplicate) == seen(deltas)
    depth = parse_order_book_depth10(message_of(bids, []), CENTS, 1)
    assert pickle.loads(pickle.dumps(depth)) == copy.deepcopy(depth) == depth


def test_a_repr_names_the_book() -> None:
    assert repr(deltas_of([["10", "1"]], [])) == "OrderBookDeltas(instrument_id='ETH-PERP.DERIVE', sequence=7, len=2)"


def test_the_memory_of_shapes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    layouts: dict[bytes, Any] = {}
    monkeypatch.setattr(book_module, "_layouts", layouts)
    monkeypatch.setattr(book_module, "_LAYOUTS_MAX", 4)
    for levels in range(1, 30):
        bids = [["10", "1"]] * levels
        assert len(deltas_of(bids, bids)) == 2 * levels + 1
        assert 1 <= len(layouts) <= 4
    assert len(deltas_of([["10", "1"]] * 5_000, [])) == 5_001
    assert max(map(len, layouts)) < 10_000, "a book beyond the venue's depths is read and not remembered"


# What is wrong


@pytest.mark.parametrize("text", ILLEGAL_TEXTS, ids=lambda text: ascii(text[:12]))
@pytest.mark.parametrize(("level", "place"), [(0, 0), (1, 1)])
def test_an_illegal_number_is_an_error_at_its_path_when_parsed(text: str, level: int, place: int) -> None:
    for side in ("bids", "asks"):
        levels = [["10", "1"], ["9.5", "2"]]
        levels[level][place] = text
        book = {"bids": [["10", "1"]], "asks": [["11", "1"]], side: levels}
        message = snapshot("ETH-PERP", _json(book["bids"]), _json(book["asks"]))
        for parse in (parse_order_book_deltas, parse_order_book_depth10):
            with pytest.raises(DecodeError) as caught:
                parse(message, CENTS, TS_INIT)
            if text != "\ud800":
                assert caught.value.path == f"$.params.data.{side}[{level}][{place}]"


@pytest.mark.parametrize("text", ["1" * 41, "0." + "1" * 41, "1." + "0" * 40, "0." + "0" * 30 + "1" * 41])
def test_short_neighbours_make_no_room_for_a_number_too_long(text: str) -> None:
    for bids in ([["1", text]], [[text, "1"]], [["1", "1"], [text, "1"]]):
        for other in ([], [["1", "1"]]):
            for sides in ((bids, other), (other, bids)):
                message = snapshot("ETH-PERP", _json(sides[0]), _json(sides[1]))
                with pytest.raises(DecodeError, match="significant digits"):
                    parse_order_book_deltas(message, CENTS, TS_INIT)


def _json(levels: Any) -> bytes:
    return json.dumps(levels, separators=(",", ":")).encode()


def read(frame: bytes) -> OrderBookDeltas:
    message = decode(frame)
    assert isinstance(message, Subscription)
    return parse_order_book_deltas(message.data, CENTS, TS_INIT)


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "true", "null", "[]", "{}", "01", "1.", ".5", "+1", "1e61", "1" * 41, "1_0", "0x10", ""]
)
def test_an_illegal_bare_number_is_an_error_of_decode_or_parse(text: str) -> None:
    for bids in (f'[["1","1"],[{text},"1"]]', f'[["1","1"],["1",{text}]]'):
        frame = envelope("orderbook.ETH-PERP.1.10", f'{{"instrument_name":"ETH-PERP","timestamp":1,"bids":{bids},"asks":[["2","1"]]}}')
        with pytest.raises(DecodeError):
            read(frame)


@pytest.mark.parametrize(
    "side",
    [
        "5",
        '"x"',
        "null",
        "true",
        "{}",
        "[5]",
        '["1"]',
        '[["1"]]',
        '[["1","2","3"]]',
        "[[]]",
        "[{}]",
        '[{"price":"1","amount":"1"}]',
        '[["1",["2"]]]',
    ],
)
def test_a_side_of_another_shape_is_an_error_at_its_path(side: str) -> None:
    for bids, asks, name in ((side, '[["2","1"]]', "bids"), ('[["1","1"]]', side, "asks"), ("[]", side, "asks")):
        frame = envelope("orderbook.ETH-PERP.1.10", f'{{"instrument_name":"ETH-PERP","timestamp":1,"bids":{bids},"asks":{asks}}}')
        with pytest.raises(DecodeError) as caught:
            read(frame)
        assert caught.value.path.startswith(f"$.params.data.{name}")


def test_hostile_texts_do_not_borrow_digits_from_their_neighbours() -> None:
    """Texts whose characters would make as many numbers, were the quotes and brackets between them taken out."""
    for bids in ([["1", "", "2"]], [["1,2", ""]], [["", "1,2"]], [["1", "2,3"], ["4", ""]], [["1]", "[2"]], [['1"', "2"]], [["[1", "2]"]]):
        for other in (b'[["3","1"]]', b"[]"):
            for sides in ((_json(bids), other), (other, _json(bids))):
                message = snapshot("ETH-PERP", sides[0], sides[1])
                with pytest.raises(DecodeError):
                    parse_order_book_deltas(message, CENTS, TS_INIT)


def strictly(side: str) -> Levels | None:
    """A side's levels by the standard library's reader; None where it is no array of pairs of legal numbers."""
    levels = json.loads(side, parse_float=Num, parse_int=Num)
    if not isinstance(levels, list) or not all(isinstance(level, list) and len(level) == 2 for level in levels):
        return None
    return levels if all(isinstance(text, str) and is_legal(text) for level in levels for text in level) else None


def test_sides_with_a_few_characters_changed_are_errors_or_read_right() -> None:
    rng = Random(4)
    starts = ("[]", '[["10","1"]]', '[["10.5","0.25"],["9","3"]]', "[[10,1]]", '[["0.1","0"],["7","1.5"],["6","2"]]')
    right = wrong = 0
    while right + wrong < 3_000:
        sides = [rng.choice(starts), rng.choice(starts)]
        for _ in range(rng.choice((1, 1, 2, 3))):
            which = rng.randrange(2)
            at = rng.randrange(len(sides[which]) + 1)
            sides[which] = sides[which][:at] + rng.choice('[]",.-0159e ') + sides[which][at + rng.randrange(2) :]
        try:
            bids, asks = strictly(sides[0]), strictly(sides[1])
        except ValueError:
            continue
        frame = envelope("orderbook.ETH-PERP.1.10", f'{{"instrument_name":"ETH-PERP","timestamp":1,"bids":{sides[0]},"asks":{sides[1]}}}')
        if bids is None or asks is None:
            wrong += 1
            with pytest.raises(DecodeError):
                read(frame)
        else:
            right += 1
            assert seen(read(frame)) == slow(bids, asks, CENTS), sides
    assert min(right, wrong) > 500
