"""Orders as written: signed for exactly what they say, in the shape the venue publishes, whatever label or number."""

from __future__ import annotations

import json
import random
from decimal import Decimal, localcontext
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive_bench.adapter.errors import OrderRefused
from derive_bench.adapter.instruments import InstrumentRegistry
from derive_bench.adapter.model import OrderSide, OrderType, TimeInForce, TriggerType
from derive_bench.adapter.outbound import (
    CancelAll,
    CancelByLabel,
    CancelCommand,
    CancelTriggerOrder,
    OrderTerms,
    ReplaceOrder,
    TriggerKind,
    TriggerOrder,
)
from derive_bench.adapter.protocol import V2_MAINNET, V3_MAINNET, Protocol
from derive_bench.adapter.signing import NonceSource, Signer
from tests.adapter.outbound_support import (
    CLOCK_NS,
    CLOCK_SEC,
    EXPIRY_SEC,
    KEY,
    NONCES,
    SUBACCOUNT_ID,
    expected_digest,
    expected_signature,
    make_encoder,
    make_order,
    params,
    record,
    recovered_signer,
)
from tests.shared import SHARED, needs_shared

ASSET, SUB_ID = record()["base_asset_address"], 42
MARKET = OrderTerms(order_type=OrderType.MARKET)
BOTH = pytest.mark.parametrize("protocol", [V3_MAINNET, V2_MAINNET], ids=["v3", "v2"])
V2_TRIGGER_EXPIRY = CLOCK_SEC + 40 * 86_400


def assert_signed(sent: dict[str, Any], protocol: Protocol, asset: str = ASSET, sub_id: int = SUB_ID) -> None:
    assert sent["signature"] == expected_signature(expected_digest(sent, protocol, asset, sub_id))


@BOTH
def test_a_limit_order_has_these_members_and_no_others(protocol: Protocol) -> None:
    sent = params(make_encoder(protocol).submit(make_order(), NONCES[protocol.dialect]))
    assert_signed(sent, protocol)
    assert sent.pop("signature").startswith("0x")
    nonce = NONCES[protocol.dialect]
    assert sent == {
        "instrument_name": "ETH-PERP",
        "subaccount_id": SUBACCOUNT_ID,
        "signer": Signer(KEY).address,
        "direction": "buy",
        "order_type": "limit",
        "time_in_force": "gtc",
        "amount": "1.25",
        "limit_price": "3500.01",
        "max_fee": "1000",
        "nonce": str(nonce) if protocol is V3_MAINNET else nonce,
        "signature_expiry_sec": EXPIRY_SEC,
        "label": "client-1",
    }


@pytest.mark.parametrize(
    ("terms", "members"),
    [
        (MARKET, {"order_type": "market", "time_in_force": "gtc"}),
        (OrderTerms(time_in_force=TimeInForce.IOC, reduce_only=True), {"time_in_force": "ioc", "reduce_only": True}),
        (OrderTerms(time_in_force=TimeInForce.FOK, mmp=True), {"time_in_force": "fok", "mmp": True}),
        (OrderTerms(post_only=True), {"time_in_force": "post_only"}),
        (OrderTerms(post_only=True, reject_post_only=True), {"time_in_force": "post_only", "reject_post_only": True}),
        (OrderTerms(post_only=True, reject_post_only=False), {"time_in_force": "post_only", "reject_post_only": False}),
        (OrderTerms(order_type=OrderType.MARKET, reduce_only=True), {"order_type": "market", "reduce_only": True}),
    ],
)
def test_terms_become_members(terms: OrderTerms, members: dict[str, Any]) -> None:
    encoder = make_encoder()
    plain = params(encoder.submit(make_order(), NONCES["v3"]))
    sent = params(encoder.submit(make_order(terms=terms), NONCES["v3"]))
    assert sent == plain | members, "the signature covers none of them"


def random_order(rng: random.Random) -> tuple[dict[str, Any], Any, Any, Any]:
    """An instrument record, with a price and an amount that it takes, as any of the types that are taken, and a fee."""
    tick = rng.choice(("0.01", "0.1", "0.5", "5", "0.00001", "1", "0.25", "100"))
    step = rng.choice(("0.01", "0.5", "5", "0.0001", "1", "0.3"))
    big = rng.random() < 0.2
    price = Decimal(tick) * rng.randint(1, 10**14 if big else 10**6)
    amount = Decimal(step) * rng.randint(1, 10**14 if big else 10**5)
    fee = Decimal(rng.randint(0, 10**9)).scaleb(-rng.randint(0, 6))
    minimum, maximum = min(Decimal(step), amount), amount + 1
    typed = [
        rng.choice((value, f"{value:f}", f"{value:.12f}" if not big else f"{value:E}", Decimal(f"{value:E}")))
        for value in (price, amount, fee)
    ]
    fields = record(
        tick_size=tick,
        amount_step=step,
        minimum_amount=f"{minimum:f}",
        maximum_amount=f"{maximum:f}",
        base_asset_sub_id=str(rng.getrandbits(rng.choice((0, 8, 96)))),
    )
    return fields, typed[0], typed[1], typed[2]


@BOTH
def test_what_is_written_is_what_is_signed(protocol: Protocol) -> None:
    """1,500 orders of every size and type of number, under a thread context of 3 digits, which must not matter."""
    rng = random.Random(7)
    for number in range(1500):
        fields, price, amount, fee = random_order(rng)
        order = make_order(side=rng.choice((OrderSide.BUY, OrderSide.SELL)), limit_price=price, amount=amount, max_fee=fee, label=None)
        with localcontext(prec=3):
            wire = make_encoder(protocol, fields).submit(order, NONCES[protocol.dialect] + number)
        sent = params(wire)
        for member, value in (("limit_price", price), ("amount", amount), ("max_fee", fee)):
            assert Decimal(sent[member]) == Decimal(value)
            assert not set(sent[member]) - set("0123456789."), "plain text"
        sub_id = int(fields["base_asset_sub_id"])
        assert_signed(sent, protocol, ASSET, sub_id)
        if number % 40 == 0:
            assert recovered_signer(expected_digest(sent, protocol, ASSET, sub_id), sent["signature"]) == sent["signer"]


@given(
    st.integers(1, 10**22).map(lambda units: Decimal(units).scaleb(-3)),
    st.sampled_from(("{:f}", "{:E}", "{:.9f}", "{:g}")),
)
@settings(max_examples=300, deadline=None)
def test_no_text_of_a_price_is_taken_for_another(value: Decimal, form: str) -> None:
    """On a tick of 0.01 three decimals in ten are off it, however close to a multiple a double would put them."""
    text = form.format(value)
    encoder = make_encoder()
    if Decimal(text) * 100 % 1:
        with pytest.raises(OrderRefused, match=r"limit_price: .* not a multiple of ETH-PERP's tick 0\.01"):
            encoder.submit(make_order(limit_price=text), NONCES["v3"])
    else:
        sent = params(encoder.submit(make_order(limit_price=text), NONCES["v3"]))
        assert Decimal(sent["limit_price"]) == Decimal(text)
        assert_signed(sent, V3_MAINNET)


@pytest.mark.parametrize(
    "label",
    [
        '"',
        "\\",
        '\\"}',
        "\n\r\t\b\f\x00\x1f\x7f",
        "\u2028\u2029",
        "é",
        "日本",
        "😀",
        "",
        "a" * 5000,
        "%s{0}{label}",
        "</script>",
        "\ufeff",
    ],
)
def test_awkward_labels_arrive_as_they_are(label: str) -> None:
    encoder = make_encoder()
    request = params(encoder.submit_rpc(make_order(label=label), NONCES["v3"]))
    assert request["params"]["label"] == label
    if label:
        assert params(encoder.cancel(CancelByLabel(label, SUBACCOUNT_ID))) == {
            "label": label,
            "subaccount_id": SUBACCOUNT_ID,
        }
        assert params(encoder.cancel_order("ETH-PERP", label))["order_id"] == label
        sent = params(encoder.replace(ReplaceOrder(order=make_order(), order_id_to_cancel=label), NONCES["v3"]))
        assert sent["order_id_to_cancel"] == label


@given(st.text(st.characters(codec="utf-8")))
@settings(max_examples=200, deadline=None)
def test_any_label_arrives_as_it_is(label: str) -> None:
    assert params(ENCODER.submit(make_order(label=label), NONCES["v3"]))["label"] == label


ENCODER = make_encoder()


def test_a_label_is_left_out_if_there_is_none() -> None:
    assert "label" not in params(make_encoder().submit(make_order(label=None), NONCES["v3"]))


def test_a_referral_code_goes_with_every_order() -> None:
    encoder = make_encoder(referral_code='r"1')
    assert params(encoder.submit(make_order(), NONCES["v3"]))["referral_code"] == 'r"1'


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (Decimal("1E+3"), "1000"),
        ("1e3", "1000"),
        (1000, "1000"),
        ("1000.00", "1000.00"),
        (Decimal("1000.00"), "1000.00"),
    ],
)
def test_numbers_are_plain_on_the_wire(given: Decimal | str | int, written: str) -> None:
    sent = params(make_encoder().submit(make_order(limit_price=given, amount=given, max_fee=given), NONCES["v3"]))
    assert (sent["limit_price"], sent["amount"], sent["max_fee"]) == (written, written, "1000")


def test_a_fee_of_zero_and_one_that_changes() -> None:
    encoder = make_encoder()
    for fee, written in (
        (0, "0"),
        (Decimal("-0"), "0"),
        ("0.000000000001", "0.000000000001"),
        (Decimal(1000), "1000"),
        (0, "0"),
    ):
        sent = params(encoder.submit(make_order(max_fee=fee), NONCES["v3"]))
        assert sent["max_fee"] == written
        assert_signed(sent, V3_MAINNET)


@BOTH
def test_replace(protocol: Protocol) -> None:
    encoder, nonce = make_encoder(protocol), NONCES[protocol.dialect]
    plain = params(encoder.submit(make_order(), nonce))
    by_id = ReplaceOrder(order=make_order(), order_id_to_cancel="old-1", expected_filled_amount=Decimal("1E-3"))
    assert params(encoder.replace(by_id, nonce)) == plain | {
        "order_id_to_cancel": "old-1",
        "expected_filled_amount": "0.001",
    }
    by_nonce = ReplaceOrder(order=make_order(), nonce_to_cancel=nonce - 5)
    assert params(encoder.replace(by_nonce, nonce)) == plain | {"nonce_to_cancel": nonce - 5}
    request = params(encoder.replace_rpc(by_nonce, nonce, 12))
    assert request == {"id": 12, "method": "private/replace", "params": plain | {"nonce_to_cancel": nonce - 5}}


def test_trigger_orders_of_v3_are_orders_with_trigger_members() -> None:
    encoder = make_encoder()
    command = TriggerOrder(order=make_order(), kind=TriggerKind.TAKE_PROFIT, trigger_price="3.45E3")
    members = {"trigger_price": "3450", "trigger_price_type": "mark", "trigger_type": "takeprofit"}
    plain = params(encoder.submit(make_order(), NONCES["v3"]))
    assert params(encoder.trigger(command, NONCES["v3"])) == plain | members
    request = params(encoder.trigger_rpc(command, NONCES["v3"], 3))
    assert request == {"id": 3, "method": "private/order", "params": plain | members}


def test_trigger_orders_of_v2_have_their_own_method_ids_and_lifetime() -> None:
    encoder = make_encoder(V2_MAINNET)
    order = make_order(side=OrderSide.SELL, terms=MARKET, limit_price="3400", expiry_sec=V2_TRIGGER_EXPIRY)
    command = TriggerOrder(
        order=order,
        kind=TriggerKind.STOP_LOSS,
        trigger_price=3450,
        price_type=TriggerType.INDEX_PRICE,
        order_id="trigger-1",
        conn_id="conn-1",
    )
    request = params(encoder.trigger_rpc(command, NONCES["v2"], 4))
    assert request["method"] == "private/trigger_order"
    members = {
        "trigger_price": "3450",
        "trigger_price_type": "index",
        "trigger_type": "stoploss",
        "conn_id": "conn-1",
        "order_id": "trigger-1",
    }
    assert request["params"] == params(encoder.submit(order, NONCES["v2"])) | members
    assert_signed(request["params"], V2_MAINNET)


@pytest.mark.parametrize(
    ("command", "method", "expected"),
    [
        (CancelTriggerOrder("o-2", 5), "private/cancel_trigger_order", {"order_id": "o-2", "subaccount_id": 5}),
        (CancelByLabel("l", 5), "private/cancel_by_label", {"label": "l", "subaccount_id": 5}),
        (
            CancelByLabel("l", 5, "ETH-PERP"),
            "private/cancel_by_label",
            {"label": "l", "subaccount_id": 5, "instrument_name": "ETH-PERP"},
        ),
        (CancelAll(5), "private/cancel_all", {"subaccount_id": 5}),
        (
            CancelAll(5, cancel_trigger_orders=True, cancel_algo_orders=False),
            "private/cancel_all",
            {"subaccount_id": 5, "cancel_trigger_orders": True, "cancel_algo_orders": False},
        ),
    ],
)
def test_cancels(command: CancelCommand, method: str, expected: dict[str, Any]) -> None:
    encoder = make_encoder()
    assert params(encoder.cancel(command)) == expected
    assert params(encoder.cancel_rpc(command)) == {"id": 1, "method": method, "params": expected}
    assert params(encoder.cancel_rpc(command, 77))["id"] == 77


@pytest.mark.parametrize("name", ["ETH-PERP", "NOT-LISTED", 'odd"name', "ünlisted"])
def test_a_cancel_of_one_order(name: str) -> None:
    encoder = make_encoder()
    for order_id in ("o-1", 'o"2\\', "ö-3"):
        expected = {"instrument_name": name, "order_id": order_id, "subaccount_id": SUBACCOUNT_ID}
        assert params(encoder.cancel_order(name, order_id)) == expected
        request = params(encoder.cancel_order_rpc(name, order_id, 77))
        assert request == {"id": 77, "method": "private/cancel", "params": expected}
    assert params(encoder.cancel_order_rpc(name, "o"))["id"] == 1


def test_what_cancels_remember_is_bounded() -> None:
    encoder = make_encoder()
    for number in range(20_000):
        encoder.cancel_order(f"X-{number}", "o")
    assert len(encoder._before_order_id) <= 16_384


def test_nonces_and_ids_come_from_their_sources() -> None:
    nonces = NonceSource(V3_MAINNET, lambda: CLOCK_NS)
    ids = iter((10, 20, 30, 40))
    encoder = make_encoder(nonces=nonces, request_ids=lambda: next(ids))
    order = make_order()
    requests = [
        params(encoder.submit_rpc(order)),
        params(encoder.replace_rpc(ReplaceOrder(order=order, order_id_to_cancel="o"))),
        params(encoder.trigger_rpc(TriggerOrder(order=order, kind=TriggerKind.STOP_LOSS, trigger_price=1))),
        params(encoder.cancel_rpc(CancelAll(1))),
    ]
    assert [request["id"] for request in requests] == [10, 20, 30, 40]
    drawn = [int(request["params"]["nonce"]) for request in requests[:3]]
    assert drawn == sorted(set(drawn))
    assert drawn[0] >= CLOCK_NS
    assert nonces.next() > drawn[-1]
    assert int(params(encoder.submit(order))["nonce"]) > drawn[-1]


def test_without_sources_an_encoder_has_its_own() -> None:
    encoder = make_encoder()
    requests = [params(encoder.submit_rpc(make_order())) for _ in range(2)]
    requests.append(params(encoder.submit_rpc(make_order(), request_id=9)))
    assert [request["id"] for request in requests] == [1, 2, 9]
    assert requests[0]["params"]["nonce"] < requests[1]["params"]["nonce"]


def test_a_renewed_instrument_counts_at_once() -> None:
    registry = InstrumentRegistry([record()])
    encoder = make_encoder(instruments=registry)
    encoder.submit(make_order(), NONCES["v3"])
    registry.add([record(tick_size="0.5", base_asset_sub_id="7")])
    with pytest.raises(OrderRefused, match=r"tick 0\.5"):
        encoder.submit(make_order(), NONCES["v3"])
    assert_signed(params(encoder.submit(make_order(limit_price="3500.5"), NONCES["v3"])), V3_MAINNET, ASSET, 7)


def test_an_instrument_outside_the_quick_way_is_taken_all_the_same() -> None:
    """More places than v3 has, and a protocol of narrow numbers: neither is proven quick, both are exact."""
    fields = record(tick_size="0.0000000000000001")
    sent = params(make_encoder(V3_MAINNET, fields).submit(make_order(), NONCES["v3"]))
    assert_signed(sent, V3_MAINNET)
    sent = params(make_encoder(V3_MAINNET.replace(price_bits=100)).submit(make_order(), NONCES["v3"]))
    assert_signed(sent, V3_MAINNET)


def schema(name: str) -> dict[str, Any]:
    document = json.loads((SHARED / "spec" / "openapi.json").read_text())
    strict = {**document["components"]["schemas"][name], "additionalProperties": False}
    return {
        "$ref": f"#/components/schemas/{name}",
        "components": {"schemas": document["components"]["schemas"] | {name: strict}},
    }


@needs_shared
def test_requests_are_what_the_venue_publishes() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    encoder, nonce, order = make_encoder(referral_code="r"), NONCES["v3"], make_order()
    uuid = "b5c3a1de-0f0e-4c6f-9d59-0c3c1d2e4f5a"
    terms = (
        OrderTerms(),
        MARKET,
        OrderTerms(post_only=True, reject_post_only=False, mmp=True),
        OrderTerms(time_in_force=TimeInForce.FOK, reduce_only=True),
    )
    sent = [("CreateOrderRequest", encoder.submit(make_order(terms=each), nonce)) for each in terms]
    sent += [
        ("CreateOrderRequest", encoder.trigger(TriggerOrder(order=order, kind=kind, trigger_price=3450), nonce)) for kind in TriggerKind
    ]
    sent += [
        (
            "ReplaceOrderRequest",
            encoder.replace(ReplaceOrder(order=order, order_id_to_cancel=uuid, expected_filled_amount=1), nonce),
        ),
        ("ReplaceOrderRequest", encoder.replace(ReplaceOrder(order=order, nonce_to_cancel=nonce), nonce)),
        ("CancelOrderRequest", encoder.cancel_order("ETH-PERP", uuid)),
        ("CancelTriggerOrderRequest", encoder.cancel(CancelTriggerOrder(uuid, 1))),
        ("CancelByLabelRequest", encoder.cancel(CancelByLabel("l", 1, "ETH-PERP"))),
        ("CancelAllRequest", encoder.cancel(CancelAll(1, True, True))),
    ]
    for name, wire in sent:
        jsonschema.Draft202012Validator(schema(name)).validate(params(wire))
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(schema(name)).validate(params(wire) | {"subaccount_id": "1"})


@needs_shared
@pytest.mark.parametrize(
    ("file", "wire"),
    [
        ("common/private_order_params_limit", lambda encoder: encoder.submit(make_order(), NONCES["v2"])),
        (
            "common/private_trigger_order_params_stop_market",
            lambda encoder: encoder.trigger(
                TriggerOrder(
                    order=make_order(
                        side=OrderSide.SELL,
                        terms=OrderTerms(order_type=OrderType.MARKET, reduce_only=True),
                        limit_price=3400,
                        expiry_sec=V2_TRIGGER_EXPIRY,
                    ),
                    kind=TriggerKind.STOP_LOSS,
                    trigger_price=3450,
                    order_id="trigger-order-1",
                    conn_id="conn-1",
                ),
                NONCES["v2"],
            ),
        ),
        (
            "common/private_replace_params_reduce_mmp",
            lambda encoder: encoder.replace(
                ReplaceOrder(
                    order=make_order(terms=OrderTerms(time_in_force=TimeInForce.IOC, reduce_only=True, mmp=True)),
                    order_id_to_cancel="ord-stale-1",
                ),
                NONCES["v2"],
            ),
        ),
    ],
)
def test_v2_params_have_the_members_and_types_of_captures(file: str, wire: Any) -> None:
    captured = json.loads((SHARED / "captures" / f"{file}.json").read_text())
    sent = params(wire(make_encoder(V2_MAINNET, referral_code="r")))
    assert {key: type(value) for key, value in sent.items()} == {key: type(value) for key, value in captured.items()}
