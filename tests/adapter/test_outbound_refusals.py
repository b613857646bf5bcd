"""What is refused, with which field and error, and that nothing was signed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from derive_bench.adapter.errors import CallerError, OrderRefused, SigningError, UnknownInstrument
from derive_bench.adapter.instruments import InstrumentRegistry
from derive_bench.adapter.model import OrderSide, OrderType, TimeInForce
from derive_bench.adapter.outbound import (
    CancelByLabel,
    CancelTriggerOrder,
    OrderEncoder,
    OrderTerms,
    ReplaceOrder,
    TriggerKind,
    TriggerOrder,
)
from derive_bench.adapter.protocol import V2_MAINNET, V3_MAINNET, Protocol
from derive_bench.adapter.signing import ActionGuard, Signer
from tests.adapter.outbound_support import (
    CLOCK_NS,
    CLOCK_SEC,
    EXPIRY_SEC,
    KEY,
    NONCES,
    WALLET,
    make_encoder,
    make_order,
    params,
    record,
)

NONCE = NONCES["v3"]
HOUR_NS = 3_600 * 10**9
DAY_SEC = 86_400
DAY_NS = DAY_SEC * 10**9
MARKET = OrderTerms(order_type=OrderType.MARKET)
SURROGATE = "a\ud800b"


class UnusedSigner(Signer):
    """A signer that is never asked to sign."""

    __slots__ = ()

    def sign_hex(self, digest: bytes) -> str:
        raise AssertionError("signed")


def unused_encoder(protocol: Protocol = V3_MAINNET, *records: dict[str, Any], **changes: Any) -> OrderEncoder:
    options: dict[str, Any] = {
        "owner": WALLET,
        "subaccount_id": 1,
        "instruments": InstrumentRegistry(records or [record()]),
        "clock_ns": lambda: CLOCK_NS,
    }
    return OrderEncoder(UnusedSigner(KEY), protocol, **(options | changes))


@pytest.mark.parametrize(
    ("terms", "field", "reason"),
    [
        ({"order_type": OrderType.STOP_MARKET}, "order_type", "TriggerOrder"),
        ({"order_type": "limit"}, "order_type", "LIMIT or MARKET"),
        ({"time_in_force": "GTD"}, "time_in_force", "expiry_sec"),
        ({"time_in_force": "DAY"}, "time_in_force", "expiry_sec"),
        ({"time_in_force": ["GTC"]}, "time_in_force", "GTC, IOC or FOK"),
        ({"post_only": True, "order_type": OrderType.MARKET}, "time_in_force", "11010"),
        ({"post_only": True, "time_in_force": TimeInForce.IOC}, "time_in_force", "IOC exclude"),
        ({"post_only": True, "time_in_force": TimeInForce.FOK}, "time_in_force", "FOK exclude"),
        ({"reject_post_only": True}, "reject_post_only", "only a post-only order"),
        ({"reject_post_only": False, "time_in_force": TimeInForce.IOC}, "reject_post_only", "only a post-only order"),
        ({"reduce_only": True}, "reduce_only", "11024"),
        ({"reduce_only": True, "post_only": True}, "reduce_only", "11024"),
        ({"reduce_only": None}, "reduce_only", "neither True nor False"),
        ({"mmp": "yes"}, "mmp", "neither True nor False"),
        ({"post_only": 1}, "post_only", "neither True nor False"),
    ],
)
def test_terms_that_no_instrument_takes(terms: dict[str, Any], field: str, reason: str) -> None:
    with pytest.raises(OrderRefused, match=reason) as refusal:
        OrderTerms(**terms)
    assert refusal.value.field == field


def test_terms_may_be_given_by_their_texts() -> None:
    terms: Any = OrderTerms(order_type="MARKET", time_in_force="IOC")  # type: ignore[arg-type]
    side: Any = "SELL"
    sent = params(make_encoder().submit(make_order(terms=terms, side=side), NONCE))
    assert (sent["order_type"], sent["time_in_force"], sent["direction"]) == ("market", "ioc", "sell")


@pytest.mark.parametrize(
    ("changes", "field", "reason"),
    [
        ({"limit_price": None}, "limit_price", "a limit order needs one"),
        ({"limit_price": None, "terms": MARKET}, "limit_price", "worst acceptable price"),
        ({"limit_price": Decimal("3500.005")}, "limit_price", "tick 0.01: see round_to_tick"),
        ({"limit_price": "3500.0000000001"}, "limit_price", "tick"),
        ({"limit_price": "4503599627370.0001"}, "limit_price", "tick"),  # its double is on the tick
        ({"limit_price": 0}, "limit_price", "not above 0"),
        ({"limit_price": Decimal("-0")}, "limit_price", "not above 0"),
        ({"limit_price": "-3500"}, "limit_price", "-3500 is not above 0"),
        ({"amount": "0.105"}, "amount", "step 0.01: see round_to_step"),
        ({"amount": "0.09"}, "amount", "0.1 to 10000"),
        ({"amount": "10000.01"}, "amount", "0.1 to 10000"),
        ({"amount": 0}, "amount", "0.1 to 10000"),
        ({"amount": "-1"}, "amount", "-1 is outside"),
        ({"side": OrderSide.NO_ORDER_SIDE}, "direction", "BUY or SELL"),
        ({"side": "buy"}, "direction", "BUY or SELL"),
        ({"label": SURROGATE}, "label", "lone surrogate"),
        ({"label": 5}, "label", "a str is needed"),
        ({"label": b"x"}, "label", "a str is needed"),
    ],
)
def test_orders_refused(changes: dict[str, Any], field: str, reason: str) -> None:
    with pytest.raises(OrderRefused, match=reason) as refusal:
        unused_encoder().submit(make_order(**changes), NONCE)
    assert refusal.value.field == field


def test_a_tick_or_step_is_a_multiple_not_a_number_of_places() -> None:
    encoder = unused_encoder(V3_MAINNET, record(tick_size="0.5", amount_step="5", minimum_amount="5"))
    for price in ("3500.1", "3500.25", Decimal("3500.7")):
        with pytest.raises(OrderRefused, match=r"tick 0\.5"):
            encoder.submit(make_order(limit_price=price, amount=5), NONCE)
    for amount in (6, "12", Decimal("5.5")):
        with pytest.raises(OrderRefused, match="step 5"):
            encoder.submit(make_order(limit_price="3500.5", amount=amount), NONCE)


def test_a_minimum_off_the_step_counts_as_it_is() -> None:
    fields = record(amount_step="1", minimum_amount="1.5", maximum_amount="3.5")
    for amount in (1, 4, "4.0000000000000000"):
        with pytest.raises(OrderRefused, match=r"1\.5 to 3\.5"):
            unused_encoder(V3_MAINNET, fields).submit(make_order(amount=amount), NONCE)
    for amount in (2, 3):
        make_encoder(V3_MAINNET, fields).submit(make_order(amount=amount), NONCE)


NO_VALUES: list[Any] = [
    *("", " 1", "1 ", "+1", "1.", ".5", "01", "1_0", "0x10", "NaN", "Infinity", "1e", "--1", "\u0661", "1,5", "1\n"),
    *('1","2', "1e2,-5", "\\u0031", "1]", "1\x00", "1," + 100_000 * "[", SURROGATE),
    *(1.5, 3500.0, True, None, b"1", [1], Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity"), 1 << 20_000),
    *("1e-13", Decimal("1.0000000000001"), "1e40", Decimal("1E+40"), "9" * 300, Decimal("1E+999999")),
]


@pytest.mark.parametrize("field", ["limit_price", "amount", "max_fee"])
def test_what_is_no_value_is_refused(field: str) -> None:
    for value in NO_VALUES:
        with pytest.raises(CallerError, match=field):
            unused_encoder().submit(make_order(**{field: value}), NONCE)


def test_a_fee_below_zero_is_refused() -> None:
    for fee in (-1, "-0.1", Decimal("-1e-12")):
        with pytest.raises(SigningError, match="max_fee"):
            unused_encoder().submit(make_order(max_fee=fee), NONCE)


def test_unknown_and_dead_instruments() -> None:
    with pytest.raises(UnknownInstrument, match="BTC-PERP"):
        unused_encoder().submit(make_order(instrument_name="BTC-PERP"), NONCE)
    with pytest.raises(OrderRefused, match="11021"):
        unused_encoder(V3_MAINNET, record(is_active=False)).submit(make_order(), NONCE)
    with pytest.raises(OrderRefused, match="128 bits"):
        unused_encoder(V3_MAINNET, record(base_asset_sub_id=str(1 << 128))).submit(make_order(), NONCE)
    make_encoder(V2_MAINNET, record(base_asset_sub_id=str(1 << 128))).submit(make_order(), NONCES["v2"])


def test_spot_has_nothing_to_reduce() -> None:
    terms = OrderTerms(time_in_force=TimeInForce.IOC, reduce_only=True)
    with pytest.raises(OrderRefused, match="11025"):
        unused_encoder(V3_MAINNET, record(instrument_type="erc20")).submit(make_order(terms=terms), NONCE)


def test_a_subaccount_or_code_that_cannot_be_written() -> None:
    with pytest.raises(SigningError, match="recipient_id"):
        unused_encoder(subaccount_id=1 << 64)
    with pytest.raises(OrderRefused, match="referral_code"):
        unused_encoder(referral_code=SURROGATE)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({}, "order_id_to_cancel"),
        ({"order_id_to_cancel": "o", "nonce_to_cancel": 1}, "order_id_to_cancel"),
        ({"order_id_to_cancel": ""}, "order_id_to_cancel"),
        ({"order_id_to_cancel": SURROGATE}, "order_id_to_cancel"),
        ({"nonce_to_cancel": -1}, "nonce_to_cancel"),
        ({"nonce_to_cancel": 1 << 63}, "nonce_to_cancel"),
        ({"nonce_to_cancel": "1"}, "nonce_to_cancel"),
        ({"nonce_to_cancel": True}, "nonce_to_cancel"),
        ({"order_id_to_cancel": "o", "expected_filled_amount": -1}, "expected_filled_amount"),
    ],
)
def test_replacements_refused(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(OrderRefused) as refusal:
        unused_encoder().replace(ReplaceOrder(order=make_order(), **changes), NONCE)
    assert refusal.value.field == field


def test_the_expected_filled_amount_is_a_number() -> None:
    with pytest.raises(SigningError):
        unused_encoder().replace(ReplaceOrder(order=make_order(), order_id_to_cancel="o", expected_filled_amount="1.0000000000001"), NONCE)


@pytest.mark.parametrize(
    ("changes", "order", "field"),
    [
        ({"kind": "stoploss"}, {}, "trigger_type"),
        ({"price_type": "mark"}, {}, "trigger_price_type"),
        ({"trigger_price": "3450.005"}, {}, "trigger_price"),
        ({"trigger_price": 0}, {}, "trigger_price"),
        ({"order_id": "o"}, {}, "order_id"),
        ({"conn_id": "c"}, {}, "conn_id"),
        ({}, {"terms": MARKET, "limit_price": None}, "limit_price"),
        ({"trigger_price": 3501}, {"terms": MARKET, "limit_price": 3500}, "limit_price"),
        ({"trigger_price": 3499}, {"terms": MARKET, "limit_price": 3500, "side": OrderSide.SELL}, "limit_price"),
    ],
)
def test_trigger_orders_refused(changes: dict[str, Any], order: dict[str, Any], field: str) -> None:
    fields: dict[str, Any] = {"kind": TriggerKind.STOP_LOSS, "trigger_price": 3450}
    with pytest.raises(OrderRefused) as refusal:
        unused_encoder().trigger(TriggerOrder(order=make_order(**order), **(fields | changes)), NONCE)
    assert refusal.value.field == field


@pytest.mark.parametrize("missing", ["order_id", "conn_id"])
def test_v2_trigger_orders_need_their_ids(missing: str) -> None:
    ids: dict[str, Any] = {"order_id": "o", "conn_id": "c"}
    order = make_order(expiry_sec=CLOCK_SEC + 40 * DAY_SEC)
    with pytest.raises(OrderRefused, match="needs one") as refusal:
        unused_encoder(V2_MAINNET).trigger(
            TriggerOrder(order=order, kind=TriggerKind.STOP_LOSS, trigger_price=1, **(ids | {missing: None})),
            NONCES["v2"],
        )
    assert refusal.value.field == missing


def test_v2_trigger_orders_live_30_to_90_days() -> None:
    for days, taken in ((29, False), (30, True), (90, True), (91, False)):
        command = TriggerOrder(
            order=make_order(expiry_sec=CLOCK_SEC + days * DAY_SEC),
            kind=TriggerKind.STOP_LOSS,
            trigger_price=1,
            order_id="o",
            conn_id="c",
        )
        if taken:
            make_encoder(V2_MAINNET).trigger(command, NONCES["v2"])
        else:
            with pytest.raises(SigningError, match="to live"):
                unused_encoder(V2_MAINNET).trigger(command, NONCES["v2"])


def test_a_trigger_order_has_its_own_lifetime_rule_after_an_ordinary_one_too() -> None:
    encoder, nonce = make_encoder(V2_MAINNET), NONCES["v2"]
    encoder.submit(make_order(), nonce)
    short = TriggerOrder(order=make_order(), kind=TriggerKind.STOP_LOSS, trigger_price=1, order_id="o", conn_id="c")
    with pytest.raises(SigningError, match="to live"):
        encoder.trigger(short, nonce)


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: unused_encoder().cancel_order("", "o"), "instrument_name"),
        (lambda: unused_encoder().cancel_order(SURROGATE, "o"), "instrument_name"),
        (lambda: unused_encoder().cancel_order(["ETH-PERP"], "o"), "instrument_name"),  # type: ignore[arg-type]
        (lambda: unused_encoder().cancel_order("ETH-PERP", ""), "order_id"),
        (lambda: unused_encoder().cancel_order("ETH-PERP", SURROGATE), "order_id"),
        (lambda: unused_encoder().cancel_order("ETH-PERP", b"o"), "order_id"),  # type: ignore[arg-type]
        (lambda: CancelTriggerOrder(SURROGATE, 1), "order_id"),
        (lambda: CancelByLabel("", 1), "label"),
        (lambda: CancelByLabel(SURROGATE, 1), "label"),
        (lambda: CancelByLabel("l", 1, ""), "instrument_name"),
        (lambda: unused_encoder().cancel_order("ETH-PERP", None), "order_id"),  # type: ignore[arg-type]
    ],
)
def test_cancels_refused(build: Any, field: str) -> None:
    with pytest.raises(OrderRefused) as refusal:
        build()
    assert refusal.value.field == field


class Clock:
    """A clock that is set by hand."""

    def __init__(self, now_ns: int) -> None:
        self.now_ns = now_ns

    def __call__(self) -> int:
        return self.now_ns


def verdict(encoder: OrderEncoder, nonce: int, expiry_sec: int, mmp: bool) -> str | None:
    try:
        encoder.submit(make_order(expiry_sec=expiry_sec, terms=OrderTerms(mmp=mmp)), nonce)
    except SigningError as error:
        return str(error)
    return None


def rule(guard: ActionGuard, nonce: int, expiry_sec: int, mmp: bool) -> str | None:
    try:
        guard.check_times(nonce, expiry_sec, mmp)
    except SigningError as error:
        return str(error)
    return None


@pytest.mark.parametrize("protocol", [V3_MAINNET, V2_MAINNET], ids=["v3", "v2"])
def test_times_are_judged_by_the_rule_whatever_was_signed_before(protocol: Protocol) -> None:
    """A good order leaves a window open. Orders after it, at, before and beyond every edge, get the rule's own verdict."""
    clock, nonce = Clock(CLOCK_NS), NONCES[protocol.dialect]
    guard = ActionGuard(protocol, clock)
    step = protocol.nonce_step_ns
    refused = 0
    lifetimes = (300, 301, 600, 120 * DAY_SEC, 120 * DAY_SEC + 1)
    edges = [(CLOCK_NS - 90 * DAY_NS) // step, (CLOCK_NS + HOUR_NS) // step, 10**15, 10**18, 10**19]
    nonces = [nonce, *(edge + offset for edge in edges for offset in (-(10**9) // step, -1, 0, 1, 10**9 // step))]
    for lifetime in lifetimes:
        expiry_sec = CLOCK_SEC + lifetime
        encoder = make_encoder(protocol, clock_ns=clock)
        for mmp in (False, True):
            for shift_ns in (0, 1, -1, 10**9 - 1, 10**9, 10**9 + 1, -(10**9), 2 * 10**9):
                for each in nonces:
                    clock.now_ns = CLOCK_NS
                    verdict(encoder, nonce, expiry_sec, True)
                    clock.now_ns = CLOCK_NS + shift_ns
                    expected = rule(guard, each, expiry_sec, mmp)
                    assert verdict(encoder, each, expiry_sec, mmp) == expected
                    refused += expected is not None
    assert refused > 100


def test_a_window_does_not_outlive_its_expiry() -> None:
    clock = Clock(CLOCK_NS)
    encoder = make_encoder(clock_ns=clock)
    encoder.submit(make_order(), NONCE)
    clock.now_ns = (EXPIRY_SEC - 300) * 10**9
    encoder.submit(make_order(), NONCE)
    clock.now_ns += 1
    with pytest.raises(SigningError, match="to live"):
        encoder.submit(make_order(), NONCE)


def test_nonces_and_expiries_are_integers() -> None:
    for nonce, expiry_sec in ((float(NONCE), EXPIRY_SEC), (NONCE, EXPIRY_SEC + 0.5)):
        order: Any = make_order(expiry_sec=expiry_sec)
        with pytest.raises(SigningError):
            unused_encoder().submit(order, nonce)  # type: ignore[arg-type]


def test_a_command_is_left_as_it_was() -> None:
    order = make_order(limit_price=Decimal("1E+3"))
    encoder = make_encoder()
    first = encoder.submit(order, NONCE)
    assert order == make_order(limit_price=Decimal("1E+3"))
    assert encoder.submit(order, NONCE) == first
