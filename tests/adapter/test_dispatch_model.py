"""Dispatch against a venue in miniature: whatever the timing, each order has one beginning, at most one end, and all its fills.

The venue keeps the truth. What it says travels in three queues (orders, trades, replies) that keep their own order but not
each other's; anything already delivered on the first two may come again at any time, as after a reconnect.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from derive_bench.adapter.dispatch import Dispatcher, Emission, Replace, ReplaceResult
from derive_bench.adapter.events import (
    OrderAccepted,
    OrderCanceled,
    OrderExpired,
    OrderFilled,
    OrderRejected,
    OrderUpdated,
)
from derive_bench.adapter.messages import PrivateOrder, PrivateTrade, RpcError
from derive_bench.adapter.model import FillReport
from tests.adapter.dispatch_support import IDENTITY, order, replaced, trade

Reply = tuple[Replace, ReplaceResult | RpcError]
ENDINGS = {"cancelled": OrderCanceled, "expired": OrderExpired, "rejected": OrderRejected}


@dataclass
class VenueOrder:
    """An order as it truly is at the venue."""

    name: str
    legs: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    status: str = "open"
    replacements: int = 0


class Venue(RuleBasedStateMachine):
    """Random acts of the venue, the trader and the network."""

    def __init__(self) -> None:
        super().__init__()
        self.emitted: list[Emission] = []
        self.dispatcher = Dispatcher(self.emitted.append)
        self.all: dict[str, VenueOrder] = {}
        self.order_queue: deque[PrivateOrder] = deque()
        self.trade_queue: deque[PrivateTrade] = deque()
        self.reply_queue: deque[Reply] = deque()
        self.past_orders: list[PrivateOrder] = []
        self.past_trades: list[PrivateTrade] = []
        self.trade_ids: list[str] = []
        self.leg_count = 0

    def frame(self, one: VenueOrder, leg: int, status: str) -> PrivateOrder:
        """What the venue says of a leg."""
        return order(one.legs[leg], status, one.labels[leg], one.legs[leg - 1] if leg else None)

    def say(self, one: VenueOrder, leg: int, status: str) -> PrivateOrder:
        """Queue a frame for the orders topic."""
        frame = self.frame(one, leg, status)
        self.order_queue.append(frame)
        return frame

    def new_leg(self) -> str:
        self.leg_count += 1
        return f"V{self.leg_count}"

    def open_orders(self) -> list[VenueOrder]:
        return [one for one in self.all.values() if one.status == "open"]

    # The trader

    @initialize()
    def first(self) -> None:
        self.submit(rejected=False)

    @precondition(lambda self: len(self.all) < 4)
    @rule(rejected=st.booleans())
    def submit(self, rejected: bool) -> None:
        name = f"O{len(self.all)}"
        one = self.all[name] = VenueOrder(name, [self.new_leg()], [name], "rejected" if rejected else "open")
        self.dispatcher.register(name, IDENTITY)
        self.say(one, 0, one.status)

    @rule(data=st.data(), outcome=st.sampled_from(["done", "done", "refused"]), label=st.sampled_from(["same", "told", "untold"]))
    def replace(self, data: st.DataObject, outcome: str, label: str) -> None:
        """Ask to replace the leg the dispatcher knows; it may be gone at the venue."""
        known = [one for one in self.all.values() if (tracked := self.dispatcher.state.find(one.name)) and not tracked.filled]
        if not known:
            return
        one = data.draw(st.sampled_from(known))
        tracked = self.dispatcher.state.find(one.name)
        assert tracked is not None
        target = tracked.venue_order_id
        new = self.new_leg()
        new_label = one.name if label == "same" else f"label of {new}"
        request = self.dispatcher.on_replace_sent(one.name, new_label if label == "told" else None)
        if one.status != "open" or target != one.legs[-1]:
            self.reply_queue.append((request, RpcError(11006, "Order does not exist")))
            return
        gone = self.say(one, len(one.legs) - 1, "cancelled")
        if outcome == "refused":
            one.status = "cancelled"
            self.reply_queue.append((request, replaced(gone, None)))
            return
        one.legs.append(new)
        one.labels.append(new_label)
        one.replacements += 1
        fresh = self.say(one, len(one.legs) - 1, "open")
        self.reply_queue.append((request, replaced(gone, fresh)))

    # The venue

    @rule(data=st.data(), status=st.sampled_from(["filled", "cancelled", "expired"]))
    def end(self, data: st.DataObject, status: str) -> None:
        if live := self.open_orders():
            one = data.draw(st.sampled_from(live))
            one.status = status
            self.say(one, len(one.legs) - 1, status)

    @rule(data=st.data())
    def fill(self, data: st.DataObject) -> None:
        """A trade of any leg; one of an old leg is told late."""
        taken = [one for one in self.all.values() if one.status != "rejected"]
        if not taken:
            return
        one = data.draw(st.sampled_from(taken))
        leg = data.draw(st.integers(0, len(one.legs) - 1))
        trade_id = f"T{len(self.trade_ids)}"
        self.trade_ids.append(trade_id)
        self.trade_queue.append(trade(trade_id, one.legs[leg], one.labels[leg]))

    # The network

    @precondition(lambda self: self.order_queue)
    @rule(count=st.integers(1, 3))
    def deliver_orders(self, count: int) -> None:
        frames = [self.order_queue.popleft() for _ in range(min(count, len(self.order_queue)))]
        self.past_orders += frames
        self.dispatcher.on_orders(frames, 7)

    @precondition(lambda self: self.trade_queue)
    @rule(count=st.integers(1, 3))
    def deliver_trades(self, count: int) -> None:
        trades = [self.trade_queue.popleft() for _ in range(min(count, len(self.trade_queue)))]
        self.past_trades += trades
        self.dispatcher.on_trades(trades, 7)

    @precondition(lambda self: self.reply_queue)
    @rule()
    def deliver_reply(self) -> None:
        request, reply = self.reply_queue.popleft()
        if isinstance(reply, RpcError):
            self.dispatcher.on_replace_error(request, reply, 7)
        else:
            self.dispatcher.on_replace_reply(request, reply, 7)

    @precondition(lambda self: self.past_orders)
    @rule(start=st.integers(0, 30))
    def replay_orders(self, start: int) -> None:
        self.dispatcher.on_orders(self.past_orders[start % len(self.past_orders) :], 7)

    @precondition(lambda self: self.past_trades)
    @rule(start=st.integers(0, 30))
    def replay_trades(self, start: int) -> None:
        self.dispatcher.on_trades(self.past_trades[start % len(self.past_trades) :], 7)

    # What must hold

    @invariant()
    def no_order_begins_or_ends_twice(self) -> None:
        begun: set[str] = set()
        ended: set[str] = set()
        for event in self.emitted:
            if isinstance(event, OrderAccepted):
                assert event.client_order_id not in begun
                begun.add(event.client_order_id)
            elif isinstance(event, (OrderCanceled, OrderExpired, OrderRejected, OrderUpdated, OrderFilled)):
                name = event.client_order_id
                assert name not in ended
                assert name in begun or isinstance(event, OrderRejected)
                if not isinstance(event, (OrderUpdated, OrderFilled)):
                    ended.add(name)

    @invariant()
    def no_trade_is_told_twice(self) -> None:
        told = Counter(event.trade_id for event in self.emitted if isinstance(event, (OrderFilled, FillReport)))
        assert all(count == 1 for count in told.values())

    def teardown(self) -> None:
        """Let everything arrive; then what was told is what happened."""
        while self.order_queue or self.trade_queue or self.reply_queue:
            if self.trade_queue:
                self.deliver_trades(3)
            if self.order_queue:
                self.deliver_orders(3)
            if self.reply_queue:
                self.deliver_reply()
        for one in self.all.values():
            mine = [event for event in self.emitted if getattr(event, "client_order_id", None) == one.name]
            kinds: Counter[type] = Counter(type(event) for event in mine)
            assert kinds[OrderAccepted] == (one.status != "rejected")
            assert kinds[OrderUpdated] == one.replacements
            for status, kind in ENDINGS.items():
                assert kinds[kind] == (one.status == status)
            tracked = self.dispatcher.state.find(one.name)
            assert (tracked is None) == (one.status in ENDINGS)
            if tracked is not None:
                assert tracked.venue_order_id == one.legs[-1]
                assert tracked.filled == (one.status == "filled")
                assert tracked.held is None
                assert tracked.replaces is None
        told = {event.trade_id for event in self.emitted if isinstance(event, (OrderFilled, FillReport))}
        assert told == set(self.trade_ids)


TestVenue = Venue.TestCase
TestVenue.settings = settings(
    max_examples=250, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
