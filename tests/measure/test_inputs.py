"""The inputs: test data in the venue's shape, the envelope, a user's own data, and what makes a frame cold."""

from __future__ import annotations

import copy
import functools
import json
import shutil
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive_bench.measure import cold
from derive_bench.measure.inputs import NAMES, DataError, Inputs
from derive_bench.measure.trees import find_tree
from tests.shared import SHARED, needs_shared

if TYPE_CHECKING:
    from collections.abc import Iterator

BOOKS = [name for name in NAMES if name.startswith("orderbook")]
ORDERS = [name for name in NAMES if name.startswith("order") and name not in BOOKS]
FILLS = [name for name in NAMES if name.startswith("private_trade")]
TRADES = [name for name in NAMES if name.startswith("trade")]
V2_ONLY = ("private_trade_reverted",)
MESSAGES = [name for name in NAMES if not name.startswith("instruments")]
DIALECT = [n for n in MESSAGES if n in [*ORDERS, *FILLS, "trade", "trades_batch", "trades_settled"]]
CASES = [("v3", name) for name in MESSAGES if name not in V2_ONLY] + [("v2", name) for name in DIALECT]


def words(text: str) -> set[str]:
    return set(text.split())


PRICE_KEYS = words(
    "a b I M minp maxp best_ask_price best_bid_price index_price mark_price trade_price limit_price average_price"
    " trigger_price open_price high_price low_price close_price"
)
AMOUNT_KEYS = words("A B amount filled_amount trade_amount best_ask_amount best_bid_amount volume_contracts")
ID_KEYS = words("trade_id order_id op_uuid replaced_order_id transaction_id tx_hash signature wallet nonce publish_id")
TIME_KEYS = words("timestamp t creation_timestamp last_update_timestamp timestamp_bucket")


@functools.cache
def inputs(protocol: str = "v3") -> Inputs:
    return Inputs(protocol)


@functools.cache
def cold_payloads(protocol: str, name: str) -> list[Any]:
    return inputs(protocol).payloads_cold(name, 1000)


def shape(value: Any) -> Any:
    """Keys in order, nesting, and the JSON type of each leaf."""
    if isinstance(value, dict):
        return {"keys": list(value), "of": [shape(v) for v in value.values()]}
    if isinstance(value, list):
        return [shape(v) for v in value]
    return type(value).__name__


def kinds(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """The (kind, text) of each price, amount, id, label and time of a payload that is not zero or empty."""
    if isinstance(value, dict):
        for k, v in value.items():
            yield from kinds(v, k)
    elif isinstance(value, list) and key in ("bids", "asks"):
        for price, amount in value:
            yield "price", price
            yield "amount", amount
    elif isinstance(value, list):
        for v in value:
            yield from kinds(v, key)
    elif value not in (None, "", "0", 0):
        for kind, keys in (("price", PRICE_KEYS), ("amount", AMOUNT_KEYS), ("id", ID_KEYS), ("time", TIME_KEYS)):
            if key in keys and not (key == "t" and isinstance(value, str)):
                yield kind, str(value)
        if key == "label":
            yield "label", value


def record(name: str) -> dict[str, Any]:
    return next(r for r in inputs().instruments if r["instrument_name"] == name)


def is_multiple(text: str, of: str) -> bool:
    return Decimal(text) % Decimal(of) == 0


def assert_ladder(book: dict[str, Any], instrument: dict[str, Any]) -> None:
    bids, asks = ([Decimal(price) for price, _ in book[side]] for side in ("bids", "asks"))
    assert bids == sorted(set(bids), reverse=True)
    assert asks == sorted(set(asks))
    assert bids[0] < asks[0]
    for price, amount in book["bids"] + book["asks"]:
        assert is_multiple(price, instrument["tick_size"]), price
        assert is_multiple(amount, instrument["amount_step"]), amount
        assert Decimal(amount) > 0


# --- the fixed set ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BOOKS)
def test_books_are_ladders_on_tick_and_step_and_of_the_depth_in_their_topic(name: str) -> None:
    book = inputs().payload(name)
    assert_ladder(book, record(book["instrument_name"]))
    channel = inputs().channel(name)
    assert channel is not None
    depth = int(channel.rpartition(".")[2])
    assert len(book["bids"]) == len(book["asks"]) == depth
    assert channel == f"orderbook.{book['instrument_name']}.1.{depth}"


def test_deeper_books_extend_the_shallower() -> None:
    deep = inputs().payload("orderbook_d100")
    for name, depth in (("orderbook", 1), ("orderbook_d10", 10), ("orderbook_d20", 20)):
        book = inputs().payload(name)
        assert (book["bids"], book["asks"]) == (deep["bids"][:depth], deep["asks"][:depth])


@pytest.mark.parametrize(
    ("ticker", "book"),
    [("ticker", "orderbook"), ("ticker_option", "orderbook_option"), ("ticker_spot", "orderbook_spot")],
)
def test_slim_ticker_agrees_with_the_top_of_the_book_and_its_own_limits(ticker: str, book: str) -> None:
    payload, top = inputs().payload(ticker), inputs().payload(book)
    t = payload["instrument_ticker"]
    assert [t["b"], t["B"]] == top["bids"][0]
    assert [t["a"], t["A"]] == top["asks"][0]
    for inner in "bMa":
        assert Decimal(t["minp"]) < Decimal(t[inner]) < Decimal(t["maxp"])
    assert t["t"] < payload["timestamp"]
    assert inputs().channel(ticker) == f"ticker_slim.{top['instrument_name']}.100"


def test_full_tickers_of_both_shapes_tell_what_the_slim_one_tells() -> None:
    slim = inputs().payload("ticker")["instrument_ticker"]
    nested, flat = inputs().payload("ticker_full")["instrument_ticker"], inputs().payload("ticker_full_flat")
    assert {k: v for k, v in nested.items() if k != "timestamp"} == {k: v for k, v in flat.items() if k != "timestamp"}
    pairs = {
        "best_bid_price": "b",
        "best_ask_price": "a",
        "best_bid_amount": "B",
        "index_price": "I",
        "mark_price": "M",
    }
    assert {long: flat[long] for long in pairs} == {long: slim[short] for long, short in pairs.items()}
    assert flat["perp_details"]["funding_rate"] == slim["f"]
    assert list(flat) == sorted(flat)


def test_ticker_of_the_put_goes_to_the_put() -> None:
    assert inputs().channel("ticker_option_put") == "ticker_slim.ETH-20261127-2600-P.100"


@pytest.mark.parametrize(("protocol", "name"), [c for c in CASES if c[1] in TRADES + ORDERS + FILLS])
def test_trades_and_orders_are_on_tick_and_step(protocol: str, name: str) -> None:
    for item in inputs(protocol).payload(name):
        instrument = record(item["instrument_name"])
        for key in ("trade_price", "limit_price", "trigger_price"):
            assert not item.get(key) or is_multiple(item[key], instrument["tick_size"])
        for key in ("trade_amount", "amount", "filled_amount"):
            assert key not in item or is_multiple(item[key], instrument["amount_step"])


@pytest.mark.parametrize("protocol", ["v3", "v2"])
def test_orders_cover_each_status_and_agree_with_their_fills(protocol: str) -> None:
    orders = {name: inputs(protocol).payload(name)[0] for name in ORDERS}
    statuses = {order["order_status"] for order in orders.values()}
    assert statuses == {"open", "filled", "rejected", "cancelled", "expired", "untriggered", "algo_active"}
    assert len({order["order_id"] for name, order in orders.items() if name != "order"}) == len(orders) - 1
    assert "ost only" in orders["order_rejected"]["cancel_reason"]
    assert orders["order_replacement"]["replaced_order_id"] == orders["order_cancelled"]["order_id"]
    assert orders["order_untriggered"]["trigger_price"]
    for fill_name, order_name in (("maker", "partially_filled"), ("taker", "filled")):
        fill, order = inputs(protocol).payload(f"private_trade_{fill_name}")[0], orders[f"order_{order_name}"]
        assert fill["liquidity_role"] == fill_name
        for key in ("order_id", "label", "instrument_name", "direction", "subaccount_id"):
            assert fill[key] == order[key]
        assert (fill["trade_amount"], fill["trade_price"]) == (order["filled_amount"], order["average_price"])
        assert fill["trade_fee"] == order["order_fee"]
    assert 0 < Decimal(orders["order_partially_filled"]["filled_amount"]) < Decimal("2.75")
    assert inputs(protocol).payload("private_trade_pending")[0]["trade_id"] == ""
    maker, settled = (inputs(protocol).payload(f"private_trade_{name}")[0] for name in ("maker", "settled"))
    assert settled["trade_id"] == maker["trade_id"]
    assert settled["tx_hash"]


def test_dialects_differ_where_the_protocol_says() -> None:
    v3, v2 = inputs("v3"), inputs("v2")
    assert isinstance(v3.payload("order")[0]["nonce"], str)
    assert len(v3.payload("order")[0]["nonce"]) == 19
    assert isinstance(v2.payload("order")[0]["nonce"], int)
    assert "wallet" in v3.payload("trade")[0]
    assert "wallet" not in v2.payload("trade")[0]
    fill3, fill2 = v3.payload("private_trade")[0], v2.payload("private_trade")[0]
    assert {"op_uuid", "batch_status"} <= fill3.keys()
    assert {"transaction_id", "tx_status"} <= fill2.keys()
    assert not {"op_uuid", "batch_status"} & fill2.keys()
    assert v2.payload("private_trade_reverted")[0]["tx_status"] == "reverted"
    assert v3.channel("trades_settled") == "trades.perp.ETH.Settled"
    assert v2.channel("trades_settled") == "trades.perp.ETH.settled"
    assert v3.frame("orderbook_d100") == v2.frame("orderbook_d100")
    assert [r["instrument_name"] for r in v3.instruments] == [r["instrument_name"] for r in v2.instruments]


def test_trades_batch_has_twenty_and_candles_three_in_sequence() -> None:
    assert len(inputs().payload("trades_batch")) == 20
    candles = inputs().payload("candles")
    assert [c["timestamp_bucket"] - candles[0]["timestamp_bucket"] for c in candles] == [0, 900, 1800]
    for candle, following in zip(candles, [*candles[1:], None], strict=True):
        o, h, low, c = (Decimal(candle[f"{k}_price"]) for k in ("open", "high", "low", "close"))
        assert low <= min(o, c) <= max(o, c) <= h
        assert following is None or following["open_price"] == candle["close_price"]
        assert low < Decimal(candle["volume_usd"]) / Decimal(candle["volume_contracts"]) < h


def test_instruments_cover_kinds_ticks_and_long_sub_ids() -> None:
    records = inputs().instruments
    assert {r["instrument_type"] for r in records} == {"perp", "option", "erc20"}
    assert {"0.5", "5", "0.01"} <= {r["tick_size"] for r in records}
    assert {r["is_active"] for r in records} == {True, False}
    by_name = {r["instrument_name"]: r for r in records}
    assert by_name["XRP-20261225-0_5-P"]["option_details"]["strike"] == "0.5"
    call = by_name["ETH-20261127-2800-C"]
    assert int(call["base_asset_sub_id"]).bit_length() == 96
    assert len(by_name) == len(records)
    assert len({(r["base_asset_address"], r["base_asset_sub_id"]) for r in records}) == len(records)
    # both depend on the expiry: the last 32 bits of the sub-id are its second, the next 63 the strike at 10**-8
    sub_id = int(call["base_asset_sub_id"])
    assert sub_id & 0xFFFFFFFF == call["option_details"]["expiry"] == call["scheduled_deactivation"]
    assert sub_id >> 32 & (1 << 63) - 1 == 2800 * 10**8


@pytest.mark.parametrize(
    ("name", "size"),
    [("orderbook", 215), ("orderbook_d10", 590), ("orderbook_d100", 4300), ("ticker", 430), ("ticker_option", 515)],
)
def test_frames_have_about_the_size_of_the_venues(name: str, size: int) -> None:
    assert len(inputs().frame(name)) == pytest.approx(size, rel=0.07)


# --- against the reference material ----------------------------------------------------------------------------------


@functools.cache
def schemas() -> dict[str, Any]:
    """The venue's schemas with what PROTOCOL.md says is wrong put right."""
    text = (SHARED / "spec" / "subscriptions.json").read_text().replace('"uint64"', '"int64"')
    components: dict[str, Any] = json.loads(text)["components"]
    rest = json.loads((SHARED / "spec" / "openapi.json").read_text())["components"]["schemas"]
    found = {**rest, **components["schemas"]}
    found["OrderSnapshot"] = {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}
    found["CancelReason"]["enum"].append("Post only order cannot cross the market")

    def nullable(node: Any) -> None:
        if isinstance(node, dict):
            if node.pop("nullable", False):
                node["type"] = [node["type"], "null"]
            for child in node.values():
                nullable(child)
        elif isinstance(node, list):
            for child in node:
                nullable(child)

    nullable(found)
    return found


def schema_name(name: str) -> str | None:
    if name in ORDERS:
        return "Order"
    if name in FILLS:
        return "Trade"
    if name in BOOKS:
        return "OrderbookSnapshot"
    full = name.startswith("ticker_full")  # v2 only: the venue no longer has a schema for it
    if name.startswith("ticker"):
        return None if full else "TickerSlimPayload"
    return {"candles": "TradingviewCandle", "trades_settled": "SettledTrade"}.get(name, "PublicTrade")


@needs_shared
@pytest.mark.parametrize("name", [name for name in MESSAGES if name not in V2_ONLY and schema_name(name)])
def test_payload_and_cold_payload_validate_against_the_venues_schema(name: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    root = {"components": {"schemas": schemas()}, "$ref": f"#/components/schemas/{schema_name(name)}"}
    validator = jsonschema.Draft202012Validator(root)
    cold_ones = inputs().payloads_cold(name, 8)
    for payload in (inputs().payload(name), cold_ones[0], cold_ones[-1]):
        for item in payload if isinstance(payload, list) else [payload]:
            validator.validate(item)
    first = inputs().payload(name)
    broken = copy.deepcopy(first[0] if isinstance(first, list) else first)
    broken.pop("timestamp" if "timestamp" in broken else "order_id")
    assert not validator.is_valid(broken)


@needs_shared
@pytest.mark.parametrize("name", ["instruments_perps", "instruments_options", "instruments_spot"])
def test_instrument_lists_validate(name: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    root = {"components": {"schemas": schemas()}, "$ref": "#/components/schemas/GetAllInstrumentsResponse"}
    jsonschema.Draft202012Validator(root).validate(inputs().payload(name))
    assert inputs().payload(name)["pagination"]["count"] == len(inputs().payload(name)["instruments"])
    root["$ref"] = "#/components/schemas/Instrument"
    for item in inputs("v2").payload(name):
        jsonschema.Draft202012Validator(root).validate(item)


def capture(path: str) -> Any:
    return json.loads((SHARED / "captures" / path).read_text())


@needs_shared
def test_shapes_are_those_of_the_true_captures() -> None:
    v3, v2 = inputs("v3"), inputs("v2")
    book = capture("spot/ws_orderbook_eth_mainnet.json")
    assert all(list(v3.payload(name)) == list(book) for name in BOOKS)
    assert shape(v3.payload("orderbook")["bids"][0]) == shape(book["bids"][0])
    assert shape(v3.payload("ticker")) == shape(capture("perps/ws_ticker_slim_eth.json"))
    assert shape(v3.payload("ticker_option")) == shape(capture("options/ws_ticker_slim_eth_call.json"))
    assert shape(v3.payload("ticker_option_put")) == shape(capture("options/ws_ticker_slim_eth_put.json"))
    assert shape(v3.payload("ticker_spot")) == shape(capture("spot/ws_ticker_slim_eth.json"))
    trade = capture("spot/ws_trade_eth.json")
    assert shape(v2.payload("trades_settled")[0]) == shape(trade)
    for payload in (v3.payload("trade")[0], v2.payload("trade")[0]):
        assert list(payload) == [key for key in trade if key in payload]
    order = capture("spot/http_submit_order_response_mainnet.json")["result"]["order"]
    assert shape(v2.payload("order")[0]) == shape(order)
    assert [key for key in v3.payload("order")[0] if not key.startswith("algo_")] == list(order)
    instrument = capture("spot/instrument_eth.json")
    assert shape(v2.payload("instruments_spot")[0]) == shape(instrument)
    assert shape(v3.payload("candles")) == shape(capture("perps/http_public_candles_eth.json"))


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for v in value.values():
            yield from texts_in(v)
    elif isinstance(value, list):
        for v in value:
            yield from texts_in(v)
    elif isinstance(value, str):
        yield value


@needs_shared
def test_nothing_is_copied_from_the_reference_material() -> None:
    captures = [json.loads(path.read_text()) for path in (SHARED / "captures").rglob("*.json")]
    theirs = {text for value in captures for text in texts_in(value) if len(text) > 16}
    assert len(theirs) > 20
    for path in find_tree("test_data").rglob("*.json"):
        ours = json.loads(path.read_text())
        assert ours not in captures, path
        # the only long texts in common are the names of instruments and the venue's own words
        assert not {text for text in texts_in(ours) if len(text) > 20} & theirs, path


# --- envelope --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("protocol", "name"), CASES)
def test_frame_is_the_payload_in_the_documented_envelope(protocol: str, name: str) -> None:
    source = inputs(protocol)
    frame, twin = source.frame(name), source.frame(name, jsonrpc=True)
    if name == "candles":
        assert source.channel(name) is None
        assert frame == twin == source.payload_bytes(name)
        assert json.loads(frame) == source.payload(name)
        return
    message = json.loads(frame)
    assert list(message) == ["method", "params"]
    assert list(message["params"]) == ["channel", "data"]
    assert message["method"] == "subscription"
    assert message["params"] == {"channel": source.channel(name), "data": source.payload(name)}
    assert shape(message["params"]["data"]) == shape(source.payload(name))
    assert frame == json.dumps(message, separators=(",", ":")).encode()
    assert twin == b'{"jsonrpc":"2.0",' + frame[1:]
    assert source.frames_cold(name, 2, jsonrpc=True)[1].startswith(b'{"jsonrpc":"2.0","method":"subscription",')


def test_private_topics_carry_the_subaccount() -> None:
    subaccount = inputs().payload("order")[0]["subaccount_id"]
    assert inputs().channel("order") == f"{subaccount}.orders"
    assert inputs().channel("private_trade") == f"{subaccount}.trades"


def test_instrument_frames_are_rest_results() -> None:
    assert json.loads(inputs("v3").frame("instruments_spot")) == inputs("v3").payload("instruments_spot")
    assert json.loads(inputs().frame("instruments")) == inputs().instruments == inputs().payload("instruments")
    with pytest.raises(DataError, match="no cold form"):
        inputs().frames_cold("instruments")


# --- cold ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("protocol", "name"), CASES)
def test_no_value_comes_twice_in_a_thousand_cold_frames(protocol: str, name: str) -> None:
    fixed, payloads = inputs(protocol).payload(name), cold_payloads(protocol, name)
    assert len(payloads) == 1000
    expected = Counter(kind for kind, _ in set(kinds(fixed)))
    assert {"time"} <= expected.keys() if name == "private_trade_pending" else {"price", "time"} <= expected.keys()
    frames_with: Counter[tuple[str, str]] = Counter()
    for payload in payloads:
        frames_with.update(set(kinds(payload)))
    assert [pair for pair, count in frames_with.items() if count > 1] == []
    # ... and it is not because values went missing
    found = Counter(kind for kind, _ in frames_with)
    assert found == {kind: count * 1000 for kind, count in expected.items()}


@pytest.mark.parametrize(("protocol", "name"), CASES)
def test_cold_frames_keep_shape_size_and_constants(protocol: str, name: str) -> None:
    source = inputs(protocol)
    fixed, payloads = source.payload(name), cold_payloads(protocol, name)
    assert all(shape(payload) == shape(fixed) for payload in payloads[::111])
    sizes = [len(frame) for frame in source.frames_cold(name, 200)]
    assert sum(sizes) / len(sizes) == pytest.approx(len(source.frame(name)), rel=0.06)
    for constant in (
        "signer",
        "instrument_name",
        "direction",
        "order_status",
        "liquidity_role",
        "quote_id",
        "tx_status",
    ):
        for item, cold_item in zip(*(p if isinstance(p, list) else [p] for p in (fixed, payloads[-1])), strict=True):
            assert item.get(constant) == cold_item.get(constant)
    if name in ORDERS + FILLS:
        assert {item["subaccount_id"] for payload in payloads for item in payload} == {fixed[0]["subaccount_id"]}


@pytest.mark.parametrize("name", BOOKS)
def test_cold_books_are_ladders(name: str) -> None:
    for book in cold_payloads("v3", name)[::97]:
        assert_ladder(book, record(book["instrument_name"]))
        assert len(book["bids"]) == len(inputs().payload(name)["bids"])


def test_cold_tickers_orders_and_candles_stay_plausible() -> None:
    for payload in cold_payloads("v3", "ticker_option"):
        t = payload["instrument_ticker"]
        pricing = t["option_pricing"]
        assert Decimal(t["minp"]) < Decimal(t["b"]) < Decimal(t["a"]) < Decimal(t["maxp"])
        assert Decimal(pricing["bi"]) < Decimal(pricing["i"]) < Decimal(pricing["ai"])
        assert 0 < Decimal(pricing["d"]) < 1
        assert abs(Decimal(pricing["f"]) - Decimal(t["I"])) < 20
        assert payload["timestamp"] > t["t"]
    for (order,) in cold_payloads("v3", "order_partially_filled"):
        assert 0 < Decimal(order["filled_amount"]) < Decimal(order["amount"])
        assert order["last_update_timestamp"] > order["creation_timestamp"]
        assert order["signature_expiry_sec"] * 1000 > order["creation_timestamp"]
        assert len(order["nonce"]) == 19
    for (order,) in cold_payloads("v3", "order_filled"):
        assert order["filled_amount"] == order["amount"]
    for candles in cold_payloads("v3", "candles"):
        assert [c["timestamp_bucket"] - candles[0]["timestamp_bucket"] for c in candles] == [0, 900, 1800]
        for c in candles:
            assert Decimal(c["low_price"]) <= min(Decimal(c["open_price"]), Decimal(c["close_price"]))
            assert Decimal(c["high_price"]) >= max(Decimal(c["open_price"]), Decimal(c["close_price"]))


def test_eight_thousand_orders_are_all_different() -> None:
    payloads = inputs().payloads_cold("order", 8192)
    for key in ("order_id", "label", "nonce", "limit_price", "amount", "creation_timestamp", "signature"):
        assert len({payload[0][key] for payload in payloads}) == 8192, key


def test_cold_frames_are_the_same_each_time() -> None:
    assert Inputs().frames_cold("trade", 20) == inputs().frames_cold("trade", 20)
    assert inputs().frames_cold("trade", 1)[0].startswith(b'{"method":"subscription","params":{"channel":"trades.ETH')


def test_cold_orders_are_new_in_everything_and_on_tick_and_step() -> None:
    for name in ("ETH-PERP", "BTC-PERP", "BTC-20261225-120000-C"):
        orders = inputs().orders_cold(1024, name)
        instrument = record(name)
        assert {order.instrument_name for order in orders} == {name}
        assert {order.side for order in orders} == {"buy", "sell"}
        for field in ("price", "amount", "label", "order_id"):
            assert len({getattr(order, field) for order in orders}) == 1024
        for order in orders:
            assert is_multiple(order.price, instrument["tick_size"])
            assert is_multiple(order.amount, instrument["amount_step"])
            assert Decimal(instrument["minimum_amount"]) <= Decimal(order.amount)
            assert Decimal(order.amount) <= Decimal(instrument["maximum_amount"])
    with pytest.raises(DataError, match="no record of NO-SUCH"):
        inputs().orders_cold(1, "NO-SUCH")


decimals = st.decimals(min_value=0, max_value=10**7, places=3, allow_nan=False).map(lambda d: f"{d:f}")


@settings(max_examples=60)
@given(
    amount=decimals,
    price=decimals,
    step=st.sampled_from(["0.001", "0.01", "1", "10", "0.5", "5", "0.25"]),
    tick=st.sampled_from(["0.001", "0.01", "1", "0.5", "5"]),
)
def test_any_amount_and_price_get_distinct_values_on_step_and_tick(amount: str, price: str, step: str, tick: str) -> None:
    price = f"{Decimal(price) // Decimal(tick) * Decimal(tick):f}"
    payload = {"trade_price": price, "trade_amount": amount, "trade_fee": "-" + amount}
    texts = cold.texts(payload, {"tick_size": tick, "amount_step": step}, 300, seed="any")
    rows = [json.loads(text) for text in texts]
    for key, unit in (("trade_price", tick), ("trade_amount", step), ("trade_fee", None)):
        values = [row[key] for row in rows]
        if Decimal(payload[key]) == 0:
            assert set(values) == {payload[key]}
            continue
        assert len(set(values)) == len({Decimal(value) for value in values}) == 300
        assert all("E" not in value for value in values)
        assert unit is None or all(is_multiple(value, unit) for value in values)
        assert all((Decimal(value) < 0) is (Decimal(payload[key]) < 0) for value in values)


def test_a_ladder_too_wide_for_its_digits_is_drawn_together() -> None:
    bids = [[f"{900 - 8 * n}", f"{n + 1}.5"] for n in range(100)]
    asks = [[f"{901 + n}", f"{n + 1}.25"] for n in range(90)]
    payload = {"asks": asks, "bids": bids, "instrument_name": "X", "publish_id": 7, "timestamp": 1790871617091}
    instrument = {"tick_size": "0.001", "amount_step": "0.01"}
    books = [json.loads(text) for text in cold.texts(payload, instrument, 1000, seed="wide")]
    for book in books[::50]:
        assert_ladder(book, instrument)
    prices = [price for book in books for price, _ in book["bids"] + book["asks"]]
    assert len(set(prices)) == len(prices) == 190_000
    assert all(100 <= float(price) < 1000 for price in prices)


def test_an_id_that_repeats_within_a_payload_still_does() -> None:
    trades = [{"trade_id": f"a-{n}", "wallet": "0x" + "ab" * 20, "subaccount_id": 71} for n in range(2)]
    texts = cold.texts(trades, {"tick_size": "0.01", "amount_step": "0.01"}, 100, seed="repeat")
    rows = [json.loads(text) for text in texts]
    assert all(one["wallet"] == two["wallet"] and one["trade_id"] != two["trade_id"] for one, two in rows)
    assert all(one["subaccount_id"] == two["subaccount_id"] for one, two in rows)
    for key in ("wallet", "subaccount_id"):
        assert len({one[key] for one, _ in rows}) == 100


def test_percent_signs_quotes_and_other_alphabets_survive() -> None:
    payload = [{"label": 'é"100%"{x}', "note": '50% "off" ü', "cancel_reason": "", "mmp": False, "extra": 0.25}]
    texts = cold.texts(payload, {"tick_size": "0.01", "amount_step": "0.01"}, 50, seed="odd")
    rows = [json.loads(text)[0] for text in texts]
    assert len({row["label"] for row in rows}) == 50
    assert {row["note"] for row in rows} == {'50% "off" ü'}
    assert {(row["mmp"], row["extra"]) for row in rows} == {(False, 0.25)}


# --- a user's own data -----------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return Path(shutil.copytree(find_tree("test_data"), tmp_path / "data"))


def test_data_hash_depends_on_names_and_bytes_only(tree: Path) -> None:
    first = inputs().data_hash()
    assert Inputs("v2", tree).data_hash() == first
    assert len(first) == 64
    (tree / "notes.txt").write_text("not an input")
    assert Inputs("v3", tree).data_hash() == first
    book = tree / "perps" / "orderbook_d1.json"
    book.write_bytes(book.read_bytes().replace(b"7731904", b"7731905"))
    changed = Inputs("v3", tree).data_hash()
    assert changed != first
    book.rename(book.with_name("orderbook_d2.json"))
    assert Inputs("v3", tree).data_hash() not in (first, changed)


def test_check_reads_everything(tree: Path) -> None:
    Inputs("v3", tree).check()
    Inputs("v2", tree).check()
    (tree / "private" / "trade_reverted_v2.json").unlink()
    Inputs("v3", tree).check()
    with pytest.raises(DataError, match=r"trade_reverted\.json: missing"):
        Inputs("v2", tree).check()


def test_missing_and_broken_files_are_named(tree: Path) -> None:
    ticker = tree / "perps" / "ticker_slim.json"
    ticker.write_text('{\n  "timestamp": 1,\n  oops\n}')
    with pytest.raises(DataError, match=r"ticker_slim\.json:3:3: not JSON"):
        Inputs("v3", tree).frame("ticker")
    ticker.write_text("[" * 100_000)
    with pytest.raises(DataError, match=r"ticker_slim\.json: nested too deeply"):
        Inputs("v3", tree).frame("ticker")
    ticker.write_bytes(b'"\xff"')
    with pytest.raises(DataError, match=r"ticker_slim\.json: byte 1: not UTF-8"):
        Inputs("v3", tree).frame("ticker")
    ticker.unlink()
    with pytest.raises(DataError, match=r"ticker_slim\.json: missing; a data tree holds perps/"):
        Inputs("v3", tree).frame("ticker")
    ticker.mkdir()
    with pytest.raises(DataError, match=r"ticker_slim\.json: cannot be read"):
        Inputs("v3", tree).frame("ticker")
    with pytest.raises(DataError, match="no such directory"):
        Inputs("v3", tree / "nowhere")
    with pytest.raises(DataError, match="no input is called 'tickr'"):
        inputs().frame("tickr")


@pytest.mark.parametrize(
    ("file", "name", "content", "message"),
    [
        ("perps/trade.json", "trade", "[]", "expected a non-empty array"),
        ("perps/trade.json", "trade", "[1]", "expected a non-empty array"),
        ("perps/trade.json", "trade", '[{"a": 1}]', "not a payload of kind trades"),
        ("perps/orderbook_d1.json", "orderbook", "[]", "expected an object"),
        ("perps/orderbook_d1.json", "orderbook", '{"bids": []}', "not a payload of kind orderbook"),
        ("perps/orderbook_d1.json", "orderbook", '{"params": {"data": {}}}', "without params.channel"),
        ("perps/instruments.json", "ticker", '{"result": 3}', "expected an array of instrument records"),
        ("perps/instruments.json", "ticker", "[]", "has no instrument for ticker"),
        ("perps/instruments.json", "ticker", '[{"instrument_name": "X"}]', "record 0: instrument_type is missing"),
    ],
)
def test_payloads_of_another_kind_are_refused(tree: Path, file: str, name: str, content: str, message: str) -> None:
    (tree / file).write_text(content)
    with pytest.raises(DataError, match=message):
        Inputs("v3", tree).frame(name)


def test_a_captured_notification_keeps_its_topic(tree: Path) -> None:
    payload = inputs().payload("ticker")
    topic = "ticker_slim.SOL-PERP.1000"
    whole = {"jsonrpc": "2.0", "method": "subscription", "params": {"channel": topic, "data": payload}}
    (tree / "perps" / "ticker_slim.json").write_text(json.dumps(whole))
    own = Inputs("v3", tree)
    assert own.channel("ticker") == topic
    assert own.payload("ticker") == payload
    assert json.loads(own.frame("ticker"))["params"]["channel"] == topic
    (frame,) = own.frames_cold("ticker", 1)
    # on the tick of the instrument that the topic names
    assert is_multiple(json.loads(frame)["params"]["data"]["instrument_ticker"]["b"], "0.005")


def test_rest_answers_and_single_objects_are_taken_as_their_payload(tree: Path) -> None:
    (tree / "perps" / "candles.json").write_text(json.dumps({"id": 1, "result": inputs().payload("candles")}))
    (tree / "perps" / "trade.json").write_text(json.dumps(inputs().payload("trade")[0]))
    (tree / "spot" / "instruments.json").write_text(json.dumps({"id": 2, "result": inputs("v2").payload("instruments_spot")}))
    own = Inputs("v3", tree)
    assert own.frame("candles") == inputs().frame("candles")
    assert own.frame("trade") == inputs().frame("trade")
    assert own.instruments[-1]["instrument_name"] == inputs().instruments[-1]["instrument_name"]


def test_without_a_v2_file_v2_takes_the_plain_one(tree: Path) -> None:
    (tree / "perps" / "trade_v2.json").unlink()
    assert Inputs("v2-testnet", tree).payload("trade") == inputs("v3").payload("trade")
    assert Inputs("v2-testnet").payload("trade") == inputs("v2").payload("trade")
