"""`ClientSession`: the protocol of a connection to the venue, over all its reconnects, without any I/O.

Contract: the caller owns the socket and the clock. It calls

- `opened` when a WebSocket stands, `disconnected` when it ends or an attempt fails,
- `receive` with each text frame, which returns what it means (or `heard`, where it is known to be a subscription's and not to be read),
- `outgoing` for the text frames to send now: after every other call,
- `tick` no later than `wake_at_ns`: `receive` does it by itself,

and connects when `connect_at_ns` has come, and hangs up when `hang_up` is set. Times are integer ns of one clock that does not go
backward (`time.monotonic_ns`); one that does stands still here. Only a login needs the UTC time, which `opened` takes beside it.

=============  =====================================  ==================================================================
state          may be called, besides the properties  leaves it by
=============  =====================================  ==================================================================
WAITING        opened, disconnected, tick, close      opened: OPEN. disconnected: WAITING, later. close: CLOSED.
OPEN           all but opened                         disconnected: WAITING. close: DRAINING. A silent peer: HANGING_UP.
DRAINING       receive, outgoing, tick, disconnected  all answered, or `drain_ns` gone: HANGING_UP. disconnected: CLOSED.
HANGING_UP     receive, outgoing, tick, disconnected  disconnected: CLOSED after `close`, else WAITING.
CLOSED         nothing                                never
=============  =====================================  ==================================================================

What the caller does wrong is a `CallerError`, and changes nothing. Nothing that the peer sends raises: frames that cannot be used are
`BadFrame` events, with a `DecodeError`. Wanted channels (`subscribe`, `unsubscribe`) live as long as the session, also while
nothing is connected; requests live on one connection, and a caller who wants one again asks again.

Sources: PROTOCOL.md (session login, WebSocket, error codes).
"""

from __future__ import annotations

import random as standard_random
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto
from itertools import count
from typing import Any, Final

import msgspec
from msgspec import Struct

from derive_bench.adapter.errors import CallerError, DecodeError
from derive_bench.adapter.frames import ErrorResponse, Heartbeat, Notification, Response, Subscription, decode
from derive_bench.adapter.protocol import V3_MAINNET, Protocol
from derive_bench.adapter.session.backoff import Backoff
from derive_bench.adapter.session.config import Credentials, SessionSettings
from derive_bench.adapter.session.events import (
    BadFrame,
    LateReply,
    PeerSilent,
    Request,
    RequestAnswered,
    RequestRefused,
    SessionClosed,
    SessionDisconnected,
    SessionEvent,
    SessionOpened,
    StrayReply,
)
from derive_bench.adapter.session.requests import PRIVATE_PREFIX, RequestBook
from derive_bench.adapter.session.upkeep import OWN_METHODS, RATE_LIMITED, Upkeep, encode_request

__all__ = ["ClientSession", "SessionState"]

_PING: Final = b"ping"
_PONG: Final = b"pong"


class _Params(Struct, frozen=True):
    instrument_name: str | None = None


class _Encoded(Struct):
    id: int
    method: str
    params: _Params = _Params()


_read_encoded: Final = msgspec.json.Decoder(_Encoded).decode


class SessionState(Enum):
    """See the module's text."""

    WAITING = auto()
    OPEN = auto()
    DRAINING = auto()
    HANGING_UP = auto()
    CLOSED = auto()


class ClientSession:
    """See the module's text.

    Args:
        protocol: dialect and network.
        credentials: who logs in, first thing on every connection; None for public data alone.
        settings: times, limits and sizes.
        random: floats in [0, 1), for jitter.
        start_ns: when the first connection is due, on the session's clock.
    """

    def __init__(
        self,
        protocol: Protocol = V3_MAINNET,
        credentials: Credentials | None = None,
        settings: SessionSettings | None = None,
        *,
        random: Callable[[], float] = standard_random.random,
        start_ns: int = 0,
    ) -> None:
        self.protocol = protocol
        self._settings = settings = SessionSettings() if settings is None else settings
        self._state = SessionState.WAITING
        self._ids = count(1)
        self._given: set[int] = set()
        self._requests = RequestBook(settings.limits)
        self._upkeep = Upkeep(protocol, credentials, settings, self._requests, self._ids.__next__, random)
        self._has_credentials = credentials is not None
        self._reconnects = Backoff(settings.backoff_base_ns, settings.backoff_ceiling_ns, random)
        self._texts: list[bytes] = []
        self._connect_at_ns = self._now_ns = self._opened_ns = self._heard_ns = start_ns
        self._pinged_since_ns: int | None = None
        self._closing: str | None = None
        self._drained_by_ns = start_ns
        self._wake_ns: int | None = None

    # -- what there is to know ---------------------------------------------------------------------------------------

    @property
    def state(self) -> SessionState:
        """Where the session stands."""
        return self._state

    @property
    def connect_at_ns(self) -> int | None:
        """When to connect; None unless WAITING."""
        return self._connect_at_ns if self._state is SessionState.WAITING else None

    @property
    def hang_up(self) -> bool:
        """Whether the caller has to close the connection now, and then say `disconnected`."""
        return self._state is SessionState.HANGING_UP

    @property
    def wake_at_ns(self) -> int | None:
        """When to call `tick` and `outgoing` at the latest; None where nothing is due."""
        sendable = None
        if self._state is SessionState.OPEN or self._state is SessionState.DRAINING:
            sendable = self._now_ns if self._texts else self._requests.sendable_at()
        return min((when for when in (self._wake_ns, sendable) if when is not None), default=None)

    @property
    def is_logged_in(self) -> bool:
        """Whether this connection is logged in."""
        return self._upkeep.login.is_done

    @property
    def wanted(self) -> tuple[str, ...]:
        """The channels asked for."""
        return self._upkeep.subscriptions.wanted

    @property
    def confirmed(self) -> frozenset[str]:
        """The channels that the venue has confirmed on this connection."""
        return self._upkeep.subscriptions.confirmed

    @property
    def queued(self) -> int:
        """Requests that wait to be sent."""
        return self._requests.queued

    @property
    def in_flight(self) -> int:
        """Requests that wait for their answer."""
        return self._requests.in_flight

    # -- the connection ----------------------------------------------------------------------------------------------

    def opened(self, now_ns: int, utc_ns: int) -> list[SessionEvent]:
        """A connection stands. `utc_ns` is the UTC time at `now_ns`, for the login."""
        self._need("opened", SessionState.WAITING)
        now_ns = self._advance(now_ns)
        self._upkeep.begin(now_ns, utc_ns)
        self._opened_ns = self._heard_ns = now_ns
        self._pinged_since_ns = None
        self._state = SessionState.OPEN
        return self._settle([SessionOpened(self._reconnects.attempts + 1)])

    def disconnected(self, now_ns: int, reason: str) -> list[SessionEvent]:
        """The connection has ended, or an attempt to connect has failed."""
        if self._state is SessionState.CLOSED:
            raise CallerError("disconnected: the session is CLOSED")
        now_ns = self._advance(now_ns)
        if self._is_connected() and now_ns - self._opened_ns >= self._settings.stable_ns:
            self._reconnects.reset()
        events: list[SessionEvent] = [*self._requests.lose(reason)]
        self._texts.clear()
        self._upkeep.lose()
        self._wake_ns = None
        if self._closing is not None:
            self._state = SessionState.CLOSED
            return [*events, SessionClosed(self._closing)]
        self._state = SessionState.WAITING
        self._connect_at_ns = now_ns + self._reconnects.next_ns()
        return [*events, SessionDisconnected(reason, self._connect_at_ns)]

    def close(self, now_ns: int, reason: str = "closed by the caller") -> list[SessionEvent]:
        """End the session in order: nothing new is sent, answers are waited for up to `drain_ns`."""
        self._need("close", SessionState.OPEN, SessionState.WAITING, SessionState.HANGING_UP)
        self._closing = reason
        if self._state is SessionState.WAITING:
            self._state = SessionState.CLOSED
            return [SessionClosed(reason)]
        now_ns = self._advance(now_ns)
        events: list[SessionEvent] = [*self._requests.withdraw(reason)]
        if self._state is SessionState.OPEN:
            self._state = SessionState.DRAINING
            self._drained_by_ns = now_ns + self._settings.drain_ns
        return self._settle(events)

    # -- frames and time ---------------------------------------------------------------------------------------------

    def receive(self, frame: bytes | bytearray | memoryview | str, now_ns: int) -> list[SessionEvent]:
        """What one text frame of the peer means. Raises `CallerError` where nothing is connected, and for nothing a peer sends."""
        if self._state is SessionState.WAITING or self._state is SessionState.CLOSED:
            raise CallerError(f"receive: the session is {self._state.name}, nothing is connected")
        if now_ns > self._now_ns:
            self._now_ns = now_ns
        try:
            message = decode(frame)
        except DecodeError as error:
            self._heard_ns = self._now_ns
            events: list[SessionEvent] = [BadFrame(error, frame.encode(errors="replace") if isinstance(frame, str) else bytes(frame))]
        else:
            self._heard_ns = self._now_ns
            events = [message] if isinstance(message, Subscription) else self._other(message)
        if self._wake_ns is not None and self._wake_ns <= self._now_ns:
            events += self._due()
        return events

    def heard(self, now_ns: int) -> list[SessionEvent]:
        """A subscription's frame came that the caller reads himself, or not at all: a sign of life, and as `tick`.

        For recorders, which keep frames without decoding each. Raises `CallerError` where nothing is connected.
        """
        if self._state is SessionState.WAITING or self._state is SessionState.CLOSED:
            raise CallerError(f"heard: the session is {self._state.name}, nothing is connected")
        if now_ns > self._now_ns:
            self._now_ns = now_ns
        self._heard_ns = self._now_ns
        return self._due() if self._wake_ns is not None and self._wake_ns <= self._now_ns else []

    def tick(self, now_ns: int) -> list[SessionEvent]:
        """What the passing of time brings."""
        if self._state is SessionState.CLOSED:
            raise CallerError("tick: the session is CLOSED")
        self._advance(now_ns)
        return self._due() if self._is_connected() else []

    def outgoing(self, now_ns: int, most: int | None = None) -> list[bytes]:
        """The text frames (UTF-8) to send now, in order, at most `most`; what is given out counts as sent.

        A caller whose socket takes no more asks for none: what waits here is bounded, and times out.
        """
        if not self._is_connected():
            return []
        now_ns = self._advance(now_ns)
        if self._state is SessionState.HANGING_UP:
            return []
        frames = self._texts[:most]
        del self._texts[:most]
        frames += self._requests.take(now_ns, None if most is None else most - len(frames))
        self._rearm()
        return frames

    # -- requests ----------------------------------------------------------------------------------------------------

    def next_id(self) -> int:
        """An id for a request that the caller writes himself: `OrderEncoder.submit_rpc(order, request_id=session.next_id())`."""
        request_id = next(self._ids)
        self._given.add(request_id)
        return request_id

    def request(self, method: str, params: Mapping[str, Any], now_ns: int, *, timeout_ns: int | None = None, context: object = None) -> int:
        """Queue a request and return its id; how it ends is an event.

        Raises `CallerError` unless OPEN, for a full queue, for params that are no JSON, for a private method after the login
        was refused, and for what the session does itself (`subscribe`, `unsubscribe`, ``public/login``).
        """
        self._check_request(method)
        request_id = next(self._ids)
        try:
            payload = encode_request(request_id, method, params)
        except (TypeError, ValueError, msgspec.MsgspecError) as error:
            raise CallerError(f"{method}: the params cannot be written as JSON: {type(error).__name__}") from None
        self._queue(Request(request_id, method, params.get("instrument_name"), self._timeout(timeout_ns), context), payload, now_ns)
        return request_id

    def send_encoded(self, payload: bytes, now_ns: int, *, timeout_ns: int | None = None, context: object = None) -> int:
        """Queue a whole request, as an `OrderEncoder` writes it with an id from `next_id`, and return its id.

        Raises `CallerError` as `request` does, for what is no request, and for an id that `next_id` did not give or that was used.
        """
        try:
            encoded = _read_encoded(payload)
        except msgspec.MsgspecError as error:
            raise CallerError(f"send_encoded: not a request: {error}") from None
        self._check_request(encoded.method)
        if encoded.id not in self._given:
            raise CallerError(f"send_encoded: the id {encoded.id} was used before, or next_id did not give it")
        self._given.discard(encoded.id)
        request = Request(encoded.id, encoded.method, encoded.params.instrument_name, self._timeout(timeout_ns), context)
        self._queue(request, bytes(payload), now_ns)
        return encoded.id

    def subscribe(self, channels: Iterable[str], now_ns: int) -> list[SessionEvent]:
        """Want these channels, now and on every later connection."""
        return self._change(self._upkeep.subscriptions.want, channels, now_ns)

    def unsubscribe(self, channels: Iterable[str], now_ns: int) -> list[SessionEvent]:
        """Want these channels no more."""
        return self._change(self._upkeep.subscriptions.unwant, channels, now_ns)

    def renew_login(self, now_ns: int) -> list[SessionEvent]:
        """Log in again, before it is due. Raises `CallerError` unless OPEN, and without credentials."""
        self._need("renew_login", SessionState.OPEN)
        if not self._has_credentials:
            raise CallerError("renew_login: the session was made without credentials")
        now_ns = self._advance(now_ns)
        if self._upkeep.login.request_id is None:
            self._upkeep.login.due_at_ns = now_ns
        return self._settle([])

    # -- within ------------------------------------------------------------------------------------------------------

    def _other(self, message: Response | ErrorResponse | Notification | Heartbeat) -> list[SessionEvent]:
        if isinstance(message, Notification):
            return [message]
        if isinstance(message, Heartbeat):
            if message.text == "ping" and _PONG not in self._texts:
                self._texts.append(_PONG)
            return []
        request = self._requests.answered(message.id)
        if request is None:
            late = self._requests.late(message.id)
            return [StrayReply(message) if late is None else LateReply(late, message)]
        if isinstance(message, Response):
            means = self._upkeep.answered(request, message, self._now_ns)
            return self._settle([RequestAnswered(request, message.result), *means])
        if message.error.code == RATE_LIMITED:
            self._requests.exhaust(request, self._now_ns)
        end = RequestRefused(request, message.error)
        return self._settle([end, *self._upkeep.failed(end, self._now_ns)])

    def _due(self) -> list[SessionEvent]:
        """Do what time has brought on."""
        now_ns = self._now_ns
        events: list[SessionEvent] = []
        for end in self._requests.expire(now_ns):
            events.append(end)
            events += self._upkeep.failed(end, now_ns)
        silent_ns = now_ns - self._heard_ns
        if silent_ns >= self._settings.silence_ns and self._state is not SessionState.HANGING_UP:
            self._state = SessionState.HANGING_UP
            events.append(PeerSilent(silent_ns))
        elif silent_ns >= self._settings.ping_after_ns and not self._is_pinged():
            self._pinged_since_ns = self._heard_ns
            self._texts.append(_PING)
        return self._settle(events)

    def _settle(self, events: list[SessionEvent]) -> list[SessionEvent]:
        """Queue what follows from a change, and reckon when something is due next."""
        if self._state is SessionState.OPEN:
            events += self._upkeep.send(self._now_ns)
        elif self._state is SessionState.DRAINING and (self._now_ns >= self._drained_by_ns or not self._requests.in_flight):
            self._state = SessionState.HANGING_UP
        self._rearm()
        return events

    def _rearm(self) -> None:
        if self._state is SessionState.HANGING_UP:
            self._wake_ns = self._requests.next_deadline()
            return
        quiet_ns = self._settings.silence_ns if self._is_pinged() else self._settings.ping_after_ns
        due = [self._heard_ns + quiet_ns, self._requests.next_deadline()]
        due.append(self._upkeep.due_at_ns() if self._state is SessionState.OPEN else self._drained_by_ns)
        self._wake_ns = min(when for when in due if when is not None)

    def _queue(self, request: Request, payload: bytes, now_ns: int) -> None:
        self._requests.add(request, payload, self._advance(now_ns))
        self._rearm()

    def _change(self, change: Callable[[list[str]], None], channels: Iterable[str], now_ns: int) -> list[SessionEvent]:
        if self._closing is not None:
            raise CallerError(f"the session is {self._state.name}: channels can be changed until it is closed")
        if isinstance(channels, str):
            raise CallerError("channels: a list of them is needed, not one text")
        chosen = list(channels)
        for channel in chosen:
            if not isinstance(channel, str) or not channel:
                raise CallerError(f"channels: {channel!r} is none")
        change(chosen)
        self._advance(now_ns)
        return self._settle([]) if self._state is SessionState.OPEN else []

    def _check_request(self, method: str) -> None:
        self._need(f"request {method}", SessionState.OPEN)
        if method in OWN_METHODS:
            raise CallerError(f"{method}: the session does this itself: use subscribe, unsubscribe or renew_login")
        waiting = self._requests.queued - self._upkeep.queued
        if waiting >= self._settings.max_queued:
            raise CallerError(f"{method}: {waiting} requests wait to be sent already: wait for some to end")
        refused = self._upkeep.login.failed
        if refused is not None and method.startswith(PRIVATE_PREFIX):
            raise CallerError(f"{method}: the login was refused: {refused}")

    def _timeout(self, timeout_ns: int | None) -> int:
        if timeout_ns is None:
            return self._settings.timeout_ns
        if timeout_ns < 1:
            raise CallerError(f"timeout_ns: {timeout_ns} is not positive")
        return timeout_ns

    def _need(self, what: str, *states: SessionState) -> None:
        if self._state not in states:
            allowed = " or ".join(state.name for state in states)
            raise CallerError(f"{what}: the session is {self._state.name}, this needs {allowed}")

    def _is_connected(self) -> bool:
        return self._state is not SessionState.WAITING and self._state is not SessionState.CLOSED

    def _is_pinged(self) -> bool:
        """Whether a ping has gone out since the last frame came."""
        return self._pinged_since_ns == self._heard_ns

    def _advance(self, now_ns: int) -> int:
        """Move the clock, which never goes back."""
        if now_ns > self._now_ns:
            self._now_ns = now_ns
        return self._now_ns
