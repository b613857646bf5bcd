"""The listing: a full record for every instrument of a tape, as the API gives them and orders need them.

Contract: what `known` says is kept as it is, the first that knows a field counting. What is missing, up to whole records, is made up so
that everything fits together: tick and step from the digits seen on the tape, an asset address derived from the name, the kind from the
name's form, for want of better. Clients ask the venue for these records and sign what they say, so made-up ones serve as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

from derive_bench.adapter.channels import ChannelKind, parse_channel
from derive_bench.adapter.errors import DecodeError
from derive_bench.adapter.frames import Subscription, decode
from derive_bench.adapter.instruments import InstrumentRegistry
from derive_bench.adapter.lenient import NumberText, decode_payload
from derive_bench.adapter.messages import OrderBook, PublicTrade
from derive_bench.adapter.protocol import Dialect
from derive_bench.adapter.signing import keccak256
from derive_bench.adapter.signing.signer import checksum_address
from derive_bench.replay.venue.tape import Item

__all__ = ["Contents", "ListingError", "list_instruments", "look_through"]

Record = dict[str, Any]

HEAD: Final = 5_000
"""Items of a tape that are looked through for what it has."""

_FAR_SEC: Final = 9_223_372_036_854_775_807
_EXPIRY_HOUR: Final = 8
_PLACES_MAX: Final = 12


class ListingError(Exception):
    """A record that no instrument can be made of; the message says which and why."""


@dataclass(slots=True)
class Contents:
    """What a tape has, as far as it was looked through.

    Attributes:
        digits: decimal places of prices and of amounts seen, by instrument.
        subaccounts: ids of its private channels.
        topics: its channels, each with its first frame.
        items: how many were looked through.
    """

    digits: dict[str, tuple[int, int]] = field(default_factory=dict)
    subaccounts: set[int] = field(default_factory=set)
    topics: dict[str, bytes] = field(default_factory=dict)
    items: int = 0


def look_through(items: Iterable[Item], head: int = HEAD) -> Contents:
    """Look through the first items of a tape."""
    contents = Contents()
    for item in islice(items, head):
        contents.items += 1
        if item.topic is None or item.frame is None:
            continue
        contents.topics.setdefault(item.topic, item.frame)
        channel = parse_channel(item.topic)
        if channel.subaccount is not None:
            contents.subaccounts.add(channel.subaccount)
        if channel.instrument_name is not None:
            contents.digits.setdefault(channel.instrument_name, (0, 0))
        if channel.kind in (ChannelKind.ORDERBOOK, ChannelKind.TRADES):
            _note_digits(contents, item.frame)
    return contents


def list_instruments(contents: Contents, known: Sequence[Iterable[Mapping[str, Any]]], dialect: Dialect) -> dict[str, Record]:
    """Records by name: of all instruments on the tape, and all that the first of `known` has.

    Raises:
        ListingError
    """
    by_name = [{str(record.get("instrument_name")): record for record in records} for records in known]
    names = dict.fromkeys([*(by_name[0] if by_name else ()), *sorted(contents.digits)])
    listing: dict[str, Record] = {}
    for name in names:
        record = _made_up(name, contents.digits.get(name, (2, 3)), dialect)
        for records in reversed(by_name):
            record = _merged(record, records.get(name, {}))
        try:
            InstrumentRegistry([record])
        except DecodeError as error:
            raise ListingError(f"instrument {name}: {error}") from None
        listing[name] = record
    return listing


def _merged(record: Record, better: Mapping[str, Any]) -> Record:
    """A record with the fields of a better known one, those of its details each by itself."""
    merged: Record = {**record, **better}
    for key, details in record.items():
        if isinstance(details, dict) and isinstance(merged[key], dict):
            merged[key] = details | merged[key]
    return merged


def _note_digits(contents: Contents, frame: bytes) -> None:
    try:
        message = decode(frame)
        payload = message.data if isinstance(message, Subscription) else None
        rows: list[tuple[str, list[str]]] = []
        if isinstance(payload, OrderBook):
            levels = [*_rows(payload.bids), *_rows(payload.asks)]
            rows = [(payload.instrument_name, level) for level in levels if len(level) == 2]
        elif isinstance(payload, list):
            trades = [trade for trade in payload if isinstance(trade, PublicTrade)]
            rows = [(trade.instrument_name, [trade.trade_price, trade.trade_amount]) for trade in trades]
    except DecodeError:
        return
    for name, (price, amount) in rows:
        prices, amounts = contents.digits.get(name, (0, 0))
        contents.digits[name] = (max(prices, _places(price)), max(amounts, _places(amount)))


def _rows(side: Any) -> list[list[str]]:
    return decode_payload(list[list[NumberText]], side)


def _places(text: str) -> int:
    fraction = text.partition(".")[2].rstrip("0")
    return min(len(fraction), _PLACES_MAX) if fraction.isdigit() else 0


def _made_up(name: str, digits: tuple[int, int], dialect: Dialect) -> Record:
    parts = name.split("-")
    kind = "option" if len(parts) == 4 and parts[3] in ("C", "P") else "perp" if parts[-1] == "PERP" else "erc20"
    step = _unit(digits[1])
    newer = {"risk_universe_id": 1} if dialect == "v3" else {}
    return newer | {
        "instrument_type": kind,
        "instrument_name": name,
        "scheduled_activation": 0,
        "scheduled_deactivation": _FAR_SEC,
        "is_active": True,
        "tick_size": _unit(digits[0]),
        "minimum_amount": step,
        "maximum_amount": "1000000",
        "amount_step": step,
        "mark_price_fee_rate_cap": "0.125" if kind == "option" else None,
        "maker_fee_rate": "0.0001",
        "taker_fee_rate": "0.0003",
        "base_fee": "0.01",
        "base_currency": parts[0],
        "quote_currency": "USDC",
        "option_details": _option(parts) if kind == "option" else None,
        "perp_details": _perp(parts[0], dialect) if kind == "perp" else None,
        "erc20_details": _spot(name) if kind == "erc20" else None,
        "base_asset_address": _address(name if kind != "option" else f"{parts[0]}-OPTION"),
        "base_asset_sub_id": str(int.from_bytes(keccak256(name.encode())[:12])) if kind == "option" else "0",
        "pro_rata_fraction": "0",
        "fifo_min_allocation": "0",
        "pro_rata_amount_step": "1",
    }


def _unit(places: int) -> str:
    return "1" if places == 0 else f"0.{'0' * (places - 1)}1"


def _address(name: str) -> str:
    return checksum_address(f"0x{keccak256(name.encode())[12:].hex()}")


def _perp(currency: str, dialect: Dialect) -> Record:
    details = {
        "index": f"{currency}-USD",
        "max_rate_per_hour": "0.004",
        "min_rate_per_hour": "-0.004",
        "aggregate_funding": "0",
        "funding_rate": "0",
    }
    return details | ({"static_interest_rate": "0"} if dialect == "v2" else {})


def _spot(name: str) -> Record:
    return {"decimals": 18, "underlying_erc20_address": _address(f"{name} token"), "borrow_index": "1", "supply_index": "1"}


def _option(parts: list[str]) -> Record:
    try:
        day = datetime.strptime(parts[1], "%Y%m%d").replace(hour=_EXPIRY_HOUR, tzinfo=UTC)
        expiry = int(day.timestamp())
    except ValueError:
        expiry = 0
    strike = parts[2].replace("_", ".")
    return {"index": f"{parts[0]}-USD", "expiry": expiry, "strike": strike, "option_type": parts[3], "settlement_price": None}
