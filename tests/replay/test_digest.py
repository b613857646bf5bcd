"""The event digest: written anew here from its description, the same on repetition, another when any parsed digit is."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive_bench.adapter.book import OrderBookDeltas, parse_order_book_deltas
from derive_bench.adapter.instruments import InstrumentRegistry
from derive_bench.replay.digest import FULL_EVERY, EventDigest
from derive_bench.replay.known import guess
from derive_bench.replay.pipeline import Pipeline
from derive_bench.replay.records import Frame, Record
from tests.adapter.wire import snapshot
from tests.replay.tapes import session


def pack(value: Any) -> bytes:
    """MessagePack's shortest forms, from its specification."""
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        if 0 <= value < 128:
            return bytes([value])
        for code, size in ((0xCC, 1), (0xCD, 2), (0xCE, 4), (0xCF, 8)):
            if 0 <= value < 1 << 8 * size:
                return bytes([code]) + value.to_bytes(size, "big")
        raise AssertionError(value)
    if isinstance(value, float):
        return msgspec.msgpack.encode(value)
    if isinstance(value, bytes):
        assert len(value) < 256
        return bytes([0xC4, len(value)]) + value
    if isinstance(value, str):
        text = value.encode()
        return (bytes([0xA0 | len(text)]) if len(text) < 32 else bytes([0xD9, len(text)])) + text
    if isinstance(value, dict):
        return _head(len(value), 0x80, 0xDE) + b"".join(pack(key) + pack(item) for key, item in value.items())
    return _head(len(value), 0x90, 0xDC) + b"".join(map(pack, value))


def _head(size: int, short: int, long: int) -> bytes:
    return bytes([short | size]) if size < 16 else bytes([long]) + size.to_bytes(2, "big")


def plain_fields(event: Any) -> dict[str, Any]:
    fields = {}
    for name in event.__struct_fields__:
        value = getattr(event, name)
        known = value is None or isinstance(value, (bool, int, bytes, str))
        fields[name] = None if name == "event_id" else (str(value) if isinstance(value, str) or not known else value)
    return fields


class Oracle:
    """The digest by docs/replay.md, with nothing of the library's."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self.books = 0

    def update(self, events: Sequence[Any]) -> None:
        if not events:
            return
        self.hash.update(pack([type(event).__name__ for event in events]))
        if not isinstance(events[0], OrderBookDeltas):
            self.hash.update(pack([plain_fields(event) for event in events]))
            return
        (book,) = events
        bids, numbers = book.as_read[-2:]
        self.hash.update(pack([*plain_fields(book.header).values(), bids, numbers]))
        if self.books % FULL_EVERY == 0:
            columns = [
                [plain_fields(delta)[name] for delta in book] for name in ("action", "side", "order_id", "flags", "price_raw", "size_raw")
            ]
            self.hash.update(pack(columns))
        self.books += 1


def play(records: Sequence[Record], instruments: list[dict[str, Any]], *digests: Any) -> None:
    pipeline = Pipeline(InstrumentRegistry(instruments))
    for record in records:
        if not isinstance(record, Frame):
            continue
        if record.direction == "out":
            pipeline.sent(record.raw, record.connection)
        else:
            events = pipeline.receive(record.raw, record.time_ns, record.connection)
            for digest in digests:
                digest.update(events)


def digest_of(records: Sequence[Record], instruments: list[dict[str, Any]]) -> str:
    digest = EventDigest()
    play(records, instruments, digest)
    return digest.hexdigest()


@pytest.mark.parametrize("protocol", ["v3", "v2"])
def test_the_digest_is_the_one_described(protocol: str) -> None:
    header, records = session(1_000, 5, protocol)
    digest, oracle = EventDigest(), Oracle()
    play(records, header.instruments, digest, oracle)
    assert digest.hexdigest() == oracle.hash.hexdigest()
    assert oracle.books > FULL_EVERY
    assert digest.events > 1_500


def test_the_digest_of_a_known_session_is_known() -> None:
    """Should the encoding or the maker of sessions be changed on purpose, this is the new digest."""
    header, records = session(300, 1)
    assert digest_of(records, header.instruments)[:16] == "29d826ce8bf42ed3"


def test_the_digest_is_the_same_again_although_event_ids_are_random() -> None:
    header, records = session()
    assert digest_of(records, header.instruments) == digest_of(records, header.instruments)


NUMBER: dict[bytes, re.Pattern[bytes]] = {
    b"orderbook.": re.compile(rb'[,\[]"(\d[\d.]*)"'),
    b"ticker_slim.": re.compile(rb'"[abABIM]":"(\d[\d.]*)"'),
    b"trades.": re.compile(rb'"(?:trade_price|trade_amount)":"(\d[\d.]*)"'),
    b"48213.trades": re.compile(rb'"(?:trade_price|trade_amount|trade_fee)":"(\d[\d.]*)"'),
}


def parsed_numbers(raw: bytes) -> list[re.Match[bytes]]:
    """The numbers of a frame that events hold."""
    for channel, number in NUMBER.items():
        if b'"channel":"' + channel in raw:
            return list(number.finditer(raw))
    return []


@given(st.data())
@settings(max_examples=40)
def test_another_digit_in_a_parsed_number_is_another_digest(data: st.DataObject) -> None:
    header, records = session(120, 3)
    numbers = [(place, match) for place, record in enumerate(records) if isinstance(record, Frame) for match in parsed_numbers(record.raw)]
    place, match = data.draw(st.sampled_from(numbers))
    record = records[place]
    assert isinstance(record, Frame)
    raw = record.raw
    at = data.draw(st.sampled_from([at for at in range(match.start(1), match.end(1)) if raw[at : at + 1] != b"."]))
    other = data.draw(st.sampled_from([digit for digit in b"123456789" if digit != raw[at]]))
    changed = Frame(record.time_ns, raw[:at] + bytes([other]) + raw[at + 1 :], record.direction, record.connection)
    assert digest_of([*records[:place], changed, *records[place + 1 :]], header.instruments) != digest_of(records, header.instruments)


def test_unknown_fields_change_nothing() -> None:
    header, clean = session(600, 9)
    _, faulty = session(600, 9, faults=(("unknown_fields", 20),))
    assert digest_of(faulty, header.instruments) == digest_of(clean, header.instruments)


@given(st.integers(1, 3), st.integers(0, 3), st.integers(2**45, 2**60))
@settings(max_examples=50)
def test_numbers_too_large_for_doubles_are_told_apart(price_places: int, size_places: int, raw: int) -> None:
    registry = InstrumentRegistry([guess("A-PERP", price_places, size_places)])

    def digest(value: int) -> str:
        text = f"{value // 10**price_places}.{value % 10**price_places:0{price_places}}"
        message = snapshot("A-PERP", f'[["{text}","1"]]'.encode(), b"[]")
        taken = EventDigest()
        for _ in range(2):
            taken.update([parse_order_book_deltas(message, registry["A-PERP"], 0)])
        return taken.hexdigest()

    assert digest(raw) != digest(raw + 1)


def test_a_fault_of_the_conversion_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    header, records = session()
    before = digest_of(records, header.instruments)
    real = OrderBookDeltas._prices_and_sizes

    def wrong(book: OrderBookDeltas) -> tuple[list[int], list[int]]:
        prices, sizes = real(book)
        return [price + 1 for price in prices], sizes

    monkeypatch.setattr(OrderBookDeltas, "_prices_and_sizes", wrong)
    assert digest_of(records, header.instruments) != before


@given(st.lists(st.tuples(st.sampled_from(["1", "2.5", "0.001", "10.0", "7e1"]), st.sampled_from(["3", "0.5", "0"])), max_size=4))
@settings(max_examples=50)
def test_a_book_has_one_digest_however_its_json_is_spaced(levels: list[tuple[str, str]]) -> None:
    registry = InstrumentRegistry([guess("A-PERP", 3, 3)])
    digests = []
    for separators in ((",", ":"), (" , ", ":")):
        side = json.dumps(levels, separators=separators).encode()
        digest = EventDigest()
        for _ in range(2):
            digest.update([parse_order_book_deltas(snapshot("A-PERP", side, b"[]"), registry["A-PERP"], 0)])
        digests.append(digest.hexdigest())
    assert digests[0] == digests[1]
