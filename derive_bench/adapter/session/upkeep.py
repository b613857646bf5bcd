"""What a session asks for by itself: logins, and the subscriptions that make the confirmed channels the wanted ones.

Contract: without I/O; one per session, over all its connections. It queues its own requests in the session's `RequestBook`, takes their
ends, and says what they mean. Private channels and requests wait for the login; where that is refused, they are refused with its
reason. What passes (no answer, a rate limit, an internal error) is asked again after a backoff.

Sources: PROTOCOL.md (session login; WebSocket: `subscribe`, `unsubscribe`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from derive_bench.adapter.errors import DecodeError
from derive_bench.adapter.frames import Response, decode_result
from derive_bench.adapter.messages import RpcError
from derive_bench.adapter.protocol import Protocol
from derive_bench.adapter.session.backoff import Backoff
from derive_bench.adapter.session.config import Credentials, SessionSettings
from derive_bench.adapter.session.events import BadFrame, LoggedIn, LoginFailed, Request, RequestEnd, RequestRefused, SessionEvent
from derive_bench.adapter.session.login import LoginState
from derive_bench.adapter.session.requests import RequestBook
from derive_bench.adapter.session.subscriptions import SubscribeResult, Subscriptions, UnsubscribeResult

__all__ = ["OWN_METHODS", "RATE_LIMITED", "Upkeep", "encode_request"]

LOGIN: Final = "public/login"
SUBSCRIBE: Final = "subscribe"
UNSUBSCRIBE: Final = "unsubscribe"
OWN_METHODS: Final = frozenset({LOGIN, SUBSCRIBE, UNSUBSCRIBE})

RATE_LIMITED: Final = -32000
_PASSING: Final = frozenset({RATE_LIMITED, -32603, 9000, 9001})
"""Errors after which the same may be asked again: a login and a subscription do no harm twice."""

_encoder: Final = msgspec.json.Encoder()


def encode_request(request_id: int, method: str, params: object) -> bytes:
    """The text of a request. Raises as `msgspec.json.encode` does for params that are no JSON."""
    return _encoder.encode({"id": request_id, "method": method, "params": params})


class Upkeep:
    """See the module's text."""

    def __init__(
        self,
        protocol: Protocol,
        credentials: Credentials | None,
        settings: SessionSettings,
        requests: RequestBook,
        next_id: Callable[[], int],
        random: Callable[[], float],
    ) -> None:
        self._protocol = protocol
        self._credentials = credentials
        self._settings = settings
        self._requests = requests
        self._next_id = next_id
        self._own: dict[int, list[str]] = {}
        self._retries = Backoff(settings.backoff_base_ns, settings.backoff_ceiling_ns, random)
        self._retry_at_ns: int | None = None
        self._utc_offset_ns = 0
        self.subscriptions = Subscriptions()
        self.login = LoginState(settings.login_every_ns, Backoff(settings.backoff_base_ns, settings.backoff_ceiling_ns, random))
        requests.login_done = credentials is None

    @property
    def queued(self) -> int:
        """How many of the session's own requests wait to be sent."""
        return sum(map(self._requests.is_queued, self._own))

    def begin(self, now_ns: int, utc_ns: int) -> None:
        """A connection stands."""
        self._utc_offset_ns = utc_ns - now_ns
        self._retries.reset()
        if self._credentials is not None:
            self.login.reset(now_ns)

    def lose(self) -> None:
        """It has gone."""
        self._own.clear()
        self._retry_at_ns = None
        self.subscriptions.lose()
        self.login.reset(None)
        self._requests.login_done = self._credentials is None

    def due_at_ns(self) -> int | None:
        """When `send` has something to do."""
        return min((due for due in (self._retry_at_ns, self.login.due_at_ns) if due is not None), default=None)

    def send(self, now_ns: int) -> list[SessionEvent]:
        """Queue what is due."""
        due = self.login.due_at_ns
        if self._credentials is not None and due is not None and due <= now_ns:
            params = self._credentials.login_params(self._protocol, now_ns + self._utc_offset_ns)
            self.login.sent(self._queue(LOGIN, params, [], now_ns))
        retry = self._retry_at_ns is not None and self._retry_at_ns <= now_ns
        events: list[SessionEvent] = []
        if self.subscriptions.changed or retry:
            if retry:
                self._retry_at_ns = None
            if self.login.failed is not None:
                events += self.subscriptions.refuse_private(_because(self.login.failed))
            join, leave = self.subscriptions.due(retry=retry, private=self._requests.login_done)
            for method, channels in ((UNSUBSCRIBE, leave), (SUBSCRIBE, join)):
                for batch in _batches(channels, self._settings.channels_per_request):
                    self._queue(method, {"channels": batch}, batch, now_ns)
        if self._retry_at_ns is None and self.subscriptions.any_unsure:
            self._retry_at_ns = now_ns + self._retries.next_ns()
        return events

    def answered(self, request: Request, reply: Response, now_ns: int) -> list[SessionEvent]:
        """What a good answer means; nothing for a request of the caller's."""
        channels = self._own.pop(request.id, None)
        if channels is None:
            return []
        if request.method == LOGIN:
            return self._logged_in(reply, now_ns)
        try:
            if request.method == SUBSCRIBE:
                events: list[SessionEvent] = [*self.subscriptions.joined(channels, decode_result(reply, SubscribeResult))]
            else:
                events = [*self.subscriptions.left(channels, decode_result(reply, UnsubscribeResult))]
        except DecodeError as error:
            self.subscriptions.unsure(channels)
            return [BadFrame(error, bytes(reply.result))]
        if not self.subscriptions.any_unsure:
            self._retries.reset()
        return events

    def failed(self, end: RequestEnd, now_ns: int) -> list[SessionEvent]:
        """What it means that a request was refused, not answered or never sent; nothing for one of the caller's."""
        channels = self._own.pop(end.request.id, None)
        if channels is None:
            return []
        error = end.error if isinstance(end, RequestRefused) else None
        passes = error is None or error.code in _PASSING
        if end.request.method == LOGIN:
            return self._login_failed(error, passes=passes, now_ns=now_ns)
        if error is None or passes or end.request.method == UNSUBSCRIBE:
            self.subscriptions.unsure(channels)
            return []
        return [*self.subscriptions.refused(channels, _told(error), error.code)]

    def _logged_in(self, reply: Response, now_ns: int) -> list[SessionEvent]:
        renewed = self.login.is_done
        self.login.done(now_ns)
        self._requests.login_done = True
        self.subscriptions.changed = True
        try:
            return [LoggedIn(tuple(decode_result(reply, list[int])), renewed)]
        except DecodeError as error:
            return [BadFrame(error, bytes(reply.result)), LoggedIn((), renewed)]

    def _login_failed(self, error: RpcError | None, *, passes: bool, now_ns: int) -> list[SessionEvent]:
        reason = "not answered in time" if error is None else _told(error)
        code = None if error is None else error.code
        if passes:
            return [LoginFailed(reason, code, self.login.retry(now_ns))]
        self.login.refuse(reason)
        events: list[SessionEvent] = [LoginFailed(reason, code, None)]
        if self.login.failed is not None:
            self.subscriptions.changed = True
            events += self._requests.withdraw(_because(reason), private_only=True)
        return events

    def _queue(self, method: str, params: dict[str, Any], channels: list[str], now_ns: int) -> int:
        request = Request(self._next_id(), method, None, self._settings.timeout_ns)
        self._own[request.id] = channels
        self._requests.add(request, encode_request(request.id, method, params), now_ns)
        return request.id


def _because(reason: str) -> str:
    return f"the login was refused: {reason}"


def _told(error: RpcError) -> str:
    return error.message if error.data is None else f"{error.message}: {error.data}"


def _batches(channels: list[str], size: int) -> Iterator[list[str]]:
    return (channels[start : start + size] for start in range(0, len(channels), size))
