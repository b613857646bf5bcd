"""Nonces of actions: unique, never going back, cheap to draw from any thread.

v3 nonces are UTC nanoseconds (19 digits), v2 ones UTC milliseconds followed by three more digits (16, that is µs).

A source draws from an `itertools.count` that starts at the clock's time and starts anew from it every second. Drawing
is one atomic C call, also in free-threaded builds from 3.13.0 on (cpython gh-117657), so the hot path has no lock, and a
nonce is never more than a second behind the clock.

One process for each (wallet, subaccount): two processes, a parent and its forked child among them, do not know of each
other's nonces. A child's sources start anew from the clock, which makes repeats improbable, not impossible.
"""

from __future__ import annotations

import threading
import time
from itertools import count
from typing import TYPE_CHECKING, Final

from derive_bench.adapter.errors import SigningError
from derive_bench.adapter.signing.abi import address_word
from derive_bench.adapter.signing.forks import forget_in_child
from derive_bench.adapter.signing.uncopyable import Uncopyable

if TYPE_CHECKING:
    from collections.abc import Callable

    from derive_bench.adapter.protocol import Protocol

__all__ = ["NonceBook", "NonceSource"]

_LIFE_NS: Final = 1_000_000_000
"""How long a counter is drawn from before it is replaced by one that starts at the clock's time."""

_MARGIN: Final = 4_096
"""A new counter starts at least this far after the old one's last value. Each thread that holds the old one at that
moment can still draw one value from it, so that this many threads may, and no value is drawn twice."""


class NonceSource(Uncopyable):
    """The nonces of one (wallet, subaccount) in one protocol.

    `clock_ns` returns the UTC time in ns. A clock that stands still or goes back gives increasing nonces all the same.

    Attributes:
        next: ``next() -> int``, a nonce greater than every one that an earlier call returned or `advance` was told of.
        advance: ``advance(seen: int)`` makes later nonces greater than `seen`, one that the venue reports as used. Raises
            `SigningError` for one that no order of this protocol can have now (its scale, or too far ahead of the clock),
            since nonces after it would all be refused.
    """

    # Closures instead of methods: the state is read as cells, which takes a third off the time of `next`.
    __slots__ = ("__weakref__", "_after_fork", "advance", "next")

    next: Callable[[], int]
    advance: Callable[[int], None]

    def __init__(self, protocol: Protocol, clock_ns: Callable[[], int] = time.time_ns) -> None:
        step_ns, future_ns, beyond = protocol.nonce_step_ns, protocol.nonce_future_ns, 10**protocol.nonce_digits_max
        lock = threading.RLock()
        renewing = False
        started_ns = clock_ns()
        draw = count(started_ns // step_ns).__next__
        renew_at_ns = started_ns + _LIFE_NS

        def next_nonce() -> int:
            if clock_ns() >= renew_at_ns:
                renew(0)
            return draw()

        def advance(seen: int) -> None:
            if not 0 <= seen < beyond or (future_ns is not None and seen * step_ns - clock_ns() > future_ns):
                raise SigningError(f"nonce: {seen} cannot be a used nonce of {protocol.name}: it is ahead of what the venue takes now")
            # Most reports are of our own nonces. Drawing one is how to see where the counter stands.
            if draw() <= seen:
                renew(seen + 1)

        def renew(least: int) -> None:
            """Replace the counter by one from the clock's time or `least`, whichever is later, if there is need to."""
            nonlocal draw, renew_at_ns, renewing
            with lock:
                if renewing:
                    return  # a signal handler that interrupted a renewal: it draws from the old counter, within the margin
                renewing = True
                try:
                    now_ns = clock_ns()
                    drawn = draw()
                    if drawn < least or now_ns >= renew_at_ns:
                        start = max(drawn + _MARGIN, now_ns // step_ns, least)
                        draw = count(start).__next__
                        renew_at_ns = now_ns + _LIFE_NS
                finally:
                    renewing = False

        def after_fork() -> None:
            # The lock may have been held by a thread that the child has not; the counter is the parent's too.
            nonlocal lock, renew_at_ns, renewing
            lock = threading.RLock()
            renewing = False
            renew_at_ns = 0

        self.next = next_nonce
        self.advance = advance
        self._after_fork = after_fork
        forget_in_child(self)


class NonceBook(Uncopyable):
    """The nonce sources of one protocol, one for each (wallet, subaccount)."""

    __slots__ = ("_clock_ns", "_protocol", "_sources")

    def __init__(self, protocol: Protocol, clock_ns: Callable[[], int] = time.time_ns) -> None:
        self._protocol = protocol
        self._clock_ns = clock_ns
        self._sources: dict[tuple[bytes, int], NonceSource] = {}

    def source(self, wallet: str, subaccount_id: int) -> NonceSource:
        """Return the one source of a subaccount. The case of the wallet's hex digits does not matter.

        Raises `SigningError` if `wallet` is not an address.
        """
        key = (address_word(wallet, "wallet"), subaccount_id)
        source = self._sources.get(key)
        if source is None:
            # setdefault is atomic: of two threads here at once, both get the same source.
            source = self._sources.setdefault(key, NonceSource(self._protocol, self._clock_ns))
        return source
