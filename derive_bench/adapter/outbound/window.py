"""When an order may be signed without asking for its times again.

`ActionGuard.check_times` is the rule. A window says for which time, at most a second from now, and for which nonces it
would pass every order with a certain expiry. So the hot path compares with ready numbers, and puts before the rule itself
what lies outside: the first order with a new expiry, and whatever the rule refuses.
"""

from __future__ import annotations

from typing import Final

from derive_bench.adapter.protocol import Protocol

__all__ = ["Window", "open_window"]

_SEC_NS: Final = 1_000_000_000
_LIFE_NS: Final = _SEC_NS

Window = tuple[int, int, int, int]
"""UTC ns from which and until before which the window is open; first and last nonce."""


def open_window(protocol: Protocol, expiry_sec: int, now_ns: int) -> Window:
    """Return the window at `now_ns` (UTC) for orders with that expiry, trigger orders excepted."""
    expiry_ns = expiry_sec * _SEC_NS
    until_ns = min(now_ns + _LIFE_NS, expiry_ns - protocol.min_lifetime_sec * _SEC_NS)
    from_ns = now_ns
    if protocol.max_lifetime_sec is not None:
        # An order under market-maker protection may live longer than others: those wait for this.
        from_ns = max(from_ns, expiry_ns - protocol.max_lifetime_sec * _SEC_NS)
    step_ns = protocol.nonce_step_ns
    first_nonce = 10 ** (protocol.nonce_digits_min - 1)
    if protocol.nonce_past_ns is not None:
        first_nonce = max(first_nonce, -((protocol.nonce_past_ns - until_ns) // step_ns))
    last_nonce = 10**protocol.nonce_digits_max - 1
    if protocol.nonce_future_ns is not None:
        last_nonce = min(last_nonce, (now_ns + protocol.nonce_future_ns) // step_ns)
    return from_ns, until_ns, first_nonce, last_nonce
