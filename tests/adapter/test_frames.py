"""Frames: every form that is met, every kind of input, and whatever is spoiled, to the same answer on every route."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec import Raw

from derive_bench.adapter import frames
from derive_bench.adapter.channels import ChannelKind
from derive_bench.adapter.errors import CallerError, DecodeError
from derive_bench.adapter.frames import (
    ErrorResponse,
    Heartbeat,
    Notification,
    Response,
    Subscription,
    decode,
    decode_candles,
    decode_instruments,
    decode_result,
)
from derive_bench.adapter.inbound import parse_bar, parse_fill_report, parse_order_report
from derive_bench.adapter.instruments import InstrumentRegistry
from derive_bench.adapter.messages import (
    BadElement,
    InstrumentRecord,
    OrderBook,
    PrivateOrder,
    PrivateTrade,
    PublicTrade,
    SpotFeed,
    Ticker,
)
from tests.adapter.generated import schema_messages
from tests.adapter.wire import TS_INIT, Num, envelope, inputs, outcome, parsed, registry, rewritten, write
from tests.shared import SHARED, needs_shared

SPEC = SHARED / "spec" / "subscriptions.json"
CAPTURES = sorted((SHARED / "captures").rglob("*.json"))

STREAMS = (
    *("orderbook", "orderbook_d10", "orderbook_d20", "orderbook_d100", "orderbook_option", "orderbook_spot"),
    *("ticker", "ticker_option", "ticker_option_put", "ticker_spot", "ticker_full", "ticker_full_flat", "ticker_full_option"),
    *("trade", "trade_option", "trade_spot", "trades_batch", "trades_settled"),
    *("order", "order_partially_filled", "order_filled", "order_rejected", "order_cancelled", "order_expired", "order_untriggered"),
    *("order_algo_active", "order_replacement", "order_option", "private_trade", "private_trade_taker", "private_trade_settled"),
)
BY_PROTOCOL = pytest.mark.parametrize("protocol", ["v3", "v2"])


def sides(seed: int, frame: bytes, count: int) -> list[bytes]:
    rng = Random(seed)
    return [rewritten(frame, rng) for _ in range(count)]


# Every form, on every route


@BY_PROTOCOL
@pytest.mark.parametrize("name", STREAMS)
def test_a_message_comes_to_the_same_in_every_form(name: str, protocol: str) -> None:
    source = inputs(protocol)
    frame = source.frame(name)
    known = InstrumentRegistry(source.instruments)
    first = outcome(frame, known)
    assert first[0] == "parsed"
    assert len(first[1]) > 0
    assert outcome(frame, known) == first, "the second time, when the topic is known"
    for other in (source.frame(name, jsonrpc=True), *sides(5, frame, 12)):
        assert outcome(other, known) == first


@pytest.mark.parametrize("name", ["orderbook_d10", "ticker", "trade", "order", "ticker_full"])
def test_bytes_bytearray_memoryview_and_text_are_the_same(name: str) -> None:
    frame = inputs().frame(name)
    expected = parsed(frame)
    padded = b"xx" + frame + b"yy"
    for same in (frame, bytearray(frame), memoryview(frame), memoryview(padded)[2:-2], memoryview(frame[::-1])[::-1], frame.decode()):
        assert parsed(same) == expected


def test_a_bytearray_may_change_after_it_was_decoded() -> None:
    buffer = bytearray(inputs().frame("orderbook_d10"))
    message = decode(buffer)
    assert isinstance(message, Subscription)
    expected = bytes(message.data.bids)
    buffer[:] = b"\0" * len(buffer)
    assert bytes(message.data.bids) == expected


@pytest.mark.parametrize("wrong", [None, 5, ["{}"], {"method": "subscription"}])
def test_what_is_no_frame_at_all_is_the_callers_error(wrong: Any) -> None:
    with pytest.raises(CallerError, match=type(wrong).__name__):
        decode(wrong)


def test_each_topic_gives_its_own_message_type() -> None:
    types = {
        "orderbook": OrderBook,
        "ticker": Ticker,
        "ticker_full": Ticker,
        "ticker_full_flat": Ticker,
        "trade": PublicTrade,
        "trades_settled": PublicTrade,
        "order": PrivateOrder,
        "private_trade": PrivateTrade,
    }
    for name, kind in types.items():
        for _ in range(2):
            message = decode(inputs().frame(name))
            assert isinstance(message, Subscription)
            assert message.topic == message.channel.topic == inputs().channel(name)
            assert isinstance(message.data[0] if isinstance(message.data, list) else message.data, kind)


def test_a_topic_decides_over_the_shape_of_its_payload() -> None:
    """Payloads that would fit another topic's type are read as their own topic says, however often it came before."""
    book = inputs().payload("orderbook")
    order, trade = inputs().payload("order"), inputs().payload("private_trade")
    for _ in range(3):
        for topic in ("orderbook.ETH-PERP.1.1", "orderbookx.ETH-PERP.1.1", "oddbook"):
            message = decode(envelope(topic, book))
            assert isinstance(message, Subscription)
            assert isinstance(message.data, OrderBook if topic.startswith("orderbook.") else Raw)
        for subaccount in (7, 123456789012345):
            orders, trades = decode(envelope(f"{subaccount}.orders", order)), decode(envelope(f"{subaccount}.trades", trade))
            assert isinstance(orders, Subscription)
            assert isinstance(trades, Subscription)
            assert isinstance(orders.data[0], PrivateOrder)
            assert isinstance(trades.data[0], PrivateTrade)
        both = {**order[0], **trade[0]}
        for topic, kind in (
            ("1.orders", PrivateOrder),
            ("1.trades", PrivateTrade),
            ("1.trades.Settled", PrivateTrade),
            ("trades.X", PublicTrade),
        ):
            message = decode(envelope(topic, [both]))
            assert isinstance(message, Subscription)
            assert isinstance(message.data[0], kind)


def test_an_unknown_topic_is_kept_with_its_payload() -> None:
    for topic in ("margin.watch", "", "something.of.tomorrow", "tra"):
        for frame in (envelope(topic, '{"a": [1.50, null]}'), envelope(topic, '{"a": [1.50, null]}', jsonrpc=True)):
            message = decode(frame)
            assert isinstance(message, Subscription)
            assert (message.topic, message.channel.kind, bytes(message.data)) == (topic, ChannelKind.OTHER, b'{"a": [1.50, null]}')


def test_balances_and_spot_prices_are_typed() -> None:
    balances = decode(envelope("7.balances", '[{"name":"USDC","new_balance":12.50,"previous_balance":"-1","update_type":"deposit","x":1}]'))
    assert isinstance(balances, Subscription)
    assert (balances.data[0].new_balance, balances.data[0].previous_balance) == ("12.50", "-1")
    spot = decode(envelope("spot_feed.ETH", '{"feeds":{"ETH":{"price":"3500.10","confidence":1}},"timestamp":5}'))
    assert isinstance(spot, Subscription)
    assert isinstance(spot.data, SpotFeed)
    assert (spot.data.feeds["ETH"].price, spot.data.feeds["ETH"].confidence, spot.data.timestamp) == ("3500.10", "1", 5)


def test_the_memory_of_topics_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_CACHE_MAX", 8)
    data = inputs().payload("ticker")
    for number in range(40):
        message = decode(envelope(f"ticker_slim.X{number}-PERP.100", data))
        assert isinstance(message, Subscription)
        assert message.channel.instrument_name == f"X{number}-PERP"
    assert len(frames._by_topic) <= 8


# Replies, errors, notifications, heartbeats


@pytest.mark.parametrize("identity", ['"probe-1"', "17", "0", "-1", "1.5", "null", '""'])
@pytest.mark.parametrize("version", ["", '"jsonrpc":"2.0",'])
def test_replies_keep_id_and_result(identity: str, version: str) -> None:
    message = decode(f'{{{version}"id":{identity},"result": [1, {{"a":2}}], "usIn": 5}}')
    assert isinstance(message, Response)
    assert message.id == json.loads(identity)
    assert type(message.id) is type(json.loads(identity))
    assert bytes(message.result) == b'[1, {"a":2}]'
    for result in ("null", "0", "false", '""'):
        empty = decode(f'{{"result":{result},"id":{identity}}}')
        assert isinstance(empty, Response)
        assert bytes(empty.result) == result.encode()


@pytest.mark.parametrize("data", [None, "a text", {"limit": 5}, [1], 5, False])
@pytest.mark.parametrize("identity", ["x", 5, None])
def test_errors_keep_code_message_and_data(data: Any, identity: Any) -> None:
    message = decode(
        write({"id": identity, "error": {"code": -32602, "message": "Invalid params", "data": data, "more": 1}, "result": None})
    )
    assert isinstance(message, ErrorResponse)
    assert (message.id, message.error.code, message.error.message, message.error.data) == (identity, -32602, "Invalid params", data)
    bare = decode(write({"id": identity, "error": {"code": 11012, "message": ""}}))
    assert isinstance(bare, ErrorResponse)
    assert bare.error.data is None


def test_a_null_error_is_none() -> None:
    message = decode('{"id":1,"error":null,"result":"ok"}')
    assert isinstance(message, Response)
    assert decode_result(message, str) == "ok"


def test_another_method_is_a_notification() -> None:
    message = decode('{"method":"heartbeat","params":{"a":1},"jsonrpc":"2.0"}')
    assert isinstance(message, Notification)
    assert (message.method, bytes(message.params)) == ("heartbeat", b'{"a":1}')
    bare = decode('{"method":"goodbye"}')
    assert isinstance(bare, Notification)
    assert bytes(bare.params) == b""


@pytest.mark.parametrize("text", ["ping", "pong", " ping\n", "\tpong"])
def test_the_bare_heartbeat_is_no_error(text: str) -> None:
    for frame in (text, text.encode(), bytearray(text.encode())):
        message = decode(frame)
        assert isinstance(message, Heartbeat)
        assert message.text == text.strip()


def test_of_a_key_that_stands_twice_the_last_counts_on_every_route() -> None:
    frame = inputs().frame("ticker")
    data = inputs().payload_bytes("ticker").decode()
    for _ in range(2):
        for spaced in (frame, b" " + frame):
            message = decode(spaced[:-1] + b',"method":"other"}')
            assert isinstance(message, Notification)
            assert message.method == "other"
        twice = frame[:-1] + f',"params":{{"channel":"trades.ETH-PERP","data":{inputs().payload_bytes("trade").decode()}}}}}'.encode()
        assert parsed(twice) == parsed(inputs().frame("trade"))
        renamed = frame[:-2] + b',"channel":"margin.watch"}}'
        message = decode(renamed)
        assert isinstance(message, Subscription)
        assert (message.topic, bytes(message.data).decode()) == ("margin.watch", data)
        replaced = frame[:-2] + b',"data":' + inputs().payload_bytes("ticker_spot") + b"}}"
        message = decode(replaced)
        assert isinstance(message, Subscription)
        assert message.data.timestamp == inputs().payload("ticker_spot")["timestamp"]


def test_other_members_beside_a_subscription_change_nothing() -> None:
    frame = inputs().frame("trade")
    for extra in ('"id":7', '"id":{}', '"id":[true]', '"result":1', '"error":{"code":1}', '"usOut":{"params":{}}'):
        for spoiled in (frame[:-1] + f",{extra}}}".encode(), b"{" + extra.encode() + b"," + frame[1:]):
            assert outcome(spoiled) == outcome(frame)


# REST results


def test_candles_and_instruments_are_read_from_bare_results_and_from_replies() -> None:
    candles = decode_candles(inputs().frame("candles"))
    reply = decode(b'{"id":1,"result":' + inputs().frame("candles") + b"}")
    assert isinstance(reply, Response)
    assert decode_candles(reply.result) == candles
    assert len(candles) == len(inputs().payload("candles"))
    records = decode_instruments(json.dumps(inputs().instruments).encode())
    assert InstrumentRegistry(records) == registry()


def test_bare_numbers_in_candles_keep_their_text() -> None:
    texts = ("open_price", "high_price", "low_price", "close_price", "volume_usd", "volume_contracts")
    rows = [{key: Num(value) if key in texts else value for key, value in row.items()} for row in inputs().payload("candles")]
    assert decode_candles(write(rows, bare=1).encode()) == decode_candles(write(rows).encode())


@pytest.mark.parametrize(
    ("spoiled", "path"),
    [(b"", "$"), (b"{}", "$"), (b"[5]", "$[0]"), (b'[{"open_price":"1"}]', "$[0]"), (b"[{}, []]", "$[0]"), (b"\xff", "$")],
)
def test_spoiled_candles_are_errors(spoiled: bytes, path: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_candles(spoiled)
    assert caught.value.path == path


def test_candles_cut_short_or_flipped_are_errors_or_candles() -> None:
    frame = inputs().frame("candles")
    for end in range(len(frame)):
        with pytest.raises(DecodeError):
            decode_candles(frame[:end])
    rng = Random(3)
    for _ in range(500):
        spoiled = bytearray(frame)
        spoiled[rng.randrange(len(frame))] ^= 1 << rng.randrange(8)
        try:
            for index, candle in enumerate(decode_candles(bytes(spoiled))):
                parse_bar(candle, registry()["ETH-PERP"], TS_INIT, index)
        except DecodeError:
            pass


def test_a_result_of_another_type_is_an_error_below_result() -> None:
    reply = decode('{"id":1,"result":{"order":{}}}')
    assert isinstance(reply, Response)
    with pytest.raises(DecodeError) as caught:
        decode_result(reply, PrivateOrder)
    assert caught.value.path == "$.result"
    with pytest.raises(DecodeError) as caught:
        decode_result(reply, list[PrivateOrder])
    assert caught.value.path == "$.result"


# The reference material


@needs_shared
def test_thousands_of_messages_of_the_venues_schema_decode_and_parse() -> None:
    rng = Random(11)
    seen: dict[ChannelKind, int] = {}
    known = registry()
    for number, (topic, tree) in enumerate(schema_messages(SPEC, 2026, 4_000)):
        strings = envelope(topic, tree, jsonrpc=rng.random() < 0.3)
        expected = parsed(strings, known)
        message = decode(strings)
        assert isinstance(message, Subscription)
        assert not any(isinstance(element, BadElement) for element in message.data) if isinstance(message.data, list) else True
        seen[message.channel.kind] = seen.get(message.channel.kind, 0) + 1
        if "timestamp" in tree:
            assert message.data.timestamp == tree["timestamp"]
        if number % 2:
            other = f'{{"params":{write({"channel": topic, "data": tree}, rng, bare=0.3)},"method":"subscription"}}'
            assert parsed(other, known) == expected, other
    assert min(seen.values()) > 200
    assert len(seen) == 8


def capture(path: Path) -> Any:
    return json.loads(path.read_bytes())


@needs_shared
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_each_capture_decodes_and_parses_or_is_refused_as_it_should(path: Path) -> None:
    records = [capture(item) for item in CAPTURES if item.stem.startswith("instrument_")]
    known = InstrumentRegistry(records)
    content = capture(path)
    name = {"options": "ETH-20260627-3500-C", "perps": "ETH-PERP"}.get(path.parent.name, "ETH-USDC")
    topics = {
        "ws_orderbook": f"orderbook.{name}.1.10",
        "ws_trade_": f"trades.{name}",
        "http_public_trade_": f"trades.{name}",
        "ws_ticker_eth": f"ticker.{name}.100",
        "http_ticker_": f"ticker.{name}.100",
        "ws_ticker_slim_": f"ticker_slim.{name}.100",
        "http_order_": "42.orders",
        "http_private_trade_": "42.trades",
    }
    chosen = next((topic for stem, topic in topics.items() if path.stem.startswith(stem)), None)
    if chosen is not None:
        data = [content] if chosen.startswith(("trades.", "42.")) else content
        plain, versioned = envelope(chosen, data), envelope(chosen, data, jsonrpc=True)
        result = outcome(plain, known)
        assert result[0] == "parsed"
        assert len(result[1]) > 0
        assert outcome(versioned, known) == outcome(rewritten(plain, Random(1)), known) == result
    elif path.stem.startswith("instrument_"):
        assert known[content["instrument_name"]].id == f"{content['instrument_name']}.DERIVE"
    elif "candles" in path.stem:
        bars = [parse_bar(candle, known["ETH-PERP"], TS_INIT) for candle in decode_candles(path.read_bytes())]
        assert [str(bar.close) for bar in bars] == [f"{Decimal(row['close_price']):.2f}" for row in content]
        assert [bar.ts_event for bar in bars] == [row["timestamp_bucket"] * 10**9 for row in content]
    else:
        _rest(path, content)


def _rest(path: Path, content: Any) -> None:
    raw = path.read_bytes()
    if "result" in content and "id" in content:
        reply = decode(raw)
        assert isinstance(reply, Response)
        assert reply.id == content["id"]
        if "get_instruments" in path.stem:
            assert len(decode_instruments(reply.result)) == len(content["result"])
        elif "get_instrument" in path.stem:
            assert InstrumentRegistry([decode_result(reply, InstrumentRecord)])
        elif "submit_order" in path.stem:
            order = decode_result(reply, dict[str, Raw])["order"]
            sent = content["result"]["order"]
            message = decode(envelope("1.orders", f"[{bytes(order).decode()}]"))
            assert isinstance(message, Subscription)
            report = parse_order_report(message.data[0], TS_INIT)
            assert (report.client_order_id, report.price) == (sent["label"], Decimal(sent["limit_price"]))
            assert message.data[0].nonce == sent["nonce"]
    elif "trades_result" in path.stem and "public" not in path.stem:
        message = decode(envelope("7.trades", content["trades"]))
        assert isinstance(message, Subscription)
        fill = parse_fill_report(message.data[0], TS_INIT)
        assert (fill.commission, fill.client_order_id) == (Decimal(content["trades"][0]["trade_fee"]), None)
    elif "trades_result" in path.stem:
        assert outcome(envelope("trades.ETH-PERP", content["trades"]))[0] == "parsed"
    else:
        with pytest.raises(DecodeError):
            decode(raw)
