"""Tally: what has been recorded so far, as counts.

Contract: values only; `seen` takes each event that a frame means. The lag is the time of receipt less the venue's own time of
publication, so it holds the difference between the two clocks too.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from derive_bench.adapter import BadFrame, SessionEvent, Subscription

__all__ = ["Tally"]

_NS_PER_MS: Final = 1_000_000


@dataclass(slots=True)
class Tally:
    """Attributes: frames and bytes as they came, both directions; per channel; undecodable ones; connections made and lost."""

    received: int = 0
    sent: int = 0
    raw_bytes: int = 0
    undecodable: int = 0
    connections: int = 0
    reconnects: int = 0
    failed_attempts: int = 0
    channels: Counter[str] = field(default_factory=Counter)
    refused: dict[str, str] = field(default_factory=dict)
    lag_ns: int | None = None
    """Of the last message that tells its time."""
    worst_lag_ns: int | None = None

    def seen(self, event: SessionEvent, now_ns: int) -> None:
        """Count what a frame means."""
        if isinstance(event, Subscription):
            self.channels[event.topic] += 1
            published_ms = _published_ms(event.data)
            if published_ms is not None:
                lag = self.lag_ns = now_ns - published_ms * _NS_PER_MS
                if self.worst_lag_ns is None or lag > self.worst_lag_ns:
                    self.worst_lag_ns = lag
        elif isinstance(event, BadFrame):
            self.undecodable += 1


def _published_ms(data: Any) -> int | None:
    if type(data) is list:
        data = data[-1] if data else None
    return getattr(data, "timestamp", None)
