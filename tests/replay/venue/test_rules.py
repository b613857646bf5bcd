"""Rules: each thing that an order has to keep, and the code that its breach is refused with."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive_bench.adapter.protocol import V2_MAINNET, V3_TESTNET
from derive_bench.replay.venue.units import UNIT, product, text_of, to_units
from tests.replay.venue.venue_support import ASK, NOW_NS, OTHER_KEY, Rig, book, ticker

NOW_SEC = NOW_NS // 10**9
DAY = 86_400

REFUSED: dict[str, tuple[int, dict[str, Any]]] = {
    "an unknown instrument": (12001, {"instrument_name": "ETH-NONE"}),
    "a subaccount of nobody": (14001, {"subaccount_id": 2}),
    "a trigger": (11050, {"trigger_price": "1"}),
    "an algorithm": (-32602, {"algo_type": "twap"}),
    "a signer who may not": (14026, {"signer": "0x1111111111111111111111111111111111111111"}),
    "a signer who is none": (14026, {"signer": "me"}),
    "too late": (11022, {"reject_timestamp": NOW_NS // 10**6 - 1}),
    "an expiry too near": (11011, {"signature_expiry_sec": NOW_SEC + 299}),
    "an expiry too far": (11011, {"signature_expiry_sec": NOW_SEC + 120 * DAY + 1}),
    "a nonce in ms": (11018, {"nonce": str(NOW_NS // 10**6)}),
    "a nonce too old": (11018, {"nonce": str(NOW_NS - 91 * DAY * 10**9)}),
    "a nonce too far ahead": (11018, {"nonce": str(NOW_NS + 3_601 * 10**9)}),
    "a nonce of 20 digits": (11018, {"nonce": "1" * 20}),
    "more digits than there are": (11012, {"amount": "0.5000000000001"}),
    "an amount off the step": (11012, {"amount": "0.5001"}),
    "too little": (11012, {"amount": "0.009"}),
    "too much": (11012, {"amount": "10001"}),
    "nothing": (11012, {"amount": "0"}),
    "a negative amount": (11012, {"amount": "-1"}),
    "a price off the tick": (11013, {"limit_price": "1000.001"}),
    "a price of more digits": (11013, {"limit_price": "1000.0000000000001"}),
    "no price": (11013, {"limit_price": "0"}),
    "a price out of range": (11013, {"limit_price": str(2**127)}),
    "a negative fee": (-32602, {"max_fee": "-1"}),
    "a fee below the least": (11023, {"max_fee": "1.7243"}),
    "post-only at market": (11010, {"order_type": "market", "time_in_force": "post_only"}),
    "reduce-only that rests": (11024, {"reduce_only": True}),
    "reduce-only without a position": (11025, {"reduce_only": True, "time_in_force": "ioc"}),
    "post-only that crosses": (11008, {"time_in_force": "post_only", "limit_price": ASK}),
    "a limit beyond the band that crosses": (11008, {"limit_price": "2950.01"}),
    "market beyond its worst price": (11009, {"order_type": "market", "limit_price": "2874.31"}),
    "IOC that finds nothing": (11009, {"time_in_force": "ioc", "limit_price": "2874.31"}),
    "FOK that finds too little": (11014, {"time_in_force": "fok", "limit_price": "2900", "amount": "5.001"}),
}


@pytest.mark.parametrize(("code", "changes"), REFUSED.values(), ids=REFUSED)
def test_a_breach_is_refused_with_its_code(code: int, changes: dict[str, Any]) -> None:
    rig = Rig()
    signed = {"signer": rig.signer.address} if "signer" in changes else None
    signed = (signed or {}) | {"limit_price": "1", "amount": "1", "max_fee": "1"} if code in (11012, 11013, -32602) else signed
    params = rig.order(**changes, signed=signed)
    assert rig.code("private/order", params) == code
    assert rig.result("private/get_open_orders", {"subaccount_id": 1})["orders"] == []
    assert rig.updates("orders") == [], "nothing has happened"


EDGES: dict[str, dict[str, Any]] = {
    "the shortest expiry": {"signature_expiry_sec": NOW_SEC + 300},
    "the longest expiry": {"signature_expiry_sec": NOW_SEC + 120 * DAY},
    "longer under protection": {"signature_expiry_sec": NOW_SEC + 121 * DAY, "mmp": True},
    "the oldest nonce": {"nonce": str(NOW_NS - 90 * DAY * 10**9)},
    "the newest nonce": {"nonce": str(NOW_NS + 3_600 * 10**9)},
    "the least amount": {"amount": "0.01"},
    "the most": {"amount": "10000"},
    "a tick": {"limit_price": "0.01"},
    "zeros at the end": {"limit_price": "1000.000000000000", "amount": "0.500"},
    "the least fee that rests": {"max_fee": "1.7244"},
    "post-only beside the best": {"time_in_force": "post_only", "limit_price": "2874.31"},
    "not yet too late": {"reject_timestamp": NOW_NS // 10**6},
    "the last time of all": {"reject_timestamp": 2**63 - 1},
}


@pytest.mark.parametrize("changes", EDGES.values(), ids=EDGES)
def test_what_just_keeps_the_rules_rests(changes: dict[str, Any]) -> None:
    rig = Rig()
    assert rig.result("private/order", rig.order(**changes))["order"]["order_status"] == "open"


def test_a_signature_over_anything_else_is_refused() -> None:
    rig = Rig()
    said = {
        "amount": "0.6",
        "limit_price": "1001",
        "max_fee": "101",
        "direction": "sell",
        "subaccount_id": 2,
        "nonce": str(NOW_NS),
        "signature_expiry_sec": NOW_SEC + 601,
    }
    for field, value in said.items():
        assert rig.code("private/order", rig.order(signed={field: value})) == 14014, field
    assert rig.code("private/order", rig.order(protocol=V3_TESTNET)) == 14014, "another network"
    assert rig.code("private/order", rig.order(wallet="0x" + "11" * 20)) == 14014, "another owner"
    good = rig.order()
    assert rig.code("private/order", good | {"signature": "0x" + "12" * 65}) == 14014
    rig.result("private/order", good | {"signature": good["signature"][2:]})


def test_a_session_key_signs_orders() -> None:
    rig = Rig()
    stranger = Rig().signer.__class__(OTHER_KEY)
    rig.signer, wallet = stranger, rig.signer.address
    assert rig.code("private/order", rig.order(wallet=wallet)) == 14026
    rig.accounts.register(stranger.address, wallet)
    assert rig.result("private/order", rig.order(wallet=wallet))["order"]["signer"] == stranger.address


def test_a_nonce_serves_once_for_all_subaccounts() -> None:
    rig = Rig(subaccounts=[1, 2])
    used = rig.order()
    rig.result("private/order", used)
    assert rig.code("private/order", used) == 11017
    assert rig.code("private/order", rig.order(nonce=used["nonce"], subaccount_id=2)) == 11017
    refused = rig.order(max_fee="0.1")
    assert rig.code("private/order", refused) == 11023
    rig.result("private/order", rig.order(nonce=refused["nonce"]))


def test_each_dialect_has_its_own_nonce() -> None:
    rig = Rig()
    params = rig.order()
    assert rig.code("private/order", params | {"nonce": int(params["nonce"])}) == -32602
    assert rig.code("private/order", params | {"nonce": "-1"}) == -32602
    old = Rig(V2_MAINNET)
    params = old.order()
    assert old.code("private/order", params | {"nonce": str(params["nonce"])}) == -32602
    assert old.result("private/order", params)["order"]["nonce"] == params["nonce"]
    for nonce in (10**12, 10**19 - 1):
        old.result("private/order", old.order(nonce=nonce))
    for nonce in (10**12 - 1, 10**19):
        assert old.code("private/order", old.order(nonce=nonce)) == 11018
    assert old.result("private/order", old.order(amount="0.5000000000000"))["order"]["order_status"] == "open", "v2 takes 18 digits"


def test_params_are_checked_with_their_path() -> None:
    rig = Rig()
    params = rig.order()
    for field in ("instrument_name", "amount", "signature", "signature_expiry_sec", "nonce"):
        reply = rig.call("private/order", {name: value for name, value in params.items() if name != field})
        assert reply["error"]["code"] == -32602
        assert field in reply["error"]["data"]
    for changes in ({"direction": "up"}, {"amount": "much"}, {"amount": None}, {"limit_price": "1E+400"}, {"label": 5}, {"mmp": "yes"}):
        reply = rig.call("private/order", params | changes)
        assert reply["error"]["code"] == -32602, changes
        assert f"$.params.{next(iter(changes))}" in reply["error"]["data"]
    assert rig.result("private/order", params | {"amount": 0.5})["order"]["amount"] == "0.5", "a bare number"


def test_the_fee_needs_more_where_it_takes() -> None:
    rig = Rig()
    taking = {"limit_price": "2900", "amount": "0.5"}
    assert rig.code("private/order", rig.order(**taking, max_fee="1.7443")) == 11023
    assert rig.result("private/order", rig.order(**taking, max_fee="1.7444"))["trades"]


def test_without_prices_on_the_tape_nothing_can_be_taken() -> None:
    rig = Rig(playing=False)
    assert rig.code("private/order", rig.order(order_type="market", limit_price="5000")) == 11009
    assert rig.result("private/order", rig.order(max_fee="0"))["order"]["order_status"] == "open"
    rig.play(book(ask=""))
    assert rig.code("private/order", rig.order(order_type="market", limit_price="5000", max_fee="9")) == 11009


def test_post_only_is_repriced_on_request() -> None:
    rig = Rig()
    order = rig.result("private/order", rig.order(time_in_force="post_only", limit_price="2900", reject_post_only=False))["order"]
    assert (order["limit_price"], order["signed_limit_price"], order["order_status"]) == ("2874.31", "2900", "open")
    ask = rig.order(direction="sell", time_in_force="post_only", limit_price="2800", reject_post_only=False)
    rig.play(ticker())
    rig.result("private/cancel_all", {"subaccount_id": 1})
    assert rig.result("private/order", ask)["order"]["limit_price"] == "2874.32"


@settings(max_examples=80)
@given(st.integers(-(10**40), 10**40), st.integers(-(10**30), 10**30))
def test_units_are_exact(left: int, right: int) -> None:
    assert to_units(text_of(left)) == left
    exact = Decimal(left) * Decimal(right)
    assert product(left, right) == int((Decimal(left * right) / UNIT).to_integral_value()) if abs(exact) < 10**27 else True
    assert abs(product(left, right) * UNIT - left * right) * 2 <= UNIT
    assert "E" not in text_of(left)
    assert text_of(UNIT * left) == str(left)
