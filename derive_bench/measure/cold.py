"""Cold inputs: many messages of one shape in which every value is new.

A row that feeds one fixed frame lets caches answer: interned texts, memo tables, branch predictors. `texts` takes a
payload and writes `count` payloads of the same keys, nesting and sizes, with these rules:

- **prices** (`PRICES`) move together by whole ticks, so that ladders stay monotone, bid below ask and high above low.
  Each payload moves on to where none of its prices was used before. A book moves by more than its own width each time,
  centred on where it was; one too wide for its number of digits is drawn together to a level per tick. Prices finer
  than the tick (mark and index prices of trades) also get new digits below the tick.
- **amounts and all other numbers** keep sign, number of digits and number of decimals where this leaves enough distinct
  values; where it does not (0.9 or 12.5 have 9 and 810 neighbours) they get a decimal more, up to the amount step, then
  an integer digit more. Books come out 1 to 4 % longer than their fixed frame for this.
- **ids** (uuids, hex hashes, wallets, labels, nonces, subaccounts of public trades) keep form and length. Within one
  payload a repeated id stays a repeated id.
- **timestamps** run on by a second, or by as many as one payload spans (three candles by three candles).
- zeros, nulls, booleans, names, enum values and empty texts stay as they are: a zero means "none" here. A private
  payload keeps its subaccount and signer, and a market's limits and fee rates are its own.

Within one list no price, amount, id, label or timestamp comes twice, so a list of 1,000 or more can be cycled and still
nothing repeats within 1,000 inputs. Values are drawn from a generator seeded by the input's name: each call and each
machine gives the same texts. Payloads are written by filling a text template column by column; 1,024 books of 100
levels take a fraction of a second.
"""

from __future__ import annotations

import json
import random
import re
from decimal import Decimal
from itertools import pairwise
from math import gcd
from typing import Any, NamedTuple

__all__ = ["ColdOrder", "instrument_name", "orders", "texts"]

Column = list[str]

# fmt: off
PRICES = frozenset(
    {
        "a", "b", "h", "l", "I", "M", "minp", "maxp", "m", "best_ask_price", "best_bid_price", "index_price",
        "mark_price", "min_price", "max_price", "high", "low", "trade_price", "limit_price", "average_price",
        "trigger_price", "open_price", "high_price", "low_price", "close_price", "forward_price",
    }
)
AMOUNTS = frozenset(
    {
        "A", "B", "amount", "filled_amount", "trade_amount", "best_ask_amount", "best_bid_amount",
    }
)
TIMES = frozenset(
    {
        "timestamp", "t", "creation_timestamp", "last_update_timestamp", "signature_expiry_sec", "timestamp_bucket",
    }
)
IDS = frozenset(
    {
        "trade_id", "order_id", "quote_id", "rfq_id", "op_uuid", "replaced_order_id", "transaction_id", "tx_hash",
        "signature", "wallet", "label", "nonce", "publish_id",
    }
)
#: Texts that look like numbers and are not a message's own values.
CONSTANT = frozenset(
    {
        "signer", "instrument_name", "tick_size", "amount_step", "minimum_amount", "maximum_amount",
        "base_asset_sub_id", "base_asset_address", "strike", "expiry", "maker_fee_rate", "taker_fee_rate",
        "base_fee", "mark_price_fee_rate_cap", "max_rate_per_hour", "min_rate_per_hour", "static_interest_rate",
        "scheduled_activation", "scheduled_deactivation", "algo_duration_sec", "algo_num_slices",
        "algo_slices_completed",
    }
)
# fmt: on

#: Members of one object whose values rise in this order.
ASCENDING = (("filled_amount", "amount"), ("bi", "i", "ai"), ("bid_iv", "iv", "ask_iv"))

#: The decimals of a number by its last digits, without trailing zeros.
_ENDS = {d: ["" if n == 0 else f".{n:0{d}d}".rstrip("0") for n in range(10**d)] for d in (1, 2, 3)}
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_MAX_DECIMALS = 12
#: Timestamps below this are seconds, others milliseconds.
_SECONDS_BELOW = 10**11
#: From this many prices on, a payload is a ladder and moves by its whole width at a time.
_LADDER = 10


class ColdOrder(NamedTuple):
    """An order command in wire terms; `order_id` is that of the order to cancel or replace."""

    instrument_name: str
    side: str
    price: str
    amount: str
    label: str
    order_id: str


class _Leaf(NamedTuple):
    key: str
    parent: int
    value: str | int


def instrument_name(payload: Any) -> str | None:
    """The first `instrument_name` in a payload, if there is any."""
    if isinstance(payload, dict):
        if isinstance(name := payload.get("instrument_name"), str):
            return name
        payload = list(payload.values())
    if isinstance(payload, list):
        return next(filter(None, map(instrument_name, payload)), None)
    return None


def orders(record: dict[str, Any], count: int) -> list[ColdOrder]:
    """`count` commands for the instrument of the venue record, prices from 287,431 ticks up."""
    rng = _generator(f"orders/{record['instrument_name']}")
    tick, step, minimum = (Decimal(record[key]) for key in ("tick_size", "amount_step", "minimum_amount"))
    first = 287_431
    prices = [_plain(tick * (first + n)) for n in range(count)]
    rng.shuffle(prices)
    amounts = [_plain(minimum + step * n) for n in range(1, count + 1)]
    rng.shuffle(amounts)
    name = str(record["instrument_name"])
    sides = rng.choices(("buy", "sell"), k=count)
    labels = _hex_column(rng, "mm7-", 12, count)
    ids = _uuid_column(rng, count)
    return [ColdOrder(name, *values) for values in zip(sides, prices, amounts, labels, ids, strict=True)]


def texts(payload: Any, record: dict[str, Any], count: int, seed: str) -> list[str]:
    """`count` payloads like `payload`, as compact JSON texts; `record` is the venue's record of its instrument."""
    rng = _generator(seed)
    template, leaves = _template(payload)
    private = _has_key(payload, "signer") or _has_key(payload, "is_transfer")
    columns = _columns(leaves, Decimal(record["tick_size"]), Decimal(record["amount_step"]), private, count, rng)
    return [template % row for row in zip(*columns, strict=True)] if columns else [template % ()] * count


def _generator(seed: str) -> random.Random:
    return random.Random(seed)  # noqa: S311 (repeatable values, no secrets)


def _template(payload: Any) -> tuple[str, list[_Leaf]]:
    """The payload's text with a `%s` for each value that changes, and those values in order."""
    leaves: list[_Leaf] = []
    objects = iter(range(1_000_000))

    def write(value: Any, key: str, parent: int) -> str:
        if isinstance(value, dict):
            own = next(objects)
            forward = "df" in value  # in option pricing, f is the forward price; beside it, the funding rate
            names = {k: "forward_price" if k == "f" and forward else k for k in value}
            return "{" + ",".join(f"{_escaped(k)}:{write(v, names[k], own)}" for k, v in value.items()) + "}"
        if isinstance(value, list):
            if key in ("bids", "asks"):
                return "[" + ",".join(map(write_level, value)) + "]"
            return "[" + ",".join(write(v, key, parent) for v in value) + "]"
        if not _changes(key, value):
            return _escaped(value)
        leaves.append(_Leaf(key, parent, value))
        return '"%s"' if isinstance(value, str) else "%s"

    def write_level(level: Any) -> str:
        own = next(objects)
        return f"[{write(level[0], 'limit_price', own)},{write(level[1], 'amount', own)}]"

    return write(payload, "", -1), leaves


def _changes(key: str, value: Any) -> bool:
    if key in CONSTANT or isinstance(value, bool) or not value:
        return False
    if isinstance(value, int):
        return True
    if not isinstance(value, str):
        return False
    return key in IDS or (_NUMBER.fullmatch(value) is not None and value.strip("-0.") != "")


def _columns(leaves: list[_Leaf], tick: Decimal, step: Decimal, private: bool, count: int, rng: random.Random) -> list[Column]:
    """For each leaf its `count` texts."""
    columns: list[Column] = [[]] * len(leaves)
    prices = {n: leaf.value for n, leaf in enumerate(leaves) if leaf.key in PRICES and isinstance(leaf.value, str)}
    price_columns = _price_columns(list(dict.fromkeys(prices.values())), tick, count, rng)
    for n, price in prices.items():
        columns[n] = price_columns[price]
    stamps: dict[str, list[int]] = {}
    for key, _, value in leaves:
        if key in TIMES and isinstance(value, int):
            stamps.setdefault(key, []).append(value)
    time_step = _time_step(stamps)
    numbers = _Numbers(count, rng)
    ids: dict[str | int, Column] = {}
    for n, (key, _, value) in enumerate(leaves):
        if columns[n]:
            continue
        if key in TIMES and isinstance(value, int):
            each = time_step if value < _SECONDS_BELOW else time_step * 1000
            columns[n] = [str(value + each * later) for later in range(1, count + 1)]
        elif key == "subaccount_id" and private:
            columns[n] = [str(value)] * count
        elif key in IDS or key == "subaccount_id":
            if value not in ids:
                ids[value] = _id_column(value, count, rng)
            columns[n] = ids[value]
        else:
            unit_size = step if key in AMOUNTS else None
            columns[n] = numbers.column(str(value), unit_size, integer=isinstance(value, int) or key == "num_trades")
    _keep_order(leaves, columns)
    return columns


def _price_columns(values: list[str], tick: Decimal, count: int, rng: random.Random) -> dict[str, Column]:
    """A column for each distinct price of one payload; they move together by whole ticks."""
    columns: dict[str, Column] = {}
    exponent = tick.as_tuple().exponent
    decimals = max(0, -exponent) if isinstance(exponent, int) else 0
    ticks = [int(Decimal(value) // tick) for value in values]
    shifts, ticks = _shifts(ticks, [len(v.partition(".")[2]) <= decimals for v in values], tick, count)
    unit = int(tick.scaleb(decimals))
    for value, base in zip(values, ticks, strict=True):
        numbers = [(base + shift) * unit for shift in shifts]
        finer = len(value.partition(".")[2]) - decimals
        if finer > 0:
            below = _below(finer, count, rng)
            numbers = [number * 10**finer + digits for number, digits in zip(numbers, below, strict=True)]
        columns[value] = _written(numbers, decimals + max(0, finer))
    return columns


def _shifts(ticks: list[int], on_tick: list[bool], tick: Decimal, count: int) -> tuple[list[int], list[int]]:
    """How many ticks each payload is away from the fixed one, and the fixed prices, drawn together if they must be."""
    ladder = sorted({value for value, on in zip(ticks, on_tick, strict=True) if on})
    if len(ladder) > _LADDER:
        low, high = ladder[0], ladder[-1]
        floor = int(Decimal(10) ** Decimal(tick * low).adjusted() / tick)
        room = floor * 10 - floor
        if (high - low + 1) * count > room:
            place = {value: low + n for n, value in enumerate(ladder)}
            ticks = [place.get(value, value) for value in ticks]
            high = low + len(ladder) - 1
        width = high - low + 1
        start = max(floor - low, -(width * count) // 2)
        return [start + width * n + (width if start + width * n >= 0 else 0) for n in range(count)], ticks
    used = set(ladder)
    shifts, shift = [], 0
    for _ in range(count):
        shift += 1
        while not used.isdisjoint(value + shift for value in ladder):
            shift += 1
        used.update(value + shift for value in ladder)
        shifts.append(shift)
    return shifts, ticks


class _Numbers:
    """Distinct decimal texts of given sizes; no two columns share a text."""

    def __init__(self, count: int, rng: random.Random) -> None:
        self._count = count
        self._rng = rng
        self._pools: dict[tuple[bool, int, int], _Pool] = {}

    def column(self, value: str, step: Decimal | None, integer: bool) -> Column:
        """`count` texts as long as `value`, or a little longer; multiples of `step` if there is one."""
        sign = "-" if value.startswith("-") else ""
        whole, _, fraction = value.lstrip("-").partition(".")
        decimals, limit = len(fraction), _MAX_DECIMALS
        digits = max(1, len((whole + fraction).lstrip("0")))
        unit = 1
        if integer:
            limit = 0
        elif step is not None:
            exponent = step.as_tuple().exponent
            limit = max(0, -exponent) if isinstance(exponent, int) else 0
            unit = int(step.scaleb(limit))
            if unit != 1 or decimals > limit:
                digits, decimals = digits + limit - decimals, limit
        while (pool := self._pool(unit, max(1, digits), decimals)).left < self._count:
            digits += 1
            decimals += decimals < limit
        column = _written(pool.take(self._count), decimals)
        return [sign + text for text in column] if sign else column

    def _pool(self, unit: int, digits: int, decimals: int) -> _Pool:
        key = (unit != 1, digits, decimals)
        if key not in self._pools:
            self._pools[key] = _Pool(unit, digits, self._rng)
        return self._pools[key]


class _Pool:
    """The integers of a number of digits in a scattered order: those not ending in 0, or the multiples of a unit."""

    def __init__(self, unit: int, digits: int, rng: random.Random) -> None:
        self._low = int(10 ** (digits - 1))
        self._unit = unit
        whole = self._low * 9 // unit
        self._size = whole if unit != 1 or digits == 1 else whole // 10 * 9
        self._plain = unit == 1 and digits > 1
        self._stride = max(1, int(self._size * 0.6180339887))
        while gcd(self._stride, self._size) != 1 and self._size > 1:
            self._stride += 1
        self._start = rng.randrange(self._size) if self._size else 0
        self._taken = 0

    @property
    def left(self) -> int:
        return self._size - self._taken

    def take(self, count: int) -> list[int]:
        size, stride = self._size, self._stride
        first = self._start + self._taken * stride
        self._taken += count
        places = [(first + n * stride) % size for n in range(count)]
        if self._plain:
            low = self._low // 10
            return [(low + place // 9) * 10 + place % 9 + 1 for place in places]
        base = -(-self._low // self._unit)
        return [(base + place) * self._unit for place in places]


def _keep_order(leaves: list[_Leaf], columns: list[Column]) -> None:
    """Put the values of related members of one object back in their order, payload by payload."""
    places: dict[tuple[int, str], int] = {(leaf.parent, leaf.key): n for n, leaf in enumerate(leaves)}
    for (parent, key), _ in list(places.items()):
        for names in ASCENDING:
            if key != names[-1]:
                continue
            group = [places[parent, name] for name in names if (parent, name) in places]
            if len({leaves[n].value for n in group}) == 1:
                for n in group:
                    columns[n] = columns[group[-1]]
            else:
                rows = [sorted(row, key=Decimal) for row in zip(*(columns[n] for n in group), strict=True)]
                for n, column in zip(group, zip(*rows, strict=True), strict=True):
                    columns[n] = list(column)


def _time_step(stamps: dict[str, list[int]]) -> int:
    """Whole seconds from one payload to the next: more than one payload spans, and whole candles for candles."""
    values = [value for values in stamps.values() for value in values]
    spans = [0]
    for seconds in (True, False):
        kind = [value for value in values if (value < _SECONDS_BELOW) is seconds]
        if kind:
            spans.append((max(kind) - min(kind)) // (1 if seconds else 1000))
    buckets = stamps.get("timestamp_bucket", [])
    spacing = gcd(*(later - earlier for earlier, later in pairwise(buckets))) or 1
    return -(-(max(spans) + 1) // spacing) * spacing


def _id_column(value: str | int, count: int, rng: random.Random) -> Column:
    if isinstance(value, int) or value.isdigit():
        return _counter_column(int(value), count)
    if _UUID.fullmatch(value):
        return _uuid_column(rng, count)
    if re.fullmatch(r"0x[0-9a-fA-F]{8,}", value):
        return _hex_column(rng, "0x", len(value) - 2, count)
    tail = min(12, max(8, len(value) - 4))
    head = re.sub(r"[^\w.:/-]", "_", value[: max(0, len(value) - tail)], flags=re.ASCII)
    return _hex_column(rng, head, tail, count)


def _counter_column(first: int, count: int) -> Column:
    """Rising numbers of the same length: nonces by about a second of their unit, short ids by a few."""
    stride = max(1, min(1_000_003_337, first // (20 * count)))
    return [str(first + stride * n) for n in range(1, count + 1)]


def _uuid_column(rng: random.Random, count: int) -> Column:
    column = []
    for _ in range(count):
        t = f"{rng.getrandbits(128):032x}"
        column.append(f"{t[:8]}-{t[8:12]}-4{t[13:16]}-{'89ab'[int(t[16], 16) & 3]}{t[17:20]}-{t[20:]}")
    return column


def _hex_column(rng: random.Random, prefix: str, digits: int, count: int) -> Column:
    column: dict[str, None] = {}
    while len(column) < count:
        column[f"{prefix}{rng.getrandbits(4 * digits):0{digits}x}"] = None
    return list(column)


def _below(digits: int, count: int, rng: random.Random) -> list[int]:
    """`count` integers of up to `digits` digits that do not end in 0."""
    top = 10 ** (digits - 1)
    return [int(rng.random() * top) * 10 + int(rng.random() * 9) + 1 for _ in range(count)]


def _written(numbers: list[int], decimals: int) -> Column:
    """Integers at 10**-decimals as plain texts without trailing zeros."""
    if not decimals:
        return [str(number) for number in numbers]
    scale = 10**decimals
    if decimals <= 3:
        ends = _ENDS[decimals]
        return [f"{number // scale}{ends[number % scale]}" for number in numbers]
    return [f"{number // scale}.{number % scale:0{decimals}d}".rstrip("0").rstrip(".") for number in numbers]


def _plain(value: Decimal) -> str:
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _escaped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("%", "%%")


def _has_key(payload: Any, key: str) -> bool:
    first = payload[0] if isinstance(payload, list) and payload else payload
    return isinstance(first, dict) and key in first
