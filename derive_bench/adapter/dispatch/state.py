"""What dispatch remembers: identities, bound venue ids, marks, replaces in flight, trade ids already seen.

Contract: `ExecutionState` holds one `TrackedOrder` per client order id, found under every label the order goes by. An
order that ends is forgotten, a filled one stays among the last `FILLED_LIMIT` so that late trades still find it, trade
ids stay among the last `TRADE_LIMIT`. Identities that never end (a request that did not reach the venue and was not
taken back) are bounded by `ORDER_LIMIT`: the oldest goes, and is counted. Nothing grows with the number of orders.

The accepted mark is a flag of the order's own entry and lives as long as that: a set of marks apart from the identities,
bounded, would forget the mark of an order that is still open once enough others came after it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from derive_bench.adapter.errors import CallerError
from derive_bench.adapter.messages import PrivateOrder
from derive_bench.adapter.model import OrderSide, OrderType

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "FILLED_LIMIT",
    "KEYS_PER_ORDER",
    "ORDER_LIMIT",
    "TRADE_LIMIT",
    "ExecutionState",
    "FifoSet",
    "OrderIdentity",
    "Replace",
    "TrackedOrder",
]

FILLED_LIMIT: Final = 1_024
TRADE_LIMIT: Final = 4_096
ORDER_LIMIT: Final = 16_384
KEYS_PER_ORDER: Final = 16
"""Labels and venue ids of its replaced legs that an order is found under, besides its client order id; the last ones."""


class OrderIdentity(Struct, frozen=True, gc=False):
    """What is known of an order when it is submitted; the venue's frames do not carry all of it."""

    instrument_id: str
    strategy_id: str
    order_side: OrderSide
    order_type: OrderType


class Replace(Struct, gc=False, eq=False):
    """A replace request in flight, as `Dispatcher.on_replace_sent` returns it; compared by object."""

    client_order_id: str


class TrackedOrder(Struct, gc=False, eq=False):
    """An order under way. `venue_order_id` is its current leg, None before the venue's first word of it.

    `replaces` are the requests in flight, oldest first; `held` is the last frame that ended the current leg while one
    of them was. `keys` are the extra labels and venue ids it is found under.
    """

    client_order_id: str
    instrument_id: str
    strategy_id: str
    order_side: OrderSide
    order_type: OrderType
    venue_order_id: str | None = None
    accepted: bool = False
    filled: bool = False
    replaces: list[Replace] | None = None
    held: PrivateOrder | None = None
    keys: list[str] | None = None


class FifoSet:
    """A set of texts that keeps the last `limit` added.

    A deque beside a set: deleting a dict's oldest key has to step over the holes left by all earlier deletions, which
    costs ten times as much at 4,096 entries.
    """

    __slots__ = ("_limit", "_order", "items")

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise CallerError(f"limit: must be at least 1, not {limit}")
        self._limit = limit
        self._order: deque[str] = deque()
        self.items: set[str] = set()
        """For membership tests; change it through `add` only."""

    def __len__(self) -> int:
        return len(self._order)

    def add(self, item: str) -> None:
        """Add an item that is not in the set; the oldest falls out when it is full."""
        items = self.items
        order = self._order
        items.add(item)
        order.append(item)
        if len(items) > self._limit:
            items.remove(order.popleft())


class ExecutionState:
    """The memory of one `Dispatcher`. The limits are numbers of entries, each at least 1."""

    __slots__ = ("_filled", "_legs", "_orders", "find", "find_leg", "order_limit", "trade_ids")

    def __init__(self, *, order_limit: int = ORDER_LIMIT, filled_limit: int = FILLED_LIMIT, trade_limit: int = TRADE_LIMIT) -> None:
        if filled_limit < 1:
            raise CallerError(f"filled_limit: must be at least 1, not {filled_limit}")
        if order_limit <= filled_limit:
            raise CallerError(f"order_limit: must be above filled_limit ({filled_limit}), not {order_limit}")
        self._orders: dict[str | None, TrackedOrder] = {}
        self._legs: dict[str | None, TrackedOrder] = {}
        self._filled: deque[TrackedOrder] = deque(maxlen=filled_limit)
        self.order_limit = order_limit
        self.trade_ids = FifoSet(trade_limit)
        self.find: Callable[[str | None], TrackedOrder | None] = self._orders.get
        """The order that goes by a label, None if there is none."""
        self.find_leg: Callable[[str | None], TrackedOrder | None] = self._legs.get
        """The order that has, or had, a leg of this venue id; known for orders that were replaced."""

    def sizes(self) -> dict[str, int]:
        """Return the number of entries of each container, for those who watch memory."""
        return {
            "orders": len(self._orders),
            "legs": len(self._legs),
            "filled": len(self._filled),
            "trade_ids": len(self.trade_ids),
        }

    def register(self, client_order_id: str, identity: OrderIdentity) -> str | None:
        """Add an order about to be submitted; return the client order id that had to go for it, None as a rule.

        Raises `CallerError` for an empty id, and for one that is in use.
        """
        orders = self._orders
        if not client_order_id:
            raise CallerError("client_order_id: is empty; the venue's frames name an order by its label")
        if client_order_id in orders:
            raise CallerError(f"client_order_id: {client_order_id!r} is in use; forget it first or take another")
        dropped = None
        if len(orders) >= self.order_limit:
            dropped = next(iter(orders.values())).client_order_id
            self.forget(dropped)
        orders[client_order_id] = TrackedOrder(
            client_order_id, identity.instrument_id, identity.strategy_id, identity.order_side, identity.order_type
        )
        return dropped

    def forget(self, client_order_id: str) -> None:
        """Drop an order and every key it is found under. An unknown id is no error."""
        tracked = self._orders.pop(client_order_id, None)
        if tracked is None:
            return
        for key in tracked.keys or ():
            self._drop_key(tracked, key)
        tracked.keys = tracked.replaces = tracked.held = None

    def mark_filled(self, tracked: TrackedOrder) -> None:
        """Mark an order filled; the one filled longest ago is forgotten when there are too many."""
        tracked.filled = True
        tracked.replaces = tracked.held = None
        filled = self._filled
        if len(filled) == filled.maxlen:
            oldest = filled[0]
            if self._orders.get(oldest.client_order_id) is oldest:
                self.forget(oldest.client_order_id)
        filled.append(tracked)

    def add_label(self, tracked: TrackedOrder, label: str) -> None:
        """Let an order be found under a further label. Raises `CallerError` when another order goes by it."""
        if label == tracked.client_order_id:
            return
        holder = self._orders.setdefault(label, tracked)
        if holder is not tracked:
            raise CallerError(f"label: {label!r} is in use by order {holder.client_order_id!r}")
        self._keep_key(tracked, label)

    def add_leg(self, tracked: TrackedOrder, venue_order_id: str) -> None:
        """Let an order be found under the venue id of one of its legs."""
        self._legs[venue_order_id] = tracked
        self._keep_key(tracked, venue_order_id)

    def _keep_key(self, tracked: TrackedOrder, key: str) -> None:
        keys = tracked.keys
        if keys is None:
            keys = tracked.keys = []
        elif key in keys:
            keys.remove(key)
        keys.append(key)
        if len(keys) > KEYS_PER_ORDER:
            self._drop_key(tracked, keys.pop(0))

    def _drop_key(self, tracked: TrackedOrder, key: str) -> None:
        for index in (self._orders, self._legs):
            if index.get(key) is tracked:
                del index[key]
