"""The instruments of a session: from the tape's header, from a file, or guessed from the numbers seen.

Contract: `resolve` returns a registry and says where each instrument is from. What neither header nor file knows is guessed from the first
records: its precision is the most places that a price or an amount of it has there. A guess is enough to replay, not to trade: the
addresses and fees of a guessed instrument are zeros.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from derive_bench.adapter.channels import parse_channel
from derive_bench.adapter.errors import DeriveBenchError
from derive_bench.adapter.frames import Subscription, decode
from derive_bench.adapter.instruments import InstrumentRegistry
from derive_bench.adapter.messages import OrderBook, PublicTrade, Ticker
from derive_bench.replay.reader import Tape
from derive_bench.replay.records import Frame, TapeError

__all__ = ["Instruments", "guess", "resolve"]

LOOKED_AT: Final = 50_000
"""Records from whose numbers an instrument is guessed."""
_PLACES_MOST: Final = 18
_ZERO_ADDRESS: Final = f"0x{'0' * 40}"
_levels: Final = msgspec.json.Decoder(list[tuple[str, str]]).decode


class Instruments(Struct):
    """A session's instruments, and how those came by that are not the venue's own records."""

    registry: InstrumentRegistry
    given: list[str]
    guessed: list[str]


def resolve(tapes: Sequence[Tape], file: Path | None = None) -> Instruments:
    """Return the instruments of some tapes. Raises `TapeError` for records that cannot be used."""
    registry = InstrumentRegistry()
    sources = [(tape.path, tape.header.instruments) for tape in tapes]
    if file is not None:
        sources.append((file, _read(file)))
    for path, records in sources:
        try:
            registry.add(records)
        except DeriveBenchError as error:
            raise TapeError(f"{path}: its instruments cannot be used: {error}") from None
    given = sorted(registry)
    found = {} if all(tape.header.instruments for tape in tapes) else _guess_from(tapes, registry)
    registry.add(guess(name, *places) for name, places in sorted(found.items()))
    return Instruments(registry, given, sorted(found))


def guess(name: str, price_places: int, size_places: int) -> dict[str, Any]:
    """Return a record of an instrument of which only the numbers of places are known."""
    base, _, rest = name.partition("-")
    kind = "perp" if rest == "PERP" else "option" if rest.endswith(("-C", "-P")) else "erc20"
    return {
        "instrument_name": name,
        "instrument_type": kind,
        "tick_size": _unit(price_places),
        "amount_step": _unit(size_places),
        "minimum_amount": "0",
        "maximum_amount": "0",
        "base_asset_address": _ZERO_ADDRESS,
        "base_asset_sub_id": "0",
        "is_active": True,
        "base_currency": base,
        "quote_currency": "USDC",
        "maker_fee_rate": "0",
        "taker_fee_rate": "0",
        "base_fee": "0",
    }


def _read(path: Path) -> list[dict[str, Any]]:
    """Read records from a file: an array, bare or under `instruments` or `result`."""
    try:
        value = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise TapeError(f"{path}: cannot be read: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise TapeError(f"{path}: not JSON: {error}") from None
    for key in ("result", "instruments"):
        if isinstance(value, dict) and key in value:
            value = value[key]
    if not isinstance(value, list) or not all(isinstance(record, dict) for record in value):
        raise TapeError(f'{path}: expected an array of instrument records, bare or under "instruments" or "result"')
    return value


def _guess_from(tapes: Sequence[Tape], known: InstrumentRegistry) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for tape in tapes:
        for record in islice(tape, LOOKED_AT):
            if isinstance(record, Frame) and record.direction == "in":
                for name, price, size in _numbers(record.raw):
                    if name not in known:
                        prices, sizes = found.get(name, (0, 0))
                        found[name] = max(prices, _places(price)), max(sizes, _places(size))
    return found


def _numbers(raw: bytes) -> Iterator[tuple[str, str, str]]:
    """Yield the instrument, the text of a price and that of an amount, for each that a frame holds."""
    try:
        message = decode(raw)
        data = message.data if isinstance(message, Subscription) else None
        if isinstance(data, OrderBook):
            for side in (data.bids, data.asks):
                for price, size in _levels(side):
                    yield data.instrument_name, price, size
        elif isinstance(data, Ticker) and isinstance(message, Subscription):
            body = data.instrument_ticker
            name = parse_channel(message.topic).instrument_name or ""
            yield name, body.b, body.B
            yield name, body.a, body.A
        elif isinstance(data, list):
            for element in data:
                if isinstance(element, PublicTrade):
                    yield element.instrument_name, element.trade_price, element.trade_amount
    except (DeriveBenchError, msgspec.MsgspecError, UnicodeError):
        return


def _places(text: str) -> int:
    return min(len(text.partition(".")[2]), _PLACES_MOST)


def _unit(places: int) -> str:
    return f"0.{'0' * (places - 1)}1" if places else "1"
