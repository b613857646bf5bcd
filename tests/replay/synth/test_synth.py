"""Made-up sessions: the same bytes from one seed, books that evolve, trades at the market, faults exactly as often as asked."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive_bench.adapter.frames import Subscription, decode
from derive_bench.replay.records import Disconnect, Frame, Record, encode_record
from derive_bench.replay.synth import FAULT_KINDS, FaultsLeft, Plan, PlanRefused, Statistics, synthesise
from derive_bench.replay.synth.book import LEVELS, SynthBook
from derive_bench.replay.synth.dice import Dice
from derive_bench.replay.synth.instruments import INSTRUMENTS, text
from tests.replay.tapes import raws, session


def digest(records: tuple[Record, ...] | list[Record]) -> str:
    return hashlib.sha256(b"".join(map(encode_record, records))).hexdigest()


def payloads(records: tuple[Record, ...], prefix: str) -> list[tuple[str, Any]]:
    found = []
    for raw in raws(records):
        params = json.loads(raw).get("params", {})
        if params.get("channel", "").startswith(prefix):
            found.append((params["channel"], params["data"]))
    return found


def test_one_seed_gives_the_same_bytes_another_gives_others() -> None:
    again = list(synthesise(Plan(seed=5, frames=600))[1])
    assert digest(again) == digest(session()[1])
    assert digest(list(synthesise(Plan(seed=6, frames=600))[1])) != digest(again)


def test_the_bytes_do_not_depend_on_machine_or_version() -> None:
    """Should the maker be changed on purpose, these are its new digests."""
    assert digest(session(300, 1, "v3")[1])[:16] == "abd42e672e9ac489"
    assert digest(session(300, 1, "v2")[1])[:16] == "fa9d8b2d00209087"


@pytest.mark.parametrize("protocol", ["v3", "v2"])
def test_every_frame_is_one_the_adapter_decodes(protocol: str) -> None:
    frames = raws(session(600, 5, protocol)[1])
    assert len(frames) == 600
    for raw in frames:
        message = decode(raw)
        if isinstance(message, Subscription):
            assert message.channel.kind != "other"


def test_the_mix_is_the_one_asked_for() -> None:
    plan = Plan(seed=2, frames=2_000, mix={"book": 70, "ticker": 30}, change=300, depths=(20,), instruments=2)
    statistics = Statistics()
    for record in synthesise(plan)[1]:
        statistics.add(record)
    kinds = {kind: sizes["frames"] for kind, sizes in statistics.as_dict()["kinds"].items()}
    assert abs(kinds["orderbook"] - 1_400) < 30
    assert abs(kinds["ticker_slim"] - 600) < 30
    assert set(kinds) == {"orderbook", "ticker_slim", "reply"}
    assert abs(statistics.changed - 0.3) < 0.05


@given(st.integers(0, 2**32), st.sampled_from(INSTRUMENTS), st.integers(0, 1000), st.sampled_from([1, 10, 100]))
@settings(max_examples=30)
def test_a_book_stays_a_book(seed: int, instrument: Any, change: int, depth: int) -> None:
    dice = Dice(seed)
    book = SynthBook(instrument, dice)
    for _ in range(60):
        book.evolve(depth, change)
        book.take(bool(dice.below(2)), dice.small(instrument.most))
        bids, asks = [level.ticks for level in book.bids], [level.ticks for level in book.asks]
        assert len(bids) == len(asks) == LEVELS
        assert all(better > worse for better, worse in pairwise(bids))
        assert all(better < worse for better, worse in pairwise(asks))
        assert 0 < bids[-1] <= bids[0] < asks[0]
        assert all(level.steps > 0 for level in (*book.bids, *book.asks))


def test_trades_happen_at_prices_of_the_book_before() -> None:
    _, records = session(1_500, 8)
    books: dict[str, Any] = {}
    seen = 0
    for raw in raws(records):
        params = json.loads(raw).get("params", {})
        channel, data = params.get("channel", ""), params.get("data")
        if channel.startswith("orderbook"):
            books[data["instrument_name"]] = data
        elif channel.startswith("trades.") and data[0]["instrument_name"] in books:
            book = books[data[0]["instrument_name"]]
            price = Decimal(data[0]["trade_price"])
            assert Decimal(book["bids"][-1][0]) <= price <= Decimal(book["asks"][-1][0])
            seen += 1
    assert seen > 50


def test_tickers_show_the_best_of_the_book() -> None:
    _, records = session(800, 8)
    best: dict[str, Any] = {}
    seen = 0
    for raw in raws(records):
        params = json.loads(raw).get("params", {})
        channel, data = params.get("channel", ""), params.get("data")
        if channel.startswith("orderbook"):
            best[data["instrument_name"]] = data
        elif channel.startswith("trades."):
            best.pop(data[0]["instrument_name"], None)
        elif channel.startswith("ticker_slim"):
            book = best.get(channel.split(".")[1])
            if book is not None:
                ticker = data["instrument_ticker"]
                assert [ticker["b"], ticker["B"]] == book["bids"][0]
                assert [ticker["a"], ticker["A"]] == book["asks"][0]
                seen += 1
    assert seen > 20


def test_fills_add_up_and_replacements_name_what_they_replace() -> None:
    _, records = session(3_000, 4)
    filled: Counter[str] = Counter()
    known: set[str] = set()
    replaced = partly = 0
    for raw in raws(records):
        params = json.loads(raw).get("params", {})
        if params.get("channel") == "48213.trades":
            (trade,) = params["data"]
            filled[trade["order_id"]] += Decimal(trade["trade_amount"])  # type: ignore[assignment]
        elif params.get("channel") == "48213.orders":
            (order,) = params["data"]
            known.add(order["order_id"])
            replaced += order["replaced_order_id"] in known
            partly += order["order_status"] == "open" and order["filled_amount"] != "0"
            if order["order_status"] == "filled":
                assert order["filled_amount"] == order["amount"]
    assert replaced > 5
    assert partly > 5
    assert filled


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_a_session_has_as_many_faults_as_asked_for(kind: str) -> None:
    header, records = session(1_200, 9, faults=((kind, 6),))
    assert header.info["synth"]["faults"] == {kind: 6}
    clean = session(1_200, 9)[1]
    if kind == "duplicates":
        assert sum(isinstance(record, Disconnect) for record in records) == 6
    elif kind in ("unknown_fields", "malformed", "unknown_topics"):
        marks = {"unknown_fields": b"x_trace", "unknown_topics": b"auctions.ETH"}
        mark = marks.get(kind)
        found = sum(mark in raw for raw in raws(records)) if mark else len(raws(records)) - sum(map(_decodes, raws(records)))
        assert found == 6
    assert len(raws(records)) == len(raws(clean)) == 1_200


def _decodes(raw: bytes) -> bool:
    try:
        decode(raw)
    except Exception:
        return False
    return True


def test_faults_without_a_place_are_refused() -> None:
    with pytest.raises(FaultsLeft, match="5 gaps"):
        list(synthesise(Plan(frames=30, faults={"gaps": 5}))[1])
    with pytest.raises(FaultsLeft, match="reorders"):
        list(synthesise(Plan(frames=300, mix={"book": 1}, faults={"reorders": 1}))[1])


@pytest.mark.parametrize(
    "setting",
    [
        {"frames": 0},
        {"seed": -1},
        {"protocol": "v4"},
        {"instruments": 99},
        {"mix": {"book": 0}},
        {"mix": {"x": 1}},
        {"depths": (3,)},
        {"depths": ()},
        {"change": 1001},
        {"rate": 0},
        {"faults": {"x": 1}},
        {"faults": {"gaps": -1}},
    ],
)
def test_an_impossible_plan_is_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(PlanRefused, match=next(iter(setting))):
        Plan(**setting)


def test_times_go_forward_and_requests_precede_their_replies() -> None:
    _, records = session()
    assert all(before.time_ns < after.time_ns for before, after in pairwise(records))
    asked: set[tuple[str, Any]] = set()
    for record in records:
        if isinstance(record, Frame) and record.raw.startswith(b'{"id"'):
            key = record.connection, json.loads(record.raw)["id"]
            if record.direction == "out":
                asked.add(key)
            else:
                assert key in asked


@given(st.integers(-(10**18), 10**18), st.integers(0, 18))
def test_text_is_the_shortest_plain_decimal(value: int, places: int) -> None:
    written = text(value, places)
    assert Decimal(written) == Decimal(value).scaleb(-places)
    assert "E" not in written
    assert "." not in written or not written.endswith(("0", "."))
