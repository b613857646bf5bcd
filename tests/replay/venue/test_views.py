"""Views: every reply and private frame keeps the venue's own schemas, and the adapter can read them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from derive_bench.adapter.channels import ChannelKind
from derive_bench.adapter.frames import Subscription, decode
from derive_bench.adapter.messages import PrivateOrder, PrivateTrade
from derive_bench.adapter.protocol import V2_MAINNET, V3_MAINNET
from tests.replay.venue.venue_support import Rig, trade
from tests.shared import SHARED, needs_shared

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed: make venv")

TAKING = {"limit_price": "2900"}


@cache
def schemas(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((SHARED / "spec" / name).read_bytes())["components"]["schemas"]
    return document


def check(result: Any, schema: str, name: str = "openapi.json") -> None:
    document = {"$ref": f"#/components/schemas/{schema}", "components": {"schemas": schemas(name)}}
    jsonschema.Draft202012Validator(document).validate(result)


def traded() -> Rig:
    """Somebody who has orders open, filled and cancelled, and a position."""
    rig = Rig()
    rig.result("subscribe", {"channels": ["1.orders", "1.trades", "1.balances"]})
    rig.accounts.register("0x" + "12" * 20, rig.signer.address)
    rig.result("private/order", rig.order(**TAKING))
    rig.result("private/order", rig.order())
    return rig


@needs_shared
def test_replies_keep_the_venues_schemas() -> None:
    rig = traded()
    wallet, subaccount = {"wallet": rig.signer.address}, {"subaccount_id": 1}
    replies = {
        "private/get_account": ("PrivateGetAccountResponse", wallet),
        "private/get_subaccounts": ("PrivateGetSubaccountsResponse", wallet),
        "private/get_subaccount": ("Subaccount", subaccount),
        "private/session_keys": ("PrivateSessionKeysResponse", wallet),
        "private/get_open_orders": ("AggregatedOrdersResult", subaccount),
        "private/get_order_history": ("PaginatedOrdersResult", subaccount),
        "private/get_trade_history": ("PaginatedTradesResult", subaccount),
        "private/get_positions": ("PrivateGetPositionsResponse", subaccount),
        "private/get_collaterals": ("PrivateGetCollateralsResponse", subaccount),
        "public/get_all_instruments": ("GetAllInstrumentsResponse", {"instrument_type": "perp", "expired": False}),
        "public/get_instrument": ("Instrument", {"instrument_name": "ETH-PERP"}),
        "public/get_ticker": ("TickerSlimSnapshot", {"instrument_name": "ETH-PERP"}),
        "public/get_tickers": ("GetTickersResponse", {"instrument_type": "perp"}),
        "public/get_currency": ("Currency", {"currency": "ETH"}),
        "private/cancel_by_label": ("CancelByLabelResponse", subaccount | {"label": "none"}),
        "private/order": ("OrderCreatedResponse", rig.order(**TAKING)),
    }
    for method, (schema, params) in replies.items():
        check(rig.result(method, params), schema)
    (order,) = rig.result("private/get_open_orders", subaccount)["orders"]
    replacing = rig.order(limit_price="1001") | {"order_id_to_cancel": order["order_id"]}
    replaced = rig.result("private/replace", replacing)
    check(replaced, "ReplaceOrderResponse")
    crossing = rig.order(**TAKING, time_in_force="post_only") | {"order_id_to_cancel": replaced["order"]["order_id"]}
    check(rig.result("private/replace", crossing), "ReplaceOrderResponse")
    check(rig.call("private/order", crossing)["error"], "RPCError")
    assert rig.result("private/get_all_portfolios", wallet) == [rig.result("private/get_subaccount", subaccount)]


@needs_shared
def test_private_frames_keep_the_venues_schemas() -> None:
    rig = traded()
    kinds = {"1.orders": ("Order", "openapi.json"), "1.trades": ("Trade", "openapi.json")}
    kinds["1.balances"] = ("BalanceUpdate", "subscriptions.json")
    seen = set()
    for _, topic, frame in rig.venue.updates():
        for element in json.loads(frame.payload)["params"]["data"]:
            check(element, *kinds[topic])
        seen.add(topic)
    assert seen == set(kinds)


@pytest.mark.parametrize("protocol", [V3_MAINNET, V2_MAINNET], ids=["v3", "v2"])
def test_the_adapter_reads_private_frames(protocol: Any) -> None:
    rig = Rig(protocol)
    rig.result("subscribe", {"channels": ["1.orders", "1.trades", "1.balances"]})
    rig.result("private/order", rig.order(**TAKING))
    kinds = {}
    for _, _, frame in rig.venue.updates():
        message = decode(frame.payload)
        assert isinstance(message, Subscription)
        kinds[message.channel.kind] = message.data
    assert isinstance(kinds[ChannelKind.ORDERS][0], PrivateOrder)
    assert isinstance(kinds[ChannelKind.PRIVATE_TRADES][0], PrivateTrade)
    assert ChannelKind.BALANCES in kinds


def test_markets_can_be_asked_for() -> None:
    rig = Rig()
    perps = rig.result("public/get_all_instruments", {"instrument_type": "perp", "expired": False, "page_size": 1})
    assert perps["pagination"]["num_pages"] == perps["pagination"]["count"] > 1
    assert len(perps["instruments"]) == 1
    expired = rig.result("public/get_all_instruments", {"instrument_type": "perp", "expired": True})["instruments"]
    assert not any(record["is_active"] for record in expired)
    names = rig.result("public/get_all_live_instruments")
    assert {"ETH-PERP", "ETH-USDC"} <= set(names)
    assert [each["instrument_name"] for each in rig.result("public/get_instruments", {"instrument_type": "erc20", "currency": "ETH"})] == [
        "ETH-USDC"
    ]
    for frame in (trade("1"), trade("2"), b'{"params":{"channel":"trades.ETH-PERP","data":5}}'):
        rig.play(frame, "trades.ETH-PERP")
    trades = rig.result("public/get_trade_history", {"instrument_name": "ETH-PERP", "page_size": 1})
    assert (len(trades["trades"]), trades["pagination"]) == (1, {"count": 2, "num_pages": 2})
    assert rig.result("public/get_trade_history", {"instrument_type": "perp", "currency": "ETH"})["pagination"]["count"] == 2
    assert rig.result("public/get_trade_history", {"instrument_type": "erc20"})["trades"] == []
    assert rig.code("public/get_instrument", {"instrument_name": "X"}) == 12001
    assert rig.code("public/get_currency", {"currency": "X"}) == 12002
    assert "ETH" in [each["currency"] for each in rig.result("public/get_all_currencies")]
    assert rig.result("public/get_ticker", {"instrument_name": "BTC-PERP"})["a"] == "0", "nothing is known of it"
