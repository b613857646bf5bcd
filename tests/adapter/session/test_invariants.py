"""What holds whatever the caller, the venue, the network and the clock do, in any order."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from derive_bench.adapter import (
    CallerError,
    ClientSession,
    LoggedIn,
    Rate,
    RateLimits,
    RequestAnswered,
    RequestNotSent,
    RequestRefused,
    RequestTimedOut,
    RequestUnknown,
    SessionSettings,
    SessionState,
)
from tests.adapter.session.venue import SECOND, UTC, credentials

ENDS = RequestAnswered | RequestRefused | RequestTimedOut | RequestUnknown | RequestNotSent
CHANNELS = ["orderbook.ETH-PERP.10.10", "trades.perp.ETH", "7.orders", "bad.channel", "ticker_slim.ETH-PERP.100"]
LIMITS = RateLimits(
    matching=Rate(3, SECOND),
    per_instrument=Rate(2, SECOND),
    non_matching=Rate(6, SECOND),
    endpoints={"private/cancel_all": Rate(1, SECOND)},
)
METHODS = ["private/order", "private/cancel_all", "public/get_time"]


class Conversation(RuleBasedStateMachine):
    """A session and a venue that remembers what each connection is subscribed to."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        settings = SessionSettings(
            limits=LIMITS, timeout_ns=3 * SECOND, backoff_base_ns=SECOND // 4, backoff_ceiling_ns=SECOND, max_queued=8
        )
        self.client = ClientSession(credentials=credentials(), settings=settings, random=lambda: 0.5)
        self.asked: set[int] = set()
        self.ended: Counter[int] = Counter()
        self.sent_at: dict[str, list[int]] = {}
        self.sent_ids: set[int] = set()
        self.unanswered: list[dict[str, Any]] = []
        self.at_venue: set[str] = set()
        self.unsure: set[str] = set()
        self.logged_in = False

    # -- what happens ------------------------------------------------------------------------------------------------

    def take(self, events: list[Any]) -> None:
        for event in events:
            if isinstance(event, ENDS):
                self.ended[event.request.id] += 1
                if isinstance(event, RequestNotSent):
                    assert event.request.id not in self.sent_ids
                else:
                    assert event.request.id in self.sent_ids
            self.logged_in |= isinstance(event, LoggedIn)
        self.send()

    def send(self) -> None:
        for frame in self.client.outgoing(self.now):
            if frame in (b"ping", b"pong"):
                continue
            request = json.loads(frame)
            assert request["id"] not in self.sent_ids
            self.sent_ids.add(request["id"])
            method = request["method"]
            self.sent_at.setdefault(method if method in METHODS[:2] else "rest", []).append(self.now)
            assert not method.startswith("private/") or self.logged_in
            if method == "subscribe":
                for channel in request["params"]["channels"]:
                    assert channel not in self.at_venue - self.unsure, "subscribed twice"
                    assert "7." not in channel or self.logged_in
            self.unanswered.append(request)

    @property
    def connected(self) -> bool:
        return self.client.state not in (SessionState.WAITING, SessionState.CLOSED)

    @rule(step=st.sampled_from([1, SECOND // 10, SECOND, 4 * SECOND, 20 * SECOND]))
    def wait(self, step: int) -> None:
        self.now += step
        if self.client.state is not SessionState.CLOSED:
            before = {request["id"]: request for request in self.unanswered}
            events = self.client.tick(self.now)
            for event in events:
                if isinstance(event, RequestTimedOut) and event.request.method in ("subscribe", "unsubscribe"):
                    self.unsure |= set(before[event.request.id]["params"]["channels"])
            self.take(events)

    @precondition(lambda self: self.client.state is SessionState.WAITING)
    @rule()
    def connect(self) -> None:
        self.at_venue, self.unsure, self.unanswered, self.logged_in = set(), set(), [], False
        self.take(self.client.opened(self.now, UTC + self.now))

    @precondition(lambda self: self.connected)
    @rule()
    def lose(self) -> None:
        self.take(self.client.disconnected(self.now, "gone"))

    @rule(channels=st.lists(st.sampled_from(CHANNELS), max_size=3), join=st.booleans())
    def change(self, channels: list[str], join: bool) -> None:
        try:
            self.take((self.client.subscribe if join else self.client.unsubscribe)(channels, self.now))
        except CallerError:
            assert self.client.state in (SessionState.DRAINING, SessionState.HANGING_UP, SessionState.CLOSED)

    @rule(method=st.sampled_from(METHODS), name=st.sampled_from(["ETH-PERP", "BTC-PERP"]))
    def ask(self, method: str, name: str) -> None:
        try:
            request_id = self.client.request(method, {"instrument_name": name}, self.now)
        except CallerError:
            return
        assert request_id not in self.asked
        self.asked.add(request_id)
        self.send()

    @precondition(lambda self: self.connected and self.unanswered)
    @rule(data=st.data(), code=st.sampled_from([None, None, None, -32000, -32603, 13000, 14014]))
    def answer(self, data: st.DataObject, code: int | None) -> None:
        request = self.unanswered.pop(data.draw(st.integers(0, len(self.unanswered) - 1)))
        if code is not None:
            if request["method"] in ("subscribe", "unsubscribe"):
                self.unsure |= set(request["params"]["channels"])
            frame = {"id": request["id"], "error": {"code": code, "message": "no"}}
        else:
            frame = {"id": request["id"], "result": self.result(request)}
            if request["id"] in self.ended and request["method"] in ("subscribe", "unsubscribe"):
                # A reply after the time-out is told, and decides nothing: the channels are asked for again.
                self.unsure |= set(request["params"]["channels"])
        self.take(self.client.receive(json.dumps(frame), self.now))

    def result(self, request: dict[str, Any]) -> Any:
        if request["method"] == "public/login":
            return [7]
        if request["method"] not in ("subscribe", "unsubscribe"):
            return {}
        good = [channel for channel in request["params"]["channels"] if channel != "bad.channel"]
        if request["method"] == "subscribe":
            self.at_venue |= set(good)
            self.unsure -= set(good)
            status = {channel: "ok" if channel in good else "no such channel" for channel in request["params"]["channels"]}
            return {"status": status, "current_subscriptions": sorted(self.at_venue)}
        self.at_venue -= set(request["params"]["channels"])
        return {"status": dict.fromkeys(good, "ok"), "remaining_subscriptions": sorted(self.at_venue)}

    @precondition(lambda self: self.connected)
    @rule(frame=st.sampled_from(["ping", "pong", "{", "[]", '{"id":1,"result":{}}', '{"id":null,"error":{"code":-32700,"message":"x"}}']))
    def hear(self, frame: str) -> None:
        self.take(self.client.receive(frame, self.now))
        if frame.startswith('{"id":1,'):
            self.unanswered = [request for request in self.unanswered if request["id"] != 1]
            self.logged_in |= self.client.is_logged_in

    @precondition(lambda self: self.client.state is SessionState.OPEN)
    @rule()
    def renew(self) -> None:
        self.take(self.client.renew_login(self.now))

    @precondition(lambda self: self.client.state in (SessionState.OPEN, SessionState.WAITING) and self.now > 60 * SECOND)
    @rule()
    def close(self) -> None:
        self.take(self.client.close(self.now))

    # -- what holds --------------------------------------------------------------------------------------------------

    @invariant()
    def every_request_ends_at_most_once_and_none_is_forgotten(self) -> None:
        assert max(self.ended.values(), default=0) <= 1
        open_ones = self.client.queued + self.client.in_flight
        assert len((self.asked | self.sent_ids) - self.ended.keys()) <= open_ones
        if not self.connected:
            assert open_ones == 0
            assert self.asked <= self.ended.keys()

    @invariant()
    def nothing_is_sent_beyond_the_rate(self) -> None:
        for name, rate in (("private/order", LIMITS.matching), ("rest", LIMITS.non_matching), ("private/cancel_all", Rate(1, SECOND))):
            assert rate is not None
            times = self.sent_at.get(name, [])
            assert all(later - earlier >= rate.window_ns for earlier, later in zip(times, times[rate.count :], strict=False))

    @invariant()
    def something_is_due_whenever_something_is_open(self) -> None:
        if self.connected and not self.client.hang_up:
            assert self.client.wake_at_ns is not None


Conversation.TestCase.settings = hypothesis_settings(max_examples=60, stateful_step_count=40)
TestConversation = Conversation.TestCase
