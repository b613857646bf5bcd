"""derive-py, the venue's own SDK for v3.

Its calls are made as its WebSocket client makes them: the envelope and then the payload, each with a decoder kept; orders through
``OrderOperations`` down to the bytes for the socket, which is replaced by one that takes them.

``coincurve`` is installed with it, which its own requirements leave out: without it each signature takes about eight times as long.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from benches.peers.driver import Offers

NAME = "derive-py"
VERSION = "0.1.5"
DIALECT = "v3"
REQUIREMENTS = ("derive-py==0.1.5", "coincurve==21.0.0", "web3==7.16.0", "eth-account==0.14.0", "eth-abi==6.0.0", "msgspec==0.23.0")
PACKAGES = ("derive-py", "coincurve", "web3", "eth-account", "eth-abi", "eth-keys", "msgspec", "pydantic", "websockets")
ABOUT = "the venue's SDK, with coincurve, which its own requirements leave out"
LACKS = {"domain": "no domain types and no instrument precision: what it decodes is what its user gets"}

TEXTS = "numbers stay texts"
DECIMALS = "numbers are Decimals at the venue's scale"

Raw = dict[str, Any]


class Sent(Exception):
    """Raised by the socket in place of sending; holds the bytes."""


class _Socket:
    async def send(self, data: bytes, **_: Any) -> None:
        raise Sent(data)


def _sent(coroutine: Coroutine[Any, Any, Any]) -> bytes:
    """The bytes that a request of the client hands to its socket."""
    try:
        coroutine.send(None)
    except Sent as sent:
        data: bytes = sent.args[0]
        return data
    raise RuntimeError("the client waited before it sent anything")


def offer(can: Offers, material: Raw) -> None:
    import logging

    from derive_py._clients.rest.async_http.markets import MarketOperations
    from derive_py._clients.rest.async_http.subaccount import Subaccount
    from derive_py._clients.utils import AuthContext
    from derive_py._clients.websockets.api import PrivateAPI, PublicAPI
    from derive_py._clients.websockets.session import WebSocketSession
    from derive_py.config import CONFIGS
    from derive_py.data_types import Chain, ChecksumAddress
    from eth_account import Account
    from web3 import Web3

    logger = logging.getLogger("derive_bench.peer")
    logger.setLevel(logging.WARNING)
    account, config = material["account"], CONFIGS[Chain.ETHEREUM]
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
        system=None,
        deposits=None,
        public_api=public_api,
        private_api=PrivateAPI(session=session),
    )
    _offer_frames(can)
    _offer_dispatch(can, session, material)
    _offer_signing(can, auth, account)
    _offer_requests(can, subaccount, markets, material)


def _book(data: Any) -> Raw:
    return {"bids": data.bids, "asks": data.asks}


def _ticker(data: Any) -> Raw:
    body = data.instrument_ticker
    bid = {"bid": body.best_bid_price, "bid_size": body.best_bid_amount, "mark": body.mark_price, "index": body.index_price}
    return bid | {"ask": body.best_ask_price, "ask_size": body.best_ask_amount}


def _quote(data: Any) -> Raw:
    facts = _ticker(data)
    return {name: facts[name] for name in ("bid", "bid_size", "ask", "ask_size")}


def _trade(data: Any) -> Raw:
    first = data[0]
    return {"id": first.trade_id, "price": first.trade_price, "amount": first.trade_amount, "side": first.direction}


def _order(data: Any) -> Raw:
    first = data[0]
    names = {"id": first.order_id, "label": first.label}
    return names | {"price": str(first.limit_price), "amount": str(first.amount), "filled": str(first.filled_amount)}


def _fill(data: Any) -> Raw:
    first = data[0]
    names = {"id": first.trade_id, "order": first.order_id}
    return names | {"price": str(first.trade_price), "amount": str(first.trade_amount), "fee": str(first.trade_fee)}


def _types() -> dict[str, tuple[Any, Callable[[Any], Raw], str]]:
    """Payload type, facts and what is left undone, by stage of ``decode``."""
    from derive_py.data_types.channel_models import OrderbookPayloadDoc, PublicTrade, TickerSlimPayload
    from derive_py.data_types.generated_models import Order, Trade

    return {
        "orderbook": (OrderbookPayloadDoc, _book, TEXTS),
        "orderbook_d10": (OrderbookPayloadDoc, _book, TEXTS),
        "orderbook_d100": (OrderbookPayloadDoc, _book, TEXTS),
        "ticker": (TickerSlimPayload, _ticker, TEXTS),
        "ticker_option": (TickerSlimPayload, _option, TEXTS),
        "trade": (list[PublicTrade], _trade, TEXTS),
        "order": (list[Order], _order, DECIMALS),
        "private_trade": (list[Trade], _fill, DECIMALS),
    }


def _option(data: Any) -> Raw:
    pricing = data.instrument_ticker.option_pricing
    return _ticker(data) | {name: str(getattr(pricing, name)) for name in ("delta", "gamma", "theta", "vega", "rho")}


def _offer_frames(can: Offers) -> None:
    from derive_py._clients.utils import decode_envelope, decoder_for

    def through(payload_type: Any) -> Callable[[bytes], Any]:
        decode = decoder_for(payload_type).decode
        return lambda frame: decode(decode_envelope(frame).params.data)

    for name, (payload_type, facts, undone) in _types().items():
        can(f"decode/{name}", through(payload_type), prepare=str.encode, facts=facts, undone=undone)


def _offer_dispatch(can: Offers, session: Any, material: Raw) -> None:
    from derive_py._clients.utils import decoder_for
    from derive_py._clients.websockets.session import Subscription

    handled: Any = None

    def handler(notification: Any) -> None:
        nonlocal handled
        handled = notification

    def receive(frame: bytes) -> Any:
        try:
            session._dispatch_message(frame).send(None)
        except StopIteration:
            return handled
        raise RuntimeError("the client waited before it called the handler")

    types = _types()
    stages = {"book_d10": _book, "quote": _quote, "trade": _trade, "order": _order, "fill": _fill}
    for stage, facts in stages.items():
        name = material["stages"][f"dispatch/{stage}"]
        payload_type, _, undone = types[name]
        channel = json.loads(material["inputs"][name][0])["params"]["channel"]
        session._subscriptions[channel] = Subscription(handler=handler, decoder=decoder_for(payload_type))
        state = "; no order state, no duplicates dropped" if stage in ("order", "fill") else ""
        can(f"dispatch/{stage}", receive, prepare=str.encode, facts=facts, undone=f"no domain type; {undone}{state}")


def _offer_signing(can: Offers, auth: Any, account: Raw) -> None:
    from decimal import Decimal

    from derive_py._web3.action_signing import TradeModuleData

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
        names = ("X-DeriveWallet", "X-DeriveTimestamp", "X-DeriveSignature")
        return dict(zip(("wallet", "timestamp", "signature"), (result[name] for name in names), strict=True))

    can("auth/rest_headers", lambda _: auth.signed_headers, facts=headers, undone="")


def _offer_requests(can: Offers, subaccount: Any, markets: Any, material: Raw) -> None:
    from decimal import Decimal

    import msgspec
    from derive_py.data_types.generated_models import Direction, Instrument

    account = material["account"]
    record = next(record for record in material["instruments"] if record["instrument_name"] == "ETH-PERP")
    markets._perp_instruments_cache["ETH-PERP"] = msgspec.convert({"risk_universe_id": 0} | record, Instrument)
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
