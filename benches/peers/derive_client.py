"""derive-client, the community's SDK for v2.

Its calls are made as its WebSocket client makes them: the envelope, then ``params`` into plain objects, then into the payload's type;
orders through ``OrderOperations`` down to the text for the socket, which is replaced by one that takes it.

``coincurve`` is installed with it, which its own requirements leave out: without it each signature takes about eight times as long.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from benches.peers.driver import Offers

NAME = "derive-client"
VERSION = "0.3.16"
DIALECT = "v2"
REQUIREMENTS = ("derive-client==0.3.16", "coincurve==21.0.0", "web3==7.16.0", "eth-account==0.14.0", "eth-abi==6.0.0", "msgspec==0.23.0")
PACKAGES = ("derive-client", "derive_action_signing", "coincurve", "web3", "eth-account", "eth-abi", "eth-keys", "msgspec", "pydantic")
ABOUT = "an SDK for v2, with coincurve, which its own requirements leave out"
LACKS = {
    "domain": "no domain types and no instrument precision: what it decodes is what its user gets",
    "dispatch": "each frame and each handler is a task of the event loop, whose cost cannot be told from the loop's",
}

DECIMALS = "numbers are Decimals at the venue's scale"

Raw = dict[str, Any]


class Sent(Exception):
    """Raised by the socket in place of sending; holds the text."""


class _Socket:
    async def send(self, data: str) -> None:
        raise Sent(data)


def _sent(coroutine: Coroutine[Any, Any, Any]) -> str:
    """The text that a request of the client hands to its socket."""
    try:
        coroutine.send(None)
    except Sent as sent:
        text: str = sent.args[0]
        return text
    raise RuntimeError("the client waited before it sent anything")


def offer(can: Offers, material: Raw) -> None:
    import logging

    from derive_client._clients.rest.async_http.markets import MarketOperations
    from derive_client._clients.rest.async_http.subaccount import Subaccount
    from derive_client._clients.utils import AuthContext
    from derive_client._clients.websockets.api import PrivateAPI, PublicAPI
    from derive_client._clients.websockets.session import WebSocketSession
    from derive_client.config import CONFIGS
    from derive_client.data_types import ChecksumAddress, Environment
    from eth_account import Account
    from web3 import Web3

    logger = logging.getLogger("derive_bench.peer")
    logger.setLevel(logging.WARNING)
    account, config = material["account"], CONFIGS[Environment.PROD]
    wallet = ChecksumAddress(account["wallet"])
    auth = AuthContext(w3=Web3(), wallet=wallet, account=Account.from_key(account["key"]), config=config)
    session = WebSocketSession(url=config.ws_address, logger=logger)
    session._ws = _Socket()
    public_api = PublicAPI(session=session)
    markets = MarketOperations(public_api=public_api, logger=logger)
    subaccount = Subaccount(
        subaccount_id=account["subaccount_id"],
        auth=auth,
        config=config,
        logger=logger,
        markets=markets,
        transactions=None,
        public_api=public_api,
        private_api=PrivateAPI(session=session),
    )
    _offer_frames(can)
    _offer_signing(can, auth, account)
    _offer_requests(can, subaccount, markets, material)


def _book(data: Any) -> Raw:
    return {side: [[str(price), str(amount)] for price, amount in getattr(data, side)] for side in ("bids", "asks")}


def _ticker(data: Any) -> Raw:
    names = {"bid": "b", "bid_size": "B", "ask": "a", "ask_size": "A", "mark": "M", "index": "I"}
    return {name: str(getattr(data.instrument_ticker, short)) for name, short in names.items()}


def _option(data: Any) -> Raw:
    names = {"delta": "d", "gamma": "g", "theta": "t", "vega": "v", "rho": "r"}
    return _ticker(data) | {name: str(getattr(data.instrument_ticker.option_pricing, short)) for name, short in names.items()}


def _trade(data: Any) -> Raw:
    first = data[0]
    return {"id": first.trade_id, "price": str(first.trade_price), "amount": str(first.trade_amount), "side": first.direction.value}


def _order(data: Any) -> Raw:
    first = data[0]
    names = {"id": first.order_id, "label": first.label}
    return names | {"price": str(first.limit_price), "amount": str(first.amount), "filled": str(first.filled_amount)}


def _fill(data: Any) -> Raw:
    first = data[0]
    names = {"id": first.trade_id, "order": first.order_id}
    return names | {"price": str(first.trade_price), "amount": str(first.trade_amount), "fee": str(first.trade_fee)}


def _offer_frames(can: Offers) -> None:
    import msgspec
    from derive_client._clients.utils import decode_envelope
    from derive_client.data_types import channel_models as models

    def through(payload_type: Any) -> Callable[[bytes], Any]:
        def decode(frame: bytes) -> Any:
            params = msgspec.json.decode(decode_envelope(frame).params)
            return msgspec.convert(params.get("data"), type=payload_type)

        return decode

    book = models.OrderbookInstrumentNameGroupDepthPublisherDataSchema
    ticker = models.TickerSlimInstrumentNameIntervalPublisherDataSchema
    types: dict[str, tuple[Any, Callable[[Any], Raw]]] = {
        "orderbook": (book, _book),
        "orderbook_d10": (book, _book),
        "orderbook_d100": (book, _book),
        "ticker": (ticker, _ticker),
        "ticker_option": (ticker, _option),
        "trade": (list[models.TradePublicResponseSchema], _trade),
        "order": (list[models.OrderResponseSchema], _order),
        "private_trade": (list[models.TradeResponseSchema], _fill),
    }
    for name, (payload_type, facts) in types.items():
        can(f"decode/{name}", through(payload_type), prepare=str.encode, facts=facts, undone=DECIMALS)


def _offer_signing(can: Offers, auth: Any, account: Raw) -> None:
    from decimal import Decimal

    from derive_action_signing import TradeModuleData

    module, max_fee = auth.config.contracts.TRADE_MODULE, Decimal(account["max_fee"])

    def sign(order: tuple[Decimal, Decimal, bool, int]) -> str:
        price, amount, is_bid, nonce = order
        data = TradeModuleData(
            asset_address=account["asset"],
            sub_id=int(account["sub_id"]),
            limit_price=price,
            amount=amount,
            max_fee=max_fee,
            recipient_id=account["subaccount_id"],
            is_bid=is_bid,
        )
        action = auth.sign_action(module, data, account["subaccount_id"], signature_expiry_sec=account["expiry_sec"], nonce=nonce)
        signature: str = action.signature
        return signature

    can(
        "sign/trade_action",
        sign,
        prepare=lambda raw: (Decimal(raw["price"]), Decimal(raw["amount"]), raw["side"] == "buy", raw["nonce"]),
        facts=lambda signature: {"signature": signature},
        undone="signature without 0x; ranges and decimal places unchecked",
    )

    def headers(result: Raw) -> Raw:
        names = ("X-LYRAWALLET", "X-LYRATIMESTAMP", "X-LYRASIGNATURE")
        return dict(zip(("wallet", "timestamp", "signature"), (result[name] for name in names), strict=True))

    can("auth/rest_headers", lambda _: auth.signed_headers, facts=headers, undone="")


def _offer_requests(can: Offers, subaccount: Any, markets: Any, material: Raw) -> None:
    from decimal import Decimal

    import msgspec
    from derive_client.data_types.generated_models import Direction, InstrumentPublicResponseSchema

    account = material["account"]
    record = next(record for record in material["instruments"] if record["instrument_name"] == "ETH-PERP")
    markets._perp_instruments_cache["ETH-PERP"] = msgspec.convert(record, InstrumentPublicResponseSchema)
    max_fee = Decimal(account["max_fee"])
    create, cancel = subaccount.orders.create, subaccount.orders.cancel

    def arguments(raw: Raw) -> Raw:
        names = {"instrument_name": raw["instrument_name"], "direction": Direction(raw["side"]), "label": raw["label"]}
        numbers = {"amount": Decimal(raw["amount"]), "limit_price": Decimal(raw["price"]), "max_fee": max_fee}
        return names | numbers | {"nonce": raw["nonce"], "signature_expiry_sec": account["expiry_sec"]}

    can(
        "exec/submit_limit",
        lambda order: _sent(create(**order)),
        prepare=arguments,
        facts=lambda request: json.loads(request)["params"],
        undone="tick and step by silent rounding; no guards",
    )
    can(
        "exec/cancel",
        lambda order: _sent(cancel(instrument_name=order["instrument_name"], order_id=order["order_id"])),
        facts=lambda request: json.loads(request)["params"],
        undone="",
    )
