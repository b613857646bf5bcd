"""The login of a session: whether a connection is logged in, and when that is tried or renewed.

Contract: knows no requests; `ClientSession` sends what is due and says how it went. A renewal that is refused leaves the connection logged
in, as the venue does. What passes (no answer, a rate limit, an internal error) is tried again after a backoff on the same connection.
"""

from __future__ import annotations

from derive_bench.adapter.session.backoff import Backoff

__all__ = ["LoginState"]


class LoginState:
    """`every_ns` is the time between renewals; None for none."""

    __slots__ = ("_backoff", "_every_ns", "due_at_ns", "failed", "is_done", "request_id")

    is_done: bool
    """Whether this connection is logged in."""
    failed: str | None
    """Why it cannot be, until the next connection."""
    due_at_ns: int | None
    """When to send the next login."""
    request_id: int | None
    """The login under way."""

    def __init__(self, every_ns: int | None, backoff: Backoff) -> None:
        self._every_ns = every_ns
        self._backoff = backoff
        self.reset(None)

    def reset(self, due_at_ns: int | None) -> None:
        """A connection begins, or has ended (None)."""
        self.is_done = False
        self.failed = None
        self.request_id = None
        self.due_at_ns = due_at_ns

    def sent(self, request_id: int) -> None:
        """A login is under way."""
        self.request_id = request_id
        self.due_at_ns = None

    def done(self, now_ns: int) -> None:
        """The venue took it."""
        self.is_done = True
        self.failed = None
        self.request_id = None
        self.due_at_ns = None if self._every_ns is None else now_ns + self._every_ns
        self._backoff.reset()

    def retry(self, now_ns: int) -> int:
        """It may work later: when."""
        self.request_id = None
        self.due_at_ns = now_ns + self._backoff.next_ns()
        return self.due_at_ns

    def refuse(self, reason: str) -> None:
        """It does not work on this connection."""
        self.request_id = None
        if not self.is_done:
            self.failed = reason
