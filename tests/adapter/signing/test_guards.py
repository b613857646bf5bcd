"""The guards: each limit of each protocol, on both of its sides."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from derive_bench.adapter.errors import SigningError
from derive_bench.adapter.protocol import V2_MAINNET, V3_MAINNET, Protocol
from derive_bench.adapter.signing import ActionGuard, TradeAction, guard_action

NOW_SEC = 1_790_871_617
DAY_SEC = 86_400
ONE = 10**18


def clock() -> int:
    return NOW_SEC * 10**9


def action(protocol: Protocol, **changes: Any) -> TradeAction:
    good = TradeAction(
        subaccount_id=30769,
        nonce=NOW_SEC * 10**9 // protocol.nonce_step_ns,
        module=protocol.trade_module,
        asset_address="0x000000000000000000000000000000000000abcd",
        sub_id=42,
        limit_price=3_500 * ONE,
        amount=ONE,
        max_fee=1_000 * ONE,
        recipient_id=30769,
        is_bid=True,
        # Two months suit every rule, that of v2's trigger orders too.
        expiry_sec=NOW_SEC + 60 * DAY_SEC,
        owner="0x000000000000000000000000000000000000aaaa",
        signer="0x86042886b1063625D0B3DDCC9e4cBcf912B79e16",
    )
    return msgspec.structs.replace(good, **changes)


def check(protocol: Protocol, *, mmp: Any = False, trigger: Any = False, **changes: Any) -> None:
    guard_action(protocol, action(protocol, **changes), mmp=mmp, trigger=trigger, clock_ns=clock)


@pytest.mark.parametrize("protocol", [V3_MAINNET, V2_MAINNET], ids=lambda p: p.name)
@pytest.mark.parametrize("mmp", [False, True])
@pytest.mark.parametrize("trigger", [False, True])
def test_a_good_action_passes(protocol: Protocol, mmp: bool, trigger: bool) -> None:
    check(protocol, mmp=mmp, trigger=trigger)


@pytest.mark.parametrize(
    ("protocol", "mmp", "trigger", "shortest", "longest"),
    [
        (V3_MAINNET, False, False, 300, 120 * DAY_SEC),
        (V3_MAINNET, False, True, 300, 120 * DAY_SEC),
        (V3_MAINNET, True, False, 300, None),
        (V3_MAINNET.replace(min_lifetime_sec=10), False, False, 10, 120 * DAY_SEC),
        (V2_MAINNET, False, False, 300, None),
        (V2_MAINNET, True, False, 300, None),
        (V2_MAINNET, False, True, 30 * DAY_SEC, 90 * DAY_SEC),
        (V2_MAINNET, True, True, 30 * DAY_SEC, 90 * DAY_SEC),
    ],
)
def test_lifetimes(protocol: Protocol, mmp: bool, trigger: bool, shortest: int, longest: int | None) -> None:
    check(protocol, mmp=mmp, trigger=trigger, expiry_sec=NOW_SEC + shortest)
    with pytest.raises(SigningError, match=rf"^expiry_sec: .* {shortest - 1} s to live; {protocol.name} takes .*{shortest} "):
        check(protocol, mmp=mmp, trigger=trigger, expiry_sec=NOW_SEC + shortest - 1)
    with pytest.raises(SigningError, match=r"^expiry_sec: "):
        check(protocol, mmp=mmp, trigger=trigger, expiry_sec=0)
    if longest is None:
        check(protocol, mmp=mmp, trigger=trigger, expiry_sec=2**40)
    else:
        check(protocol, mmp=mmp, trigger=trigger, expiry_sec=NOW_SEC + longest)
        with pytest.raises(SigningError, match=rf"^expiry_sec: .* to {longest} s for this order"):
            check(protocol, mmp=mmp, trigger=trigger, expiry_sec=NOW_SEC + longest + 1)


def test_the_window_of_v3_nonces() -> None:
    now_ns = clock()
    past_ns, future_ns = 90 * DAY_SEC * 10**9, 3_600 * 10**9
    check(V3_MAINNET, nonce=now_ns - past_ns)
    check(V3_MAINNET, nonce=now_ns + future_ns)
    with pytest.raises(SigningError, match=r"^nonce: \d+ is 7776000 s old; v3 takes at most 7776000 s"):
        check(V3_MAINNET, nonce=now_ns - past_ns - 1)
    with pytest.raises(SigningError, match=r"^nonce: \d+ is 3601 s ahead of the clock; v3 takes at most 3600 s"):
        check(V3_MAINNET, nonce=now_ns + future_ns + 10**9)
    check(V3_MAINNET.replace(nonce_past_ns=None, nonce_future_ns=None), nonce=10**18)


@pytest.mark.parametrize("nonce", [clock() // 1_000, clock() // 10**6, 0, -1, clock() * 10, 10**4_000])
def test_the_scale_of_v3_nonces(nonce: int) -> None:
    with pytest.raises(SigningError, match=r"^nonce: .* is not of 19 digits; v3 takes UTC nanoseconds"):
        check(V3_MAINNET, nonce=nonce)


def test_the_scale_of_v2_nonces() -> None:
    for nonce in (NOW_SEC * 1_000, NOW_SEC * 10**4 + 7, NOW_SEC * 10**6, 10**16 - 1, 10**12):
        check(V2_MAINNET, nonce=nonce)
    for nonce in (NOW_SEC, 10**12 - 1, 10**16, clock()):
        with pytest.raises(SigningError, match=r"^nonce: .* is not of 13 to 16 digits; v2 takes UTC milliseconds and up to three"):
            check(V2_MAINNET, nonce=nonce)


RANGES = [
    (V3_MAINNET, "limit_price", -(2**127), 2**127 - 1, "int128", 10**6),
    (V3_MAINNET, "amount", -(2**127), 2**127 - 1, "int128", 10**6),
    (V3_MAINNET, "max_fee", 0, 2**128 - 1, "uint128", 10**6),
    (V3_MAINNET, "sub_id", 0, 2**128 - 1, "uint128", 1),
    (V3_MAINNET, "recipient_id", 0, 2**64 - 1, "uint64", 1),
    (V2_MAINNET, "limit_price", -(2**255), 2**255 - 1, "int256", 1),
    (V2_MAINNET, "amount", -(2**255), 2**255 - 1, "int256", 1),
    (V2_MAINNET, "max_fee", 0, 2**256 - 1, "uint256", 1),
    (V2_MAINNET, "sub_id", 0, 2**256 - 1, "uint256", 1),
    (V2_MAINNET, "recipient_id", 0, 2**256 - 1, "uint256", 1),
]


@pytest.mark.parametrize(("protocol", "field", "low", "high", "kind", "unit"), RANGES)
def test_ranges(protocol: Protocol, field: str, low: int, high: int, kind: str, unit: int) -> None:
    for value in (-(-low // unit) * unit, high // unit * unit):
        check(protocol, **{field: value})
    for value in (low - 1, high + 1):
        with pytest.raises(SigningError, match=rf"^{field}: {value} is outside {protocol.name}'s {kind}, {low} to {high}$"):
            check(protocol, **{field: value})


@pytest.mark.parametrize("field", ["limit_price", "amount", "max_fee"])
def test_decimals(field: str) -> None:
    check(V3_MAINNET, **{field: ONE + 10**6})
    check(V2_MAINNET, **{field: ONE + 1})
    for wei in (1, ONE + 1, ONE - 10**5):
        with pytest.raises(SigningError, match=rf"^{field}: {wei} wei has more than the 12 fractional digits v3 takes"):
            check(V3_MAINNET, **{field: wei})


def test_a_kept_guard_reads_its_clock_each_time() -> None:
    times = [clock(), clock() + 10**9 * 10_000]
    guard = ActionGuard(V3_MAINNET, lambda: times.pop(0))
    guard.check_times(clock(), NOW_SEC + 600)
    with pytest.raises(SigningError, match=r"^expiry_sec: .* leaves the signature -9400 s to live"):
        guard.check_times(clock(), NOW_SEC + 600)


def test_the_default_clock_is_the_system_s() -> None:
    with pytest.raises(SigningError, match=r"^expiry_sec: "):
        guard_action(V3_MAINNET, action(V3_MAINNET, expiry_sec=1))
