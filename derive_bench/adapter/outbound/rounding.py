"""Rounding to what the venue takes, only ever on the caller's request, and the least fee cap it accepts.

Ticks and steps are real multiples (0.5, 5), not numbers of decimal places. All arithmetic is exact and independent of
the thread's decimal context; results are exact decimals.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_HALF_EVEN, Decimal
from typing import Final

from derive_bench.adapter.errors import OrderRefused
from derive_bench.adapter.instruments import Instrument
from derive_bench.adapter.numbers import WIDE
from derive_bench.adapter.outbound.commands import Value
from derive_bench.adapter.protocol import V2_MAINNET
from derive_bench.adapter.signing import wei_converter

__all__ = ["least_max_fee", "round_to_step", "round_to_tick"]

_ROUNDINGS: Final = frozenset(
    {"ROUND_CEILING", "ROUND_DOWN", "ROUND_FLOOR", "ROUND_HALF_DOWN", "ROUND_HALF_EVEN", "ROUND_HALF_UP", "ROUND_UP"}
)

# What lies between two multiples, as a decimal that rounds the same way: below, at or above the middle.
_BELOW, _MIDDLE, _ABOVE = Decimal("0.25"), Decimal("0.5"), Decimal("0.75")

_PRICE_WEI: Final = wei_converter(V2_MAINNET, "limit_price")
_AMOUNT_WEI: Final = wei_converter(V2_MAINNET, "amount")
_WEI: Final = 10**18


def round_to_tick(instrument: Instrument, price: Value, rounding: str = ROUND_HALF_EVEN) -> Decimal:
    """Return the multiple of the instrument's tick that `price` rounds to.

    `rounding` is one of `decimal`'s modes, such as ``ROUND_FLOOR`` for a bid that must not become dearer. Raises
    `SigningError` for a price that is no number or has more than 18 fractional digits, `OrderRefused` for an unknown
    mode.
    """
    return _round(_PRICE_WEI(price), instrument.tick, rounding)


def round_to_step(instrument: Instrument, amount: Value, rounding: str = ROUND_DOWN) -> Decimal:
    """Return the multiple of the instrument's amount step that `amount` rounds to: see `round_to_tick`."""
    return _round(_AMOUNT_WEI(amount), instrument.step, rounding)


def least_max_fee(instrument: Instrument, spot_price: Value, amount: Value | None = None, *, digits: int = 12) -> Decimal:
    """Return the least `max_fee` the venue accepts while spot is at `spot_price`: leave room for spot to move.

    With the order's `amount` it is what an order that crosses the book needs, that is the worst; without, what a
    post-only order needs. Rounded up to `digits` decimal places, the most that v3 takes.

    Source: error code 11023, 2 * max(taker, maker) * spot, plus base fee / amount when the order crosses.
    """
    rate = max(instrument.taker_fee, instrument.maker_fee)
    spot = Decimal(_PRICE_WEI(spot_price)).scaleb(-18, WIDE)
    fee = WIDE.multiply(WIDE.multiply(2, rate), spot)
    if amount is not None:
        wei = _AMOUNT_WEI(amount)
        if wei <= 0:
            raise OrderRefused("amount", f"{amount} is not above 0")
        fee = WIDE.add(fee, WIDE.divide(WIDE.multiply(instrument.base_fee, _WEI), wei))
    return fee.quantize(Decimal(1).scaleb(-digits), ROUND_CEILING, WIDE)


def _round(wei: int, multiple: Decimal, rounding: str) -> Decimal:
    if rounding not in _ROUNDINGS:
        raise OrderRefused("rounding", f"{rounding!r} is not one of {', '.join(sorted(_ROUNDINGS))}")
    # Both as integers of one scale, so that the quotient's remainder is exact.
    numerator, denominator = multiple.as_integer_ratio()
    unit = numerator * _WEI
    whole, rest = divmod(wei * denominator, unit)
    quotient = Decimal(whole)
    if rest:
        part = _BELOW if 2 * rest < unit else _MIDDLE if 2 * rest == unit else _ABOVE
        quotient = WIDE.add(quotient, part)
    return WIDE.multiply(quotient.to_integral_value(rounding, WIDE), multiple)
