"""The instruments of a made-up session: the venue's records, and where their prices begin.

Contract: `INSTRUMENTS` in the order a session takes them from. Prices are whole ticks, amounts whole steps; `text` writes
them as the venue does, without trailing zeros. Asset addresses are those of the venue's public documentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

__all__ = ["INSTRUMENTS", "SynthInstrument"]

_NEVER: Final = 9_223_372_036_854_775_807
_EXPIRY: Final = 1_795_766_400


@dataclass(frozen=True, slots=True)
class SynthInstrument:
    """One instrument. A tick is `tick` units of 10**-`price_places`, a step likewise; `start` is the first price in ticks."""

    name: str
    kind: str
    base: str
    address: str
    sub_id: str
    price_places: int
    tick: int
    size_places: int
    step: int
    start: int
    most: int
    """The largest amount of a level, in steps."""
    strike: str = ""

    def price(self, ticks: int) -> str:
        """Return a price's text."""
        return text(ticks * self.tick, self.price_places)

    def amount(self, steps: int) -> str:
        """Return an amount's text."""
        return text(steps * self.step, self.size_places)

    def record(self) -> dict[str, Any]:
        """Return the record that `public/get_instrument` would give."""
        option = None
        if self.kind == "option":
            side = self.name[-1]
            option = {"expiry": _EXPIRY, "index": f"{self.base}-USD", "option_type": side, "settlement_price": None, "strike": self.strike}
        perp = {
            "aggregate_funding": "412.663871940215",
            "funding_rate": "0.0000174",
            "index": f"{self.base}-USD",
            "max_rate_per_hour": "0.004",
            "min_rate_per_hour": "-0.004",
        }
        token = {
            "borrow_index": "1.002917340551",
            "decimals": 18,
            "supply_index": "1.001730128846",
            "underlying_erc20_address": self.address,
        }
        return {
            "amount_step": self.amount(1),
            "base_asset_address": self.address,
            "base_asset_sub_id": self.sub_id,
            "base_currency": self.base,
            "base_fee": "0.5" if option else "0.01",
            "erc20_details": token if self.kind == "erc20" else None,
            "fifo_min_allocation": "0",
            "instrument_name": self.name,
            "instrument_type": self.kind,
            "is_active": True,
            "maker_fee_rate": "0.0001",
            "mark_price_fee_rate_cap": "0.125" if option else None,
            "maximum_amount": "10000",
            "minimum_amount": self.amount(1),
            "option_details": option,
            "perp_details": perp if self.kind == "perp" else None,
            "pro_rata_amount_step": "1",
            "pro_rata_fraction": "0",
            "quote_currency": "USDC",
            "scheduled_activation": 1_704_182_400,
            "scheduled_deactivation": _EXPIRY if option else _NEVER,
            "taker_fee_rate": "0.0003",
            "tick_size": self.price(1),
        }


def text(value: int, places: int) -> str:
    """Return `value` units of 10**-`places` as plain text without trailing zeros."""
    if places == 0:
        return str(value)
    if value < 0:
        return f"-{text(-value, places)}"
    digits = str(value).zfill(places + 1)
    fraction = digits[-places:].rstrip("0")
    return f"{digits[:-places]}.{fraction}" if fraction else digits[:-places]


INSTRUMENTS: Final = (
    SynthInstrument(
        "ETH-PERP", "perp", "ETH", "0x8770F0b6D75Df7Ee5C1faA9f52135cb13cCc38b7", "0", 2, 1, 3, 1, 287_400, 20_000,
    ),
    SynthInstrument(
        "BTC-PERP", "perp", "BTC", "0xe408726B64551fdFa1cC719Db7052664941707dc", "0", 1, 5, 4, 1, 187_300, 30_000,
    ),
    SynthInstrument(
        "SOL-PERP", "perp", "SOL", "0xAD000eAC13F329c0bbb0D683C286c20E302F0AE0", "0", 3, 5, 2, 1, 35_200, 40_000,
    ),
    SynthInstrument(
        "ETH-20261127-2800-C", "option", "ETH", "0x90913a1F31064483572D2d7e36Bf7FEC610f65e6", "39614082459723011678567741568",
        1, 1, 2, 1, 1_832, 25_000, "2800",
    ),
    SynthInstrument(
        "ETH-USDC", "erc20", "ETH", "0x8C9E51d5CE8567493b22e7DEdC4Bcc230697b18C", "0", 2, 1, 3, 1, 287_350, 8_000,
    ),
    SynthInstrument(
        "ETH-20261127-2600-P", "option", "ETH", "0x90913a1F31064483572D2d7e36Bf7FEC610f65e6", "1116691496961795766400",
        1, 1, 2, 1, 2_071, 25_000, "2600",
    ),
)  # fmt: skip
