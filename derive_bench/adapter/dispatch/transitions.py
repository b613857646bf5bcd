"""What a frame or trade means for one registered order: state transitions, without any hand-over.

Contract, for an order frame:

- Of the current leg: live statuses give OrderAccepted once, `filled` marks the order (OrderAccepted first if it is due),
  `cancelled` and `expired` end it (likewise), `rejected` refuses it, an unknown status becomes a report. After the
  mark no frame makes anything.
- With the current leg as its `replaced_order_id`: its own leg becomes the current one, OrderUpdated, and then its
  status counts as above. A new leg that is rejected does not become current: the create failed.
- Of any other leg: nothing.
- While a replace is in flight, a frame that ends the current leg is held back. The new leg drops it; a create that
  failed or a request that came to nothing lets it through.

A frame or trade with an illegal number raises `DecodeError` and changes no state.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from derive_bench.adapter.events import (
    Event,
    OrderAccepted,
    OrderCanceled,
    OrderExpired,
    OrderRejected,
    OrderUpdated,
    new_event_id,
)
from derive_bench.adapter.inbound import parse_order_report
from derive_bench.adapter.messages import BadElement, PrivateOrder
from derive_bench.adapter.model import FillReport, OrderStatusReport
from derive_bench.adapter.numbers import exact

if TYPE_CHECKING:
    from derive_bench.adapter.dispatch.state import ExecutionState, Replace, TrackedOrder

__all__ = ["LIVE", "MS", "DispatchStats", "Emission", "Transitions", "accept", "due_post_only", "in_flight", "settle"]

MS: Final = 1_000_000
LIVE: Final = frozenset({"open", "untriggered", "algo_active"})
"""Statuses of an order that the venue has taken and that has not ended."""

_ENDED: Final = frozenset({"cancelled", "expired", "rejected"})
_KNOWN: Final = LIVE | _ENDED | {"filled"}
_post_only: Final = re.compile(r"post[ _-]?only", re.IGNORECASE).search

Emission = Event | OrderStatusReport | FillReport | BadElement
"""What an emitter is called with."""


class DispatchStats(Struct, gc=False):
    """Counts of what made no event or was not as it should be."""

    bad_elements: int = 0
    duplicate_trades: int = 0
    pending_trades: int = 0
    void_trades: int = 0
    superseded_frames: int = 0
    dropped_identities: int = 0


class Transitions:
    """The rules of order frames over one state."""

    __slots__ = ("_state", "_stats")

    def __init__(self, state: ExecutionState, stats: DispatchStats) -> None:
        self._state = state
        self._stats = stats

    def find_by_leg(self, order: PrivateOrder) -> TrackedOrder | None:
        """Return the order that a frame with an unknown label, or none, is a leg of."""
        find_leg = self._state.find_leg
        tracked = find_leg(order.order_id)
        if tracked is None:
            tracked = find_leg(order.replaced_order_id)
            if tracked is not None:
                self._state.add_leg(tracked, order.order_id)
        return tracked

    def advance(self, tracked: TrackedOrder, order: PrivateOrder, ts_init: int, succeeds: bool = False) -> list[Emission]:
        """Bring an order up to a frame and return what that means.

        `succeeds` tells that its leg follows the current one, whatever the frame says itself.
        """
        if tracked.filled:
            return []
        status = order.order_status
        current = tracked.venue_order_id
        moves = order.order_id != current and (succeeds or _replaces_current(tracked, order))
        if moves and status == "rejected":
            return self._create_refused(tracked, ts_init)
        if not moves and current is not None and order.order_id != current:
            self._stats.superseded_frames += 1
            return []
        report = None if status in _KNOWN else parse_order_report(order, ts_init)
        emissions: list[Emission] = []
        if moves:
            emissions = self._move(tracked, order, ts_init)
        elif current is None:
            tracked.venue_order_id = order.order_id
            if tracked.replaces:
                self._state.add_leg(tracked, order.order_id)
        return self._apply(tracked, order, ts_init, emissions) if report is None else [*emissions, report]

    def release(self, tracked: TrackedOrder, ts_init: int) -> list[Emission]:
        """Let the frame that was held back through; it is held again if a further replace is in flight."""
        held = tracked.held
        if held is None:
            return []
        tracked.held = None
        return self._apply(tracked, held, ts_init, [])

    def _apply(self, tracked: TrackedOrder, order: PrivateOrder, ts_init: int, emissions: list[Emission]) -> list[Emission]:
        """Apply the status of a frame of the current leg; return `emissions` with what follows them."""
        status = order.order_status
        ends = status in _ENDED
        if ends and tracked.replaces:
            tracked.held = order
            return emissions
        if not tracked.accepted and status != "rejected":
            emissions.append(accept(tracked, order.order_id, order.creation_timestamp * MS, ts_init))
        if ends:
            emissions.append(_ending(tracked, order, ts_init))
            self._state.forget(tracked.client_order_id)
        elif status == "filled":
            self._state.mark_filled(tracked)
        return emissions

    def _move(self, tracked: TrackedOrder, order: PrivateOrder, ts_init: int) -> list[Emission]:
        """Make a frame's leg the current one."""
        updated = OrderUpdated(
            new_event_id(),
            tracked.client_order_id,
            order.order_id,
            tracked.venue_order_id or order.replaced_order_id,
            tracked.instrument_id,
            tracked.strategy_id,
            exact(order.limit_price, "$.limit_price"),
            exact(order.amount, "$.amount"),
            order.last_update_timestamp * MS,
            ts_init,
        )
        emissions: list[Emission] = []
        if not tracked.accepted:
            emissions.append(accept(tracked, order.order_id, order.creation_timestamp * MS, ts_init))
        emissions.append(updated)
        _answer(tracked)
        tracked.venue_order_id = order.order_id
        tracked.held = None
        return emissions

    def _create_refused(self, tracked: TrackedOrder, ts_init: int) -> list[Emission]:
        """The new leg was rejected: the old one stays cancelled, and its end may be told."""
        _answer(tracked)
        return self.release(tracked, ts_init)


def in_flight(tracked: TrackedOrder, replace: Replace) -> bool:
    """Whether a request of this very order still awaits its outcome."""
    return tracked.replaces is not None and replace in tracked.replaces


def settle(tracked: TrackedOrder, replace: Replace) -> None:
    """Take a request out of those in flight, if it is there."""
    if tracked.replaces is not None:
        tracked.replaces = [other for other in tracked.replaces if other is not replace] or None


def accept(tracked: TrackedOrder, venue_order_id: str, ts_event: int, ts_init: int) -> OrderAccepted:
    """Mark an order accepted, bind its first leg unless a replace makes that doubtful, and return the event."""
    tracked.accepted = True
    if tracked.venue_order_id is None and not tracked.replaces:
        tracked.venue_order_id = venue_order_id
    return OrderAccepted(
        new_event_id(),
        tracked.client_order_id,
        venue_order_id,
        tracked.instrument_id,
        tracked.strategy_id,
        ts_event,
        ts_init,
    )


def due_post_only(reason: str) -> bool:
    """Whether a refusal's text says that a post-only order would have crossed the market."""
    return _post_only(reason) is not None


def _answer(tracked: TrackedOrder) -> None:
    """Drop the oldest request in flight: the venue works through them in order, so the first new leg answers that one.

    Should it have been another's, then only how many are in flight counts, and each reply still takes out its own.
    """
    if tracked.replaces is not None:
        tracked.replaces = tracked.replaces[1:] or None


def _replaces_current(tracked: TrackedOrder, order: PrivateOrder) -> bool:
    replaced = order.replaced_order_id
    if replaced is None:
        return False
    current = tracked.venue_order_id
    return replaced == current or (current is None and bool(tracked.replaces))


def _ending(tracked: TrackedOrder, order: PrivateOrder, ts_init: int) -> Event:
    reason = order.trigger_reject_message or order.cancel_reason or ""
    ids = tracked.client_order_id, order.order_id, tracked.instrument_id, tracked.strategy_id
    times = order.last_update_timestamp * MS, ts_init
    if order.order_status == "cancelled":
        return OrderCanceled(new_event_id(), *ids, reason, *times)
    if order.order_status == "expired":
        return OrderExpired(new_event_id(), *ids, *times)
    return OrderRejected(new_event_id(), *ids, reason, due_post_only(reason), *times)
