"""Wire messages for the tests of the inbound half: generated, rewritten and spoiled, and the oracles they are held against.

`Num` is a number's text that stands for a number of the venue's; `write` puts it down as a JSON string or bare. Everything
random is drawn from the `random.Random` the caller seeds.
"""

from __future__ import annotations

import decimal
import functools
import json
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

from msgspec import Raw

from derive_bench.adapter.book import OrderBookDeltas, parse_order_book_deltas, parse_order_book_depth10
from derive_bench.adapter.channels import ChannelKind
from derive_bench.adapter.errors import DeriveBenchError
from derive_bench.adapter.frames import Subscription, decode
from derive_bench.adapter.inbound import (
    parse_fill_report,
    parse_funding_rate,
    parse_index_price,
    parse_mark_price,
    parse_option_greeks,
    parse_order_report,
    parse_quote,
    parse_trades,
)
from derive_bench.adapter.instruments import Instrument, InstrumentRegistry
from derive_bench.adapter.messages import BadElement, OrderBook, PrivateOrder, PrivateTrade
from derive_bench.measure.inputs import Inputs

EXACT = decimal.Context(
    prec=700, rounding=decimal.ROUND_HALF_EVEN, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[decimal.InvalidOperation]
)
TS_INIT = 1_790_871_617_137_835_612

ILLEGAL_TEXTS = (
    *("NaN", "nan", "Infinity", "-Infinity", "inf", "-inf", "", " ", " 1", "1 ", "1\n", "\t1", "+1", ".5", "-.5", "1.", "1.e2", "1_0"),
    *(
        "0x10",
        "01",
        "-01",
        "00",
        "--1",
        "-",
        "1e",
        "1e+",
        "e5",
        "1,5",
        "1,-5",
        "1e5,2",
        "1 2",
        "true",
        "false",
        "null",
        "None",
        "[1]",
        "{}",
    ),
    *("１", "٣", "1\x00", "1e5 ", "½", "∞", '"1"', "1'", "1d5", "1f", "1e1.5", "1e61", "1e-61", "1e999", "-1e-400", "1e99999999999"),
    *("1" * 41, "0." + "1" * 41, "1." + "0" * 40, "-" + "9" * 41, "1" * 5_000, "\ud800"),
)
"""Texts that are no legal numbers, by the grammar or by the limits."""

TOMORROW = "a_word_of_tomorrow"


class Num(str):
    """The text of a number in a message's tree."""

    __slots__ = ()


class Bare(str):
    """The text of a number that stands bare and stays so."""

    __slots__ = ()


@functools.cache
def inputs(protocol: str = "v3") -> Inputs:
    """Our own messages in one dialect."""
    return Inputs(protocol)


@functools.cache
def registry() -> InstrumentRegistry:
    """The instruments our own messages speak of."""
    return InstrumentRegistry(inputs().instruments)


def made_instrument(tick: str = "0.01", step: str = "0.001", name: str = "ETH-PERP") -> Instrument:
    """An instrument of a given tick and step, else like the perpetual."""
    record = {**inputs().instruments[0], "instrument_name": name, "tick_size": tick, "amount_step": step}
    return InstrumentRegistry([record])[name]


# Oracles


def is_legal(text: str) -> bool:
    """Whether a text is a legal number: the standard library's JSON reader takes all of it, within the limits."""
    try:
        seen = json.loads(text, parse_float=Num, parse_int=Num, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return False
    exponent = text.lower().partition("e")[2]
    if type(seen) is not Num or seen != text or (exponent and abs(int(exponent)) > 60):
        return False
    return len(Decimal(text).as_tuple().digits) <= 40


def rounded(text: str, precision: int) -> Decimal:
    """The value of a number's text at a precision, half-even, by decimal arithmetic."""
    return Decimal(text).quantize(Decimal(1).scaleb(-precision), context=EXACT)


def rounded_raw(text: str, precision: int) -> int:
    """The same as an integer of units of 10**-precision."""
    return int(EXACT.multiply(rounded(text, precision), Decimal(10) ** precision))


# What a frame comes to


def parsed(frame: Any, instruments: InstrumentRegistry | None = None) -> list[Any]:
    """Decode a frame and take every domain type from it; messages with no domain type give themselves."""
    known = registry() if instruments is None else instruments
    message = decode(frame)
    if not isinstance(message, Subscription):
        return [type(message).__name__, getattr(message, "id", None)]
    data, kind = message.data, message.channel.kind
    match kind:
        case ChannelKind.ORDERBOOK:
            instrument = known[data.instrument_name]
            deltas: OrderBookDeltas = parse_order_book_deltas(data, instrument, TS_INIT)
            return [*deltas, parse_order_book_depth10(data, instrument, TS_INIT)]
        case ChannelKind.TICKER_SLIM | ChannelKind.TICKER:
            instrument = known.by_topic[message.topic]
            readers: tuple[Callable[..., Any], ...] = (
                *(parse_quote, parse_mark_price, parse_index_price, parse_funding_rate, parse_option_greeks),
            )
            return [read(data, instrument, TS_INIT) for read in readers]
        case ChannelKind.TRADES | ChannelKind.SETTLED_TRADES:
            return [*parse_trades(data, known, TS_INIT)]
        case ChannelKind.ORDERS:
            return [_report(parse_order_report, order) for order in data]
        case ChannelKind.PRIVATE_TRADES:
            return [_report(parse_fill_report, trade) for trade in data]
        case _:
            return [kind, data if kind is not ChannelKind.OTHER else message.topic]


def _report(read: Callable[..., Any], element: Any) -> Any:
    return ("bad element", element.index) if isinstance(element, BadElement) else read(element, TS_INIT)


def outcome(frame: Any, instruments: InstrumentRegistry | None = None) -> tuple[str, Any]:
    """What a frame comes to, or the class of the error of ours it ends in; any other exception is the test's failure."""
    try:
        return "parsed", parsed(frame, instruments)
    except DeriveBenchError as error:
        return "error", type(error)


# Envelopes, writing and rewriting


def envelope(channel: str, data: Any, *, jsonrpc: bool = False) -> bytes:
    """A notification in the documented form; `data` is a tree or JSON text."""
    version = '"jsonrpc":"2.0",' if jsonrpc else ""
    text = data if isinstance(data, str) else write(data)
    return f'{{{version}"method":"subscription","params":{{"channel":{json.dumps(channel)},"data":{text}}}}}'.encode()


def write(tree: Any, rng: Random | None = None, bare: float = 0.0) -> str:
    """Put a tree down as JSON: compact, or with shuffled keys and white space drawn from `rng`.

    A `Num` becomes a string, or with probability `bare` a bare number.
    """
    if rng is None and not bare:
        return json.dumps(tree, separators=(",", ":"))

    def space() -> str:
        return "" if rng is None else rng.choice(("", "", "", " ", "\n", "\t", "\r\n "))

    if isinstance(tree, Bare) or (isinstance(tree, Num) and bare and (bare >= 1 or (rng is not None and rng.random() < bare))):
        return str(tree)
    if isinstance(tree, dict):
        keys = list(tree)
        if rng is not None:
            rng.shuffle(keys)
        inner = ",".join(f"{space()}{json.dumps(key)}{space()}:{space()}{write(tree[key], rng, bare)}{space()}" for key in keys)
        return f"{{{inner}}}"
    if isinstance(tree, list):
        return f"[{','.join(space() + write(item, rng, bare) + space() for item in tree)}]"
    return json.dumps(tree)


def rewritten(frame: bytes | bytearray, rng: Random) -> bytes:
    """The same message with other white space and order of keys; of a key that stands twice the last is kept."""
    tree = json.loads(frame, parse_float=Bare, parse_int=Bare)
    return (rng.choice((" ", "\n", "")) + write(tree, rng) + rng.choice((" ", "\n", ""))).encode()


# Decoded messages


def payload_of(topic: str, tree: Any, bare: float = 0.0) -> Any:
    """The typed payload of a topic, decoded twice so that the topic is known; both times the same."""
    frame = envelope(topic, write(tree, bare=bare))
    message = decode(frame)
    assert isinstance(message, Subscription)
    again = decode(frame)
    assert isinstance(again, Subscription)
    return again.data


def order_of(**fields: Any) -> PrivateOrder:
    """Our order with fields changed."""
    return payload_of("7.orders", [{**inputs().payload("order")[0], **fields}])[0]  # type: ignore[no-any-return]


def fill_of(**fields: Any) -> PrivateTrade:
    """Our private trade with fields changed."""
    return payload_of("7.trades", [{**inputs().payload("private_trade")[0], **fields}])[0]  # type: ignore[no-any-return]


# Numbers


def number_text(rng: Random, precision: int = 2) -> str:
    """A legal number's text: plain ones first of all, and each of the hard sorts now and then."""
    match rng.randrange(14):
        case 0:
            return str(rng.randrange(0, 10**6))
        case 1:
            return _decimals(rng, precision + rng.randrange(1, 12))
        case 2:
            return _decimals(rng, precision) + ("5" if precision else ".5") + "0" * rng.randrange(3)
        case 3:
            return "-" + _decimals(rng, precision + rng.randrange(3))
        case 4:
            return rng.choice(("0", "0.0", "-0", "0.000", "0e5", "-0.00"))
        case 5:
            return f"{_decimals(rng, rng.randrange(4))}{rng.choice('eE')}{rng.randrange(-60, 61)}"
        case 6:
            return _scaled_near(rng, precision)
        case 7:
            digits = str(rng.randrange(10**39, 10**40))
            at = rng.randrange(1, 40)
            return f"{digits[:at]}.{digits[at:]}"
        case 8:
            return "0." + "0" * rng.randrange(precision + 3) + str(rng.randrange(1, 100))
        case _:
            return _decimals(rng, rng.randrange(precision + 1))


def snapshot(instrument_name: str, bids: bytes, asks: bytes) -> OrderBook:
    """A book message of these sides' JSON; publication id and timestamp are 1."""
    return OrderBook(asks=Raw(asks), bids=Raw(bids), instrument_name=instrument_name, publish_id=1, timestamp=1)


def _decimals(rng: Random, places: int) -> str:
    whole = str(rng.randrange(0, 10 ** rng.randrange(1, 6)))
    return f"{whole}.{rng.randrange(10**places):0{places}d}" if places else whole


def _scaled_near(rng: Random, precision: int) -> str:
    """A value whose scaled integer lies where doubles stop being exact, a fraction of a unit away from it."""
    raw = 2 ** rng.randrange(44, 56) + rng.randrange(-3, 4)
    tail = rng.choice(("", "5", "25", "75", "49", "51", "4999999999", "5000000001", "0000000001"))
    digits = f"{raw:0{precision + 1}d}"
    fraction = digits[len(digits) - precision :] + tail
    return digits[: len(digits) - precision] + (f".{fraction}" if fraction else "")
