"""What is prepared once for orders of one side and terms on one instrument.

A `Market` holds the constant head of the JSON, the ABI words, and the tick, step and limits in integer units of the
instrument's precision. What the instrument does not take is refused here, with `OrderRefused` and the field's wire name.

Sources: PROTOCOL.md, WebSocket (orders) and error codes 11021, 11025.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Final

import msgspec

from derive_bench.adapter.errors import OrderRefused
from derive_bench.adapter.instruments import Instrument, InstrumentKind
from derive_bench.adapter.model import OrderSide
from derive_bench.adapter.numbers import WIDE
from derive_bench.adapter.outbound.commands import TIMES, TYPES, OrderTerms, wire_word
from derive_bench.adapter.protocol import Protocol
from derive_bench.adapter.signing import trade_words

__all__ = ["QUICK_LENGTH", "Market", "json_text", "prepare"]

QUICK_LENGTH: Final = 15
"""Most characters of a number that the quick way takes."""

_QUICK_BITS: Final = 128
"""The quick way's numbers are at most 2**53 units of at most 1: times 10**18 below 2**113, inside any such range."""

_DIRECTIONS: Final = {OrderSide.BUY: "buy", OrderSide.SELL: "sell"}

json_text = msgspec.json.Encoder().encode
"""JSON bytes of a text or of a command without signature."""


class Market(msgspec.Struct, frozen=True, kw_only=True):
    """Orders of one side and terms on one instrument. Units are 10**-places of the instrument's price or size precision."""

    instrument: Instrument
    head: str
    """The JSON of all that does not vary, from the brace to the opening quote of the amount's text."""
    words: bytes
    is_bid: bool
    mmp: bool
    price_tail: str
    """What follows the price in the text that the quick way reads: its exponent and the amount's minus."""
    amount_tail: str
    quick_length: int
    """A text of at most this length has no number longer than `QUICK_LENGTH`."""
    tick: int
    step: int
    lowest: int
    highest: int
    """Amounts in units, negated: `lowest` is the most that may be ordered. None passes where the quick way's proof does
    not hold for this instrument or protocol."""
    price_wei: int
    """Wei of one unit, negated."""
    amount_wei: int
    exact_tick: int
    """In wei, as are the next three: for what the quick way leaves."""
    exact_step: int
    exact_least: int
    exact_most: int


def prepare(terms: OrderTerms, side: OrderSide, instrument: Instrument, protocol: Protocol, account: str) -> Market:
    """Prepare orders of one side and terms. `account` is the JSON members that all of a subaccount's orders share.

    Raises `OrderRefused` for what the instrument does not take, and for one that is not live or cannot be signed.
    """
    head = f'{{"instrument_name":{json_text(instrument.name).decode()},{account},{_terms(terms, side, instrument)},"amount":"'
    price_places, size_places = instrument.price_precision, instrument.size_precision
    price_tail, amount_tail = f"e{price_places},-", f"e{size_places}]"
    scale = protocol.value_scale_decimals
    quick = max(price_places, size_places) <= protocol.max_fraction_digits and protocol.price_bits >= _QUICK_BITS
    if instrument.sub_id >> protocol.sub_id_bits:
        raise OrderRefused("instrument_name", f"the sub-id of {instrument.name} has more than {protocol.sub_id_bits} bits")
    return Market(
        instrument=instrument,
        head=head,
        words=trade_words(instrument.asset_address, instrument.sub_id),
        is_bid=side == OrderSide.BUY,
        mmp=bool(terms.mmp),
        price_tail=price_tail,
        amount_tail=amount_tail,
        # The other number has at least one character.
        quick_length=len(f"[-{price_tail}{amount_tail}") + QUICK_LENGTH + 1,
        tick=_units(instrument.tick, price_places, ROUND_CEILING),
        step=_units(instrument.step, size_places, ROUND_CEILING),
        lowest=-_units(instrument.maximum, size_places, ROUND_FLOOR) if quick else 1,
        highest=-max(1, _units(instrument.minimum, size_places, ROUND_CEILING)),
        price_wei=-(10 ** (scale - price_places)),
        amount_wei=-(10 ** (scale - size_places)),
        exact_tick=_units(instrument.tick, scale, ROUND_CEILING),
        exact_step=_units(instrument.step, scale, ROUND_CEILING),
        exact_least=max(1, _units(instrument.minimum, scale, ROUND_CEILING)),
        exact_most=_units(instrument.maximum, scale, ROUND_FLOOR),
    )


def _terms(terms: OrderTerms, side: OrderSide, instrument: Instrument) -> str:
    """Return the JSON members of an order's side and terms, or raise `OrderRefused`."""
    name = instrument.name
    if not instrument.is_active:
        raise OrderRefused("instrument_name", f"{name} is not live (error 11021)")
    direction = wire_word(_DIRECTIONS, side)
    if direction is None:
        raise OrderRefused("direction", f"{side!r}: an order is BUY or SELL")
    if terms.reduce_only and instrument.kind == InstrumentKind.ERC20:
        raise OrderRefused("reduce_only", f"{name} is spot, which has no position to reduce (error 11025)")
    time = "post_only" if terms.post_only else wire_word(TIMES, terms.time_in_force)
    members = [f'"direction":"{direction}","order_type":"{wire_word(TYPES, terms.order_type)}","time_in_force":"{time}"']
    if terms.reduce_only:
        members.append('"reduce_only":true')
    if terms.mmp:
        members.append('"mmp":true')
    if terms.reject_post_only is not None:
        members.append(f'"reject_post_only":{"true" if terms.reject_post_only else "false"}')
    return ",".join(members)


def _units(value: Decimal, places: int, rounding: str) -> int:
    return int(value.scaleb(places, WIDE).to_integral_value(rounding, WIDE))
