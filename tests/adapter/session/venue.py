"""A venue for the session's tests, without I/O: it answers requests as PROTOCOL.md says, or as a test wants."""

from __future__ import annotations

import json
from typing import Any

from derive_bench.adapter import ClientSession, Credentials, RateLimits, SessionSettings, Signer

SECOND = 1_000_000_000
UTC = 1_700_000_000 * SECOND
TEST_KEY = "0x" + "11" * 32  # a well-known test key

UNLIMITED = RateLimits(matching=None, per_instrument=None, non_matching=None, endpoints={})


def credentials() -> Credentials:
    return Credentials(Signer(TEST_KEY))


def session(*, login: bool = False, **settings: Any) -> ClientSession:
    """A session whose jitter is none: every wait is the longest."""
    settings.setdefault("limits", UNLIMITED)
    return ClientSession(credentials=credentials() if login else None, settings=SessionSettings(**settings), random=lambda: 0.0)


def opened(*, login: bool = False, **settings: Any) -> ClientSession:
    client = session(login=login, **settings)
    client.opened(0, UTC)
    return client


def sent(client: ClientSession, now_ns: int) -> list[dict[str, Any]]:
    """The requests that go out now."""
    return [json.loads(frame) for frame in client.outgoing(now_ns)]


def result(request: dict[str, Any], value: Any) -> str:
    return json.dumps({"id": request["id"], "result": value})


def error(request: dict[str, Any], code: int, message: str = "no", data: Any = None) -> str:
    return json.dumps({"id": request["id"], "error": {"code": code, "message": message, "data": data}})


def subscribed(request: dict[str, Any], **words: str) -> str:
    channels = request["params"]["channels"]
    status = {channel: words.get(channel.partition(".")[0], "ok") for channel in channels}
    return result(request, {"status": status, "current_subscriptions": [name for name, word in status.items() if word == "ok"]})


def unsubscribed(request: dict[str, Any], remaining: list[str] | None = None) -> str:
    channels = request["params"]["channels"]
    return result(request, {"status": dict.fromkeys(channels, "ok"), "remaining_subscriptions": remaining or []})


def log_in(client: ClientSession, now_ns: int = 0) -> None:
    (request,) = sent(client, now_ns)
    client.receive(result(request, [7]), now_ns)
