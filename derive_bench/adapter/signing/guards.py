"""The venue's limits on a trade action, checked before it is hashed.

Each breach is a `SigningError` of its own that names the field, the value and the limit: the lifetime of the signature,
the scale and window of the nonce, the fractional digits and the range of every number. The clock is injectable.

Source: PROTOCOL.md, constants (error codes 11011, 11018), by way of `Protocol`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, NoReturn

from derive_bench.adapter.errors import SigningError
from derive_bench.adapter.protocol import Protocol
from derive_bench.adapter.signing.abi import shown
from derive_bench.adapter.signing.actions import TradeAction
from derive_bench.adapter.signing.wei import wei_limits

__all__ = ["ActionGuard", "guard_action"]

_SEC_NS: Final = 1_000_000_000


class ActionGuard:
    """The limits of one protocol, worked out once. `clock_ns` returns the UTC time in ns."""

    __slots__ = (
        "_amounts",
        "_clock_ns",
        "_fees",
        "_lifetimes",
        "_nonce_high",
        "_nonce_low",
        "_protocol",
        "_recipient_high",
        "_sub_id_high",
        "_unit",
    )

    def __init__(self, protocol: Protocol, clock_ns: Callable[[], int] = time.time_ns) -> None:
        self._protocol = protocol
        self._clock_ns = clock_ns
        self._amounts = wei_limits(protocol, "limit_price")
        self._fees = wei_limits(protocol, "max_fee")
        self._unit = 10 ** (protocol.value_scale_decimals - protocol.max_fraction_digits)
        self._sub_id_high = (1 << protocol.sub_id_bits) - 1
        self._recipient_high = (1 << protocol.recipient_bits) - 1
        self._nonce_low = 10 ** (protocol.nonce_digits_min - 1)
        self._nonce_high = 10**protocol.nonce_digits_max - 1
        # By (mmp, trigger). A trigger order's lifetime has its own rule, whoever places it.
        usual = (protocol.min_lifetime_sec, protocol.max_lifetime_sec)
        trigger = (protocol.trigger_min_lifetime_sec, protocol.trigger_max_lifetime_sec)
        self._lifetimes = {
            (False, False): usual,
            (True, False): (protocol.min_lifetime_sec, None),
            (False, True): trigger,
            (True, True): trigger,
        }

    def check_times(self, nonce: int, expiry_sec: int, mmp: bool = False, trigger: bool = False) -> None:
        """Raise `SigningError` unless the nonce and the expiry (UTC seconds) may be signed now.

        `mmp`: the order is under market-maker protection, and so has no longest lifetime. `trigger`: it is a trigger
        order.
        """
        now_ns = self._clock_ns()
        low, high = self._lifetimes[mmp, trigger]
        lifetime_ns = expiry_sec * _SEC_NS - now_ns
        if lifetime_ns < low * _SEC_NS or (high is not None and lifetime_ns > high * _SEC_NS):
            self._refuse_expiry(expiry_sec, now_ns, low, high)
        if not self._nonce_low <= nonce <= self._nonce_high:
            self._refuse_scale(nonce)
        protocol = self._protocol
        age_ns = now_ns - nonce * protocol.nonce_step_ns
        past_ns = protocol.nonce_past_ns
        if past_ns is not None and age_ns > past_ns:
            raise SigningError(f"nonce: {nonce} is {age_ns / _SEC_NS:.0f} s old; at most {past_ns // _SEC_NS} s is taken")
        future_ns = protocol.nonce_future_ns
        if future_ns is not None and -age_ns > future_ns:
            raise SigningError(
                f"nonce: {nonce} is {-age_ns / _SEC_NS:.0f} s ahead of the clock; at most {future_ns // _SEC_NS} s is taken"
            )

    def check_values(self, limit_price: int, amount: int, max_fee: int, sub_id: int, recipient_id: int) -> None:
        """Raise `SigningError` unless the numbers (prices, amount and fee in wei) are within the protocol's ranges."""
        low, high = self._amounts
        unit = self._unit
        if not (
            low <= limit_price <= high
            and low <= amount <= high
            and 0 <= max_fee <= self._fees[1]
            and 0 <= sub_id <= self._sub_id_high
            and 0 <= recipient_id <= self._recipient_high
            and not limit_price % unit
            and not amount % unit
            and not max_fee % unit
        ):
            self._refuse_value(limit_price, amount, max_fee, sub_id, recipient_id)

    def _refuse_expiry(self, expiry_sec: int, now_ns: int, low: int, high: int | None) -> NoReturn:
        lifetime = expiry_sec - now_ns / _SEC_NS
        limit = f"at least {low} s" if high is None else f"{low} to {high} s"
        raise SigningError(
            f"expiry_sec: {expiry_sec} leaves the signature a lifetime of {lifetime:.0f} s; "
            f"{self._protocol.name} takes {limit} from now for this order"
        )

    def _refuse_scale(self, nonce: int) -> NoReturn:
        protocol = self._protocol
        low, high = protocol.nonce_digits_min, protocol.nonce_digits_max
        digits = f"{low}" if low == high else f"{low} to {high}"
        unit = "UTC nanoseconds" if protocol.nonce_step_ns == 1 else "UTC milliseconds and up to three more digits"
        raise SigningError(f"nonce: {shown(nonce)} is not of {digits} digits; {protocol.name} takes {unit}")

    def _refuse_value(self, limit_price: int, amount: int, max_fee: int, sub_id: int, recipient_id: int) -> NoReturn:
        protocol = self._protocol
        low, high = self._amounts
        bits = protocol.price_bits
        for field, value, lowest, highest, kind in (
            ("limit_price", limit_price, low, high, f"int{bits}"),
            ("amount", amount, low, high, f"int{bits}"),
            ("max_fee", max_fee, *self._fees, f"uint{protocol.fee_bits}"),
            ("sub_id", sub_id, 0, self._sub_id_high, f"uint{protocol.sub_id_bits}"),
            ("recipient_id", recipient_id, 0, self._recipient_high, f"uint{protocol.recipient_bits}"),
        ):
            if not lowest <= value <= highest:
                raise SigningError(f"{field}: {shown(value)} is outside {protocol.name}'s {kind}, {lowest} to {highest}")
        digits = protocol.max_fraction_digits
        field, value = next(
            (f, v)
            for f, v in (("limit_price", limit_price), ("amount", amount), ("max_fee", max_fee))
            if v % self._unit
        )
        raise SigningError(f"{field}: {shown(value)} wei has more than the {digits} fractional digits {protocol.name} takes")


def guard_action(
    protocol: Protocol,
    action: TradeAction,
    *,
    mmp: bool = False,
    trigger: bool = False,
    clock_ns: Callable[[], int] = time.time_ns,
) -> None:
    """Raise `SigningError` unless `action` keeps every limit of `protocol` now; `ActionGuard` is the same, kept."""
    guard = ActionGuard(protocol, clock_ns)
    guard.check_times(action.nonce, action.expiry_sec, mmp, trigger)
    guard.check_values(action.limit_price, action.amount, action.max_fee, action.sub_id, action.recipient_id)
