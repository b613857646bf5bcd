"""Dispatch: ownership, statuses, trades, bad elements, hand-over and bounds; replaces have a file of their own."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import pytest

from derive_bench.adapter.dispatch import (
    Dispatcher,
    Emission,
    EmitterError,
    ExecutionState,
    FifoSet,
)
from derive_bench.adapter.errors import CallerError, DecodeError
from derive_bench.adapter.events import (
    OrderAccepted,
    OrderCanceled,
    OrderExpired,
    OrderFilled,
    OrderRejected,
)
from derive_bench.adapter.messages import BadElement, PrivateOrder, PrivateTrade, RpcError
from derive_bench.adapter.model import FillReport, LiquiditySide, OrderSide, OrderStatus, OrderStatusReport, OrderType
from tests.adapter.dispatch_support import IDENTITY, T0, Desk, order, short, trade

LIVE = ("open", "untriggered", "algo_active")


# Ownership


@pytest.mark.parametrize("label", [None, "", "someone else's"])
def test_an_order_without_identity_is_a_report(label: str | None) -> None:
    desk = Desk()
    assert desk.orders(order("X", "open", label)) == ["StatusReport X"]
    report = desk.out[0]
    assert isinstance(report, OrderStatusReport)
    assert (report.order_status, report.price, report.ts_init) == (OrderStatus.ACCEPTED, Decimal("2873.12"), 7)


@pytest.mark.parametrize("label", [None, "", "someone else's"])
def test_a_trade_without_identity_is_a_report(label: str | None) -> None:
    desk = Desk(commission_currency="USDT")
    assert desk.trades(trade("T", "X", label)) == ["FillReport T"]
    report = desk.out[0]
    assert isinstance(report, FillReport)
    assert report.commission_currency == "USDT"


def test_an_identity_that_was_forgotten_is_none() -> None:
    desk = Desk()
    desk.dispatcher.forget("O-1")
    desk.dispatcher.forget("O-1")
    assert desk.orders(order("A")) == ["StatusReport A"]
    desk.dispatcher.register("O-1", IDENTITY)
    assert desk.orders(order("A")) == ["Accepted A"]


def test_an_empty_or_used_client_order_id_is_refused() -> None:
    desk = Desk()
    with pytest.raises(CallerError, match="is empty"):
        desk.dispatcher.register("", IDENTITY)
    with pytest.raises(CallerError, match="'O-1' is in use"):
        desk.dispatcher.register("O-1", IDENTITY)
    desk.orders(order("A", "filled"))
    with pytest.raises(CallerError, match="'O-1' is in use"):
        desk.dispatcher.register("O-1", IDENTITY)


# Statuses


@pytest.mark.parametrize("status", LIVE)
def test_a_live_status_is_accepted_once(status: str) -> None:
    desk = Desk()
    assert desk.orders(order("A", status)) == ["Accepted A"]
    event = desk.out[0]
    assert isinstance(event, OrderAccepted)
    assert msgspec.structs.astuple(event)[1:] == ("O-1", "A", "ETH-PERP.DERIVE", "S-1", T0 * 1_000_000, 7)
    assert desk.orders(*(order("A", again) for again in LIVE)) == []
    assert desk.orders(order("A", filled_amount="1")) == []


def test_filled_accepts_first_and_keeps_the_identity() -> None:
    desk = Desk()
    assert desk.orders(order("A", "filled")) == ["Accepted A"]
    assert desk.orders(order("A", "open"), order("A", "filled"), order("A", "cancelled"), order("A", "halted")) == []
    assert desk.trades(trade("T")) == ["Filled T"]


def test_filled_after_open_makes_nothing_more() -> None:
    desk = Desk()
    assert desk.orders(order("A"), order("A", "filled"), order("A")) == ["Accepted A"]


@pytest.mark.parametrize(("status", "kind"), [("cancelled", OrderCanceled), ("expired", OrderExpired)])
@pytest.mark.parametrize("accepted", [False, True])
def test_cancelled_and_expired_accept_first_then_forget(status: str, kind: type, accepted: bool) -> None:
    desk = Desk()
    if accepted:
        desk.orders(order("A"))
    desk.orders(order("A", status))
    assert [type(event) for event in desk.out] == [OrderAccepted, kind]
    assert getattr(desk.out[0], "ts_event", None) == T0 * 1_000_000
    event: Any = desk.out[1]
    assert (event.client_order_id, event.strategy_id, event.ts_event) == ("O-1", "S-1", (T0 + 5) * 1_000_000)
    assert desk.orders(order("A", status), order("A")) == ["StatusReport A", "StatusReport A"]
    assert desk.dispatcher.state.sizes() == {"orders": 0, "legs": 0, "filled": 0, "trade_ids": 0}


def test_a_cancel_keeps_its_reason_and_a_trigger_message_goes_first() -> None:
    desk = Desk()
    desk.orders(order("A", "cancelled", cancel_reason="mmp_trigger"))
    desk.dispatcher.register("O-1", IDENTITY)
    desk.orders(order("B", "cancelled", cancel_reason="trigger_failed", trigger_reject_message="no liquidity"))
    desk.dispatcher.register("O-1", IDENTITY)
    desk.orders(order("C", "cancelled", cancel_reason=None))
    assert [event.reason for event in desk.out if isinstance(event, OrderCanceled)] == ["mmp_trigger", "no liquidity", ""]


@pytest.mark.parametrize(
    ("changes", "reason", "post_only"),
    [
        ({"cancel_reason": "Post only order cannot cross the market"}, "Post only order cannot cross the market", True),
        ({"cancel_reason": "insufficient_margin", "trigger_reject_message": "post-only would cross"}, "post-only would cross", True),
        ({"cancel_reason": "insufficient_margin"}, "insufficient_margin", False),
        ({"cancel_reason": None}, "", False),
    ],
)
def test_rejected_is_told_without_acceptance_and_forgotten(changes: dict[str, Any], reason: str, post_only: bool) -> None:
    desk = Desk()
    assert desk.orders(order("A", "rejected", **changes)) == ["Rejected A"]
    event = desk.out[0]
    assert isinstance(event, OrderRejected)
    assert (event.reason, event.due_post_only) == (reason, post_only)
    assert desk.orders(order("A", "rejected")) == ["StatusReport A"]


def test_a_trigger_order_may_be_rejected_after_it_was_accepted() -> None:
    desk = Desk()
    assert desk.orders(order("A", "untriggered"), order("A", "rejected")) == ["Accepted A", "Rejected A"]


def test_a_status_of_tomorrow_is_a_report_and_changes_nothing() -> None:
    desk = Desk()
    assert desk.orders(order("A", "halted")) == ["StatusReport A"]
    assert desk.orders(order("A")) == ["Accepted A"]
    assert desk.orders(order("A", "halted")) == ["StatusReport A"]
    assert desk.orders(order("A", "cancelled")) == ["Canceled A"]
    report = desk.out[0]
    assert isinstance(report, OrderStatusReport)
    assert report.order_status == "halted"


def test_a_frame_of_another_venue_order_with_the_label_makes_nothing() -> None:
    desk = Desk()
    desk.orders(order("A"))
    assert desk.orders(order("X"), order("X", "cancelled"), order("X", "filled"), order("X", "halted")) == []
    assert desk.dispatcher.stats.superseded_frames == 4
    assert desk.orders(order("A", "cancelled")) == ["Canceled A"]


# Trades


def test_a_fill_carries_price_quantity_side_and_commission() -> None:
    desk = Desk()
    desk.orders(order("A"))
    assert desk.trades(trade("T", liquidity_role="taker")) == ["Filled T"]
    event = desk.out[-1]
    assert isinstance(event, OrderFilled)
    assert msgspec.structs.astuple(event)[1:8] == ("O-1", "A", "ETH-PERP.DERIVE", "S-1", "T", OrderSide.BUY, OrderType.LIMIT)
    assert (event.last_qty, event.last_px, event.commission) == (Decimal("0.5"), Decimal("2873.1"), Decimal("0.25"))
    assert (event.commission_currency, event.liquidity_side) == ("USDC", LiquiditySide.TAKER)
    assert (event.ts_event, event.ts_init) == ((T0 + 9) * 1_000_000, 7)


@pytest.mark.parametrize(
    ("role", "side"), [("maker", LiquiditySide.MAKER), (None, LiquiditySide.NO_LIQUIDITY_SIDE), ("auction", "auction")]
)
def test_the_role_of_a_fill(role: str | None, side: LiquiditySide | str) -> None:
    desk = Desk()
    desk.trades(trade("T", liquidity_role=role))
    event = desk.out[-1]
    assert isinstance(event, OrderFilled)
    assert event.liquidity_side == side


def test_a_fill_before_its_open_accepts_first() -> None:
    desk = Desk()
    assert desk.trades(trade("T1")) == ["Accepted A", "Filled T1"]
    assert desk.trades(trade("T2")) == ["Filled T2"]
    assert desk.orders(order("A"), order("A", "filled")) == []


def test_a_first_trade_binds_the_venue_order() -> None:
    desk = Desk()
    desk.trades(trade("T", "A"))
    assert desk.orders(order("X", "cancelled")) == []
    assert desk.orders(order("A", "cancelled")) == ["Canceled A"]


def test_a_trade_after_the_order_was_cancelled_is_a_report() -> None:
    desk = Desk()
    desk.orders(order("A"), order("A", "cancelled", filled_amount="0.5"))
    assert desk.trades(trade("T")) == ["FillReport T"]


@pytest.mark.parametrize("label", ["O-1", "unknown"])
def test_a_duplicate_trade_is_dropped_tracked_or_not(label: str) -> None:
    desk = Desk()
    desk.trades(trade("T", label=label))
    count = len(desk.out)
    assert desk.trades(trade("T", label=label), trade("T", label="O-1"), trade("T", label="x", trade_price="bad")) == []
    assert (desk.dispatcher.stats.duplicate_trades, len(desk.out)) == (3, count)


@pytest.mark.parametrize("label", ["O-1", "unknown"])
@pytest.mark.parametrize(
    ("changes", "counter"),
    [({"trade_id": ""}, "pending_trades"), ({"tx_status": "reverted"}, "void_trades"), ({"tx_status": "timed_out"}, "void_trades")],
)
def test_pending_and_void_trades_make_no_fill_and_are_not_remembered(label: str, changes: dict[str, Any], counter: str) -> None:
    desk = Desk()
    void = trade(**{"trade_id": "T", "label": label} | changes)
    assert desk.trades(void, void) == []
    assert desk.dispatcher.fill_reports([void], 7) == []
    assert getattr(desk.dispatcher.stats, counter) == 3
    assert len(desk.dispatcher.state.trade_ids) == 0
    assert desk.trades(trade("T", label=label, tx_status="settled"))[-1].endswith(" T")


@pytest.mark.parametrize("status", [None, "Batching", "Settled", "ProvingError", "SettledError"])
def test_the_settlement_of_a_batch_in_v3_does_not_undo_its_trades(status: str | None) -> None:
    assert Desk().trades(trade("T", batch_status=status)) == ["Accepted A", "Filled T"]


def test_the_caller_may_name_the_void_statuses() -> None:
    desk = Desk(void_statuses=frozenset({"SettledError"}))
    assert desk.trades(trade("T", batch_status="SettledError"), trade("U", tx_status="reverted")) == ["Accepted A", "Filled U"]


def test_a_trade_published_again_as_it_settles_is_one_fill() -> None:
    desk = Desk()
    assert desk.trades(trade("", tx_status="requested")) == []
    assert desk.trades(trade("T", tx_status="pending")) == ["Accepted A", "Filled T"]
    assert desk.trades(trade("T", tx_status="settled"), trade("T", tx_status="reverted")) == []


def test_rest_reports_share_the_trade_ids() -> None:
    desk = Desk()
    desk.trades(trade("T1"))
    reports = desk.dispatcher.fill_reports([trade("T1"), trade("T2"), trade("T2"), trade("T3", label="unknown")], 9)
    assert [(report.trade_id, report.ts_init) for report in reports] == [("T2", 9), ("T3", 9)]
    assert desk.trades(trade("T1"), trade("T2"), trade("T3"), trade("T4")) == ["Filled T4"]
    assert desk.dispatcher.stats.duplicate_trades == 5


# Numbers and bad elements

LEGAL = ["0", "-0", "0.10", "-12.5", "1e3", "2.5E-60", "1234567890123456789012345678901234567890", "0." + "1" * 40]
ILLEGAL = ["", " 1", "1 ", "+1", ".5", "1.", "1_0", "0x10", "NaN", "Infinity", "-", "1e61", "01", "1,2", "1e0,-2", "\u0661", "9" * 41]


@pytest.mark.parametrize("field", ["trade_amount", "trade_price", "trade_fee"])
def test_the_numbers_of_a_fill_are_exact_or_refused(field: str) -> None:
    attribute = {"trade_amount": "last_qty", "trade_price": "last_px", "trade_fee": "commission"}[field]
    for text in LEGAL:
        desk = Desk()
        desk.trades(trade("T", **{field: text}))
        assert getattr(desk.out[-1], attribute) == Decimal(text), text
    for text in ILLEGAL:
        assert Desk().trades(trade("T", **{field: text})) == ["BadElement"], text


def test_a_bad_element_is_counted_reported_and_leaves_its_neighbours() -> None:
    desk = Desk()
    broken = BadElement(1, DecodeError("no", "$.params.data[1]"), b"{}")
    assert desk.orders(order("A"), broken, order("X", label=None)) == ["Accepted A", "BadElement", "StatusReport X"]
    assert desk.trades(broken, trade("T")) == ["BadElement", "Filled T"]
    assert desk.dispatcher.fill_reports([broken, trade("U")], 7)[0].trade_id == "U"
    assert desk.dispatcher.stats.bad_elements == 3
    assert desk.out[1] is broken


@pytest.mark.parametrize("label", ["O-1", "unknown"])
def test_an_illegal_number_is_a_bad_element_and_changes_no_state(label: str) -> None:
    desk = Desk()
    assert desk.trades(trade("S", label="x"), trade("T", label=label, trade_fee="NaN")) == ["FillReport S", "BadElement"]
    bad = desk.out[1]
    assert isinstance(bad, BadElement)
    assert (bad.index, bad.error.path) == (1, "$.trade_fee")
    assert msgspec.json.decode(bad.raw, type=PrivateTrade).trade_fee == "NaN"
    assert desk.dispatcher.fill_reports([trade("T", trade_fee="NaN")], 7) == []
    assert desk.dispatcher.stats.bad_elements == 2
    desk.orders(order("A"))
    assert desk.trades(trade("T", label=label))[-1].endswith(" T")


def test_an_order_with_an_illegal_number_is_a_bad_element() -> None:
    desk = Desk()
    assert desk.orders(order("X", label=None, amount="1_0"), order("A", "halted", limit_price="?"), order("B")) == [
        "BadElement",
        "BadElement",
        "Accepted B",
    ]
    bad = desk.out[0]
    assert isinstance(bad, BadElement)
    assert msgspec.json.decode(bad.raw, type=PrivateOrder).order_id == "X"


# Requests that failed


@pytest.mark.parametrize(
    ("code", "message", "post_only"),
    [(11008, "would cross", True), (11000, "Insufficient funds", False), (11002, "Post-only order cannot cross", True)],
)
def test_a_refused_request_is_a_rejection(code: int, message: str, post_only: bool) -> None:
    desk = Desk()
    assert desk.call(desk.dispatcher.on_submit_error, "O-1", RpcError(code, message), 7) == ["Rejected None"]
    event = desk.out[0]
    assert isinstance(event, OrderRejected)
    assert (event.venue_order_id, event.reason, event.due_post_only, event.ts_event) == (None, message, post_only, 7)
    assert desk.call(desk.dispatcher.on_submit_error, "O-1", RpcError(code, message), 7) == []


@pytest.mark.parametrize("code", [-32603, 9000, 9001])
def test_a_request_with_unknown_outcome_stays_registered(code: int) -> None:
    desk = Desk()
    assert desk.call(desk.dispatcher.on_submit_error, "O-1", RpcError(code, "timed out"), 7) == []
    assert desk.orders(order("A")) == ["Accepted A"]


@pytest.mark.parametrize("status", ["open", "halted"])
def test_an_error_reply_after_the_venue_spoke_of_the_order_makes_nothing(status: str) -> None:
    desk = Desk()
    desk.orders(order("A", status))
    assert desk.call(desk.dispatcher.on_submit_error, "O-1", RpcError(11017, "nonce"), 7) == []
    assert desk.orders(order("A", "cancelled"))[-1] == "Canceled A"


# Hand-over


def test_an_emitter_that_raises_loses_and_doubles_nothing() -> None:
    taken: list[str] = []

    def emit(emission: Emission) -> None:
        text = short(emission)
        if text in ("Accepted A", "Filled T1", "FillReport T2"):
            raise RuntimeError(text)
        taken.append(text)

    dispatcher = Dispatcher(emit)
    dispatcher.register("O-1", IDENTITY)
    dispatcher.register("O-2", IDENTITY)
    trades = [trade("T1"), trade("T2", "X", "x"), trade("T3", "B", "O-2")]
    with pytest.raises(EmitterError, match="refused 3 emission") as caught:
        dispatcher.on_trades(trades, 7)
    assert [short(emission) for emission, _ in caught.value.failures] == ["Accepted A", "Filled T1", "FillReport T2"]
    assert [str(error) for _, error in caught.value.failures] == ["Accepted A", "Filled T1", "FillReport T2"]
    assert taken == ["Accepted B", "Filled T3"]
    dispatcher.on_trades(trades, 7)
    assert taken == ["Accepted B", "Filled T3"]


def test_an_emitter_that_raises_on_orders() -> None:
    refused = {"Accepted A", "Canceled A", "Accepted B"}
    taken: list[str] = []

    def emit(emission: Emission) -> None:
        if short(emission) in refused:
            raise DecodeError("an error of the emitter's, not of the frame's")
        taken.append(short(emission))

    dispatcher = Dispatcher(emit)
    for name in ("O-1", "O-2", "O-3"):
        dispatcher.register(name, IDENTITY)
    with pytest.raises(EmitterError) as caught:
        dispatcher.on_orders([order("A", "cancelled"), order("B", label="O-2"), order("C", label="O-3")], 7)
    assert [short(emission) for emission, _ in caught.value.failures] == ["Accepted A", "Canceled A", "Accepted B"]
    assert (taken, dispatcher.stats.bad_elements) == (["Accepted C"], 0)
    refused.clear()
    dispatcher.on_orders([order("B", label="O-2"), order("C", label="O-3")], 7)
    assert taken == ["Accepted C"]


def test_an_interrupt_leaves_at_once_and_the_payload_may_be_given_again() -> None:
    taken: list[str] = []

    def emit(emission: Emission) -> None:
        taken.append(short(emission))
        if taken == ["FillReport T1"]:
            raise KeyboardInterrupt

    dispatcher = Dispatcher(emit)
    trades = [trade("T1"), trade("T2")]
    with pytest.raises(KeyboardInterrupt):
        dispatcher.on_trades(trades, 7)
    dispatcher.on_trades(trades, 7)
    assert taken == ["FillReport T1", "FillReport T2"]


def test_the_emitter_may_call_the_dispatcher() -> None:
    taken: list[str] = []

    def emit(emission: Emission) -> None:
        taken.append(short(emission))
        if taken[-1] == "Canceled A":
            dispatcher.register("O-1", IDENTITY)
            dispatcher.on_orders([order("B")], 8)
        if taken[-1] == "Filled T1":
            dispatcher.on_trades([trade("T1"), trade("T2")], 8)

    dispatcher = Dispatcher(emit)
    dispatcher.register("O-1", IDENTITY)
    dispatcher.on_orders([order("A", "cancelled"), order("B", "open")], 7)
    dispatcher.on_trades([trade("T1", "B"), trade("T2", "B")], 7)
    assert taken == ["Accepted A", "Canceled A", "Accepted B", "Filled T1", "Filled T2"]


# Storms and bounds


def test_a_reconnect_storm_makes_nothing_new() -> None:
    desk = Desk()
    desk.dispatcher.register("O-2", IDENTITY)
    desk.dispatcher.register("O-3", IDENTITY)
    frames = [order("A"), order("A", "filled"), order("B", label="O-2"), order("B", "cancelled", "O-2"), order("C", label="O-3")]
    trades = [trade("T1"), trade("T2", "B", "O-2")]
    desk.orders(*frames)
    desk.trades(*trades)
    for _ in range(20):
        assert set(desk.orders(*frames)) == {"StatusReport B"}
        assert desk.trades(*trades) == []


def test_an_open_order_stays_accepted_however_many_come_after_it() -> None:
    desk = Desk()
    desk.orders(order("A"))
    for number in range(3_000):
        name = f"L-{number}"
        desk.dispatcher.register(name, IDENTITY)
        desk.dispatcher.on_orders([order(name, label=name)], 7)
    assert desk.orders(order("A"), order("L-0", label="L-0")) == []


def test_the_filled_orders_are_bounded_and_a_replay_after_that_is_a_report() -> None:
    desk = Desk()
    desk.orders(order("A", "filled"))
    for number in range(1_023):
        desk.dispatcher.register(f"F-{number}", IDENTITY)
        desk.dispatcher.on_orders([order(f"V-{number}", "filled", f"F-{number}")], 7)
    assert desk.orders(order("A", "filled"), order("A")) == []
    desk.dispatcher.register("F", IDENTITY)
    desk.dispatcher.on_orders([order("V", "filled", "F")], 7)
    assert desk.orders(order("A", "filled")) == ["StatusReport A"]
    assert desk.trades(trade("T")) == ["FillReport T"]
    assert desk.orders(order("V-0", label="F-0")) == []


def test_the_trade_ids_are_bounded() -> None:
    desk = Desk()
    desk.trades(*(trade(f"T{number}", "X", "x") for number in range(4_096)))
    assert desk.trades(trade("T0", "X", "x")) == []
    assert desk.trades(trade("T", "X", "x")) == ["FillReport T"]
    assert desk.trades(trade("T1", "X", "x")) == []
    assert desk.trades(trade("T0", "X", "x")) == ["FillReport T0"]
    assert len(desk.dispatcher.state.trade_ids) == 4_096


def test_memory_is_bounded_over_100_000_orders() -> None:
    count = 0

    def emit(emission: Emission) -> None:
        nonlocal count
        count += 1

    dispatcher = Dispatcher(emit)
    for number in range(100_000):
        label, venue_id = f"O{number}", f"V{number}"
        dispatcher.register(label, IDENTITY)
        match number % 5:
            case 0:
                dispatcher.on_orders([order(venue_id, "filled", label)], 7)
            case 1:
                dispatcher.on_orders([order(venue_id, "cancelled", label)], 7)
            case 2:
                dispatcher.on_orders([order(venue_id, "rejected", label)], 7)
            case 3:
                dispatcher.on_trades([trade(venue_id, venue_id, label)], 7)
    sizes = dispatcher.state.sizes()
    assert sizes == {"orders": 16_384, "legs": 0, "filled": 1_024, "trade_ids": 4_096}
    assert count == 20_000 * (1 + 2 + 1 + 2)
    assert dispatcher.stats.dropped_identities > 0


def test_an_order_id_reused_after_forgetting_is_not_dropped_with_its_predecessor() -> None:
    desk = Desk(ExecutionState(order_limit=9, filled_limit=2))
    desk.orders(order("A", "filled"))
    desk.dispatcher.forget("O-1")
    desk.dispatcher.register("O-1", IDENTITY)
    for name in ("F1", "F2", "F3"):
        desk.dispatcher.register(name, IDENTITY)
        desk.dispatcher.on_orders([order(name, "filled", name)], 7)
    assert desk.orders(order("B")) == ["Accepted B"]


def test_limits_are_checked() -> None:
    with pytest.raises(CallerError, match="limit: must be at least 1, not 0"):
        FifoSet(0)
    with pytest.raises(CallerError, match="filled_limit"):
        ExecutionState(filled_limit=0)
    with pytest.raises(CallerError, match="order_limit"):
        ExecutionState(order_limit=5, filled_limit=5)
