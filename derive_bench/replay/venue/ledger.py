"""The ledger: positions and cash of each subaccount, as its fills move them.

Contract: a subaccount starts with :data:`START_CASH` of cash and no position. A perpetual's fill moves the position and takes the fee;
an option's also pays the premium; a spot fill swaps quote for base. There is no margin, funding or settlement: nothing is refused for
lack of funds. Amounts are in units of 1e-18.
"""

from __future__ import annotations

from typing import Final

from derive_bench.adapter.instruments import Instrument, InstrumentKind
from derive_bench.replay.venue.orders import Fill
from derive_bench.replay.venue.units import UNIT, product

__all__ = ["CASH", "START_CASH", "Change", "Ledger"]

CASH: Final = "USDC"
START_CASH: Final = 1_000_000 * UNIT

Change = tuple[str, int, int]
"""What changed, its amount before and after."""


class Ledger:
    """One subaccount's holdings, by instrument (perpetuals, options) or asset (cash, spot)."""

    def __init__(self) -> None:
        self.holdings: dict[str, int] = {CASH: START_CASH}

    def position(self, name: str) -> int:
        """The signed amount held."""
        return self.holdings.get(name, 0)

    def book(self, fill: Fill, instrument: Instrument) -> list[Change]:
        """Book a fill, and say what it changed."""
        sign = 1 if fill.order.is_bid else -1
        cost = product(fill.price, fill.amount)
        held, paid = fill.order.instrument_name, sign * cost
        if instrument.kind == InstrumentKind.ERC20:
            held = instrument.base_currency
        elif instrument.kind == InstrumentKind.PERP:
            paid = 0
        return [self._move(held, sign * fill.amount), self._move(CASH, -paid - fill.fee)]

    def _move(self, name: str, amount: int) -> Change:
        before = self.holdings.get(name, 0)
        self.holdings[name] = before + amount
        return name, before, before + amount
