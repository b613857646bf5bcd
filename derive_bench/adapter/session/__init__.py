"""The session core: the protocol of a connection to the venue without any I/O, in the manner of h11.

``session`` is the state machine that a caller drives; ``requests``, ``subscriptions``, ``login`` and ``limits`` each keep one part of what
it knows, ``upkeep`` sends what it asks for by itself. ``events`` is what it tells, ``config`` what it is made with.
"""

from __future__ import annotations

from derive_bench.adapter.session.backoff import Backoff
from derive_bench.adapter.session.config import Credentials, SessionSettings
from derive_bench.adapter.session.events import (
    BadFrame,
    ChannelRefused,
    ChannelSubscribed,
    ChannelUnsubscribed,
    LateReply,
    LoggedIn,
    LoginFailed,
    PeerSilent,
    Request,
    RequestAnswered,
    RequestEnd,
    RequestNotSent,
    RequestRefused,
    RequestTimedOut,
    RequestUnknown,
    SessionClosed,
    SessionDisconnected,
    SessionEvent,
    SessionOpened,
    StrayReply,
)
from derive_bench.adapter.session.limits import MATCHING_METHODS, Rate, RateLimits
from derive_bench.adapter.session.session import ClientSession, SessionState

__all__ = [
    "MATCHING_METHODS",
    "Backoff",
    "BadFrame",
    "ChannelRefused",
    "ChannelSubscribed",
    "ChannelUnsubscribed",
    "ClientSession",
    "Credentials",
    "LateReply",
    "LoggedIn",
    "LoginFailed",
    "PeerSilent",
    "Rate",
    "RateLimits",
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
    "SessionSettings",
    "SessionState",
    "StrayReply",
]
