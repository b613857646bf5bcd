"""The venue's limits on a trade action, checked before it is hashed.

Each breach is a `SigningError` of its own that names the field, the value and the limit: the lifetime of the signature,
the scale and window of the nonce, the fractional digits and the range of every number. The clock is injectable.

Source: PROTOCOL.md, constants (error codes 11011, 11018), by way of `Protocol`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NoReturn

from derive_bench.adapter.errors import SigningError
from derive_bench.adapter.signing.abi import shown
from derive_bench.adapter.signing.wei import wei_limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from derive_bench.adapter.protocol import Protocol
    from derive_bench.adapter.signing.actions import TradeAction

__all__ = ["ActionGuard", "guard_action"]

_SEC_NS: Final = 1_000_000_000
_ENDLESS: Final = 1 << 400
"""Stands for no limit, so that the hot path compares without asking whether there is one."""


class ActionGuard:
    """The limits of one protocol, worked out once. `clock_ns` returns the UTC time in ns."""

    __slots__ = (
        "_amounts",
        "_clock_ns",
        "_fees",
        "_longest_ns",
        "_newest_ns",
        "_nonce_high",
        "_nonce_low",
        "_nonce_step_ns",
        "_oldest_ns",
        "_protocol",
        "_recipient_high",
        "_shortest_ns",
        "_sub_id_high",
        "_trigger_longest_ns",
        "_trigger_shortest_ns",
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
        self._nonce_step_ns = protocol.nonce_step_ns
        self._oldest_ns = _or_endless(protocol.nonce_past_ns)
        self._newest_ns = -_or_endless(protocol.nonce_future_ns)
        self._shortest_ns = protocol.min_lifetime_sec * _SEC_NS
        self._longest_ns = _or_endless(protocol.max_lifetime_sec) * _SEC_NS
        self._trigger_shortest_ns = protocol.trigger_min_lifetime_sec * _SEC_NS
        self._trigger_longest_ns = _or_endless(protocol.trigger_max_lifetime_sec) * _SEC_NS

    def check_times(self, nonce: int, expiry_sec: int, mmp: bool = False, trigger: bool = False) -> None:
        """Raise `SigningError` unless the nonce and the expiry (UTC seconds) may be signed now.

        `mmp`: the order is under market-maker protection, and so has no longest lifetime. `trigger`: it is a trigger
        order, which has a lifetime rule of its own, whoever places it.
        """
        now_ns = self._clock_ns()
        if trigger:
            shortest_ns, longest_ns = self._trigger_shortest_ns, self._trigger_longest_ns
        else:
            shortest_ns, longest_ns = self._shortest_ns, _ENDLESS if mmp else self._longest_ns
        if not shortest_ns <= expiry_sec * _SEC_NS - now_ns <= longest_ns:
            self._refuse_expiry(expiry_sec, now_ns, shortest_ns, longest_ns)
        if not (
            self._nonce_low <= nonce <= self._nonce_high and self._newest_ns <= now_ns - nonce * self._nonce_step_ns <= self._oldest_ns
        ):
            self._refuse_nonce(nonce, now_ns)

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

    def _refuse_expiry(self, expiry_sec: int, now_ns: int, shortest_ns: int, longest_ns: int) -> NoReturn:
        shortest = shortest_ns // _SEC_NS
        limit = f"at least {shortest} s" if longest_ns >= _ENDLESS else f"{shortest} to {longest_ns // _SEC_NS} s"
        raise SigningError(
            f"expiry_sec: {shown(expiry_sec)} leaves the signature {shown(expiry_sec - now_ns // _SEC_NS)} s to live; "
            f"{self._protocol.name} takes {limit} for this order"
        )

    def _refuse_nonce(self, nonce: int, now_ns: int) -> NoReturn:
        protocol = self._protocol
        if not self._nonce_low <= nonce <= self._nonce_high:
            low, high = protocol.nonce_digits_min, protocol.nonce_digits_max
            digits = f"{low}" if low == high else f"{low} to {high}"
            unit = "UTC nanoseconds" if protocol.nonce_step_ns == 1 else "UTC milliseconds and up to three more digits"
            raise SigningError(f"nonce: {shown(nonce)} is not of {digits} digits; {protocol.name} takes {unit}")
        age_ns = now_ns - nonce * self._nonce_step_ns
        if age_ns > 0:
            how, limit_ns = "old", self._oldest_ns
        else:
            how, limit_ns = "ahead of the clock", -self._newest_ns
        raise SigningError(f"nonce: {nonce} is {abs(age_ns) // _SEC_NS} s {how}; {protocol.name} takes at most {limit_ns // _SEC_NS} s")

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
        field, value = next((f, v) for f, v in (("limit_price", limit_price), ("amount", amount), ("max_fee", max_fee)) if v % self._unit)
        raise SigningError(f"{field}: {shown(value)} wei has more than the {digits} fractional digits {protocol.name} takes")


def _or_endless(limit: int | None) -> int:
    return _ENDLESS if limit is None else limit


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
