"""Execution events: what happens to an order that was registered at submission.

Contract: immutable. `event_id` is a random (version 4) UUID of its own for each event, also after `fork`: `uuid_utils`
reseeds its generator in the child. `client_order_id` is the one given at submission, whatever label a replacement
carries; `venue_order_id` is the venue's id of the leg the event is about. Prices, quantities and commissions are exact
decimals at the scale the venue sent. `ts_event` is the venue's time, `ts_init` the caller's; both are UNIX ns.

`event_id` is not a `uuid.UUID` (building one costs more than the rest of an event): `str(event.event_id)` gives the
text, and `msgspec.json.encode(event, enc_hook=str)` writes it.
"""

from __future__ import annotations

from decimal import Decimal

from msgspec import Struct
from uuid_utils import UUID, uuid4

from derive_bench.adapter.model import LiquiditySide, OrderSide, OrderType

__all__ = [
    "Event",
    "OrderAccepted",
    "OrderCanceled",
    "OrderExpired",
    "OrderFilled",
    "OrderRejected",
    "OrderUpdated",
    "new_event_id",
]

new_event_id = uuid4
"""Returns a new random UUID; safe in threads and after `fork`."""


class OrderAccepted(Struct, frozen=True, gc=False):
    """The venue has taken the order. Comes once per client order, before any other event but OrderRejected."""

    event_id: UUID
    client_order_id: str
    venue_order_id: str
    instrument_id: str
    strategy_id: str
    ts_event: int
    ts_init: int


class OrderRejected(Struct, frozen=True, gc=False):
    """The venue has refused the order; `venue_order_id` is None where the request itself failed.

    `due_post_only` tells that it was refused because it would have crossed the market.
    """

    event_id: UUID
    client_order_id: str
    venue_order_id: str | None
    instrument_id: str
    strategy_id: str
    reason: str
    due_post_only: bool
    ts_event: int
    ts_init: int


class OrderCanceled(Struct, frozen=True, gc=False):
    """The order is cancelled; `reason` is the venue's, often empty."""

    event_id: UUID
    client_order_id: str
    venue_order_id: str
    instrument_id: str
    strategy_id: str
    reason: str
    ts_event: int
    ts_init: int


class OrderExpired(Struct, frozen=True, gc=False):
    """The order's time, or its signature's, has run out."""

    event_id: UUID
    client_order_id: str
    venue_order_id: str
    instrument_id: str
    strategy_id: str
    ts_event: int
    ts_init: int


class OrderUpdated(Struct, frozen=True, gc=False):
    """The order was replaced: price, quantity and venue id are those of the new leg, the old leg's id where known."""

    event_id: UUID
    client_order_id: str
    venue_order_id: str
    replaced_venue_order_id: str | None
    instrument_id: str
    strategy_id: str
    price: Decimal
    quantity: Decimal
    ts_event: int
    ts_init: int


class OrderFilled(Struct, frozen=True, gc=False):
    """A trade of the order. `commission` is positive when paid; a role the venue adds tomorrow stays its own text.

    The texts are legal numbers, checked when dispatch built this; the decimals are made when they are read.
    """

    event_id: UUID
    client_order_id: str
    venue_order_id: str
    instrument_id: str
    strategy_id: str
    trade_id: str
    order_side: OrderSide
    order_type: OrderType
    last_qty_text: str
    last_px_text: str
    commission_text: str
    commission_currency: str
    liquidity_side: LiquiditySide | str
    ts_event: int
    ts_init: int

    @property
    def last_qty(self) -> Decimal:
        """Amount traded, exact, at the scale the venue sent."""
        return Decimal(self.last_qty_text)

    @property
    def last_px(self) -> Decimal:
        """Price of the trade, likewise."""
        return Decimal(self.last_px_text)

    @property
    def commission(self) -> Decimal:
        """Commission in `commission_currency`, likewise."""
        return Decimal(self.commission_text)


Event = OrderAccepted | OrderRejected | OrderCanceled | OrderExpired | OrderUpdated | OrderFilled
