"""ccxt's Derive class, REST and websocket, against a local venue; runs in ccxt's environment. Arguments: WebSocket URL, HTTP URL, key, id.

Writes what it saw to standard output, as one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any


async def main(ws_url: str, http_url: str, key: str, wallet: str, subaccount_id: int) -> dict[str, Any]:
    import ccxt
    import ccxt.pro

    exchange = ccxt.pro.derive({"privateKey": key, "walletAddress": wallet, "enableRateLimit": False})
    exchange.urls["api"] = {"public": f"{http_url}/public", "private": f"{http_url}/private", "ws": ws_url}
    exchange.options |= {"deriveWalletAddress": wallet, "subaccount_id": subaccount_id, "max_fee": 100}
    saw: dict[str, Any] = {}
    try:
        markets = await exchange.load_markets()
        saw["markets"] = sorted(symbol for symbol, market in markets.items() if market["swap"])
        symbol = "ETH/USDC:USDC"
        watched = {
            "orders": asyncio.create_task(exchange.watch_orders(symbol)),
            "trades": asyncio.create_task(exchange.watch_my_trades(symbol)),
        }
        ticker = await exchange.watch_ticker(symbol)
        saw["ticker"] = [ticker["bid"], ticker["ask"]]
        book = await exchange.watch_order_book(symbol)
        saw["book"] = [len(book["bids"]) > 0, book["bids"][0][0] < book["asks"][0][0]]
        rest = await exchange.fetch_ticker(symbol)
        saw["rest_ticker"] = [rest["bid"], rest["ask"]]

        fee = {"max_fee": 100}
        placed = await exchange.create_order(symbol, "limit", "buy", 0.5, 1000.0, fee | {"clientOrderId": "resting"})
        saw["placed"] = [placed["status"], placed["clientOrderId"], placed["price"], placed["amount"]]
        saw["open"] = [order["id"] == placed["id"] for order in await exchange.fetch_open_orders(symbol)]
        edited = await exchange.edit_order(placed["id"], symbol, "limit", "buy", 0.5, 1001.0, fee | {"clientOrderId": "edited"})
        saw["edited"] = [edited["status"], edited["price"], edited["id"] != placed["id"]]
        cancelled = await exchange.cancel_order(edited["id"], symbol)
        saw["cancelled"] = cancelled["status"]
        taken = await exchange.create_order(symbol, "market", "buy", 0.5, 5000.0, fee)
        saw["taken"] = [taken["status"], taken["average"], taken["filled"]]
        await exchange.create_order(symbol, "limit", "buy", 0.5, 1000.0, fee | {"clientOrderId": "labelled"})
        await exchange.cancel_order("", symbol, {"clientOrderId": "labelled"})
        await exchange.create_order(symbol, "limit", "buy", 0.5, 1000.0, fee)
        await exchange.cancel_all_orders(symbol)
        saw["open_at_end"] = len(await exchange.fetch_open_orders(symbol))
        saw["refused"] = {}
        attempts = {
            "post_only": (symbol, "limit", "buy", 0.5, 5000.0, fee | {"postOnly": True}),
            "tick": (symbol, "limit", "buy", 0.5, 1000.001, fee),
            "fee": (symbol, "limit", "buy", 0.5, 1000.0, {"max_fee": 0.001}),
        }
        for name, attempt in attempts.items():
            try:
                await exchange.create_order(*attempt)
            except ccxt.BaseError as error:
                saw["refused"][name] = json.loads(str(error).partition(" ")[2])["error"]["code"]
        saw["my_trades"] = [[trade["price"], trade["amount"]] for trade in await exchange.fetch_my_trades(symbol)]
        saw["position"] = [[position["symbol"], position["contracts"]] for position in await exchange.fetch_positions([symbol])]
        saw["watched_order"] = (await asyncio.wait_for(watched["orders"], 10))[-1]["clientOrderId"]
        trades = await asyncio.wait_for(watched["trades"], 10)
        saw["watched_trade"] = [trades[-1]["price"], trades[-1]["amount"], trades[-1]["side"]]
        await exchange.un_watch_ticker(symbol)
    finally:
        await exchange.close()
    return saw


if __name__ == "__main__":
    ws, http, secret, address, subaccount = sys.argv[1:]
    result = asyncio.run(main(ws, http, secret, address, int(subaccount)))
    print(json.dumps(result))
