"""Commands to wire bytes: everything between an order object and what the socket sends.

Covered: limit and market orders, replacements (``modify``) and cancels, as bare params with the nonce given, and as whole
requests with nonce and id from their sources (``_rpc``); signed plainly and from a presigned pool. Left out: trigger orders,
which are limit or market orders with three members more, and the other cancels, which are cancels with other ids.

An order row begins at an `OrderCommand` whose price and amount are decimals, and its guards run and pass on a fixed clock:
tick, step, limits, ranges, expiry, nonce window. Inputs are the two fixed sets of ROWS.md. The ``_cold`` twins have 1,024
commands of which no two have a price, an amount, an id, a label or a nonce in common; as in a stream of orders, the max fee
stays, and so does the expiry, as long as the second lasts.

``atom/order_json`` is all that an order row does besides signing: guards and JSON are one pass.

The key is a well-known test key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from typing import TYPE_CHECKING, Any

from derive_bench.measure.rows import Suite

if TYPE_CHECKING:
    from derive_bench.adapter.outbound import OrderCommand, OrderEncoder, ReplaceOrder
    from derive_bench.adapter.signing import PresignPool
    from derive_bench.measure.inputs import Inputs

suite = Suite("exec", "commands to signed wire bytes")

TEST_KEY = "0x2ae8be44db8a590d20bffbe3b6872df9b569147d3bf6801a35a28281a4816bbd"
WALLET = "0x000000000000000000000000000000000000aaaa"
SUBACCOUNT_ID = 30769
INSTRUMENT = {
    "instrument_name": "ETH-PERP",
    "instrument_type": "perp",
    "is_active": True,
    "base_currency": "ETH",
    "quote_currency": "USDC",
    "base_asset_address": "0x000000000000000000000000000000000000abcd",
    "base_asset_sub_id": "42",
    "taker_fee_rate": "0.0003",
    "maker_fee_rate": "0.0001",
    "base_fee": "0.1",
    "maximum_amount": "100000",
}
RULES = {"tick_size": "0.01", "amount_step": "0.01", "minimum_amount": "0.01"}

CLOCKS_NS = {"v2": 1_700_000_000 * 10**9, "v3": 1_790_871_617 * 10**9}
NONCES = {"v2": 1_700_000_000_000_000, "v3": 1_790_871_617_137_835_612}
EXPIRIES_SEC = {"v2": 1_900_000_000, "v3": 1_790_871_617 + 600}
LABEL, ORDER_ID = "O-20261001-120017-001-000-1", "b5c3a1de-0f0e-4c6f-9d59-0c3c1d2e4f5a"

COLD_COUNT = 1_024
PRESIGNED_READY = 512
"""A presigned row's pool never holds fewer entries, so that each timed stretch finds one for every order."""

Command = Callable[["OrderCommand", str], Any]


def _encoder(inputs: Inputs, pool: PresignPool | None = None) -> OrderEncoder:
    from derive_bench.adapter.instruments import InstrumentRegistry
    from derive_bench.adapter.outbound import OrderEncoder
    from derive_bench.adapter.protocol import PROTOCOLS
    from derive_bench.adapter.signing import Signer

    # Tick and step are those that the cold orders keep to.
    record = next(record for record in inputs.instruments if record["instrument_name"] == "ETH-PERP")
    rules = {name: record.get(name, default) for name, default in RULES.items()}
    return OrderEncoder(
        Signer(TEST_KEY, presign=pool),
        PROTOCOLS[inputs.protocol_name],
        owner=WALLET,
        subaccount_id=SUBACCOUNT_ID,
        instruments=InstrumentRegistry([INSTRUMENT | rules]),
        clock_ns=lambda: CLOCKS_NS[inputs.dialect],
    )


def _limit(order: OrderCommand, order_id: str) -> OrderCommand:
    return order


def _market(order: OrderCommand, order_id: str) -> OrderCommand:
    from msgspec.structs import replace

    from derive_bench.adapter.model import OrderType
    from derive_bench.adapter.outbound import OrderTerms

    return replace(order, terms=OrderTerms(order_type=OrderType.MARKET))


def _modify(order: OrderCommand, order_id: str) -> ReplaceOrder:
    from derive_bench.adapter.outbound import ReplaceOrder

    return ReplaceOrder(order=order, order_id_to_cancel=order_id)


def _orders(inputs: Inputs, command: Command) -> dict[str, Any]:
    """`x` and `orders`: a command and its nonce, the fixed one and the cold ones."""
    from decimal import Decimal

    from derive_bench.adapter.model import OrderSide
    from derive_bench.adapter.outbound import OrderCommand

    # One object, as where a fee is set: see `OrderEncoder`.
    max_fee = Decimal(1000)
    nonce, expiry_sec = NONCES[inputs.dialect], EXPIRIES_SEC[inputs.dialect]

    def order(side: OrderSide, amount: str, price: str, label: str) -> OrderCommand:
        return OrderCommand(
            instrument_name="ETH-PERP",
            side=side,
            amount=Decimal(amount),
            limit_price=Decimal(price),
            max_fee=max_fee,
            expiry_sec=expiry_sec,
            label=label,
        )

    def cold() -> list[tuple[Any, int]]:
        # Some 7 ms apart, so that no more of a nonce's digits are constant than in a real stream of orders.
        step = 7_654_321 if inputs.dialect == "v3" else 7_654
        sides = {"buy": OrderSide.BUY, "sell": OrderSide.SELL}
        return [
            (command(order(sides[each.side], each.amount, each.price, each.label), each.order_id), nonce + number * step)
            for number, each in enumerate(inputs.orders_cold(COLD_COUNT))
        ]

    return {"x": (command(order(OrderSide.BUY, "1", "3500", LABEL), ORDER_ID), nonce), "orders": cold}


def _submit(inputs: Inputs, command: Command) -> dict[str, Any]:
    encoder = _encoder(inputs)
    return _orders(inputs, command) | {"submit": encoder.submit, "submit_rpc": encoder.submit_rpc}


def _replace(inputs: Inputs) -> dict[str, Any]:
    encoder = _encoder(inputs)
    return _orders(inputs, _modify) | {"replace": encoder.replace, "replace_rpc": encoder.replace_rpc}


SUBMIT, SUBMIT_RPC = "submit(x[0], x[1])", "submit_rpc(x[0])"
REPLACE, REPLACE_RPC = "replace(x[0], x[1])", "replace_rpc(x[0])"
SIGNED = ("signing/sign_trade_action", "atom/order_json")
SIGN_CONTROL = "control/ecdsa_sign"


@suite.row(
    "exec_pipeline/submit_limit",
    SUBMIT,
    cold="orders",
    summary="limit order, nonce given -> signed params",
    parts=SIGNED,
    control=SIGN_CONTROL,
)
@suite.row(
    "exec_pipeline/submit_limit_rpc",
    SUBMIT_RPC,
    cold="orders",
    summary="limit order -> signed request, nonce and id from their sources",
    parts=(*SIGNED, "signing/nonce_next"),
    control=SIGN_CONTROL,
)
def _(inputs: Inputs) -> dict[str, Any]:
    return _submit(inputs, _limit)


@suite.row(
    "exec_pipeline/submit_market",
    SUBMIT,
    cold="orders",
    summary="market order with its worst price, nonce given -> signed params",
    parts=SIGNED,
    control=SIGN_CONTROL,
)
@suite.row(
    "exec_pipeline/submit_market_rpc",
    SUBMIT_RPC,
    cold="orders",
    summary="market order -> signed request, nonce and id from their sources",
    parts=(*SIGNED, "signing/nonce_next"),
    control=SIGN_CONTROL,
)
def _(inputs: Inputs) -> dict[str, Any]:
    return _submit(inputs, _market)


@suite.row(
    "exec_pipeline/modify",
    REPLACE,
    cold="orders",
    summary="replacement of an order, nonce given -> signed params",
    parts=SIGNED,
    control=SIGN_CONTROL,
)
@suite.row(
    "exec_pipeline/modify_rpc",
    REPLACE_RPC,
    cold="orders",
    summary="replacement of an order -> signed request, nonce and id from their sources",
    parts=(*SIGNED, "signing/nonce_next"),
    control=SIGN_CONTROL,
)
def _(inputs: Inputs) -> dict[str, Any]:
    return _replace(inputs)


def _presigned(inputs: Inputs, command: Command) -> dict[str, Any]:
    from derive_bench.adapter.signing import PresignPool

    pool = PresignPool(2 * PRESIGNED_READY)
    encoder = _encoder(inputs, pool)
    orders: Iterator[tuple[Any, int]] = cycle(_orders(inputs, command)["orders"]())

    def make_order() -> tuple[Any, int]:
        if pool.size < PRESIGNED_READY:
            pool.refill(64)
        return next(orders)

    pool.refill(PRESIGNED_READY)
    return {"submit": encoder.submit, "replace": encoder.replace, "make_order": make_order}


PRESIGNED = ("signing/sign_trade_action_presigned", "atom/order_json")


@suite.row(
    "exec_pipeline/submit_limit_presigned",
    SUBMIT,
    fresh="make_order",
    summary="limit order, nonce given -> params signed from a pool, every order new",
    parts=PRESIGNED,
    control=SIGN_CONTROL,
)
def _(inputs: Inputs) -> dict[str, Any]:
    return _presigned(inputs, _limit)


@suite.row(
    "exec_pipeline/submit_market_presigned",
    SUBMIT,
    fresh="make_order",
    summary="market order, nonce given -> params signed from a pool, every order new",
    parts=PRESIGNED,
    control=SIGN_CONTROL,
)
def _(inputs: Inputs) -> dict[str, Any]:
    return _presigned(inputs, _market)


@suite.row(
    "exec_pipeline/modify_presigned",
    REPLACE,
    fresh="make_order",
    summary="replacement, nonce given -> params signed from a pool, every order new",
    parts=PRESIGNED,
    control=SIGN_CONTROL,
)
def _(inputs: Inputs) -> dict[str, Any]:
    return _presigned(inputs, _modify)


@suite.row(
    "exec_pipeline/cancel",
    "cancel_order('ETH-PERP', x)",
    cold="order_ids",
    summary="ids -> params",
    control="atom/empty_call",
)
@suite.row(
    "exec_pipeline/cancel_rpc",
    "cancel_order_rpc('ETH-PERP', x)",
    cold="order_ids",
    summary="ids -> request, id from its source",
    parts=("exec_pipeline/cancel",),
    control="atom/empty_call",
)
def _(inputs: Inputs) -> dict[str, Any]:
    encoder = _encoder(inputs)
    return {
        "cancel_order": encoder.cancel_order,
        "cancel_order_rpc": encoder.cancel_order_rpc,
        "x": ORDER_ID,
        "order_ids": lambda: [each.order_id for each in inputs.orders_cold(COLD_COUNT)],
    }


@suite.row(
    "atom/order_json",
    SUBMIT,
    cold="orders",
    summary="limit order, nonce and signature given -> checked params: all of submit_limit but signing",
)
def _(inputs: Inputs) -> dict[str, Any]:
    signature = "0x" + 65 * "1b"
    encoder = _encoder(inputs)
    encoder._sign = lambda *_: signature  # the one step that is not to be measured
    return _orders(inputs, _limit) | {"submit": encoder.submit}


@suite.row(
    "atom/order_guards",
    "check_times(x, expiry_sec); check_values(price, amount, max_fee, sub_id, subaccount_id)",
    cold="nonces",
    summary="the protocol's rules for one order in full: times and ranges, which the encoder asks for only where it must",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.protocol import PROTOCOLS
    from derive_bench.adapter.signing import ActionGuard

    guard = ActionGuard(PROTOCOLS[inputs.protocol_name], lambda: CLOCKS_NS[inputs.dialect])
    nonce = NONCES[inputs.dialect]
    return {
        "check_times": guard.check_times,
        "check_values": guard.check_values,
        "price": 3_500 * 10**18,
        "amount": 10**18,
        "max_fee": 1_000 * 10**18,
        "sub_id": 42,
        "subaccount_id": SUBACCOUNT_ID,
        "expiry_sec": EXPIRIES_SEC[inputs.dialect],
        "x": nonce,
        "nonces": range(nonce, nonce + COLD_COUNT),
    }
