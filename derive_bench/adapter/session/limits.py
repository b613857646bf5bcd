"""Client-side rate limits: what may be sent at which time, so that the venue need not refuse it.

Contract: a :class:`Rate` allows `count` requests within any span of `window_ns`, wherever the span begins. The venue counts in windows
of five seconds and lets five times the rate through in one burst; a client cannot see where its windows begin, so this is the
most that is safe, where a token bucket refilled all along would send almost twice as much into one window. Times are integer ns
of the session's clock.

A request is *matching* (it goes to the engine, and counts for its instrument too), has a budget of its own, or is one of the rest.
Sources: docs.derive.xyz (integrators/trading/rate-limits, figures of a trader's account), ``x-rate-limit-class`` of the OpenAPI document.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from derive_bench.adapter.errors import CallerError

__all__ = ["MATCHING_METHODS", "Limiter", "Rate", "RateLimits", "Window"]

SECOND_NS: Final = 1_000_000_000
_WINDOW_SEC: Final = 5

MATCHING_METHODS: Final = frozenset(
    {
        "private/order",
        "private/trigger_order",
        "private/replace",
        "private/cancel",
        "private/cancel_by_nonce",
        "private/cancel_by_instrument",
    }
)
"""What goes to the matching engine; ``private/cancel_by_label`` does too where it names an instrument."""

_BY_LABEL: Final = "private/cancel_by_label"


class Rate(Struct, frozen=True):
    """At most `count` within any span of `window_ns`. Raises `CallerError` unless both are positive."""

    count: int
    window_ns: int

    def __post_init__(self) -> None:
        if self.count < 1 or self.window_ns < 1:
            raise CallerError(f"a rate of {self.count} in {self.window_ns} ns: both must be positive")

    @classmethod
    def per_second(cls, rate: int, window_sec: int = _WINDOW_SEC) -> Rate:
        """The venue's ``N TPS``: N times the seconds of its window, in any span of that length."""
        return cls(rate * window_sec, window_sec * SECOND_NS)


class RateLimits(Struct, frozen=True, kw_only=True):
    """The rates of an account; the defaults are a trader's.

    ``private/get_account`` says what an account really has: `websocket_matching_tps`, `websocket_non_matching_tps`,
    `per_endpoint_tps`. None means that nothing is held back.
    """

    matching: Rate | None = Rate.per_second(5)
    per_instrument: Rate | None = Rate.per_second(5)
    non_matching: Rate | None = Rate.per_second(5)
    endpoints: Mapping[str, Rate] = MappingProxyType({"private/cancel_all": Rate.per_second(1), _BY_LABEL: Rate.per_second(10)})
    """Methods with a budget of their own."""


class Window:
    """The last sends under one rate."""

    __slots__ = ("_count", "_sent", "_window_ns")

    def __init__(self, rate: Rate) -> None:
        self._count = rate.count
        self._sent: deque[int] = deque(maxlen=rate.count)
        self._window_ns = rate.window_ns

    def ready_at(self) -> int:
        """The first time at which one more may be sent; 0 where that was always so."""
        sent = self._sent
        return sent[0] + self._window_ns if len(sent) == self._count else 0

    def spend(self, now_ns: int) -> None:
        """One is sent now."""
        self._sent.append(now_ns)

    def exhaust(self, now_ns: int) -> None:
        """The venue says that there was one too many: nothing more for a whole window."""
        self._sent.extend([now_ns] * self._count)


class Limiter:
    """The windows that a request counts in, by its key. They outlast a connection: the venue counts by account and address."""

    def __init__(self, limits: RateLimits) -> None:
        self._limits = limits
        self._matching = _windows(limits.matching)
        self._rest = _windows(limits.non_matching)
        self._endpoints = {method: Window(rate) for method, rate in limits.endpoints.items()}
        self._instruments: dict[str, Window] = {}

    def windows(self, method: str, instrument: str | None) -> tuple[Window, ...]:
        """Where a request counts."""
        if method in MATCHING_METHODS or (method == _BY_LABEL and instrument is not None):
            if instrument is None or self._limits.per_instrument is None:
                return self._matching
            if instrument not in self._instruments:
                self._instruments[instrument] = Window(self._limits.per_instrument)
            return (*self._matching, self._instruments[instrument])
        own = self._endpoints.get(method)
        return self._rest if own is None else (own,)


def _windows(rate: Rate | None) -> tuple[Window, ...]:
    return () if rate is None else (Window(rate),)
