"""Frames that are spoiled: cut, flipped, nested, huge, mistyped or incomplete; and what stays right beside them."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from derive_bench.adapter.book import parse_order_book_deltas
from derive_bench.adapter.errors import DecodeError, DeriveBenchError
from derive_bench.adapter.frames import (
    Subscription,
    decode,
)
from derive_bench.adapter.inbound import parse_order_report
from derive_bench.adapter.messages import (
    BadElement,
)
from tests.adapter.wire import TOMORROW, TS_INIT, envelope, inputs, outcome, parsed, registry, rewritten

SPOILED = ("orderbook", "orderbook_d10", "ticker", "ticker_option", "ticker_full", "trade", "order", "private_trade")


# Malformed frames


@pytest.mark.parametrize(
    ("frame", "path", "said"),
    [
        ("", "$", "truncated"),
        ("pingpong", "$", "malformed"),
        ("[]", "$", "object"),
        ("5", "$", "object"),
        ('"ping"', "$", "object"),
        ("null", "$", "object"),
        ("\ufeff{}", "$", "malformed"),
        ("{}", "$", "no `method` and no `id`"),
        ('{"params":{}}', "$", "no `method` and no `id`"),
        ('{"id":1}', "$", "without `result` or `error`"),
        ('{"id":true,"result":1}', "$.id", "bool"),
        ('{"id":[],"result":1}', "$.id", "array"),
        ('{"id":1,"error":5}', "$.error", "int"),
        ('{"id":1,"error":{"code":"x","message":""}}', "$.error.code", "str"),
        ('{"id":1,"error":{"message":""}}', "$.error", "code"),
        ('{"method":5}', "$.method", "int"),
        ('{"method":"subscription"}', "$", "params"),
        ('{"method":"subscription","params":null}', "$.params", "null"),
        ('{"method":"subscription","params":[]}', "$.params", "array"),
        ('{"method":"subscription","params":{"data":1}}', "$.params", "channel"),
        ('{"method":"subscription","params":{"channel":"trades.X"}}', "$.params", "data"),
        ('{"method":"subscription","params":{"channel":7,"data":1}}', "$.params.channel", "int"),
        ('{"method":"subscription","params":{"channel":"trades.X","data":null}}', "$.params.data", "null"),
        ('{"method":"subscription","params":{"channel":"1.orders","data":{}}}', "$.params.data", "object"),
        ('{"method":"subscription","params":{"channel":"orderbook.X.1.1","data":[]}}', "$.params.data", "array"),
        ('{"method":"subscription","params":{"channel":"ticker.X.100","data":{"timestamp":1}}}', "$.params.data", "best_ask_amount"),
        ('{"method":"subscription","params":{"channel":"ticker.X.100","data":{"instrument_ticker":{}}}}', "$.params.data", "timestamp"),
        (
            '{"method":"subscription","params":{"channel":"ticker.X.100","data":{"timestamp":1,"instrument_ticker":{}}}}',
            "$.params.data.instrument_ticker",
            "best_ask_amount",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_path(frame: str, path: str, said: str) -> None:
    for _ in range(2):
        with pytest.raises(DecodeError) as caught:
            decode(frame)
        assert caught.value.path == path
        assert said in caught.value.reason


@pytest.mark.parametrize("name", SPOILED)
def test_a_frame_cut_short_anywhere_is_an_error(name: str) -> None:
    frame = inputs().frame(name)
    parsed(frame)
    for end in range(len(frame)):
        with pytest.raises(DecodeError):
            decode(frame[:end])
    for start in range(1, len(frame)):
        with pytest.raises(DeriveBenchError):
            decode(frame[start:])


@pytest.mark.parametrize("name", SPOILED)
def test_a_flipped_bit_is_an_error_or_a_message_read_right(name: str) -> None:
    """What JSON's own reader still takes must come to the same as the message put down anew, order and spaces changed."""
    rng = Random(name)
    frame = inputs().frame(name)
    parsed(frame)
    taken = 0
    for _ in range(450):
        spoiled = bytearray(frame)
        for _ in range(rng.choice((1, 1, 1, 2))):
            spoiled[rng.randrange(len(frame))] ^= 1 << rng.randrange(8)
        got = outcome(bytes(spoiled))
        try:
            again = rewritten(spoiled, rng)
        except (ValueError, RecursionError):
            assert got[0] == "error" or b"\\u" in spoiled or not spoiled.isascii()
            continue
        taken += got[0] == "parsed"
        assert got[0] == outcome(again)[0], bytes(spoiled)
        if got[0] == "parsed":
            assert got == outcome(again), bytes(spoiled)
    assert taken > 20


@pytest.mark.parametrize("name", ["orderbook_d10", "ticker_option", "trade", "order", "private_trade"])
def test_bytes_put_in_dropped_or_swapped_never_end_in_another_exception(name: str) -> None:
    rng = Random(name)
    frame = inputs().frame(name)
    pieces = (
        b"\xff",
        b"\xed\xa0\x80",
        b"\\ud800",
        b"\x00",
        b'"',
        b"{",
        b"]",
        b",",
        b"NaN",
        b"1e999",
        b"\\",
        b"\\u12",
        b"-",
        b".",
        b"null",
        b" ",
    )
    for _ in range(400):
        at, to = sorted(rng.randrange(len(frame)) for _ in range(2))
        match rng.randrange(3):
            case 0:
                spoiled = frame[:at] + rng.choice(pieces) + frame[at:]
            case 1:
                spoiled = frame[:at] + frame[at + rng.randrange(1, 6) :]
            case _:
                spoiled = frame[:at] + frame[at:to][::-1] + frame[to:]
        outcome(spoiled)


NESTINGS = ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 50_000 + "1" + "}" * 50_000]


@pytest.mark.parametrize("nest", NESTINGS, ids=["open arrays", "open objects", "arrays", "objects"])
def test_deep_nesting_is_an_error_and_no_crash(nest: str) -> None:
    ticker = inputs().payload_bytes("ticker").decode()
    for frame in (
        nest,
        f'{{"id":1,"result":{nest}}}',
        f'{{"id":1,"error":{{"code":1,"message":"","data":{nest}}}}}',
        envelope("trades.ETH-PERP", nest).decode(),
        envelope("margin.watch", nest).decode(),
        envelope("ticker_slim.ETH-PERP.100", ticker[:-1] + f',"new":{nest}}}').decode(),
        envelope("orderbook.ETH-PERP.1.1", f'{{"instrument_name":"ETH-PERP","timestamp":1,"bids":{nest},"asks":[]}}').decode(),
    ):
        assert outcome(frame) == ("error", DecodeError)


def test_ten_megabytes_are_read_or_refused() -> None:
    levels = ",".join([f'["2874.31{"0" * 30}","0.001{"0" * 30}"]'] * 65_000)
    book = f'{{"instrument_name":"ETH-PERP","timestamp":1,"publish_id":2,"bids":[{levels}],"asks":[{levels}]}}'
    frame = envelope("orderbook.ETH-PERP.1.100", book)
    assert len(frame) > 10_000_000
    message = decode(frame)
    assert isinstance(message, Subscription)
    deltas = parse_order_book_deltas(message.data, registry()["ETH-PERP"], TS_INIT)
    assert len(deltas) == 130_001
    assert (deltas[130_000].price, deltas[130_000].order_id, deltas[130_000].flags) == (Decimal("2874.31"), 129_999, 160)
    assert outcome(frame[:-3]) == ("error", DecodeError)
    digits = "9" * 10_000_000
    ticker = inputs().frame("ticker")
    for spoiled in (
        ticker.replace(b'"M":"2874.27"', f'"M":"{digits}"'.encode()),
        ticker.replace(b'"M":"2874.27"', f'"M":{digits}'.encode()),
        ticker.replace(b'"timestamp":', f'"timestamp":{digits}'.encode()),
    ):
        assert len(spoiled) > 10_000_000
        assert outcome(spoiled) == ("error", DecodeError)
    assert outcome(ticker[:-1] + f',"new":"{digits}"}}'.encode()) == outcome(ticker)


@pytest.mark.parametrize("bad", ["\ud800", "a\udfffb"])
def test_a_text_with_a_lone_surrogate_is_an_error(bad: str) -> None:
    with pytest.raises(DecodeError, match="surrogate at character"):
        decode(inputs().frame("trade").decode().replace("trade_id", bad))


@pytest.mark.parametrize("bad", [b"\\ud800", b"\\udc00x", b"\\ud800\\u0041", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x1f", b"\\x"])
def test_a_text_that_is_none_is_an_error(bad: bytes) -> None:
    for name, old in (
        ("trade", b"ETH-PERP"),
        ("order", b"ETH-PERP"),
        ("orderbook_d10", b"ETH-PERP"),
        ("ticker", b"2874.27"),
        ("trade", b'"buy"'),
    ):
        frame = inputs().frame(name)
        spoiled = frame[:-60].replace(old, b'"%b"' % bad if old.startswith(b'"') else bad) + frame[-60:]
        assert spoiled != frame
        assert outcome(spoiled) in (("error", DecodeError), ("parsed", [("bad element", 0)]))


# Wrong types, missing fields

NUMBER, TEXT, MILLIS, WHOLE, OBJECT = "number", "text", "millis", "whole", "object"
WRONG: dict[str, list[Any]] = {
    NUMBER: [None, True, False, [], ["1"], {}, {"a": "1"}],
    TEXT: [None, True, 5, 1.5, [], {}],
    MILLIS: [None, True, "1790871617137", "x", 1.5, -1, 2**63, 18446744073710, 10**400, [], {}],
    WHOLE: [None, True, "7", 1.5, [], {}],
    OBJECT: [None, True, 5, "x", []],
}
FIELDS: dict[str, dict[str, str]] = {
    "orderbook": {"instrument_name": TEXT, "timestamp": MILLIS},
    "ticker": {"timestamp": MILLIS, "instrument_ticker": OBJECT, **{f"instrument_ticker.{name}": NUMBER for name in "ABIMab"}},
    "ticker_option": {f"instrument_ticker.option_pricing.{name}": NUMBER for name in ("ai", "bi", "d", "f", "g", "i", "m", "r", "t", "v")},
    "ticker_full_flat": {
        "timestamp": MILLIS,
        **{f"best_{side}_{what}": NUMBER for side in ("ask", "bid") for what in ("price", "amount")},
        "index_price": NUMBER,
        "mark_price": NUMBER,
    },
    "ticker_full": {"timestamp": MILLIS, "instrument_ticker.timestamp": MILLIS, "instrument_ticker.mark_price": NUMBER},
    "trade": {
        **dict.fromkeys(("direction", "instrument_name", "trade_id"), TEXT),
        "trade_amount": NUMBER,
        "trade_price": NUMBER,
        "timestamp": MILLIS,
    },
    "order": {
        **dict.fromkeys(("direction", "instrument_name", "order_id", "order_status", "order_type", "time_in_force"), TEXT),
        **dict.fromkeys(("amount", "average_price", "filled_amount", "limit_price"), NUMBER),
        "creation_timestamp": MILLIS,
        "last_update_timestamp": MILLIS,
        "subaccount_id": WHOLE,
    },
    "private_trade": {
        **dict.fromkeys(("direction", "instrument_name", "order_id", "trade_id"), TEXT),
        **dict.fromkeys(("trade_amount", "trade_fee", "trade_price"), NUMBER),
        "timestamp": MILLIS,
        "subaccount_id": WHOLE,
    },
}
CASES = [(name, field, kind) for name, kinds in FIELDS.items() for field, kind in kinds.items()]


def spoil(name: str, field: str, change: Any) -> bytes:
    """The frame of an input with one field of its (first) payload changed by `change(holder, key)`."""
    payload = json.loads(inputs().payload_bytes(name))
    holder = payload[0] if isinstance(payload, list) else payload
    *outer, key = field.split(".")
    for part in outer:
        holder = holder[part]
    change(holder, key)
    topic = inputs().channel(name)
    assert topic is not None
    return envelope(topic, payload)


def putting(value: Any) -> Callable[[Any, str], None]:
    """The change that puts a value in a field's place."""
    return lambda holder, key: holder.__setitem__(key, value)


def first_fault(frame: bytes) -> DecodeError:
    """The error a frame is refused with, or that of its first element."""
    try:
        message = decode(frame)
    except DecodeError as error:
        return error
    assert isinstance(message, Subscription)
    assert isinstance(message.data, list), message.data
    assert isinstance(message.data[0], BadElement), message.data
    return message.data[0].error


@pytest.mark.parametrize(("name", "field", "kind"), CASES, ids=[f"{name}.{field}" for name, field, _ in CASES])
def test_a_field_of_a_wrong_type_is_an_error_at_its_path(name: str, field: str, kind: str) -> None:
    for value in WRONG[kind]:
        fault = first_fault(spoil(name, field, putting(value)))
        assert fault.path.startswith("$.params.data")
        null_is_missing = (name, field, value) == ("ticker_full", "timestamp", None)
        assert fault.path.endswith(f".{field}") or (null_is_missing and "`timestamp`" in fault.reason), (value, fault.path)


@pytest.mark.parametrize(("name", "field", "kind"), CASES, ids=[f"{name}.{field}" for name, field, _ in CASES])
def test_a_missing_field_is_an_error_that_names_it(name: str, field: str, kind: str) -> None:
    fault = first_fault(spoil(name, field, lambda holder, key: holder.pop(key)))
    assert f"`{field.rpartition('.')[2]}`" in fault.reason
    assert fault.path.startswith("$.params.data")


OPTIONAL = {
    "orderbook": ("publish_id",),
    "ticker": ("instrument_ticker.f", "instrument_ticker.minp", "instrument_ticker.maxp", "instrument_ticker.option_pricing"),
    "ticker_option": ("instrument_ticker.option_pricing.df", "instrument_ticker.stats"),
    "trade": ("liquidity_role", "index_price", "mark_price", "wallet", "subaccount_id", "trade_fee", "realized_pnl", "rfq_id", "quote_id"),
    "order": ("cancel_reason", "label", "trigger_price", "replaced_order_id", "signed_limit_price", "algo_type", "max_fee"),
    "private_trade": ("label", "liquidity_role", "batch_status", "tx_hash", "op_uuid", "index_price"),
}


@pytest.mark.parametrize(("name", "field"), [(name, field) for name, fields in OPTIONAL.items() for field in fields])
def test_an_optional_field_may_be_null_or_missing(name: str, field: str) -> None:
    missing = outcome(spoil(name, field, lambda holder, key: holder.pop(key, None)))
    null = outcome(spoil(name, field, putting(None)))
    assert missing[0] == "parsed"
    assert missing == null


@pytest.mark.parametrize(
    ("name", "field"), [("orderbook", "publish_id"), ("trade", "subaccount_id"), ("order", "label"), ("trade", "liquidity_role")]
)
def test_an_optional_field_of_a_wrong_type_is_still_an_error(name: str, field: str) -> None:
    values: tuple[Any, ...] = ([], {}, 1.5, True)
    for value in values:
        fault = first_fault(spoil(name, field, putting(value)))
        assert fault.path.endswith(f".{field}")


@pytest.mark.parametrize(("topic", "name"), [("7.orders", "order"), ("7.trades", "private_trade")])
def test_a_bad_element_leaves_its_neighbours_alone(topic: str, name: str) -> None:
    good = inputs().payload(name)[0]
    rows = [good, {**good, "instrument_name": 5}, "x", None, good, {}]
    for _ in range(2):
        message = decode(envelope(topic, rows))
        assert isinstance(message, Subscription)
        assert [isinstance(row, BadElement) for row in message.data] == [False, True, True, True, False, True]
        bad = message.data[1]
        assert (bad.index, bad.error.path, json.loads(bad.raw)) == (1, "$.params.data[1].instrument_name", rows[1])
        assert message.data[0] == message.data[4]


def test_words_of_tomorrow_are_kept() -> None:
    order = {
        **inputs().payload("order")[0],
        **dict.fromkeys(("order_status", "order_type", "time_in_force", "direction", "cancel_reason"), TOMORROW),
    }
    message = decode(envelope("7.orders", [order]))
    assert isinstance(message, Subscription)
    report = parse_order_report(message.data[0], TS_INIT)
    assert {report.order_status, report.order_type, report.time_in_force, report.order_side, report.cancel_reason} == {TOMORROW}
