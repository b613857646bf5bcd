"""Orders and fills: the records the venue keeps, in exact integers.

Contract: an :class:`Order` is changed by its own methods alone, and never past an end: what is filled, cancelled or expired stays so.
Prices, amounts and fees are in units of 1e-18.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from derive_bench.replay.venue.units import product

__all__ = ["OPEN", "Fill", "Order"]

OPEN: Final = "open"


@dataclass(slots=True, kw_only=True)
class Order:
    """One order. `owner` is the wallet, lower-case; times are UTC ms."""

    owner: str
    subaccount_id: int
    order_id: str
    instrument_name: str
    is_bid: bool
    amount: int
    limit_price: int
    signed_price: int
    max_fee: int
    nonce: int
    signature: str
    signature_expiry_sec: int
    signer: str
    order_type: str
    time_in_force: str
    label: str
    mmp: bool
    reduce_only: bool
    created_ms: int
    updated_ms: int
    replaced_order_id: str | None = None
    status: str = OPEN
    cancel_reason: str = ""
    filled: int = 0
    cost: int = 0
    """Sum of price times amount of its fills."""
    fee: int = 0

    @property
    def remaining(self) -> int:
        """What is still to be filled."""
        return self.amount - self.filled

    @property
    def average_price(self) -> int:
        """Of its fills, rounded down; 0 before the first."""
        return self.cost * 10**18 // self.filled if self.filled else 0

    @property
    def is_open(self) -> bool:
        """Whether it rests."""
        return self.status == OPEN

    def fill(self, amount: int, price: int, fee: int, now_ms: int) -> None:
        """Book a fill. Raises `ValueError` where the order is not open or has less left."""
        if not self.is_open or not 0 < amount <= self.remaining:
            raise ValueError(f"order {self.order_id} is {self.status} with {self.remaining} left: {amount} cannot be filled")
        self.filled += amount
        self.cost += product(price, amount)
        self.fee += fee
        self.updated_ms = now_ms
        if not self.remaining:
            self.status = "filled"

    def end(self, status: str, reason: str, now_ms: int) -> None:
        """Cancel or expire it. Raises `ValueError` where it has ended already."""
        if not self.is_open:
            raise ValueError(f"order {self.order_id} is {self.status}")
        self.status = status
        self.cancel_reason = reason
        self.updated_ms = now_ms


@dataclass(slots=True, kw_only=True, frozen=True)
class Fill:
    """One fill of an order."""

    order: Order = field(repr=False)
    trade_id: str
    op_id: str
    """Identifies the operation that settles it."""
    price: int
    amount: int
    fee: int
    is_maker: bool
    index: int
    mark: int
    timestamp_ms: int
