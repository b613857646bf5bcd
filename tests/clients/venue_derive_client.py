"""derive-client's WebSocket client, v2, against a local venue; runs in its own environment.

Arguments: WebSocket URL, HTTP URL, key, wallet, id. Writes what it saw to standard output, as one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from decimal import Decimal
from typing import Any


async def main(ws_url: str, http_url: str, key: str, wallet: str, subaccount_id: int) -> dict[str, Any]:
    from derive_client._clients.websockets.client import WebSocketClient
    from derive_client.config import CONFIGS
    from derive_client.data_types import Environment
    from derive_client.data_types.generated_models import Direction, OrderType

    env = Environment.PROD
    CONFIGS[env] = CONFIGS[env].model_copy(update={"ws_address": ws_url, "base_url": http_url})
    quiet = logging.getLogger("quiet")
    client = WebSocketClient(wallet=wallet, session_key=key, subaccount_id=subaccount_id, env=env, logger=quiet)
    await client.connect()
    saw: dict[str, Any] = {"subaccounts": list(client.account.state.subaccount_ids)}
    orders: list[Any] = []
    await client.private_channels.orders_by_subaccount_id(str(subaccount_id), orders.extend)
    books: list[Any] = []
    await client.public_channels.orderbook_group_depth_by_instrument_name("ETH-PERP", "1", "10", books.append)

    def terms(**changes: Any) -> dict[str, Any]:
        usual = {"amount": Decimal("0.5"), "direction": Direction.buy, "instrument_name": "ETH-PERP", "max_fee": Decimal(100)}
        return usual | {"limit_price": Decimal(1000), "label": "resting"} | changes

    placed = await client.orders.create(**terms())
    saw["placed"] = placed.order_status.value
    replaced = await client.orders.replace(**terms(limit_price=Decimal(1001), order_id_to_cancel=placed.order_id))
    saw["replaced"] = [replaced.cancelled_order.order_status.value, replaced.order.order_status.value]
    cancelled = await client.orders.cancel(instrument_name="ETH-PERP", order_id=replaced.order.order_id)
    saw["cancelled"] = cancelled.order_status.value
    taken = await client.orders.create(**terms(order_type=OrderType.market, limit_price=Decimal(5000), label="taking"))
    saw["taken"] = [taken.order_status.value, str(taken.average_price)]
    saw["open_at_end"] = len(await client.orders.list_open())
    for _ in range(1_000):
        if len(orders) >= 5 and books:
            break
        await asyncio.sleep(0.01)
    saw["order_frames"] = [[order.label, order.order_status.value] for order in orders]
    saw["books"] = bool(books)
    await client.disconnect()
    return saw


if __name__ == "__main__":
    ws, http, secret, address, subaccount = sys.argv[1:]
    result = asyncio.run(main(ws, http, secret, address, int(subaccount)))
    print(json.dumps(result))
