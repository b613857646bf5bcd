"""Order status reports and fill reports: each word, each number, and what may be missing."""

from __future__ import annotations

from decimal import Decimal
from random import Random

import pytest

from derive_bench.adapter.frames import Subscription, decode
from derive_bench.adapter.inbound import (
    liquidity_side,
    parse_fill_report,
    parse_order_report,
)
from derive_bench.adapter.model import (
    LiquiditySide,
    OrderSide,
    OrderStatus,
    OrderType,
    TimeInForce,
    TriggerType,
)
from tests.adapter.wire import (
    TOMORROW,
    TS_INIT,
    fill_of,
    inputs,
    number_text,
    order_of,
    payload_of,
)

# Order reports


@pytest.mark.parametrize(
    ("word", "filled", "status"),
    [
        ("open", "0", OrderStatus.ACCEPTED),
        ("open", "0.00", OrderStatus.ACCEPTED),
        ("open", "0.1", OrderStatus.PARTIALLY_FILLED),
        ("untriggered", "0", OrderStatus.ACCEPTED),
        ("algo_active", "0", OrderStatus.ACCEPTED),
        ("algo_active", "1", OrderStatus.PARTIALLY_FILLED),
        ("filled", "1", OrderStatus.FILLED),
        ("rejected", "0", OrderStatus.REJECTED),
        ("cancelled", "0", OrderStatus.CANCELED),
        ("cancelled", "0.5", OrderStatus.CANCELED),
        ("expired", "0", OrderStatus.EXPIRED),
        (TOMORROW, "0", TOMORROW),
    ],
)
def test_each_status(word: str, filled: str, status: OrderStatus | str) -> None:
    report = parse_order_report(order_of(order_status=word, filled_amount=filled), 1)
    assert report.order_status == status
    assert report.filled_qty == Decimal(filled)


@pytest.mark.parametrize("name", ["open", "partially_filled", "filled", "rejected", "cancelled", "expired", "untriggered", "algo_active"])
@pytest.mark.parametrize("protocol", ["v3", "v2"])
def test_our_orders_in_each_status(name: str, protocol: str) -> None:
    source = inputs(protocol)
    sent = source.payload(f"order_{name}")[0]
    message = decode(source.frame(f"order_{name}"))
    assert isinstance(message, Subscription)
    report = parse_order_report(message.data[0], TS_INIT)
    assert isinstance(report.order_status, OrderStatus)
    assert report.instrument_id == f"{sent['instrument_name']}.DERIVE"
    assert (report.venue_order_id, report.client_order_id) == (sent["order_id"], sent["label"])
    for field, key in (("quantity", "amount"), ("filled_qty", "filled_amount"), ("price", "limit_price")):
        assert str(getattr(report, field)) == sent[key], "at the venue's own scale"
    assert report.avg_px == (Decimal(sent["average_price"]) or None)
    assert report.ts_accepted == sent["creation_timestamp"] * 10**6
    assert (report.ts_last, report.ts_init) == (sent["last_update_timestamp"] * 10**6, TS_INIT)
    assert message.data[0].nonce == sent["nonce"]
    assert type(message.data[0].nonce) is (str if protocol == "v3" else int)


@pytest.mark.parametrize("nonce", ["1790871569321323488", 1_700_000_000_000_001, 2**63 - 1, 0, ""])
def test_a_nonce_is_a_text_or_an_integer(nonce: str | int) -> None:
    order = order_of(nonce=nonce)
    assert order.nonce == nonce
    assert type(order.nonce) is type(nonce)
    assert parse_order_report(order, 1).venue_order_id == order.order_id


@pytest.mark.parametrize(
    ("kind", "trigger", "expected"),
    [
        ("limit", None, OrderType.LIMIT),
        ("market", None, OrderType.MARKET),
        ("limit", "stoploss", OrderType.STOP_LIMIT),
        ("market", "stoploss", OrderType.STOP_MARKET),
        ("limit", "takeprofit", OrderType.LIMIT_IF_TOUCHED),
        ("market", "takeprofit", OrderType.MARKET_IF_TOUCHED),
        (TOMORROW, None, TOMORROW),
        (TOMORROW, "stoploss", TOMORROW),
    ],
)
def test_each_order_type(kind: str, trigger: str | None, expected: OrderType | str) -> None:
    assert parse_order_report(order_of(order_type=kind, trigger_type=trigger), 1).order_type == expected


@pytest.mark.parametrize(
    ("word", "watched"), [("mark", TriggerType.MARK_PRICE), ("index", TriggerType.INDEX_PRICE), (TOMORROW, TOMORROW), (None, None)]
)
def test_each_trigger(word: str | None, watched: TriggerType | str | None) -> None:
    report = parse_order_report(order_of(trigger_price="2780.550", trigger_price_type=word), 1)
    assert report.trigger_type == watched
    assert str(report.trigger_price) == "2780.550"
    assert parse_order_report(order_of(trigger_price=None), 1).trigger_price is None


@pytest.mark.parametrize(
    ("word", "expected", "post_only"),
    [
        ("gtc", TimeInForce.GTC, False),
        ("post_only", TimeInForce.GTC, True),
        ("ioc", TimeInForce.IOC, False),
        ("fok", TimeInForce.FOK, False),
        (TOMORROW, TOMORROW, False),
    ],
)
def test_each_time_in_force(word: str, expected: TimeInForce | str, post_only: bool) -> None:
    report = parse_order_report(order_of(time_in_force=word), 1)
    assert (report.time_in_force, report.post_only) == (expected, post_only)


@pytest.mark.parametrize(
    ("trigger", "cancel", "reason"),
    [
        ("Trigger failed: margin", "trigger_failed", "Trigger failed: margin"),
        ("Trigger failed: margin", "", "Trigger failed: margin"),
        ("", "user_request", "user_request"),
        (None, "Post only order cannot cross the market", "Post only order cannot cross the market"),
        (None, TOMORROW, TOMORROW),
        (None, "", None),
        (None, None, None),
        ("", None, None),
    ],
)
def test_a_triggers_message_goes_before_the_cancel_reason(trigger: str | None, cancel: str | None, reason: str | None) -> None:
    assert parse_order_report(order_of(trigger_reject_message=trigger, cancel_reason=cancel), 1).cancel_reason == reason


def test_what_an_order_may_leave_out() -> None:
    bare = {
        key: value
        for key, value in inputs().payload("order")[0].items()
        if key not in {"label", "cancel_reason", "replaced_order_id", "max_fee", "quote_id", "trigger_price", "signed_limit_price"}
    }
    report = parse_order_report(payload_of("7.orders", [bare])[0], 1)
    assert (report.client_order_id, report.cancel_reason, report.replaced_order_id, report.reduce_only) == (None, None, None, None)
    assert parse_order_report(order_of(label=""), 1).client_order_id is None
    linked = parse_order_report(order_of(replaced_order_id="old", reduce_only=True), 1)
    assert (linked.replaced_order_id, linked.reduce_only) == ("old", True)


def test_an_orders_numbers_are_exact() -> None:
    rng = Random(12)
    for _ in range(400):
        texts = {name: number_text(rng, 4) for name in ("amount", "filled_amount", "limit_price", "average_price", "trigger_price")}
        report = parse_order_report(order_of(**texts), 1)
        assert report.quantity == Decimal(texts["amount"])
        assert report.filled_qty == Decimal(texts["filled_amount"])
        assert report.price == Decimal(texts["limit_price"])
        assert report.trigger_price == Decimal(texts["trigger_price"])
        assert report.avg_px == (Decimal(texts["average_price"]) or None)


# Fill reports


def test_a_fill() -> None:
    sent = inputs().payload("private_trade")[0]
    fill = parse_fill_report(fill_of(), TS_INIT)
    assert (fill.instrument_id, fill.venue_order_id, fill.client_order_id) == ("ETH-PERP.DERIVE", sent["order_id"], sent["label"])
    assert (str(fill.last_qty), str(fill.last_px)) == (sent["trade_amount"], sent["trade_price"])
    assert (str(fill.commission), fill.commission_currency) == (sent["trade_fee"], "USDC")
    assert (fill.trade_id, fill.ts_event, fill.ts_init) == (sent["trade_id"], sent["timestamp"] * 10**6, TS_INIT)
    assert parse_fill_report(fill_of(label=""), 1, "USDT").commission_currency == "USDT"
    assert parse_fill_report(fill_of(label=""), 1).client_order_id is None
    assert parse_fill_report(fill_of(trade_fee="-0.0000000000000000000000000000000001"), 1).commission == Decimal("-1e-34")


@pytest.mark.parametrize(
    ("role", "side"),
    [("maker", LiquiditySide.MAKER), ("taker", LiquiditySide.TAKER), (None, LiquiditySide.NO_LIQUIDITY_SIDE), (TOMORROW, TOMORROW)],
)
def test_the_liquidity_side(role: str | None, side: LiquiditySide | str) -> None:
    assert parse_fill_report(fill_of(liquidity_role=role), 1).liquidity_side == side
    assert liquidity_side(role) == side


@pytest.mark.parametrize(("word", "side"), [("buy", OrderSide.BUY), ("sell", OrderSide.SELL), (TOMORROW, TOMORROW)])
def test_the_order_side(word: str, side: OrderSide | str) -> None:
    assert parse_order_report(order_of(direction=word), 1).order_side == side
    assert parse_fill_report(fill_of(direction=word), 1).order_side == side
