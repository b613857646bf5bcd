"""Order commands: what a caller wants done, as immutable values.

An `OrderCommand` becomes a signed order when an `OrderEncoder` writes it; `ReplaceOrder` and `TriggerOrder` hold one and
say what goes with it. The encoder checks them, since it knows the instrument, the protocol and the time; what is wrong
on any instrument, its `OrderTerms` refuse.

The cancels need no signature and nothing but ids: each is its request's params field by field, and checks itself when it
is built, with `OrderRefused` for an id or label that no request can carry. The cancel of one order, by far the most
frequent, is not here: it is a call of the encoder's, `OrderEncoder.cancel_order`, without an object in between.

Sources: PROTOCOL.md, WebSocket (orders); docs.derive.xyz, order types; the venue's OpenAPI document.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any, ClassVar, Final

from msgspec import Struct

from derive_bench.adapter.errors import OrderRefused
from derive_bench.adapter.model import OrderSide, OrderType, TimeInForce, TriggerType

__all__ = [
    "TIMES",
    "TYPES",
    "CancelAll",
    "CancelByLabel",
    "CancelCommand",
    "CancelTriggerOrder",
    "OrderCommand",
    "OrderTerms",
    "ReplaceOrder",
    "TriggerKind",
    "TriggerOrder",
    "Value",
    "check_text",
    "wire_word",
]

Value = Decimal | str | int
"""A price, amount or fee: exact. Texts are plain JSON numbers; floats are refused."""


TYPES: Final = {OrderType.LIMIT: "limit", OrderType.MARKET: "market"}
TIMES: Final = {TimeInForce.GTC: "gtc", TimeInForce.IOC: "ioc", TimeInForce.FOK: "fok"}


def wire_word(words: Mapping[Any, str], name: object) -> str | None:
    """Return the wire word for an enum's member or its text, None for anything else, what has no hash included."""
    return next((word for member, word in words.items() if member == name), None)


class OrderTerms(Struct, frozen=True, kw_only=True, cache_hash=True, gc=False):
    """How an order is to be executed: to be made once and used for many orders.

    Raises `OrderRefused` for a combination that the venue does not take on any instrument.
    """

    order_type: OrderType = OrderType.LIMIT
    """LIMIT or MARKET. Stops and take-profits are `TriggerOrder`."""
    time_in_force: TimeInForce = TimeInForce.GTC
    post_only: bool = False
    reject_post_only: bool | None = None
    """What becomes of a post-only order that would cross: True, the venue's default, rejects it, False reprices it."""
    reduce_only: bool = False
    mmp: bool = False
    """Under market-maker protection."""

    def __post_init__(self) -> None:
        order_type, time = wire_word(TYPES, self.order_type), wire_word(TIMES, self.time_in_force)
        if order_type is None:
            raise OrderRefused("order_type", f"{self.order_type!r}: LIMIT or MARKET; for stops see TriggerOrder")
        if time is None:
            raise OrderRefused("time_in_force", f"{self.time_in_force!r} is not GTC, IOC or FOK; every order ends at its expiry_sec")
        for field in ("post_only", "reject_post_only", "reduce_only", "mmp"):
            value = getattr(self, field)
            if not isinstance(value, bool) and (value is not None or field != "reject_post_only"):
                raise OrderRefused(field, f"{value!r} is neither True nor False")
        if self.post_only and order_type == "market":
            raise OrderRefused("time_in_force", "post-only needs a limit order (error 11010)")
        if self.post_only and time != "gtc":
            raise OrderRefused("time_in_force", f"post-only and {time.upper()} exclude each other: use GTC")
        if self.reject_post_only is not None and not self.post_only:
            raise OrderRefused("reject_post_only", "only a post-only order has it: set post_only or leave it None")
        if self.reduce_only and order_type == "limit" and time == "gtc":
            raise OrderRefused("reduce_only", "only for market orders and limit orders with IOC or FOK (error 11024)")


class OrderCommand(Struct, frozen=True, kw_only=True, gc=False):
    """A limit or market order."""

    instrument_name: str
    side: OrderSide
    amount: Value
    """In base currency or contracts, a multiple of the instrument's step."""
    limit_price: Value | None = None
    """A multiple of the tick. For a market order the worst price that is acceptable; it is part of what is signed."""
    max_fee: Value
    """The most that may be charged for each unit of amount, in quote currency: see `least_max_fee`."""
    expiry_sec: int
    """UTC second at which the signature, and with it a resting order, expires."""
    label: str | None = None
    """The client order id."""
    terms: OrderTerms = OrderTerms()
    """A limit order until its expiry, unless given."""


class ReplaceOrder(Struct, frozen=True, kw_only=True):
    """Cancel one order and place another in one request. The new order carries its own label."""

    order: OrderCommand
    order_id_to_cancel: str | None = None
    nonce_to_cancel: int | None = None
    """Exactly one of the two names the order to cancel."""
    expected_filled_amount: Value | None = None
    """Replace only if this much of the old order is filled, else error 11028."""


class TriggerKind(StrEnum):
    """What a trigger order waits for: a price that hurts, or one that pleases."""

    STOP_LOSS = "STOP_LOSS"
    TAKE_PROFIT = "TAKE_PROFIT"


class TriggerOrder(Struct, frozen=True, kw_only=True):
    """An order that is placed once a price is reached."""

    order: OrderCommand
    kind: TriggerKind
    trigger_price: Value
    price_type: TriggerType = TriggerType.MARK_PRICE
    order_id: str | None = None
    """v2 only, and needed there: the id the order is to have."""
    conn_id: str | None = None
    """v2 only, and needed there: the id of the connection."""


class CancelTriggerOrder(Struct, frozen=True, gc=False):
    """Cancel one trigger order that has not been triggered."""

    method: ClassVar[str] = "private/cancel_trigger_order"

    order_id: str
    subaccount_id: int

    def __post_init__(self) -> None:
        check_text("order_id", self.order_id)


class CancelByLabel(Struct, frozen=True, gc=False, omit_defaults=True):
    """Cancel the open orders that carry a label, of one instrument or of all."""

    method: ClassVar[str] = "private/cancel_by_label"

    label: str
    subaccount_id: int
    instrument_name: str | None = None

    def __post_init__(self) -> None:
        check_text("label", self.label)
        if self.instrument_name is not None:
            check_text("instrument_name", self.instrument_name)


class CancelAll(Struct, frozen=True, gc=False, omit_defaults=True):
    """Cancel all open orders of a subaccount; trigger and algo orders too where asked for."""

    method: ClassVar[str] = "private/cancel_all"

    subaccount_id: int
    cancel_trigger_orders: bool | None = None
    cancel_algo_orders: bool | None = None


CancelCommand = CancelTriggerOrder | CancelByLabel | CancelAll


def check_text(field: str, text: object) -> None:
    """Raise `OrderRefused` unless `text` is a plain `str` that is not empty and has a UTF-8 form."""
    if type(text) is not str:
        raise OrderRefused(field, f"{text!r} is a {type(text).__name__}; a str is needed")
    if not text:
        raise OrderRefused(field, "is empty")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise OrderRefused(field, f"the lone surrogate {text[error.start]!r} at {error.start} has no UTF-8 form") from None
