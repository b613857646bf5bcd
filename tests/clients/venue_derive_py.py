"""derive-py's WebSocket client against a local venue; runs in derive-py's environment. Arguments: WebSocket URL, HTTP URL, key, id.

Writes what it saw to standard output, as one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from decimal import Decimal
from typing import Any
from urllib.request import Request, urlopen


async def main(ws_url: str, http_url: str, key: str, subaccount_id: int) -> dict[str, Any]:
    from derive_py._clients.websockets.client import WebSocketClient
    from derive_py.config import CONFIGS
    from derive_py.data_types import Chain, ClientConfig
    from derive_py.data_types.generated_models import Direction, OrderType, TimeInForce
    from derive_py.exceptions import DeriveJSONRPCError
    from eth_account import Account
    from pydantic import SecretStr

    chain = Chain.ETHEREUM
    CONFIGS[chain] = CONFIGS[chain].model_copy(update={"ws_address": ws_url, "base_url": http_url})
    wallet = Account.from_key(key).address
    settings = ClientConfig(chain=chain, session_key=SecretStr(key), wallet=wallet, subaccount_id=subaccount_id)
    client = WebSocketClient(settings, logger=logging.getLogger("quiet"))
    states: list[str] = []
    await client.connect(on_state_change=lambda state: states.append(state.name))
    saw: dict[str, Any] = {"wallet": client.account.address, "subaccounts": list(client.account.state.subaccount_ids)}
    saw["instruments"] = sorted(client.markets.perp_instruments_cache)

    books: list[Any] = []
    tickers: list[Any] = []
    orders: list[Any] = []
    trades: list[Any] = []
    balances: list[Any] = []
    public, private = client.public_channels, client.private_channels
    await public.orderbook_group_depth_by_instrument_name("ETH-PERP", 1, 10, books.append)
    await public.ticker_slim_interval_by_instrument_name("ETH-PERP", 100, tickers.append)
    await private.orders_by_subaccount_id(str(subaccount_id), orders.extend)
    await private.trades_by_subaccount_id(str(subaccount_id), trades.extend)
    await private.balances_by_subaccount_id(str(subaccount_id), balances.extend)
    await until(lambda: bool(tickers))
    ticker = tickers[0].instrument_ticker
    saw["ticker"] = {"bid": str(ticker.best_bid_price), "ask": str(ticker.best_ask_price)}

    def terms(**changes: Any) -> dict[str, Any]:
        usual = {"amount": Decimal("0.5"), "direction": Direction.buy, "instrument_name": "ETH-PERP", "max_fee": Decimal(100)}
        return usual | {"limit_price": Decimal(1000), "label": "resting"} | changes

    placed = await client.orders.create(**terms())
    saw["placed"] = [placed.order.order_status.value, placed.order.label, len(await client.orders.list_open())]
    replaced = await client.orders.replace(**terms(limit_price=Decimal(1001), order_id_to_cancel=placed.order.order_id))
    saw["replaced"] = [replaced.cancelled_order.order_status.value, replaced.order.order_status.value]
    saw["replaces"] = replaced.order.replaced_order_id == placed.order.order_id
    cancelled = await client.orders.cancel(instrument_name="ETH-PERP", order_id=replaced.order.order_id)
    saw["cancelled"] = [cancelled.order_status.value, cancelled.cancel_reason.value]

    market = terms(order_type=OrderType.market, limit_price=Decimal(5000), label="taking")
    taken = await client.orders.create(**market)
    saw["taken"] = [taken.order.order_status.value, str(taken.order.average_price), len(taken.trades)]
    await client.orders.create(**terms(label="a"))
    await client.orders.create(**terms(label="b"))
    saw["by_label"] = (await client.orders.cancel_by_label(label="a", instrument_name="ETH-PERP")).cancelled_orders
    saw["all"] = await client.orders.cancel_all()
    saw["open_at_end"] = len(await client.orders.list_open())

    saw["refused"] = {}
    crossing = terms(time_in_force=TimeInForce.post_only, limit_price=Decimal(5000))
    for name, order in (("post_only", crossing), ("fee", terms(max_fee=Decimal("0.001")))):
        try:
            await client.orders.create(**order)
        except DeriveJSONRPCError as error:
            saw["refused"][name] = error.rpc_error.code

    await until(lambda: len(orders) >= 9 and len(trades) >= 1 and bool(balances) and bool(books))
    saw["order_frames"] = [[order.label, order.order_status.value] for order in orders]
    saw["trade_frames"] = [[trade.label, trade.liquidity_role.value, str(trade.trade_amount)] for trade in trades]
    saw["history"] = len((await client.history.trades()).trades)
    saw["position"] = [
        [position.instrument_name, str(position.amount)] for position in (await client.active_subaccount.refresh()).state.positions
    ]
    left = await client.unsubscribe("ticker_slim.ETH-PERP.100")
    saw["left"] = sorted(left.remaining_subscriptions) if left else None
    await asyncio.to_thread(urlopen, Request(f"{http_url}/venue/cut", data=b"{}"))
    await until(lambda: states[-2:] == ["RECONNECTING", "CONNECTED"])
    received, told = len(books), len(orders)
    again = await client.orders.create(**terms(label="again"))
    await client.orders.cancel(instrument_name="ETH-PERP", order_id=again.order.order_id)
    await until(lambda: len(books) > received and len(orders) == told + 2)
    saw["after_the_cut"] = [order.order_status.value for order in orders[told:]]
    await client.disconnect()
    return saw


async def until(condition: Any, seconds: float = 10.0) -> None:
    """Wait for a condition."""
    for _ in range(int(seconds / 0.01)):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError(f"in vain for {seconds} s")


if __name__ == "__main__":
    ws, http, secret, subaccount = sys.argv[1:]
    result = asyncio.run(main(ws, http, secret, int(subaccount)))
    print(json.dumps(result))
