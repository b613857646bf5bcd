"""Subscriptions, what is derived for them, and the requests they come in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive_bench.adapter.frames import ErrorResponse, Response, decode
from derive_bench.adapter.protocol import V2_MAINNET
from derive_bench.replay.records import Connect, Disconnect, Frame, Record
from derive_bench.replay.venue.subscriptions import Subscribers
from derive_bench.replay.venue.tape import Item, at_rate, items_of, playable
from tests.replay.venue.venue_support import FakeWire, Rig, book, note, ticker, trade

GOOD = [
    "orderbook.ETH-PERP.1.10",
    "orderbook.ETH-PERP.100.1",
    "ticker_slim.ETH-PERP.100",
    "ticker_slim.ETH-PERP.1000",
    "trades.ETH-PERP",
    "trades.perp.ETH",
    "trades.perp.ETH.Settled",
    "spot_feed.ETH",
    "spot_feed.ALL",
    "1.orders",
    "1.trades",
    "1.trades.SettlingError",
    "1.balances",
]
BAD = [
    "",
    "foo",
    "orderbook.ETH-PERP.1",
    "orderbook.ETH-PERP.2.10",
    "orderbook.ETH-PERP.1.11",
    "orderbook.ETH-NONE.1.10",
    "ticker_slim.ETH-PERP.200",
    "ticker.ETH-PERP.100",
    "trades.perp.NONE",
    "trades.perp.ETH.settled",
    "spot_feed.NONE",
    "1.other",
]


def test_each_channel_is_answered_for() -> None:
    rig = Rig()
    result = rig.result("subscribe", {"channels": GOOD + BAD + ["2.orders"] + GOOD[:1]})
    assert {topic: word for topic, word in result["status"].items() if word == "ok"} == dict.fromkeys(GOOD, "ok")
    assert set(result["status"]) == {*GOOD, *BAD, "2.orders"}
    assert result["current_subscriptions"] == GOOD
    again = rig.result("subscribe", {"channels": [GOOD[0], "trades.BTC-PERP", "foo"]})
    assert again["status"][GOOD[0]] == "already subscribed"
    assert again["status"]["trades.BTC-PERP"] == "ok"
    left = rig.result("unsubscribe", {"channels": [GOOD[0], "foo"]})
    assert left["status"] == {GOOD[0]: "ok", "foo": "not subscribed"}
    assert left["remaining_subscriptions"] == [*GOOD[1:], "trades.BTC-PERP"]
    everything = rig.result("unsubscribe")
    assert set(everything["status"]) == {*GOOD[1:], "trades.BTC-PERP"}
    assert everything["remaining_subscriptions"] == []
    assert rig.result("unsubscribe", {"channels": None})["status"] == {}


@pytest.mark.parametrize("topic", BAD)
def test_with_no_good_channel_the_request_fails(topic: str) -> None:
    rig = Rig()
    assert rig.code("subscribe", {"channels": [topic]}) == 13000
    assert rig.code("subscribe", {"channels": [topic, "2.orders"]}) == 13000


def test_private_channels_need_a_login() -> None:
    rig = Rig(login=False)
    assert rig.code("subscribe", {"channels": ["1.orders", "1.trades"]}) == 14022
    assert rig.result("subscribe", {"channels": ["1.orders", "trades.ETH-PERP"]})["current_subscriptions"] == ["trades.ETH-PERP"]
    rig.result("public/login", rig.login_params())
    assert rig.result("subscribe", {"channels": ["1.orders"]})["status"] == {"1.orders": "ok"}
    assert rig.code("subscribe", {"channels": []}) == 13000
    assert rig.code("subscribe", {}) == -32602
    assert rig.code("subscribe", {"channels": "trades.ETH-PERP"}) == -32602


def test_v2_has_other_words() -> None:
    rig = Rig(V2_MAINNET)
    topics = ["ticker.ETH-PERP.1000", "trades.perp.ETH.settled", "1.trades.reverted"]
    assert rig.result("subscribe", {"channels": topics})["current_subscriptions"] == topics
    assert rig.code("subscribe", {"channels": ["trades.perp.ETH.Settled"]}) == 13000
    assert rig.result("public/get_ticker", {"instrument_name": "ETH-PERP"})["best_ask_price"] == "2874.32"


def test_prices_are_known_before_the_tape_is_played() -> None:
    rig = Rig(playing=False)
    rig.result("subscribe", {"channels": ["orderbook.ETH-PERP.100.1", "1.orders"]})
    rig.venue.expect({"orderbook.ETH-PERP.1.10": book(), "9.orders": note("9.orders", []), "trades.ETH-PERP": trade("1"), "odd": b"{"})
    assert rig.result("public/get_trade_history", {"instrument_name": "ETH-PERP"})["trades"] == [], "not yet"
    assert rig.result("public/get_ticker", {"instrument_name": "ETH-PERP"})["a"] == "2874.32"
    assert rig.result("private/order", rig.order(limit_price="2900"))["trades"]
    assert rig.result("subscribe", {"channels": ["odd"]})["status"] == {"odd": "ok"}
    assert [topic for _, topic, _ in rig.play(book())] == ["orderbook.ETH-PERP.100.1", "1.orders"]


def test_frames_of_the_tape_go_to_who_listens_as_they_are() -> None:
    rig = Rig()
    other = rig.connect(FakeWire())
    rig.result("subscribe", {"channels": ["orderbook.ETH-PERP.1.10"]})
    rig.result("subscribe", {"channels": ["trades.ETH-PERP"]}, other)
    odd = b' { "params" : {"data": [] , "channel":"trades.ETH-PERP"}, "method":"subscription", "more":1}'
    assert rig.play(odd, "trades.ETH-PERP") == [([other], "trades.ETH-PERP", odd)]
    assert rig.play(book()) == [([rig.peer], "orderbook.ETH-PERP.1.10", book())]
    assert rig.play(b'{"channel":', "trades.ETH-PERP") == [([other], "trades.ETH-PERP", b'{"channel":')]
    nameless = [(list(peers), frame.payload) for peers, _, frame in rig.venue.play(None, b"{", 1)]
    assert nameless == [([rig.peer, other], b"{")]
    rig.venue.gone(other)
    assert rig.play(trade("1")) == []


def test_a_channel_that_nobody_knows_is_good_where_the_tape_has_it() -> None:
    rig = Rig()
    assert rig.code("subscribe", {"channels": ["auctions.ETH"]}) == 13000
    rig.play(note("auctions.ETH", {}))
    rig.result("subscribe", {"channels": ["auctions.ETH"]})
    assert len(rig.play(note("auctions.ETH", {}))) == 1


def derived(rig: Rig, frame: bytes, topic: str) -> Any:
    (data,) = [json.loads(sent)["params"]["data"] for _, name, sent in rig.play(frame) if name == topic]
    return data


def test_books_of_other_groups_are_derived() -> None:
    rig = Rig()
    topics = ["orderbook.ETH-PERP.10.10", "orderbook.ETH-PERP.1.1", "orderbook.ETH-PERP.100.1"]
    rig.result("subscribe", {"channels": topics})
    levels = {"bids": [["100.19", "1"], ["100.11", "2"], ["100.09", "4"]], "asks": [["100.21", "1"], ["100.30", "2"], ["100.31", "4"]]}
    frame = note("orderbook.ETH-PERP.1.10", {"instrument_name": "ETH-PERP", "timestamp": 5, "publish_id": 9} | levels)
    assert derived(rig, frame, topics[0]) == {
        "instrument_name": "ETH-PERP",
        "timestamp": 5,
        "publish_id": 9,
        "bids": [["100.1", "3"], ["100", "4"]],
        "asks": [["100.3", "3"], ["100.4", "4"]],
    }
    assert derived(rig, frame, topics[1])["bids"] == [["100.19", "1"]]
    assert derived(rig, frame, topics[2])["asks"] == [["101", "7"]]
    odd: tuple[Any, ...] = (1, [["x", "1"]], [["1"]], [[]])
    for bids in odd:
        bad = {"instrument_name": "NONE", "timestamp": 5, "bids": bids, "asks": []}
        rig.play(note("orderbook.ETH-PERP.1.10", bad))


def test_a_channel_the_tape_has_is_not_derived() -> None:
    rig = Rig()
    rig.play(book().replace(b".1.10", b".1.20"), "orderbook.ETH-PERP.1.20")
    rig.result("subscribe", {"channels": ["orderbook.ETH-PERP.1.10"]})
    assert rig.play(book().replace(b".1.10", b".1.20"), "orderbook.ETH-PERP.1.20") == []
    assert len(rig.play(book())) == 1


def test_slower_tickers_and_trades_by_currency_are_derived() -> None:
    rig = Rig()
    rig.result("subscribe", {"channels": ["ticker_slim.ETH-PERP.1000", "trades.perp.ETH"]})
    sent = []
    for _ in range(25):
        sent += rig.play(ticker())
        rig.now_ns += 10**8
    assert len(sent) == 3
    assert json.loads(sent[0][2])["params"]["data"] == json.loads(ticker())["params"]["data"]
    assert derived(rig, trade("5"), "trades.perp.ETH")[0]["trade_price"] == "5"
    assert rig.play(trade("5", "BTC-PERP"), "trades.BTC-PERP") == []


@settings(max_examples=50)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.booleans())))
def test_subscribers_are_a_relation(steps: list[tuple[str, str, bool]]) -> None:
    subscribers: Subscribers[str] = Subscribers()
    model: set[tuple[str, str]] = set()
    for who, topic, add in steps:
        if add:
            assert subscribers.add(who, topic) is ((who, topic) not in model)
            model.add((who, topic))
        else:
            assert subscribers.remove(who, topic) is ((who, topic) in model)
            model.discard((who, topic))
    for topic in "xyz":
        assert set(subscribers.of(topic)) == {who for who, name in model if name == topic}
    assert set(subscribers.topics()) == {topic for _, topic in model}
    subscribers.forget("a")
    assert subscribers.topics_of("a") == []
    assert set(subscribers.all()) == {who for who, _ in model} - {"a"}


def test_what_of_a_tape_is_played() -> None:
    plain = note("trades.ETH-PERP", [])
    with_jsonrpc = b'{"jsonrpc":"2.0",' + plain[1:]
    odd = b'{ "params":{"channel":"trades.ETH-PERP","data":[]},"method":"subscription"}'
    cut = plain[:-9]
    for frame in (plain, with_jsonrpc, odd, cut):
        assert playable(5, frame) == Item(5, frame, "trades.ETH-PERP")
    for frame in (b'{"id":1,"result":{}}', b'{"id":null,"error":{"code":1,"message":""}}', b"ping", b"pong", b'{"id":1,"result":{'):
        assert playable(5, frame) is None
    for frame in (b"nonsense", b'{"method":"other","params":{}}'):
        assert playable(5, frame) == Item(5, frame, None)


def test_items_of_records() -> None:
    plain = note("trades.ETH-PERP", [])
    records: list[Record] = [
        Connect(1, "a"),
        Frame(2, b"out", "out", "a"),
        Frame(3, plain, "in", "a"),
        Frame(4, plain, "in", "b"),
        Frame(5, b"\xff", "in", "a", binary=True),
        Disconnect(6, "a"),
    ]
    item = Item(3, plain, "trades.ETH-PERP")
    assert list(items_of(records)) == [item, item._replace(received_ns=4), Item(6, None)]
    assert list(items_of(records, "a")) == [item, Item(6, None)]
    assert [each.received_ns for each in at_rate(items_of(records), 4)] == [0, 250_000_000]


@given(st.binary(max_size=80) | st.text(max_size=80).map(str.encode))
def test_whatever_is_sent_there_is_an_answer(data: bytes) -> None:
    rig = RIG
    answer = rig.api.dispatcher.answer(rig.peer, data).payload
    assert isinstance(decode(answer), (ErrorResponse, Response))


RIG = Rig()


@pytest.mark.parametrize(
    ("data", "code", "reply_to"),
    [
        (b"", -32700, None),
        (b"{", -32700, None),
        (b"\xff", -32700, None),
        (b"[]", -32600, None),
        (b"3", -32600, None),
        (b'[{"id":1,"method":"public/get_time"}]', -32600, None),
        (b'{"id":7}', -32600, 7),
        (b'{"id":7,"method":3}', -32600, 7),
        (b'{"id":[1],"method":"public/get_time"}', -32600, None),
        (b'{"id":{},"method":3}', -32600, None),
        (b'{"id":"x","method":"public/none"}', -32601, "x"),
        (b'{"id":1.5,"method":"public/get_instrument"}', -32602, 1.5),
        (b'{"id":1,"method":"public/get_instrument","params":[]}', -32602, 1),
        (b'{"method":"public/get_instrument","params":{"instrument_name":"X"}}', 12001, None),
        (b"[" * 100_000, -32700, None),
        (b'{"id":1,"method":"public/get_time","params":' + b"[" * 50_000 + b"]" * 50_000 + b"}", -32700, None),
    ],
)
def test_requests_that_are_none(data: bytes, code: int, reply_to: Any) -> None:
    reply = json.loads(RIG.api.dispatcher.answer(RIG.peer, data).payload)
    assert (reply["error"]["code"], reply["id"]) == (code, reply_to)


def test_a_fault_of_ours_is_an_internal_error(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    monkeypatch.setattr(rig.venue.engine, "orders", None)
    assert rig.code("private/get_open_orders", {"subaccount_id": 1}) == -32603
    assert "private/get_open_orders failed" in caplog.text


def test_control_is_for_this_machine_only() -> None:
    rig = Rig()
    assert rig.result("venue/status")["protocol"] == "v3"
    rig.peer.is_local = False
    assert rig.code("venue/status") == -32601
    assert rig.code("venue/inject", {"kind": "drop"}) == -32601
