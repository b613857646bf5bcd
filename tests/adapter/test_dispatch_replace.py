"""Dispatch of replaces: both legs, in any order, before and after the reply, and every way a replace can fail."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise, permutations

import msgspec
import pytest

from derive_bench.adapter.dispatch import Dispatcher, Emission, EmitterError, ReplaceResult
from derive_bench.adapter.dispatch.state import KEYS_PER_ORDER
from derive_bench.adapter.errors import CallerError
from derive_bench.adapter.events import OrderCanceled, OrderUpdated
from derive_bench.adapter.messages import BadElement, RpcError
from tests.adapter.dispatch_support import IDENTITY, T0, Desk, order, replaced, short, trade

CANCELLED = order("A", "cancelled")
UPDATED = order("B", replaced="A", limit_price="2900.5", amount="3")
FAILED = RpcError(11003, "Already cancelled")
LOST = RpcError(9000, "Order confirmation timeout")


@pytest.fixture
def desk() -> Desk:
    """A desk whose order O-1 is accepted as A."""
    desk = Desk()
    desk.orders(order("A"))
    desk.out.clear()
    return desk


def test_a_replace_updates_price_quantity_and_venue_id(desk: Desk) -> None:
    replace = desk.dispatcher.on_replace_sent("O-1")
    assert desk.orders(CANCELLED) == []
    assert desk.call(desk.dispatcher.on_replace_reply, replace, replaced(CANCELLED, UPDATED), 7) == ["Updated B"]
    event = desk.out[-1]
    assert isinstance(event, OrderUpdated)
    assert msgspec.structs.astuple(event)[1:] == (
        "O-1",
        "B",
        "A",
        "ETH-PERP.DERIVE",
        "S-1",
        Decimal("2900.5"),
        Decimal(3),
        (T0 + 5) * 1_000_000,
        7,
    )
    assert desk.orders(UPDATED, CANCELLED, order("A")) == []
    assert desk.orders(order("B", "cancelled", replaced="A")) == ["Canceled B"]


@pytest.mark.parametrize("steps", list(permutations(["old", "new", "reply"])))
@pytest.mark.parametrize("status", ["open", "filled", "cancelled", "expired"])
def test_legs_and_reply_in_every_order(desk: Desk, steps: tuple[str, ...], status: str) -> None:
    """The reply may be older than the frame: it tells of the new leg as open. Its end comes from the frame."""
    replace = desk.dispatcher.on_replace_sent("O-1")
    for step in steps:
        if step == "old":
            desk.orders(CANCELLED)
        elif step == "new":
            desk.orders(order("B", status, replaced="A"))
        else:
            desk.dispatcher.on_replace_reply(replace, replaced(CANCELLED, UPDATED), 7)
    events = [short(event) for event in desk.out if short(event) != "StatusReport A"]
    ending = {"cancelled": ["Canceled B"], "expired": ["Expired B"]}.get(status, [])
    assert events == ["Updated B", *ending]


@pytest.mark.parametrize("label", ["O-1", None, "another"])
def test_the_new_leg_is_recognised_whatever_its_label(desk: Desk, label: str | None) -> None:
    replace = desk.dispatcher.on_replace_sent("O-1")
    assert desk.orders(order("B", "open", label, "A"), CANCELLED) == ["Updated B"]
    assert desk.trades(trade("T1", "B", label), trade("T2", "A", "O-1")) == ["Filled T1", "Filled T2"]
    assert desk.call(desk.dispatcher.on_replace_reply, replace, replaced(CANCELLED, order("B", "open", label, "A")), 7) == []
    assert desk.orders(order("B", "cancelled", label, "A")) == ["Canceled B"]
    assert desk.dispatcher.state.sizes() == {"orders": 0, "legs": 0, "filled": 0, "trade_ids": 2}


def test_a_new_label_given_beforehand_finds_trades_that_come_first(desk: Desk) -> None:
    desk.dispatcher.on_replace_sent("O-1", "O-1b")
    assert desk.trades(trade("T1", "B", "O-1b")) == ["Filled T1"]
    assert desk.orders(order("B", "filled", "O-1b", "A")) == ["Updated B"]
    assert desk.trades(trade("T2", "B", "O-1b"), trade("T3", "A", "O-1")) == ["Filled T2", "Filled T3"]
    assert {event.client_order_id for event in desk.out if not isinstance(event, BadElement)} == {"O-1"}


def test_a_label_in_use_is_refused(desk: Desk) -> None:
    desk.dispatcher.register("O-2", IDENTITY)
    with pytest.raises(CallerError, match="'O-2' is in use by order 'O-2'"):
        desk.dispatcher.on_replace_sent("O-1", "O-2")
    desk.dispatcher.on_replace_sent("O-1", "O-1b")
    desk.dispatcher.on_replace_sent("O-1", "O-1b")
    desk.dispatcher.on_replace_sent("O-1", "O-1")
    with pytest.raises(CallerError, match="'O-1b' is in use by order 'O-1'"):
        desk.dispatcher.on_replace_sent("O-2", "O-1b")


def test_only_an_open_registered_order_is_replaced(desk: Desk) -> None:
    with pytest.raises(CallerError, match="no open order 'O-9'"):
        desk.dispatcher.on_replace_sent("O-9")
    desk.orders(order("A", "filled"))
    with pytest.raises(CallerError, match="no open order 'O-1'"):
        desk.dispatcher.on_replace_sent("O-1")


def test_a_new_leg_that_fills_at_once(desk: Desk) -> None:
    replace = desk.dispatcher.on_replace_sent("O-1")
    assert desk.trades(trade("T1", "B")) == ["Filled T1"]
    filled = order("B", "filled", replaced="A")
    assert desk.call(desk.dispatcher.on_replace_reply, replace, replaced(CANCELLED, filled, trade("T1", "B"), trade("T2", "B")), 7) == [
        "Updated B",
        "Filled T2",
    ]
    assert desk.orders(CANCELLED, filled) == []


def test_trades_of_the_old_leg_after_the_replacement_are_fills(desk: Desk) -> None:
    replace = desk.dispatcher.on_replace_sent("O-1")
    desk.dispatcher.on_replace_reply(replace, replaced(CANCELLED, UPDATED), 7)
    assert desk.trades(trade("T", "A")) == ["Filled T"]


def test_a_chain_of_replaces(desk: Desk) -> None:
    legs = "ABCDEF"
    for old, new in pairwise(legs):
        replace = desk.dispatcher.on_replace_sent("O-1")
        gone, fresh = order(old, "cancelled"), order(new, replaced=old)
        assert desk.orders(gone) == []
        assert desk.orders(fresh) == [f"Updated {new}"]
        assert desk.call(desk.dispatcher.on_replace_reply, replace, replaced(gone, fresh), 7) == []
    replay = [order(leg, status, replaced=old) for old, leg in pairwise(legs[:-1]) for status in ("open", "cancelled")]
    assert desk.orders(*replay) == []
    assert desk.orders(order("F", "cancelled", replaced="E")) == ["Canceled F"]


def test_a_chain_whose_replies_come_late(desk: Desk) -> None:
    first = desk.dispatcher.on_replace_sent("O-1")
    desk.orders(CANCELLED, UPDATED)
    second = desk.dispatcher.on_replace_sent("O-1")
    desk.orders(order("B", "cancelled"), order("C", replaced="B"))
    assert desk.call(desk.dispatcher.on_replace_reply, first, replaced(CANCELLED, UPDATED), 7) == []
    assert desk.call(desk.dispatcher.on_replace_reply, second, replaced(order("B", "cancelled"), order("C", replaced="B")), 7) == []
    assert desk.orders(order("C", "cancelled")) == ["Canceled C"]


def test_a_new_leg_cancelled_before_the_reply_is_cancelled(desk: Desk) -> None:
    replace = desk.dispatcher.on_replace_sent("O-1")
    assert desk.orders(UPDATED, order("B", "cancelled", replaced="A")) == ["Updated B", "Canceled B"]
    assert desk.call(desk.dispatcher.on_replace_reply, replace, replaced(CANCELLED, UPDATED), 7) == []


def test_a_replacement_without_a_request_of_ours_is_followed(desk: Desk) -> None:
    assert desk.orders(UPDATED, CANCELLED) == ["Updated B"]


def test_a_replacement_registered_as_an_order_of_its_own(desk: Desk) -> None:
    desk.dispatcher.register("O-2", IDENTITY)
    assert desk.orders(CANCELLED, order("B", "open", "O-2", "A")) == ["Canceled A", "Accepted B"]


# Failures


@pytest.mark.parametrize("frame_first", [False, True])
def test_a_create_that_failed_cancels_the_order(desk: Desk, frame_first: bool) -> None:
    replace = desk.dispatcher.on_replace_sent("O-1")
    if frame_first:
        assert desk.orders(order("A", "cancelled", cancel_reason="held back")) == []
    assert desk.call(desk.dispatcher.on_replace_reply, replace, replaced(CANCELLED, None), 7) == ["Canceled A"]
    event = desk.out[-1]
    assert isinstance(event, OrderCanceled)
    assert event.reason == ("held back" if frame_first else "user_request")
    assert desk.dispatcher.state.sizes()["orders"] == 0


@pytest.mark.parametrize("steps", list(permutations(["old", "new", "reply"])))
def test_a_create_that_failed_with_a_frame_of_the_rejected_leg(desk: Desk, steps: tuple[str, ...]) -> None:
    replace = desk.dispatcher.on_replace_sent("O-1")
    rejected = order("B", "rejected", replaced="A")
    for step in steps:
        if step == "old":
            desk.orders(CANCELLED)
        elif step == "new":
            desk.orders(rejected)
        else:
            desk.dispatcher.on_replace_reply(replace, replaced(CANCELLED, None), 7)
    assert [short(event) for event in desk.out if not short(event).startswith("StatusReport")] == ["Canceled A"]


@pytest.mark.parametrize("rejected_first", [False, True])
def test_a_rejected_leg_needs_no_reply(desk: Desk, rejected_first: bool) -> None:
    desk.dispatcher.on_replace_sent("O-1")
    frames = [CANCELLED, order("B", "rejected", replaced="A")]
    assert desk.orders(*(reversed(frames) if rejected_first else frames)) == ["Canceled A"]


def test_a_rejected_order_in_the_reply_is_a_create_that_failed(desk: Desk) -> None:
    replace = desk.dispatcher.on_replace_sent("O-1")
    result = ReplaceResult(CANCELLED, order("B", "rejected", replaced="A"))
    assert desk.call(desk.dispatcher.on_replace_reply, replace, result, 7) == ["Canceled A"]


def test_a_cancel_that_failed_leaves_the_old_order_alive(desk: Desk) -> None:
    replace = desk.dispatcher.on_replace_sent("O-1")
    assert desk.call(desk.dispatcher.on_replace_error, replace, FAILED, 7) == []
    assert desk.trades(trade("T")) == ["Filled T"]
    assert desk.orders(order("A", "expired")) == ["Expired A"]


@pytest.mark.parametrize("status", ["cancelled", "expired", "rejected"])
def test_what_ended_the_order_before_the_error_is_told_then(desk: Desk, status: str) -> None:
    replace = desk.dispatcher.on_replace_sent("O-1")
    assert desk.orders(order("A", status), order("A", status)) == []
    kind = {"cancelled": "Canceled", "expired": "Expired", "rejected": "Rejected"}[status]
    assert desk.call(desk.dispatcher.on_replace_error, replace, FAILED, 7) == [f"{kind} A"]
    assert desk.call(desk.dispatcher.on_replace_error, replace, FAILED, 7) == []


def test_an_order_filled_while_the_replace_was_in_flight(desk: Desk) -> None:
    replace = desk.dispatcher.on_replace_sent("O-1")
    assert desk.orders(order("A", "filled")) == []
    assert desk.call(desk.dispatcher.on_replace_error, replace, RpcError(11004, "Already filled"), 7) == []
    assert desk.call(desk.dispatcher.on_replace_reply, replace, replaced(CANCELLED, UPDATED, trade("T2")), 7) == ["Filled T2"]
    assert desk.trades(trade("T")) == ["Filled T"]


def test_a_filled_frame_outweighs_one_that_is_held_back(desk: Desk) -> None:
    replace = desk.dispatcher.on_replace_sent("O-1")
    assert desk.orders(CANCELLED, order("A", "filled")) == []
    assert desk.call(desk.dispatcher.on_replace_error, replace, FAILED, 7) == []


def test_a_lost_reply_is_settled_by_the_new_leg(desk: Desk) -> None:
    replace = desk.dispatcher.on_replace_sent("O-1")
    assert desk.orders(CANCELLED) == []
    assert desk.call(desk.dispatcher.on_replace_error, replace, LOST, 7) == []
    assert desk.orders(UPDATED) == ["Updated B"]
    assert desk.orders(order("B", "cancelled")) == ["Canceled B"]


def test_a_lost_reply_is_settled_by_the_caller(desk: Desk) -> None:
    replace = desk.dispatcher.on_replace_sent("O-1")
    desk.orders(CANCELLED)
    desk.dispatcher.on_replace_error(replace, LOST, 7)
    assert desk.call(desk.dispatcher.on_replace_failed, replace, 7) == ["Canceled A"]
    assert desk.call(desk.dispatcher.on_replace_failed, replace, 7) == []


def test_two_replaces_of_the_same_leg(desk: Desk) -> None:
    """The first wins; the new leg's end is held until it is known that the second created nothing."""
    first, second = desk.dispatcher.on_replace_sent("O-1"), desk.dispatcher.on_replace_sent("O-1")
    assert desk.orders(CANCELLED, UPDATED, order("B", "cancelled")) == ["Updated B"]
    assert desk.call(desk.dispatcher.on_replace_reply, first, replaced(CANCELLED, UPDATED), 7) == []
    assert desk.call(desk.dispatcher.on_replace_error, second, FAILED, 7) == ["Canceled B"]


def test_two_replaces_of_which_the_second_wins(desk: Desk) -> None:
    first, second = desk.dispatcher.on_replace_sent("O-1"), desk.dispatcher.on_replace_sent("O-1")
    assert desk.orders(UPDATED, order("B", "cancelled")) == ["Updated B"]
    assert desk.call(desk.dispatcher.on_replace_error, first, FAILED, 7) == []
    assert desk.call(desk.dispatcher.on_replace_reply, second, replaced(CANCELLED, UPDATED), 7) == ["Canceled B"]


def test_two_replaces_of_which_the_second_is_answered_first(desk: Desk) -> None:
    first, second = desk.dispatcher.on_replace_sent("O-1"), desk.dispatcher.on_replace_sent("O-1")
    assert desk.call(desk.dispatcher.on_replace_reply, second, replaced(CANCELLED, UPDATED), 7) == ["Updated B"]
    assert desk.orders(order("B", "cancelled")) == ["Canceled B"]
    assert desk.call(desk.dispatcher.on_replace_error, first, FAILED, 7) == []


def test_two_replaces_in_flight_answered_by_replies_only(desk: Desk) -> None:
    first, second = desk.dispatcher.on_replace_sent("O-1"), desk.dispatcher.on_replace_sent("O-1")
    assert desk.call(desk.dispatcher.on_replace_reply, first, replaced(CANCELLED, UPDATED), 7) == ["Updated B"]
    assert desk.orders(order("B", "cancelled")) == []
    third = order("C", replaced="B")
    assert desk.call(desk.dispatcher.on_replace_reply, second, replaced(order("B", "cancelled"), third), 7) == ["Updated C"]
    assert desk.orders(order("C", "cancelled")) == ["Canceled C"]


def test_a_create_that_failed_while_another_replace_is_in_flight(desk: Desk) -> None:
    first, second = desk.dispatcher.on_replace_sent("O-1"), desk.dispatcher.on_replace_sent("O-1")
    desk.orders(CANCELLED, order("B", "rejected", replaced="A"))
    assert desk.call(desk.dispatcher.on_replace_reply, first, replaced(CANCELLED, None), 7) == []
    assert desk.call(desk.dispatcher.on_replace_error, second, FAILED, 7) == ["Canceled A"]


# Before the venue's first word of the order


def test_a_replace_before_the_first_frame_with_the_old_leg_first() -> None:
    desk = Desk()
    replace = desk.dispatcher.on_replace_sent("O-1")
    assert desk.orders(order("A"), CANCELLED, order("B", "open", None, "A")) == ["Accepted A", "Updated B"]
    assert desk.call(desk.dispatcher.on_replace_reply, replace, replaced(CANCELLED, UPDATED), 7) == []


def test_a_replace_before_the_first_frame_with_the_new_leg_first() -> None:
    desk = Desk()
    desk.dispatcher.on_replace_sent("O-1")
    assert desk.orders(UPDATED, CANCELLED) == ["Accepted B", "Updated B"]


def test_a_replace_before_the_first_frame_with_the_reply_or_a_trade_first() -> None:
    desk = Desk()
    replace = desk.dispatcher.on_replace_sent("O-1")
    assert desk.trades(trade("T", "B")) == ["Accepted B", "Filled T"]
    result = replaced(CANCELLED, order("B", label="O-1"))
    assert desk.call(desk.dispatcher.on_replace_reply, replace, result, 7) == ["Updated B"]
    assert desk.orders(order("A"), CANCELLED) == []


def test_a_replace_before_the_first_frame_that_came_to_nothing() -> None:
    desk = Desk()
    replace = desk.dispatcher.on_replace_sent("O-1")
    assert desk.trades(trade("T")) == ["Accepted A", "Filled T"]
    assert desk.call(desk.dispatcher.on_submit_error, "O-1", RpcError(11000, "too late to be true"), 7) == []
    assert desk.call(desk.dispatcher.on_replace_error, replace, FAILED, 7) == []
    assert desk.orders(order("A"), order("A", "cancelled")) == ["Canceled A"]


def test_a_create_that_failed_before_the_first_frame() -> None:
    desk = Desk()
    replace = desk.dispatcher.on_replace_sent("O-1")
    assert desk.call(desk.dispatcher.on_replace_reply, replace, replaced(CANCELLED, None), 7) == ["Accepted A", "Canceled A"]


def test_replies_that_come_after_the_next_leg_do_not_turn_it_back() -> None:
    """Three requests before the first frame, of which the third succeeds, and a fourth that replaces its leg."""
    desk = Desk()
    first, second, third = (desk.dispatcher.on_replace_sent("O-1") for _ in range(3))
    assert desk.orders(order("A"), CANCELLED, UPDATED) == ["Accepted A", "Updated B"]
    fourth = desk.dispatcher.on_replace_sent("O-1")
    gone, fresh = order("B", "cancelled", replaced="A"), order("C", replaced="B")
    assert desk.orders(gone, fresh) == ["Updated C"]
    for request in (first, second):
        desk.dispatcher.on_replace_error(request, FAILED, 7)
    desk.dispatcher.on_replace_reply(third, replaced(CANCELLED, UPDATED), 7)
    desk.dispatcher.on_replace_reply(fourth, replaced(gone, fresh), 7)
    assert desk.orders(order("C", "cancelled", replaced="B")) == ["Canceled C"]


# Late, bad and bounded


def test_a_reply_of_an_earlier_order_of_the_same_id_is_not_taken_for_this_one(desk: Desk) -> None:
    replace = desk.dispatcher.on_replace_sent("O-1")
    desk.dispatcher.forget("O-1")
    desk.dispatcher.register("O-1", IDENTITY)
    assert desk.call(desk.dispatcher.on_replace_reply, replace, replaced(CANCELLED, UPDATED), 7) == []
    assert desk.orders(order("Z")) == ["Accepted Z"]


def test_a_reply_after_the_order_was_forgotten_still_gives_its_trades(desk: Desk) -> None:
    replace = desk.dispatcher.on_replace_sent("O-1")
    desk.dispatcher.forget("O-1")
    assert desk.call(desk.dispatcher.on_replace_reply, replace, replaced(CANCELLED, UPDATED, trade("T")), 7) == ["FillReport T"]
    assert desk.call(desk.dispatcher.on_replace_error, replace, FAILED, 7) == []


def test_a_bad_number_in_the_new_leg_changes_nothing(desk: Desk) -> None:
    replace = desk.dispatcher.on_replace_sent("O-1")
    bad = order("B", replaced="A", limit_price="NaN")
    assert desk.orders(CANCELLED, bad) == ["BadElement"]
    assert desk.call(desk.dispatcher.on_replace_reply, replace, replaced(CANCELLED, bad), 7) == ["BadElement"]
    assert desk.orders(CANCELLED) == []
    assert desk.orders(UPDATED) == ["Updated B"]


def test_an_emitter_that_raises_in_a_reply_still_gets_the_trades() -> None:
    taken: list[str] = []
    refused = {"Updated B", "Filled T1"}

    def emit(emission: Emission) -> None:
        if short(emission) in refused:
            raise OSError(short(emission))
        taken.append(short(emission))

    dispatcher = Dispatcher(emit)
    dispatcher.register("O-1", IDENTITY)
    dispatcher.on_orders([order("A")], 7)
    replace = dispatcher.on_replace_sent("O-1")
    with pytest.raises(EmitterError) as caught:
        dispatcher.on_replace_reply(replace, replaced(CANCELLED, UPDATED, trade("T1", "B"), trade("T2", "B")), 7)
    assert [short(emission) for emission, _ in caught.value.failures] == ["Updated B", "Filled T1"]
    assert taken == ["Accepted A", "Filled T2"]


def test_what_an_order_is_found_under_is_bounded(desk: Desk) -> None:
    legs = ["A", *(f"L{number}" for number in range(100))]
    for old, new in pairwise(legs):
        desk.dispatcher.on_replace_sent("O-1", f"label of {new}")
        desk.orders(order(new, "open", f"label of {new}", old))
    sizes = desk.dispatcher.state.sizes()
    assert sizes["orders"] - 1 + sizes["legs"] == KEYS_PER_ORDER
    assert desk.trades(trade("T1", "L99", "label of L99"), trade("T2", "L98", None), trade("T3", "L0", "label of L0")) == [
        "Filled T1",
        "Filled T2",
        "FillReport T3",
    ]
    desk.orders(order("L99", "cancelled", "label of L99"))
    assert desk.dispatcher.state.sizes() == {"orders": 0, "legs": 0, "filled": 0, "trade_ids": 3}


def test_a_label_used_again_is_kept(desk: Desk) -> None:
    legs = ["A", *(f"L{number}" for number in range(100))]
    for old, new in pairwise(legs):
        desk.dispatcher.on_replace_sent("O-1", "same")
        desk.orders(order(new, "open", "same", old))
    assert desk.trades(trade("T1", "L100", "same")) == ["Filled T1"]


def test_the_client_order_id_is_always_found(desk: Desk) -> None:
    desk.dispatcher.on_replace_sent("O-1", "O-1")
    for number in range(100):
        desk.dispatcher.on_replace_sent("O-1", f"label {number}")
    assert desk.trades(trade("T")) == ["Filled T"]


def test_a_client_order_id_that_equals_a_venue_id_is_an_order_of_its_own(desk: Desk) -> None:
    desk.dispatcher.register("A", IDENTITY)
    desk.dispatcher.on_replace_sent("O-1")
    desk.dispatcher.forget("O-1")
    assert desk.orders(order("X", label="A")) == ["Accepted X"]
