"""Micros: private payloads to execution events, and the small pieces that the hot path is made of.

Covered: dispatch of orders and trades, on a state made for each call and on one that lives long (`_steady`); parsing of
private messages into reports; numbers, ids, events, lookups and the state's own cost. Left out: decoding, which the `data`
suite measures, and what a client does with an event: the emitter here keeps the last one.

A `_steady` row dispatches 8,192 distinct orders or trades in turn. Each is decoded, and its order registered anew, ahead of
the timed stretch; after a round the first trade ids have long left the bounded set. A `_consumed` twin reads the exact
decimals that OrderFilled makes when asked. Numbers are taken at the instrument's price precision.
"""

from __future__ import annotations

from collections import deque
from itertools import cycle
from typing import TYPE_CHECKING, Any

from derive_bench.measure.rows import Suite

if TYPE_CHECKING:
    from collections.abc import Callable

    from derive_bench.adapter.dispatch import ExecutionState, OrderIdentity
    from derive_bench.adapter.messages import PrivateOrder, PrivateTrade
    from derive_bench.measure.inputs import Inputs

suite = Suite("micros", "private payloads to execution events, and the pieces of the hot path")

STEADY_COUNT = 8_192
TRADES_SEEN = 4_096

LABEL = "mm7-7c23ec29aada"
VENUE_ORDER_ID = "b20a3c5b-7d05-470f-a1ee-f09124811f10"
TRADE_ID = "673d9723-d6b1-4817-a527-d4a41c413d07"


def _payload(frame: bytes) -> list[Any]:
    from derive_bench.adapter.frames import Subscription, decode

    message = decode(frame)
    if not isinstance(message, Subscription):
        raise TypeError(f"not a subscription's message: {frame[:80]!r}")
    payload: list[Any] = message.data
    return payload


def _identity() -> OrderIdentity:
    from derive_bench.adapter.dispatch import OrderIdentity
    from derive_bench.adapter.model import OrderSide, OrderType

    return OrderIdentity("ETH-PERP.DERIVE", "S-001", OrderSide.BUY, OrderType.LIMIT)


def _prime(state: ExecutionState, message: PrivateOrder | PrivateTrade) -> None:
    """Register, bind and mark as accepted the order that a message is about."""
    label = message.label or ""
    state.register(label, _identity())
    tracked = state.find(label)
    if tracked is not None:
        tracked.venue_order_id = message.order_id
        tracked.accepted = True


def _last() -> Callable[[object], None]:
    """An emitter that keeps the last emission: the least that a receiver can do, and the release of the one before."""
    return deque[object](maxlen=1).append


def _consume(event: Any) -> None:
    _ = event.last_qty, event.last_px, event.commission


# Dispatch on a state of its own


@suite.row(
    "dispatch/orders_untracked",
    "x.on_orders(payload, 0)",
    fresh="make",
    summary="orders payload without identity -> OrderStatusReport, state made beforehand",
    parts=("parse_only/order_report", "atom/identity_lookup"),
    control="control/orjson_loads_order",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.dispatch import Dispatcher

    emit = _last()
    return {"payload": _payload(inputs.frame("order")), "make": lambda: Dispatcher(emit)}


@suite.row(
    "dispatch/orders_tracked",
    "x.on_orders(payload, 0)",
    fresh="make",
    summary="orders payload of a registered order -> OrderAccepted, state made beforehand",
    parts=("atom/identity_lookup", "atom/uuid4_new", "atom/event_accepted"),
    control="control/orjson_loads_order",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.dispatch import Dispatcher

    payload = _payload(inputs.frame("order"))
    label, identity, emit = payload[0].label, _identity(), _last()

    def make() -> Dispatcher:
        dispatcher = Dispatcher(emit)
        dispatcher.register(label, identity)
        return dispatcher

    return {"payload": payload, "make": make}


def _primed_for_trade(inputs: Inputs, emit: Callable[[Any], object]) -> dict[str, Any]:
    from derive_bench.adapter.dispatch import Dispatcher

    payload = _payload(inputs.frame("private_trade"))

    def make() -> Dispatcher:
        dispatcher = Dispatcher(emit)
        _prime(dispatcher.state, payload[0])
        return dispatcher

    return {"payload": payload, "make": make}


FILL_PARTS = ("atom/identity_lookup", "atom/check_trade_numbers", "atom/uuid4_new", "atom/event_filled", "atom/dedup_trade_add")

suite.row(
    "dispatch/trades_fill",
    "x.on_trades(payload, 0)",
    fresh="make",
    summary="trades payload of an accepted order -> OrderFilled, state made beforehand",
    parts=FILL_PARTS,
    control="control/orjson_loads_private_trade",
)(lambda inputs: _primed_for_trade(inputs, _last()))

suite.row(
    "dispatch/trades_fill_consumed",
    "x.on_trades(payload, 0)",
    fresh="make",
    summary="the same, price, quantity and commission read as decimals",
    parts=("dispatch/trades_fill",),
    control="control/orjson_loads_private_trade",
)(lambda inputs: _primed_for_trade(inputs, _consume))


# Dispatch on one long-lived state


@suite.row(
    "dispatch/orders_untracked_steady",
    "on_orders(x, 0)",
    fresh="make",
    summary="8,192 distinct orders without identity -> OrderStatusReport, one state",
    parts=("parse_only/order_report_cold", "atom/identity_lookup"),
    control="control/orjson_loads_order_cold",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.dispatch import Dispatcher

    frames = cycle(inputs.frames_cold("order", STEADY_COUNT))
    return {"on_orders": Dispatcher(_last()).on_orders, "make": lambda: _payload(next(frames))}


@suite.row(
    "dispatch/orders_tracked_steady",
    "on_orders(x, 0)",
    fresh="make",
    summary="8,192 distinct registered orders -> OrderAccepted, one state",
    parts=("atom/identity_lookup", "atom/uuid4_new", "atom/event_accepted"),
    control="control/orjson_loads_order_cold",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.dispatch import Dispatcher

    dispatcher, identity = Dispatcher(_last()), _identity()
    frames = cycle(inputs.frames_cold("order", STEADY_COUNT))

    def make() -> Any:
        payload = _payload(next(frames))
        dispatcher.forget(payload[0].label)
        dispatcher.register(payload[0].label, identity)
        return payload

    return {"on_orders": dispatcher.on_orders, "make": make}


def _steady_trades(inputs: Inputs, emit: Callable[[Any], object]) -> dict[str, Any]:
    from derive_bench.adapter.dispatch import Dispatcher

    dispatcher = Dispatcher(emit)
    frames = inputs.frames_cold("private_trade", STEADY_COUNT)
    for frame in frames:
        _prime(dispatcher.state, _payload(frame)[0])
    source = cycle(frames)
    return {"on_trades": dispatcher.on_trades, "make": lambda: _payload(next(source))}


suite.row(
    "dispatch/trades_fill_steady",
    "on_trades(x, 0)",
    fresh="make",
    summary="8,192 distinct trades of accepted orders -> OrderFilled, one state",
    parts=FILL_PARTS,
    control="control/orjson_loads_private_trade_cold",
)(lambda inputs: _steady_trades(inputs, _last()))

suite.row(
    "dispatch/trades_fill_steady_consumed",
    "on_trades(x, 0)",
    fresh="make",
    summary="the same, price, quantity and commission read as decimals",
    parts=("dispatch/trades_fill_steady",),
    control="control/orjson_loads_private_trade_cold",
)(lambda inputs: _steady_trades(inputs, _consume))


# Private messages to reports


@suite.row(
    "parse_only/order_report",
    "parse_order_report(x, 0)",
    cold="messages",
    summary="PrivateOrder message -> OrderStatusReport",
    control="control/orjson_loads_order",
)
@suite.row(
    "parse_only/order_report_consumed",
    "report = parse_order_report(x, 0)\nreport.quantity, report.filled_qty, report.price, report.avg_px, report.trigger_price",
    cold="messages",
    summary="PrivateOrder message -> OrderStatusReport, all numbers read as decimals",
    control="control/orjson_loads_order",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.inbound import parse_order_report

    return {"parse_order_report": parse_order_report} | _messages(inputs, "order")


@suite.row(
    "parse_only/fill_report",
    "parse_fill_report(x, 0)",
    cold="messages",
    summary="PrivateTrade message -> FillReport",
    control="control/orjson_loads_private_trade",
)
@suite.row(
    "parse_only/fill_report_consumed",
    "report = parse_fill_report(x, 0)\nreport.last_qty, report.last_px, report.commission",
    cold="messages",
    summary="PrivateTrade message -> FillReport, all numbers read as decimals",
    control="control/orjson_loads_private_trade",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.inbound import parse_fill_report

    return {"parse_fill_report": parse_fill_report} | _messages(inputs, "private_trade")


def _messages(inputs: Inputs, name: str) -> dict[str, Any]:
    return {
        "x": _payload(inputs.frame(name))[0],
        "messages": lambda: [_payload(frame)[0] for frame in inputs.frames_cold(name)],
    }


# Numbers


def _prices(inputs: Inputs) -> list[str]:

    return [_payload(frame)[0].limit_price for frame in inputs.frames_cold("order")]


def _precision(inputs: Inputs) -> int:
    from derive_bench.adapter.instruments import InstrumentRegistry

    return InstrumentRegistry(inputs.instruments)["ETH-PERP"].price_precision


@suite.row("atom/decimal_from_str", "exact(x)", cold="texts", summary="number text -> exact Decimal, legality checked")
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.numbers import exact

    return {"exact": exact, "x": "2873.12", "texts": lambda: _prices(inputs)}


@suite.row(
    "atom/price_from_decimal_dp",
    "int(x.scaleb(precision, WIDE).to_integral_value(HALF_EVEN, WIDE))",
    cold="values",
    summary="Decimal -> integer at price precision, half-even: the exact way of `scaled`",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from decimal import ROUND_HALF_EVEN, Decimal

    from derive_bench.adapter.numbers import WIDE

    return {
        "WIDE": WIDE,
        "HALF_EVEN": ROUND_HALF_EVEN,
        "precision": _precision(inputs),
        "x": Decimal("2873.12"),
        "values": lambda: [Decimal(text) for text in _prices(inputs)],
    }


@suite.row("atom/price_combined", "scaled(x, precision)", cold="texts", summary="number text -> integer at price precision")
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.numbers import scaled

    return {"scaled": scaled, "precision": _precision(inputs), "x": "2873.12", "texts": lambda: _prices(inputs)}


@suite.row("atom/check_trade_numbers", "check_fill_numbers(x)", summary="legality of a trade's amount, price and fee, in one look")
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.inbound import check_fill_numbers

    return {"check_fill_numbers": check_fill_numbers, "x": _payload(inputs.frame("private_trade"))[0]}


# Ids and events


@suite.row("atom/trade_id_new", "text(x)", summary="JSON of a trade id -> its str, which is the trade id")
def _(inputs: Inputs) -> dict[str, Any]:
    import msgspec

    return {"text": msgspec.json.Decoder(str).decode, "x": f'"{TRADE_ID}"'.encode()}


@suite.row("atom/uuid4_new", "new_event_id()", summary="a random UUID for an event")
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.events import new_event_id

    return {"new_event_id": new_event_id}


@suite.row(
    "atom/event_accepted",
    "OrderAccepted(event_id, LABEL, VENUE_ORDER_ID, instrument, strategy, 1, 2)",
    summary="an OrderAccepted from its fields",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.events import OrderAccepted, new_event_id

    return {
        "OrderAccepted": OrderAccepted,
        "event_id": new_event_id(),
        "LABEL": LABEL,
        "VENUE_ORDER_ID": VENUE_ORDER_ID,
        "instrument": "ETH-PERP.DERIVE",
        "strategy": "S-001",
    }


@suite.row(
    "atom/event_filled",
    "OrderFilled(event_id, LABEL, VENUE_ORDER_ID, instrument, strategy, TRADE_ID, side, kind, qty, price, fee, 'USDC', maker, 1, 2)",
    summary="an OrderFilled from its fields",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.events import OrderFilled, new_event_id
    from derive_bench.adapter.model import LiquiditySide, OrderSide, OrderType

    return {
        "OrderFilled": OrderFilled,
        "event_id": new_event_id(),
        "LABEL": LABEL,
        "VENUE_ORDER_ID": VENUE_ORDER_ID,
        "TRADE_ID": TRADE_ID,
        "instrument": "ETH-PERP.DERIVE",
        "strategy": "S-001",
        "side": OrderSide.BUY,
        "kind": OrderType.LIMIT,
        "qty": "1.125",
        "price": "2873.85",
        "fee": "0.323308125",
        "maker": LiquiditySide.MAKER,
    }


# State


def _seen(inputs: Inputs) -> ExecutionState:
    """A state that has seen as many trades as it keeps, the last of them TRADE_ID."""
    from derive_bench.adapter.dispatch import ExecutionState

    state = ExecutionState()
    for number in range(TRADES_SEEN):
        state.trade_ids.add(f"{number:08x}{TRADE_ID[8:]}")
    state.trade_ids.add(TRADE_ID)
    return state


@suite.row("atom/dedup_trade_hit", "TRADE_ID in seen", summary="a trade id already seen, among 4,096")
def _(inputs: Inputs) -> dict[str, Any]:
    return {"TRADE_ID": "".join(TRADE_ID), "seen": _seen(inputs).trade_ids.items}


@suite.row("atom/dedup_trade_add", "add(x)", each="ids", summary="a new trade id among 4,096, the oldest falls out")
def _(inputs: Inputs) -> dict[str, Any]:
    return {"add": _seen(inputs).trade_ids.add, "ids": [f"{TRADE_ID[:28]}{number:08x}" for number in range(2 * TRADES_SEEN)]}


@suite.row("atom/identity_lookup", "find(LABEL)", summary="the order of a label")
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.dispatch import ExecutionState

    state = ExecutionState()
    state.register(LABEL, _identity())
    return {"find": state.find, "LABEL": LABEL}


CONSTRUCT = """\
state = ExecutionState()
state.register(LABEL, identity)
tracked = state.find(LABEL)
tracked.venue_order_id = VENUE_ORDER_ID
tracked.accepted = True
x.append(state)"""


@suite.row("atom/state_construct_primed", CONSTRUCT, fresh="make", summary="a state with one identity, bound and accepted")
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.dispatch import ExecutionState

    return {
        "ExecutionState": ExecutionState,
        "identity": _identity(),
        "LABEL": LABEL,
        "VENUE_ORDER_ID": VENUE_ORDER_ID,
        "make": list,
    }


@suite.row("atom/state_drop_primed", "x.clear()", fresh="make", summary="the release of such a state")
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.dispatch import ExecutionState

    def make() -> list[ExecutionState]:
        state = ExecutionState()
        state.register(LABEL, _identity())
        tracked = state.find(LABEL)
        if tracked is not None:
            tracked.venue_order_id = VENUE_ORDER_ID
            tracked.accepted = True
        return [state]

    return {"make": make}


@suite.row("atom/empty_call", "call()", summary="a call of a Python function without arguments")
def _(inputs: Inputs) -> dict[str, Any]:
    def call() -> None:
        pass

    return {"call": call}
