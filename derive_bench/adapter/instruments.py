"""The instrument registry: what parsing and signing need to know of an instrument, by name.

Contract: records come from the venue (`public/get_instrument`, `get_instruments`, `get_all_instruments`), as decoded
`InstrumentRecord` messages or as plain mappings. Precision is a number of decimal places; tick and step are the real
multiples, which a number of places cannot express (0.5, 5). The kind is the record's `instrument_type`, never guessed
from the name. An unknown name is an `UnknownInstrument`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any

import msgspec

from derive_bench.adapter.channels import parse_channel
from derive_bench.adapter.errors import CallerError, DecodeError, UnknownInstrument
from derive_bench.adapter.messages import InstrumentRecord
from derive_bench.adapter.numbers import WIDE, exact

__all__ = ["VENUE", "Instrument", "InstrumentKind", "InstrumentRegistry", "instrument_from_record"]

VENUE = "DERIVE"

_TOPIC_CACHE_SIZE = 16_384

_MAX_PLACES = 18
"""Places that a value can have at all: the venue scales values by 1e18 to integers."""
_MAX_SUB_ID_DIGITS = 78


class InstrumentKind(StrEnum):
    """`instrument_type` of the venue's records."""

    PERP = "perp"
    OPTION = "option"
    ERC20 = "erc20"


class Instrument(msgspec.Struct, frozen=True, kw_only=True):
    """One instrument. Prices and amounts are exact decimals in quote and base currency."""

    name: str
    id: str
    kind: InstrumentKind | str
    """The venue's `instrument_type`; a plain text where the venue adds a kind."""
    price_precision: int
    size_precision: int
    tick: Decimal
    step: Decimal
    minimum: Decimal
    maximum: Decimal
    asset_address: str
    """Word 0 of an order's signed data: `base_asset_address`."""
    sub_id: int
    """Word 1 of an order's signed data: `base_asset_sub_id`, up to 96 bits for options."""
    is_active: bool
    base_currency: str
    quote_currency: str
    taker_fee: Decimal
    maker_fee: Decimal
    base_fee: Decimal
    price_unit: float
    """10**price_precision, as the hot path multiplies by it."""
    size_unit: float
    price_tail: str
    """`e{price_precision}`: put behind a number's text, the price in raw units."""
    size_tail: str


def instrument_from_record(record: InstrumentRecord) -> Instrument:
    """Build an `Instrument` from a venue record. Raises `DecodeError` with the field's path where it is unusable."""
    tick = _positive(record.tick_size, "$.tick_size")
    step = _positive(record.amount_step, "$.amount_step")
    price_precision, size_precision = _places(tick, "$.tick_size"), _places(step, "$.amount_step")
    sub_id = record.base_asset_sub_id
    digits = len(sub_id) <= _MAX_SUB_ID_DIGITS and sub_id.isascii() and sub_id.isdigit()
    if not (digits and int(sub_id) < 1 << 256):
        raise DecodeError(f"not an unsigned 256-bit integer: {sub_id[:80]!r}", "$.base_asset_sub_id")
    address = record.base_asset_address
    if len(address) != 42 or not address.startswith("0x") or not _is_hex(address[2:]):
        raise DecodeError(f"not a 20-byte hex address: {address[:64]!r}", "$.base_asset_address")
    try:
        kind: InstrumentKind | str = InstrumentKind(record.instrument_type)
    except ValueError:
        kind = record.instrument_type
    return Instrument(
        name=record.instrument_name,
        id=f"{record.instrument_name}.{VENUE}",
        kind=kind,
        price_precision=price_precision,
        size_precision=size_precision,
        tick=tick,
        step=step,
        minimum=exact(record.minimum_amount, "$.minimum_amount"),
        maximum=exact(record.maximum_amount, "$.maximum_amount"),
        asset_address=address,
        sub_id=int(sub_id),
        is_active=record.is_active,
        base_currency=record.base_currency,
        quote_currency=record.quote_currency,
        taker_fee=exact(record.taker_fee_rate, "$.taker_fee_rate"),
        maker_fee=exact(record.maker_fee_rate, "$.maker_fee_rate"),
        base_fee=exact(record.base_fee, "$.base_fee"),
        price_unit=float(10**price_precision),
        size_unit=float(10**size_precision),
        price_tail=f"e{price_precision}",
        size_tail=f"e{size_precision}",
    )


class InstrumentRegistry(dict[str, Instrument]):
    """Instruments by name: `registry["ETH-PERP"]`; and by topic: `registry.by_topic["ticker_slim.ETH-PERP.100"]`."""

    def __init__(self, records: Iterable[InstrumentRecord | Mapping[str, Any]] = ()) -> None:
        super().__init__()
        self.by_topic: Mapping[str, Instrument] = _ByTopic(self)
        self.add(records)

    def add(self, records: Iterable[InstrumentRecord | Mapping[str, Any]]) -> None:
        """Add or renew instruments; all or none. Raises `DecodeError` for a record that cannot be used."""
        fresh = [instrument_from_record(self._typed(record)) for record in records]
        self.update({instrument.name: instrument for instrument in fresh})
        self.by_topic = _ByTopic(self)

    def __missing__(self, name: str) -> Instrument:
        raise UnknownInstrument(name)

    @staticmethod
    def _typed(record: InstrumentRecord | Mapping[str, Any]) -> InstrumentRecord:
        if isinstance(record, InstrumentRecord):
            return record
        try:
            return msgspec.convert(record, InstrumentRecord)
        except msgspec.ValidationError as error:
            raise DecodeError.from_msgspec(error) from None


class _ByTopic(dict[str, Instrument]):
    """Instruments by subscription topic, learned on first use; bounded, since a topic's tail is free text."""

    def __init__(self, registry: InstrumentRegistry) -> None:
        super().__init__()
        self._registry = registry

    def __missing__(self, topic: str) -> Instrument:
        name = parse_channel(topic).instrument_name
        if name is None:
            raise CallerError(f"topic {topic!r} names no instrument")
        instrument = self._registry[name]
        if len(self) >= _TOPIC_CACHE_SIZE:
            self.clear()
        self[topic] = instrument
        return instrument


def _positive(text: str, path: str) -> Decimal:
    value = exact(text, path)
    if value <= 0:
        raise DecodeError(f"must be above zero, not {text}", path)
    return value


def _places(multiple: Decimal, path: str) -> int:
    exponent = int(multiple.normalize(WIDE).as_tuple().exponent)
    if -exponent > _MAX_PLACES:
        raise DecodeError(f"{-exponent} decimal places, at most {_MAX_PLACES} are taken", path)
    return max(0, -exponent)


def _is_hex(text: str) -> bool:
    return all(character in "0123456789abcdefABCDEF" for character in text)
