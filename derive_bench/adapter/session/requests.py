"""Requests: those that wait to be sent, those that wait for an answer, and how each ends.

Contract: a request is queued once, sent at most once, and ended exactly once. What waits is kept apart by what holds it back (its rate
windows, and the login for private ones), so that a full window holds back nothing else; among those that may go, the oldest goes first.
Bytes are dropped when they are sent. After a time-out its id is remembered for a while, to know a late reply by.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from derive_bench.adapter.session.events import Request, RequestEnd, RequestNotSent, RequestTimedOut, RequestUnknown
from derive_bench.adapter.session.limits import Limiter, RateLimits, Window

__all__ = ["PRIVATE_PREFIX", "RequestBook"]

PRIVATE_PREFIX: Final = "private/"
_LATE_MAX: Final = 1_024


class _Queue(NamedTuple):
    windows: tuple[Window, ...]
    needs_login: bool
    waiting: deque[tuple[Request, bytes]]

    def ready_at(self) -> int:
        return max((window.ready_at() for window in self.windows), default=0)


class RequestBook:
    """The requests of one session, over all its connections."""

    def __init__(self, limits: RateLimits) -> None:
        self._limiter = Limiter(limits)
        self._queues: dict[tuple[tuple[Window, ...], bool], _Queue] = {}
        self._queued: dict[int, Request] = {}
        self._sent: dict[int, Request] = {}
        self._late: OrderedDict[int, Request] = OrderedDict()
        self._deadlines: list[tuple[int, int, bool]] = []
        self.login_done = True
        """Whether private requests may go."""

    @property
    def queued(self) -> int:
        """How many wait to be sent."""
        return len(self._queued)

    def is_queued(self, request_id: int) -> bool:
        """Whether it waits to be sent."""
        return request_id in self._queued

    @property
    def in_flight(self) -> int:
        """How many wait for their answer."""
        return len(self._sent)

    def add(self, request: Request, payload: bytes, now_ns: int) -> None:
        """Queue a request."""
        windows = self._limiter.windows(request.method, request.instrument)
        private = request.method.startswith(PRIVATE_PREFIX)
        queue = self._queues.setdefault((windows, private), _Queue(windows, private, deque()))
        queue.waiting.append((request, payload))
        self._queued[request.id] = request
        heapq.heappush(self._deadlines, (now_ns + request.timeout_ns, request.id, False))

    def take(self, now_ns: int, most: int | None) -> Iterator[bytes]:
        """What may be sent now, at most `most` of it; what is given out counts as sent."""
        given = 0
        while most is None or given < most:
            ready = [queue for queue in self._open_queues() if queue.ready_at() <= now_ns]
            if not ready:
                return
            queue = min(ready, key=lambda queue: queue.waiting[0][0].id)
            request, payload = queue.waiting.popleft()
            for window in queue.windows:
                window.spend(now_ns)
            del self._queued[request.id]
            self._sent[request.id] = request
            heapq.heappush(self._deadlines, (now_ns + request.timeout_ns, request.id, True))
            given += 1
            yield payload

    def answered(self, request_id: object) -> Request | None:
        """The request that a reply ends, if it waits for one."""
        return self._sent.pop(request_id, None) if type(request_id) is int else None

    def late(self, request_id: object) -> Request | None:
        """The request that had timed out before its reply came."""
        return self._late.pop(request_id, None) if type(request_id) is int else None

    def exhaust(self, request: Request, now_ns: int) -> None:
        """The venue refused it for its rate: hold back its like for a window."""
        for window in self._limiter.windows(request.method, request.instrument):
            window.exhaust(now_ns)

    def expire(self, now_ns: int) -> Iterator[RequestEnd]:
        """End what has waited for too long."""
        while self._deadlines and self._deadlines[0][0] <= now_ns:
            _, request_id, was_sent = heapq.heappop(self._deadlines)
            if not was_sent:
                request = self._queued.pop(request_id, None)
                if request is not None:
                    self._forget(request)
                    yield RequestNotSent(request, "held back by rate limits or the login until its time was over")
                continue
            request = self._sent.pop(request_id, None)
            if request is not None:
                self._late[request_id] = request
                if len(self._late) > _LATE_MAX:
                    self._late.popitem(last=False)
                yield RequestTimedOut(request)

    def withdraw(self, reason: str, *, private_only: bool = False) -> list[RequestNotSent]:
        """End what waits to be sent."""
        chosen = [request for request in self._queued.values() if not private_only or request.method.startswith(PRIVATE_PREFIX)]
        for request in chosen:
            del self._queued[request.id]
            self._forget(request)
        return [RequestNotSent(request, reason) for request in chosen]

    def lose(self, reason: str) -> list[RequestEnd]:
        """End everything: the connection has gone, and no reply comes over another one."""
        unknown = [RequestUnknown(request, reason) for request in self._sent.values()]
        unsent = self.withdraw(reason)
        self._sent.clear()
        self._late.clear()
        self._deadlines.clear()
        return [*unknown, *unsent]

    def next_deadline(self) -> int | None:
        """When `expire` has something to end."""
        while self._deadlines:
            when, request_id, was_sent = self._deadlines[0]
            if request_id in (self._sent if was_sent else self._queued):
                return when
            heapq.heappop(self._deadlines)
        return None

    def sendable_at(self) -> int | None:
        """When `take` has something to give; None where nothing waits that only time holds back."""
        return min((queue.ready_at() for queue in self._open_queues()), default=None)

    def _open_queues(self) -> list[_Queue]:
        return [queue for queue in self._queues.values() if self.login_done or not queue.needs_login if queue.waiting]

    def _forget(self, request: Request) -> None:
        windows = self._limiter.windows(request.method, request.instrument)
        waiting = self._queues[windows, request.method.startswith(PRIVATE_PREFIX)].waiting
        for place, (candidate, _) in enumerate(waiting):
            if candidate is request:
                del waiting[place]
                return
