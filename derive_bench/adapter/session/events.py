"""What a session tells its caller.

Contract: market data and whatever else the venue sends unasked come as the frames that `decode` gives (`Subscription`, `Notification`);
all else is one of the classes here. Every request, the session's own included, ends in exactly one of `RequestAnswered`,
`RequestRefused`, `RequestTimedOut`, `RequestUnknown` and `RequestNotSent`. None of them shows what a request carried.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Raw, Struct

from derive_bench.adapter.errors import DecodeError
from derive_bench.adapter.frames import ErrorResponse, Notification, Response, Subscription
from derive_bench.adapter.messages import RpcError
from derive_bench.adapter.protocol import OUTCOME_UNKNOWN

__all__ = [
    "BadFrame",
    "ChannelRefused",
    "ChannelSubscribed",
    "ChannelUnsubscribed",
    "LateReply",
    "LoggedIn",
    "LoginFailed",
    "PeerSilent",
    "Request",
    "RequestAnswered",
    "RequestEnd",
    "RequestNotSent",
    "RequestRefused",
    "RequestTimedOut",
    "RequestUnknown",
    "SessionClosed",
    "SessionDisconnected",
    "SessionEvent",
    "SessionOpened",
    "StrayReply",
]


class Request(Struct, frozen=True, eq=False):
    """A request, without what it carries.

    Attributes:
        id: never given twice by one session.
        timeout_ns: how long it may wait to be sent, and again for its reply.
        context: whatever the caller gave with it.
    """

    id: int
    method: str
    instrument: str | None
    timeout_ns: int
    context: object = None


class RequestAnswered(Struct, frozen=True):
    """The venue did it; `result` is JSON, for `decode_payload` or `msgspec.json.decode`."""

    request: Request
    result: Raw


class RequestRefused(Struct, frozen=True):
    """The venue answered with an error."""

    request: Request
    error: RpcError

    @property
    def outcome_unknown(self) -> bool:
        """Whether it may have taken effect all the same (`OUTCOME_UNKNOWN`): reconcile, do not send it again."""
        return self.error.code in OUTCOME_UNKNOWN


class RequestTimedOut(Struct, frozen=True):
    """Sent, and not answered in time: it may have taken effect, and a `LateReply` may yet tell."""

    request: Request


class RequestUnknown(Struct, frozen=True):
    """Sent, and the connection ended before the answer: it may have taken effect. Reconcile, do not send it again."""

    request: Request
    reason: str


class RequestNotSent(Struct, frozen=True):
    """Never sent, so it has no effect."""

    request: Request
    reason: str


class LateReply(Struct, frozen=True):
    """The answer to a request that had timed out."""

    request: Request
    reply: Response | ErrorResponse


class StrayReply(Struct, frozen=True):
    """An answer to nothing: of an unknown id, a second one, or an error without id."""

    reply: Response | ErrorResponse


class BadFrame(Struct, frozen=True):
    """A frame, or a reply's result, that is not as the protocol has it. It is skipped."""

    error: DecodeError
    frame: bytes


class SessionOpened(Struct, frozen=True):
    """A connection stands; `attempt` counts the attempts it took, from 1."""

    attempt: int


class LoggedIn(Struct, frozen=True):
    """The venue took the login: for these subaccounts. `renewed` where the connection was logged in before."""

    subaccounts: tuple[int, ...]
    renewed: bool


class LoginFailed(Struct, frozen=True):
    """The login was refused or not answered; tried again at `retry_at_ns`, with the next connection where that is None."""

    reason: str
    code: int | None
    retry_at_ns: int | None


class ChannelSubscribed(Struct, frozen=True):
    """The venue confirms a subscription."""

    channel: str


class ChannelRefused(Struct, frozen=True):
    """The venue refuses a subscription, in its own words; asked again with the next connection, or when subscribed again."""

    channel: str
    reason: str
    code: int | None = None


class ChannelUnsubscribed(Struct, frozen=True):
    """The venue confirms the end of a subscription."""

    channel: str


class PeerSilent(Struct, frozen=True):
    """Nothing was heard, not even an answer to `ping`: the connection is dead and to be closed."""

    silent_ns: int


class SessionDisconnected(Struct, frozen=True):
    """The connection has ended, or an attempt failed; the next one is due at `reconnect_at_ns`."""

    reason: str
    reconnect_at_ns: int


class SessionClosed(Struct, frozen=True):
    """The session is over."""

    reason: str


RequestEnd: TypeAlias = RequestAnswered | RequestRefused | RequestTimedOut | RequestUnknown | RequestNotSent
SessionEvent: TypeAlias = (
    Subscription[Any]
    | Notification
    | RequestEnd
    | LateReply
    | StrayReply
    | BadFrame
    | SessionOpened
    | LoggedIn
    | LoginFailed
    | ChannelSubscribed
    | ChannelRefused
    | ChannelUnsubscribed
    | PeerSilent
    | SessionDisconnected
    | SessionClosed
)
