"""derive_bench.adapter, measured as its peers are.

An order begins in decimals here, as it does for the peers: ``sign/trade_action`` includes the exact conversion that the row
``signing/sign_trade_action`` has behind it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from benches.peers.driver import Offers

    Decode = Callable[[bytes], Any]

NAME = "derive_bench"
PACKAGES = ("derive_bench", "msgspec", "wallycore", "tiny-keccak", "uuid_utils")
LACKS: dict[str, str] = {}
ABOUT = "ours: exact numbers, domain types, guards before each signature"

Raw = dict[str, Any]


def offer(can: Offers, material: Raw) -> None:
    from derive_bench.adapter.frames import decode
    from derive_bench.adapter.instruments import InstrumentRegistry

    registry = InstrumentRegistry(material["instruments"])
    _offer_decode(can, decode)
    _offer_domain(can, decode, registry)
    _offer_dispatch(can, decode, registry)
    _offer_requests(can, registry, material["account"], material["protocol"])


def _pairs(levels: Any) -> list[list[str]]:
    return [list(level) for level in json.loads(bytes(levels))]


def _offer_decode(can: Offers, decode: Decode) -> None:
    def ticker(message: Any) -> Raw:
        body = message.data.instrument_ticker
        return {"bid": body.b, "bid_size": body.B, "ask": body.a, "ask_size": body.A, "mark": body.M, "index": body.I}

    def option(message: Any) -> Raw:
        greeks = message.data.instrument_ticker.option_pricing
        return ticker(message) | {"delta": greeks.d, "gamma": greeks.g, "theta": greeks.t, "vega": greeks.v, "rho": greeks.r}

    def trade(message: Any) -> Raw:
        first = message.data[0]
        return {"id": first.trade_id, "price": first.trade_price, "amount": first.trade_amount, "side": first.direction}

    def order(message: Any) -> Raw:
        first = message.data[0]
        names = {"id": first.order_id, "label": first.label}
        return names | {"price": first.limit_price, "amount": first.amount, "filled": first.filled_amount}

    def fill(message: Any) -> Raw:
        first = message.data[0]
        names = {"id": first.trade_id, "order": first.order_id}
        return names | {"price": first.trade_price, "amount": first.trade_amount, "fee": first.trade_fee}

    for depth in ("", "_d10", "_d100"):
        can(
            f"decode/orderbook{depth}",
            decode,
            prepare=str.encode,
            facts=lambda message: {"bids": _pairs(message.data.bids), "asks": _pairs(message.data.asks)},
            undone="levels stay JSON until they are parsed",
        )
    texts = "numbers stay texts until they are parsed"
    for name, facts in (("ticker", ticker), ("ticker_option", option), ("trade", trade), ("order", order), ("private_trade", fill)):
        can(f"decode/{name}", decode, prepare=str.encode, facts=facts, undone=texts)


def _book(deltas: Any) -> Raw:
    levels = [(delta.side, [str(delta.price), str(delta.size)]) for delta in list(deltas)[1:]]
    return {"bids": [pair for side, pair in levels if side == "BUY"], "asks": [pair for side, pair in levels if side == "SELL"]}


def _quote(quote: Any) -> Raw:
    bid = {"bid": str(quote.bid_price), "bid_size": str(quote.bid_size)}
    return bid | {"ask": str(quote.ask_price), "ask_size": str(quote.ask_size)}


def _greeks(greeks: Any) -> Raw:
    return {name: str(getattr(greeks, name)) for name in ("delta", "gamma", "theta", "vega", "rho")}


def _trade(trade: Any) -> Raw:
    side = {"BUYER": "buy", "SELLER": "sell"}[trade.aggressor_side]
    return {"id": trade.trade_id, "price": str(trade.price), "amount": str(trade.size), "side": side}


def _order(report: Any) -> Raw:
    names = {"id": report.venue_order_id, "label": report.client_order_id}
    return names | {"price": str(report.price), "amount": str(report.quantity), "filled": str(report.filled_qty)}


def _fill(report: Any) -> Raw:
    names = {"id": report.trade_id, "order": report.venue_order_id}
    return names | {"price": str(report.last_px), "amount": str(report.last_qty), "fee": str(report.commission)}


def _offer_domain(can: Offers, decode: Decode, registry: Any) -> None:
    from derive_bench.adapter.book import parse_order_book_deltas
    from derive_bench.adapter.inbound import parse_fill_report, parse_option_greeks, parse_order_report, parse_quote, parse_trade

    by_topic = registry.by_topic

    def book(frame: bytes) -> Any:
        message = decode(frame).data
        deltas = parse_order_book_deltas(message, registry[message.instrument_name], 0)
        # Made when first looked at; the peers' books are there at once.
        for delta in deltas:
            delta.price_raw, delta.size_raw  # noqa: B018
        return deltas

    def quote(frame: bytes) -> Any:
        message = decode(frame)
        return parse_quote(message.data, by_topic[message.topic], 0)

    def greeks(frame: bytes) -> Any:
        message = decode(frame)
        return parse_option_greeks(message.data, by_topic[message.topic], 0)

    def trade(frame: bytes) -> Any:
        first = decode(frame).data[0]
        return parse_trade(first, registry[first.instrument_name], 0)

    for depth in ("", "_d10", "_d100"):
        can(f"domain/book{depth}", book, prepare=str.encode, facts=_book, undone="")
    can("domain/quote", quote, prepare=str.encode, facts=_quote, undone="")
    can("domain/option_greeks", greeks, prepare=str.encode, facts=_greeks, undone="")
    can("domain/trade", trade, prepare=str.encode, facts=_trade, undone="")
    can("domain/order", lambda frame: parse_order_report(decode(frame).data[0], 0), prepare=str.encode, facts=_order, undone="")
    can("domain/fill", lambda frame: parse_fill_report(decode(frame).data[0], 0), prepare=str.encode, facts=_fill, undone="")


def _offer_dispatch(can: Offers, decode: Decode, registry: Any) -> None:
    from derive_bench.adapter.book import parse_order_book_deltas
    from derive_bench.adapter.dispatch import Dispatcher
    from derive_bench.adapter.inbound import parse_quote, parse_trade

    handled: Any = None

    def handler(event: Any) -> None:
        nonlocal handled
        handled = event

    def book(frame: bytes) -> Any:
        message = decode(frame).data
        handler(parse_order_book_deltas(message, registry[message.instrument_name], 0))
        return handled

    def quote(frame: bytes) -> Any:
        message = decode(frame)
        handler(parse_quote(message.data, registry.by_topic[message.topic], 0))
        return handled

    def trade(frame: bytes) -> Any:
        for each in decode(frame).data:
            handler(parse_trade(each, registry[each.instrument_name], 0))
        return handled

    dispatcher = Dispatcher(handler)

    def order(frame: bytes) -> Any:
        dispatcher.on_orders(decode(frame).data, 0)
        return handled

    def fill(frame: bytes) -> Any:
        dispatcher.on_trades(decode(frame).data, 0)
        return handled

    lazily = "routed by its caller; deltas become objects when they are looked at"
    can("dispatch/book_d10", book, prepare=str.encode, facts=_book, undone=lazily)
    can("dispatch/quote", quote, prepare=str.encode, facts=_quote, undone="routed by its caller")
    can("dispatch/trade", trade, prepare=str.encode, facts=_trade, undone="routed by its caller")
    can("dispatch/order", order, prepare=str.encode, facts=_order, undone="routed by its caller")
    can("dispatch/fill", fill, prepare=str.encode, facts=_fill, undone="routed by its caller")


def _offer_requests(can: Offers, registry: Any, account: Raw, protocol_name: str) -> None:
    from decimal import Decimal

    from derive_bench.adapter.model import OrderSide
    from derive_bench.adapter.outbound import OrderCommand, OrderEncoder
    from derive_bench.adapter.protocol import PROTOCOLS
    from derive_bench.adapter.signing import ActionSigner, Signer, rest_auth_headers, trade_words
    from derive_bench.adapter.signing.wei import wei_converter

    protocol = PROTOCOLS[protocol_name]
    signer, wallet, subaccount_id = Signer(account["key"]), account["wallet"], account["subaccount_id"]
    max_fee, expiry_sec = Decimal(account["max_fee"]), account["expiry_sec"]

    sign_trade = ActionSigner(signer, protocol, wallet, subaccount_id).sign_trade
    words = trade_words(account["asset"], int(account["sub_id"]))
    price_wei, amount_wei, fee_wei = (wei_converter(protocol, field) for field in ("limit_price", "amount", "max_fee"))

    def sign(order: tuple[Decimal, Decimal, bool, int]) -> str:
        price, amount, is_bid, nonce = order
        return sign_trade(words, price_wei(price), amount_wei(amount), fee_wei(max_fee), is_bid, nonce, expiry_sec)

    can(
        "sign/trade_action",
        sign,
        prepare=lambda raw: (Decimal(raw["price"]), Decimal(raw["amount"]), raw["side"] == "buy", raw["nonce"]),
        facts=lambda signature: {"signature": signature},
        undone="",
    )

    encoder = OrderEncoder(
        signer,
        protocol,
        owner=wallet,
        subaccount_id=subaccount_id,
        instruments=registry,
        clock_ns=lambda: account["clock_ns"],
    )

    def command(raw: Raw) -> tuple[OrderCommand, int]:
        order = OrderCommand(
            instrument_name=raw["instrument_name"],
            side=OrderSide.BUY if raw["side"] == "buy" else OrderSide.SELL,
            amount=Decimal(raw["amount"]),
            limit_price=Decimal(raw["price"]),
            max_fee=max_fee,
            expiry_sec=expiry_sec,
            label=raw["label"],
        )
        return order, raw["nonce"]

    submit, cancel = encoder.submit_rpc, encoder.cancel_order_rpc
    can(
        "exec/submit_limit",
        lambda order: submit(order[0], order[1]),
        prepare=command,
        facts=lambda request: json.loads(request)["params"],
        undone="",
    )
    can(
        "exec/cancel",
        lambda ids: cancel(ids[0], ids[1]),
        prepare=lambda raw: (raw["instrument_name"], raw["order_id"]),
        facts=lambda request: json.loads(request)["params"],
        undone="",
    )

    def headers(result: dict[str, str]) -> Raw:
        names = (protocol.header_wallet, protocol.header_timestamp, protocol.header_signature)
        return dict(zip(("wallet", "timestamp", "signature"), (result[name] for name in names), strict=True))

    can("auth/rest_headers", lambda now: rest_auth_headers(signer, protocol, wallet, now), prepare=int, facts=headers, undone="")
