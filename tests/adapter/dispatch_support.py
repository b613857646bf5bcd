"""Builders of private messages for the dispatch tests, and an emitter that keeps what it is given."""

from __future__ import annotations

from typing import Any

from derive_bench.adapter.dispatch import Dispatcher, Emission, ExecutionState, OrderIdentity, ReplaceResult
from derive_bench.adapter.messages import PrivateOrder, PrivateTrade, RpcError
from derive_bench.adapter.model import OrderSide, OrderType

IDENTITY = OrderIdentity("ETH-PERP.DERIVE", "S-1", OrderSide.BUY, OrderType.LIMIT)
T0 = 1_790_871_562_000


def order(order_id: str, status: str = "open", label: str | None = "O-1", replaced: str | None = None, **changes: Any) -> PrivateOrder:
    """An order frame; `changes` are fields of the message."""
    fields: dict[str, Any] = {
        "amount": "2",
        "average_price": "0",
        "creation_timestamp": T0,
        "direction": "buy",
        "filled_amount": "0",
        "instrument_name": "ETH-PERP",
        "last_update_timestamp": T0 + 5,
        "limit_price": "2873.12",
        "nonce": "1790871562357515083",
        "order_id": order_id,
        "order_status": status,
        "order_type": "limit",
        "subaccount_id": 48213,
        "time_in_force": "gtc",
        "label": label,
        "replaced_order_id": replaced,
        "cancel_reason": "user_request" if status == "cancelled" else "",
    }
    return PrivateOrder(**fields | changes)


def trade(trade_id: str, order_id: str = "A", label: str | None = "O-1", **changes: Any) -> PrivateTrade:
    """A private trade; `changes` are fields of the message."""
    fields: dict[str, Any] = {
        "direction": "buy",
        "instrument_name": "ETH-PERP",
        "order_id": order_id,
        "subaccount_id": 48213,
        "timestamp": T0 + 9,
        "trade_amount": "0.5",
        "trade_fee": "0.25",
        "trade_id": trade_id,
        "trade_price": "2873.10",
        "liquidity_role": "maker",
        "label": label,
    }
    return PrivateTrade(**fields | changes)


def replaced(old: PrivateOrder, new: PrivateOrder | None, *trades: PrivateTrade) -> ReplaceResult:
    """The result of a replace; without a new leg, of one whose create failed."""
    error = RpcError(11008, "Post only order cannot cross the market") if new is None else None
    return ReplaceResult(old, new, list(trades) or None, error)


class Desk:
    """A dispatcher with the order O-1 registered, whose emissions are kept in `out`."""

    def __init__(self, state: ExecutionState | None = None, **options: Any) -> None:
        self.out: list[Emission] = []
        self.dispatcher = Dispatcher(self.out.append, state, **options)
        self.dispatcher.register("O-1", IDENTITY)

    def orders(self, *orders: Any) -> list[str]:
        """Dispatch orders and return what came of them, in short."""
        return self._short(lambda: self.dispatcher.on_orders(orders, 7))

    def trades(self, *trades: Any) -> list[str]:
        """Dispatch trades and return what came of them, in short."""
        return self._short(lambda: self.dispatcher.on_trades(trades, 7))

    def call(self, function: Any, *arguments: Any) -> list[str]:
        """Call a method of the dispatcher and return what came of it, in short."""
        return self._short(lambda: function(*arguments))

    def _short(self, action: Any) -> list[str]:
        before = len(self.out)
        action()
        return [short(emission) for emission in self.out[before:]]


def short(emission: Emission) -> str:
    """The kind of an emission and the venue order id it is about: `Accepted A`."""
    name = type(emission).__name__.removeprefix("Order")
    return f"{name} {getattr(emission, 'trade_id', None) or getattr(emission, 'venue_order_id', '')}".strip()
