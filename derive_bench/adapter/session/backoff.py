"""Backoff: how long to wait before the next attempt.

Contract: the n-th wait in a row is drawn evenly from the upper half of `base_ns * factor**n`, which stops growing at `ceiling_ns`: never at
once, never longer than the ceiling, and not all clients at the same time. The random source is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from derive_bench.adapter.errors import CallerError

__all__ = ["Backoff"]

_STEPS_MAX: Final = 64


class Backoff:
    """`uniform` returns floats in [0, 1). Raises `CallerError` unless 0 < base <= ceiling and factor >= 1."""

    __slots__ = ("_base_ns", "_ceiling_ns", "_factor", "_uniform", "attempts")

    attempts: int
    """How many waits there were since the last `reset`."""

    def __init__(self, base_ns: int, ceiling_ns: int, uniform: Callable[[], float], factor: float = 2.0) -> None:
        if not 0 < base_ns <= ceiling_ns or factor < 1:
            raise CallerError(f"backoff from {base_ns} to {ceiling_ns} ns by {factor}: give 0 < base <= ceiling and a factor from 1")
        self._base_ns = base_ns
        self._ceiling_ns = ceiling_ns
        self._factor = factor
        self._uniform = uniform
        self.attempts = 0

    def next_ns(self) -> int:
        """The next wait."""
        most = min(self._ceiling_ns, int(self._base_ns * self._factor ** min(self.attempts, _STEPS_MAX)))
        self.attempts += 1
        return most - int(most / 2 * self._uniform())

    def reset(self) -> None:
        """It worked: begin anew."""
        self.attempts = 0
