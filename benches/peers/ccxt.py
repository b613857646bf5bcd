"""ccxt, its Derive class: the unified structures of ``ccxt.derive`` and the websocket handlers of ``ccxt.pro.derive``.

``domain`` is a frame through the JSON parser that ccxt's client uses and the class's own ``parse_…``; ``dispatch`` is the text of
a frame given to the client as aiohttp would give it, through ``handle_message`` into the caches that ``watch_…`` returns. Orders go
through ``create_order``, whose HTTP request is taken where it would be sent.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benches.peers.driver import Offers

NAME = "ccxt"
VERSION = "4.5.90"
DIALECT = "v3"
REQUIREMENTS = ("ccxt==4.5.90", "coincurve==21.0.0", "orjson==3.13.0")
PACKAGES = ("ccxt", "coincurve", "orjson", "aiohttp", "cryptography")
ABOUT = "its Derive class, for v3"
LACKS = {"decode": "no messages: JSON as dicts and lists, on to its unified structures"}

FLOATS = "unified dicts; numbers are binary floats"

Raw = dict[str, Any]


class Sent(Exception):
    """Raised in place of an HTTP request; holds its body."""


def offer(can: Offers, material: Raw) -> None:
    import ccxt

    account = material["account"]
    keys = {"privateKey": account["key"], "walletAddress": account["signer"], "enableRateLimit": False}
    exchange = ccxt.derive(keys)
    exchange.options |= {"deriveWalletAddress": account["wallet"], "subaccount_id": account["subaccount_id"]}
    exchange.set_markets([exchange.parse_market(record) for record in material["instruments"]])
    _offer_domain(can, exchange)
    _offer_dispatch(can, keys, material)
    _offer_signing(can, exchange, account)
    _offer_requests(can, exchange, account)


def _book(book: Any) -> Raw:
    return {side: [[price, amount] for price, amount in book[side]] for side in ("bids", "asks")}


def _quote(ticker: Any) -> Raw:
    return {"bid": ticker["bid"], "bid_size": ticker["bidVolume"], "ask": ticker["ask"], "ask_size": ticker["askVolume"]}


def _greeks(greeks: Any) -> Raw:
    return {name: greeks[name] for name in ("delta", "gamma", "theta", "vega", "rho")}


def _trade(trade: Any) -> Raw:
    return {"id": trade["id"], "price": trade["price"], "amount": trade["amount"], "side": trade["side"]}


def _order(order: Any) -> Raw:
    names = {"id": order["id"], "label": order["clientOrderId"]}
    return names | {"price": order["price"], "amount": order["amount"], "filled": order["filled"]}


def _fill(trade: Any) -> Raw:
    numbers = {"price": trade["price"], "amount": trade["amount"], "fee": trade["fee"]["cost"]}
    return {"id": trade["id"], "order": trade["order"]} | numbers


def _offer_domain(can: Offers, exchange: Any) -> None:
    from ccxt.async_support.base.ws.client import json_parser

    loads, safe_market = json_parser.loads, exchange.safe_market

    def book(text: str) -> Any:
        data = loads(text)["params"]["data"]
        return exchange.parse_order_book(data, safe_market(data["instrument_name"])["symbol"], data["timestamp"])

    def quote(text: str) -> Any:
        params = loads(text)["params"]
        return exchange.parse_ticker(params["data"]["instrument_ticker"], safe_market(params["channel"].split(".")[1]))

    def greeks(text: str) -> Any:
        params = loads(text)["params"]
        return exchange.parse_greeks(params["data"]["instrument_ticker"], safe_market(params["channel"].split(".")[1]))

    def trade(text: str) -> Any:
        return exchange.parse_trade(loads(text)["params"]["data"][0])

    def order(text: str) -> Any:
        return exchange.parse_order(loads(text)["params"]["data"][0])

    for depth in ("", "_d10", "_d100"):
        can(f"domain/book{depth}", book, facts=_book, undone=f"{FLOATS}; no publish_id")
    can("domain/quote", quote, facts=_quote, undone=f"{FLOATS}; all of the ticker; creation time in place of publication")
    can("domain/option_greeks", greeks, facts=_greeks, undone=f"{FLOATS}; creation time in place of publication")
    can("domain/trade", trade, facts=_trade, undone=f"{FLOATS}; side as sent, whoever's it is")
    can("domain/order", order, facts=_order, undone=FLOATS)
    can("domain/fill", trade, facts=_fill, undone=FLOATS)


def _offer_dispatch(can: Offers, keys: Raw, material: Raw) -> None:
    import asyncio

    import ccxt.pro

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)

    async def connect() -> tuple[Any, Any]:
        exchange = ccxt.pro.derive(keys)
        exchange.set_markets([exchange.parse_market(record) for record in material["instruments"]])
        client = exchange.client(exchange.urls["api"]["ws"])
        for stage in ("book_d10", "quote", "trade", "order", "fill"):
            frame = material["inputs"][material["stages"][f"dispatch/{stage}"]][0]
            channel = json.loads(frame)["params"]["channel"]
            client.subscriptions[channel] = {"name": channel, "limit": 10}
        return exchange, client

    exchange, client = loop.run_until_complete(connect())
    receive = client.handle_text_or_binary_message
    perp = exchange.safe_market("ETH-PERP")["symbol"]
    can("dispatch/book_d10", receive, facts=lambda _: _book(exchange.orderbooks[perp]), undone=f"{FLOATS}; into a cache; no publish_id")
    can("dispatch/quote", receive, facts=lambda _: _quote(exchange.tickers[perp]), undone=f"{FLOATS}; into a cache")

    def last_trade(_: Any) -> Raw:
        cached = exchange.trades.get(perp)
        if not cached:
            # As of 4.5.90 `handle_trade` reads the array of trades as if it were an object, and finds none in it.
            raise ValueError("the trade is dropped: none reaches the cache")
        return _trade(cached[-1])

    can("dispatch/trade", receive, facts=last_trade, undone=f"{FLOATS}; into a cache")
    can("dispatch/order", receive, facts=lambda _: _order(exchange.orders[-1]), undone=f"{FLOATS}; into a cache; the latest of each order")
    can("dispatch/fill", receive, facts=lambda _: _fill(exchange.myTrades[-1]), undone=f"{FLOATS}; into a cache")


def _offer_signing(can: Offers, exchange: Any, account: Raw) -> None:
    typehash = exchange.base16_to_binary("4d7a9f27c403ff9c0f19bce61d76d82f9aa29f8d6d4b0c5474607d9770d1af17")
    module = "0xB8D20c2B7a1Ad2EE33Bc50eF10876eD3035b5e7b"

    def sign(order: tuple[str, str, bool, str]) -> str:
        price, amount, is_bid, nonce = order
        big, units = exchange.convert_to_big_int, exchange.parse_units
        data = exchange.eth_abi_encode(
            ["address", "uint", "int", "int", "uint", "uint", "bool"],
            [
                account["asset"],
                big(account["sub_id"]),
                big(units(price)),
                big(units(amount)),
                big(units(account["max_fee"])),
                account["subaccount_id"],
                is_bid,
            ],
        )
        action = [
            typehash,
            account["subaccount_id"],
            big(nonce),
            module,
            exchange.hash(data, "keccak", "binary"),
            account["expiry_sec"],
            account["wallet"],
            account["signer"],
        ]
        signature: str = exchange.sign_order(action, account["key"])
        return signature

    can(
        "sign/trade_action",
        sign,
        prepare=lambda raw: (raw["price"], raw["amount"], raw["side"] == "buy", str(raw["nonce"])),
        facts=lambda signature: {"signature": signature},
        undone="ranges and decimal places unchecked",
    )

    def headers(result: Raw) -> Raw:
        names = ("X-DeriveWallet", "X-DeriveTimestamp", "X-DeriveSignature")
        return dict(zip(("wallet", "timestamp", "signature"), (result["headers"][name] for name in names), strict=True))

    can("auth/rest_headers", lambda _: exchange.sign("get_account", ["private"], "POST", {}), facts=headers, undone="")


def _offer_requests(can: Offers, exchange: Any, account: Raw) -> None:
    symbol = exchange.safe_market("ETH-PERP")["symbol"]
    nonce = ""

    def fetch(url: str, method: str, headers: Raw, body: str) -> None:
        raise Sent(body)

    exchange.fetch = fetch
    exchange.nonce_string = lambda: nonce

    def submit(order: tuple[str, float, float, Raw, str]) -> str:
        nonlocal nonce
        side, amount, price, params, nonce = order
        try:
            exchange.create_order(symbol, "limit", side, amount, price, params)
        except Sent as sent:
            body: str = sent.args[0]
            return body
        raise RuntimeError("nothing was sent")

    def cancel(order_id: str) -> str:
        try:
            exchange.cancel_order(order_id, symbol)
        except Sent as sent:
            body: str = sent.args[0]
            return body
        raise RuntimeError("nothing was sent")

    def arguments(raw: Raw) -> tuple[str, float, float, Raw, str]:
        params = {"max_fee": account["max_fee"], "signature_expiry_sec": account["expiry_sec"], "clientOrderId": raw["label"]}
        return raw["side"], float(raw["amount"]), float(raw["price"]), params, str(raw["nonce"])

    rest = "an HTTP request, with its signed headers"
    can("exec/submit_limit", submit, prepare=arguments, facts=json.loads, undone=f"{rest}; begins in floats; tick and guards left out")
    can("exec/cancel", cancel, prepare=lambda raw: raw["order_id"], facts=json.loads, undone=rest)
