"""The engine: orders against the tape, by example and by thousands of made-up sessions held against a plain model."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from derive_bench.adapter.protocol import V2_MAINNET
from tests.replay.venue.venue_support import ASK, BID, Rig, book, ticker, trade

CHANNELS = ["1.orders", "1.trades", "1.balances"]
TAKING = {"limit_price": "2900"}


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.result("subscribe", {"channels": CHANNELS})
    return rig


def placed(rig: Rig, **changes: Any) -> dict[str, Any]:
    order: dict[str, Any] = rig.result("private/order", rig.order(**changes))["order"]
    return order


def test_a_market_order_trades_at_the_tapes_best_price(rig: Rig) -> None:
    result = rig.result("private/order", rig.order(order_type="market", **TAKING))
    order, (fill,) = result["order"], result["trades"]
    assert (order["order_status"], order["average_price"], order["filled_amount"]) == ("filled", ASK, "0.5")
    assert (fill["trade_price"], fill["trade_amount"], fill["liquidity_role"]) == (ASK, "0.5", "taker")
    assert Decimal(fill["trade_fee"]) == Decimal("0.0003") * 2874 * Decimal("0.5") + Decimal("0.01")
    assert order["order_fee"] == fill["trade_fee"]
    sold = rig.result("private/order", rig.order(order_type="market", direction="sell", limit_price="2000"))
    assert sold["trades"][0]["trade_price"] == BID


def test_what_an_ioc_leaves_is_cancelled_and_what_a_limit_leaves_rests(rig: Rig) -> None:
    order = placed(rig, time_in_force="ioc", amount="7", **TAKING)
    assert (order["order_status"], order["filled_amount"], order["cancel_reason"]) == ("cancelled", "5", "ioc_or_market_partial_fill")
    order = placed(rig, amount="7", **TAKING)
    assert (order["order_status"], order["filled_amount"]) == ("open", "5")
    filled = placed(rig, time_in_force="fok", amount="5", **TAKING)
    assert filled["order_status"] == "filled"


def test_frames_follow_in_order(rig: Rig) -> None:
    reply = rig.result("private/order", rig.order(**TAKING))
    sent = [(topic, json.loads(frame.payload)["params"]["data"]) for _, topic, frame in rig.venue.updates()]
    assert [topic for topic, _ in sent] == CHANNELS
    assert sent[0][1] == [reply["order"]]
    assert sent[1][1] == reply["trades"]
    assert [change["name"] for change in sent[2][1]] == ["ETH-PERP", "USDC"]
    assert sent[2][1][0] | {"update_type": "trade"} == {
        "name": "ETH-PERP",
        "previous_balance": "0",
        "new_balance": "0.5",
        "update_type": "trade",
    }


def test_a_resting_order_is_filled_when_the_tape_trades_through_it(rig: Rig) -> None:
    order = placed(rig, limit_price="2800")
    other = placed(rig, limit_price="2700")
    rig.updates("orders")
    for price in ("2801", "2800"):
        rig.play(trade(price))
    assert rig.result("private/get_order", {"subaccount_id": 1, "order_id": order["order_id"]})["filled_amount"] == "0"
    rig.play(trade("2799.99"))
    done = rig.result("private/get_order", {"subaccount_id": 1, "order_id": order["order_id"]})
    assert (done["order_status"], done["average_price"]) == ("filled", "2800")
    assert [each["order_id"] for each in rig.result("private/get_open_orders", {"subaccount_id": 1})["orders"]] == [other["order_id"]]
    history = rig.result("private/get_trade_history", {"subaccount_id": 1})["trades"]
    assert [(each["liquidity_role"], each["trade_price"]) for each in history] == [("maker", "2800")]


def test_a_resting_order_is_filled_piece_by_piece_when_the_other_side_reaches_it(rig: Rig) -> None:
    placed(rig, direction="sell", limit_price="2900", amount="7")
    rig.play(book(bid="2899.99", ask="2905"))
    assert not rig.venue.engine.fills
    for filled, status in (("3", "open"), ("6", "open"), ("7", "filled")):
        rig.play(book(bid="2900", ask="2905", amount="3"))
        (order,) = rig.result("private/get_order_history", {"subaccount_id": 1})["orders"]
        assert (order["filled_amount"], order["order_status"]) == (filled, status)
    rig.play(book(bid="2900", ask="2905", amount="3"))
    assert len(rig.venue.engine.fills) == 3


def test_played_fills_are_told_to_who_listens(rig: Rig) -> None:
    placed(rig, limit_price="2800")
    list(rig.venue.updates())
    sent = rig.play(trade("2700"))
    assert [topic for _, topic, _ in sent] == CHANNELS
    assert json.loads(sent[0][2])["params"]["data"][0]["order_status"] == "filled"


def test_a_fill_by_script(rig: Rig) -> None:
    order = placed(rig)
    part = rig.result("venue/fill", {"order_id": order["order_id"], "amount": "0.2", "price": "999"})
    assert (part["trade_price"], part["trade_amount"], part["liquidity_role"]) == ("999", "0.2", "maker")
    assert rig.code("venue/fill", {"order_id": order["order_id"], "amount": "0.4"}) == 11012
    rig.result("venue/fill", {"order_id": order["order_id"]})
    done = rig.result("private/get_order", {"subaccount_id": 1, "order_id": order["order_id"]})
    assert (done["order_status"], done["average_price"]) == ("filled", "999.6")
    assert rig.code("venue/fill", {"order_id": order["order_id"]}) == 11006


def test_cancelling(rig: Rig) -> None:
    order = placed(rig)
    params = {"subaccount_id": 1, "order_id": order["order_id"], "instrument_name": "ETH-PERP"}
    assert rig.code("private/cancel", params | {"instrument_name": "BTC-PERP"}) == 11006
    assert rig.code("private/cancel", {"subaccount_id": 1, "order_id": order["order_id"]}) == -32602
    cancelled = rig.result("private/cancel", params)
    assert (cancelled["order_status"], cancelled["cancel_reason"]) == ("cancelled", "user_request")
    assert rig.code("private/cancel", params) == 11003
    assert rig.code("private/cancel", params | {"order_id": "none"}) == 11006
    filled = placed(rig, **TAKING)
    assert rig.code("private/cancel", params | {"order_id": filled["order_id"]}) == 11004
    expired = placed(rig)
    rig.now_ns += 3_600 * 10**9
    assert rig.venue.engine.expire() == 1
    assert rig.code("private/cancel", params | {"order_id": expired["order_id"]}) == 11005
    assert rig.updates("orders")[-1]["order_status"] == "expired"


def test_cancelling_many(rig: Rig) -> None:
    btc = {"limit_price": "10000", "amount": "0.01", "max_fee": "1000"}
    for label in ("a", "a", "b"):
        placed(rig, label=label)
    rig.result("private/order", rig.order("BTC-PERP", label="a", **btc))
    assert rig.result("private/cancel_by_label", {"subaccount_id": 1, "label": "a", "instrument_name": "ETH-PERP"}) == {
        "cancelled_orders": 2
    }
    assert rig.result("private/cancel_by_label", {"subaccount_id": 1, "label": "a"}) == {"cancelled_orders": -1}
    assert rig.result("private/cancel_by_label", {"subaccount_id": 1, "label": "a", "instrument_name": "ETH-PERP"}) == {
        "cancelled_orders": 0
    }
    assert rig.result("private/cancel_by_instrument", {"subaccount_id": 1, "instrument_name": "ETH-PERP"}) == {"cancelled_orders": 1}
    order = placed(rig)
    by_nonce = {"subaccount_id": 1, "nonce": order["nonce"], "instrument_name": "ETH-PERP"}
    assert rig.result("private/cancel_by_nonce", by_nonce) == {"cancelled_orders": 1}
    later = rig.order()
    assert rig.result("private/cancel_by_nonce", by_nonce | {"nonce": later["nonce"]}) == {"cancelled_orders": 0}
    assert rig.code("private/order", later) == 11017, "its nonce is used up"
    placed(rig)
    assert rig.result("private/cancel_all", {"subaccount_id": 1}) == "ok"
    assert rig.result("private/get_open_orders", {"subaccount_id": 1})["orders"] == []
    assert rig.code("private/cancel_all", {"subaccount_id": 3}) == 14001


def test_replacing(rig: Rig) -> None:
    old = placed(rig, label="old")
    list(rig.venue.updates())
    result = rig.result("private/replace", rig.order(limit_price="1001") | {"order_id_to_cancel": old["order_id"]})
    new = result["order"]
    assert (result["cancelled_order"]["order_status"], new["replaced_order_id"], new["label"]) == ("cancelled", old["order_id"], "")
    assert [(each["order_id"], each["order_status"]) for each in rig.updates("orders")] == [
        (old["order_id"], "cancelled"),
        (new["order_id"], "open"),
    ]
    by_nonce = rig.order(limit_price="1002") | {"nonce_to_cancel": int(new["nonce"]), "expected_filled_amount": "0"}
    newer = rig.result("private/replace", by_nonce)["order"]
    params = {"order_id_to_cancel": newer["order_id"]}
    assert rig.code("private/replace", rig.order() | params | {"expected_filled_amount": "0.1"}) == 11028
    assert rig.code("private/replace", rig.order()) == -32602
    assert rig.code("private/replace", rig.order() | params | {"nonce_to_cancel": newer["nonce"]}) == -32602
    assert rig.code("private/replace", rig.order() | {"order_id_to_cancel": old["order_id"]}) == 11003
    (still,) = rig.result("private/get_open_orders", {"subaccount_id": 1})["orders"]
    assert still["order_id"] == newer["order_id"], "where the cancel fails nothing is created, and nothing cancelled"


def test_when_a_replaces_create_fails_the_old_order_stays_cancelled(rig: Rig) -> None:
    old = placed(rig)
    crossing = rig.order(time_in_force="post_only", limit_price="2900") | {"order_id_to_cancel": old["order_id"]}
    result = rig.result("private/replace", crossing)
    assert result["create_order_error"]["code"] == 11008
    assert "order" not in result
    assert result["cancelled_order"]["order_status"] == "cancelled"
    assert rig.result("private/get_open_orders", {"subaccount_id": 1})["orders"] == []


def test_own_orders_do_not_cross(rig: Rig) -> None:
    placed(rig, direction="sell", limit_price="2900")
    assert rig.code("private/order", rig.order(limit_price="2900")) == 11007
    assert rig.result("private/order", rig.order(limit_price="2899.99"))["order"]["order_status"] == "filled"


def test_open_orders_are_limited() -> None:
    rig = Rig(max_open=2)
    placed(rig)
    placed(rig)
    assert rig.code("private/order", rig.order()) == 11019


def test_reduce_only_goes_as_far_as_the_position(rig: Rig) -> None:
    placed(rig, **TAKING)
    reducing: dict[str, Any] = {"reduce_only": True, "time_in_force": "ioc", "amount": "2"}
    assert rig.code("private/order", rig.order(**reducing, **TAKING)) == 11025
    order = placed(rig, direction="sell", limit_price="2000", **reducing)
    assert (order["filled_amount"], order["order_status"]) == ("0.5", "cancelled")
    assert rig.result("private/get_positions", {"subaccount_id": 1})["positions"] == []
    assert rig.code("private/order", rig.order("ETH-USDC", **reducing, limit_price="1000")) == 11025


def test_orders_end_with_the_connection_where_the_wallet_wants_it(rig: Rig) -> None:
    placed(rig)
    other = rig.connect(rig.wire)
    rig.result("public/login", rig.login_params(), other)
    rig.venue.gone(other)
    assert len(rig.result("private/get_open_orders", {"subaccount_id": 1})["orders"]) == 1
    rig.result("private/set_cancel_on_disconnect", {"enabled": True})
    assert rig.result("private/get_account")["cancel_on_disconnect"] is True
    again = rig.connect(rig.wire)
    rig.result("public/login", rig.login_params(), again)
    rig.venue.gone(again)
    assert rig.updates("orders")[-1]["cancel_reason"] == "cancel_on_disconnect"


def test_spot_moves_both_assets() -> None:
    rig = Rig()
    rig.play(book(name="ETH-USDC"))
    rig.result("private/order", rig.order("ETH-USDC", amount="1", limit_price="2874.32", time_in_force="ioc"))
    held = {each["asset_name"]: each["amount"] for each in rig.result("private/get_collaterals", {"subaccount_id": 1})["collaterals"]}
    (fill,) = rig.result("private/get_trade_history", {"subaccount_id": 1})["trades"]
    assert Decimal(held["ETH"]) == 1
    assert Decimal(held["USDC"]) == 1_000_000 - Decimal("2874.32") - Decimal(fill["trade_fee"])


def test_v2_says_it_in_its_own_words() -> None:
    rig = Rig(V2_MAINNET)
    rig.result("subscribe", {"channels": ["1.trades", "1.trades.pending"]})
    result = rig.result("private/order", rig.order(**TAKING))
    assert result["trades"][0]["tx_status"] == "pending"
    assert "op_uuid" not in result["trades"][0]
    assert "signed_limit_price" not in result["order"]
    assert [topic for _, topic, _ in rig.venue.updates()] == ["1.trades", "1.trades.pending"]


def test_histories_come_in_pages(rig: Rig) -> None:
    orders = [placed(rig, label=str(number)) for number in range(5)]
    page = rig.result("private/get_order_history", {"subaccount_id": 1, "page": 2, "page_size": 2})
    assert [order["label"] for order in page["orders"]] == ["2", "1"]
    assert page["pagination"] == {"count": 5, "num_pages": 3}
    by_id = rig.result("private/get_order_history", {"wallet": rig.signer.address, "order_id": orders[3]["order_id"]})
    assert [order["label"] for order in by_id["orders"]] == ["3"]
    assert rig.code("private/get_order_history", {}) == 14025
    assert rig.code("private/get_order_history", {"wallet": "0x" + "11" * 20}) == 14020


CENT = Decimal("0.01")


class Sessions(RuleBasedStateMachine):
    """Any orders, cancels and prices, against a model that keeps decimals in dicts."""

    @initialize()
    def begin(self) -> None:
        self.rig = Rig()
        self.rig.result("subscribe", {"channels": CHANNELS})
        self.top = (Decimal(BID), Decimal(ASK), Decimal(5))
        self.left: dict[str, Decimal] = {}
        self.terms: dict[str, tuple[bool, Decimal]] = {}
        self.position = Decimal(0)

    @rule(buy=st.booleans(), cents=st.integers(-300, 300), amount=st.integers(1, 900), kind=st.sampled_from(["gtc", "ioc", "post_only"]))
    def place(self, buy: bool, cents: int, amount: int, kind: str) -> None:
        price, size = self.top[0] + cents * CENT, amount * CENT
        best = self.top[1] if buy else self.top[0]
        takes = price >= best if buy else price <= best
        own = any(side is not buy and (price >= limit if buy else price <= limit) for side, limit in map(self.terms.get, self.left))  # type: ignore[misc]
        side = "buy" if buy else "sell"
        reply = self.rig.call("private/order", self.rig.order(direction=side, limit_price=f"{price}", amount=f"{size}", time_in_force=kind))
        if kind == "ioc" and not takes:
            assert reply["error"]["code"] == 11009
        elif kind == "post_only" and takes:
            assert reply["error"]["code"] == 11008
        elif own:
            assert reply["error"]["code"] == 11007
        else:
            order = reply["result"]["order"]
            filled = min(size, self.top[2]) if takes else Decimal(0)
            assert Decimal(order["filled_amount"]) == filled
            self._filled(buy, filled)
            if filled < size and kind != "ioc":
                self.left[order["order_id"]], self.terms[order["order_id"]] = size - filled, (buy, price)
            status = "filled" if filled == size else "cancelled" if kind == "ioc" else "open"
            assert order["order_status"] == status

    @precondition(lambda self: self.left)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        order_id = data.draw(st.sampled_from(sorted(self.left)))
        self.rig.result("private/cancel", {"subaccount_id": 1, "order_id": order_id, "instrument_name": "ETH-PERP"})
        del self.left[order_id]

    @rule(cents=st.integers(-300, 300), spread=st.integers(1, 50), size=st.integers(1, 500))
    def quote(self, cents: int, spread: int, size: int) -> None:
        bid = Decimal(BID) + cents * CENT
        self.top = (bid, bid + spread * CENT, size * CENT)
        self.rig.play(book(f"{bid}", f"{self.top[1]}", f"{self.top[2]}"))
        for order_id in list(self.left):
            buy, price = self.terms[order_id]
            if self.top[1] <= price if buy else bid >= price:
                self._fill(order_id, min(self.left[order_id], self.top[2]))

    @rule(cents=st.integers(-400, 400))
    def print(self, cents: int) -> None:
        price = Decimal(BID) + cents * CENT
        self.rig.play(trade(f"{price}"))
        for order_id in list(self.left):
            buy, limit = self.terms[order_id]
            if price < limit if buy else price > limit:
                self._fill(order_id, self.left[order_id])
            elif self.top[1] <= limit if buy else self.top[0] >= limit:
                self._fill(order_id, min(self.left[order_id], self.top[2]))

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "rig"):
            return
        orders = self.rig.result("private/get_open_orders", {"subaccount_id": 1})["orders"]
        assert {each["order_id"]: Decimal(each["amount"]) - Decimal(each["filled_amount"]) for each in orders} == self.left
        positions = self.rig.result("private/get_positions", {"subaccount_id": 1})["positions"]
        assert sum((Decimal(each["amount"]) for each in positions), Decimal(0)) == self.position

    def teardown(self) -> None:
        if hasattr(self, "rig"):
            fills = self.rig.venue.engine.fills
            assert sum((1 if fill.order.is_bid else -1) * fill.amount for fill in fills) == int(self.position * 10**18)

    def _fill(self, order_id: str, amount: Decimal) -> None:
        self._filled(self.terms[order_id][0], amount)
        self.left[order_id] -= amount
        if not self.left[order_id]:
            del self.left[order_id]

    def _filled(self, buy: bool, amount: Decimal) -> None:
        self.position += amount if buy else -amount


TestSessions = Sessions.TestCase
TestSessions.settings = settings(max_examples=25, stateful_step_count=20)


def test_an_empty_level_is_no_price(rig: Rig) -> None:
    rig.play(book().replace(b'"asks":[', b'"asks":[["2000","0"],'))
    assert placed(rig, time_in_force="ioc", **TAKING)["average_price"] == ASK


def test_a_ticker_moves_prices_as_well(rig: Rig) -> None:
    rig.play(ticker(a="2500", b="2499.99", A="1", minp="1", maxp="9999"))
    order = placed(rig, amount="3", time_in_force="ioc", **TAKING)
    assert (order["average_price"], order["filled_amount"]) == ("2500", "1")
