"""Driver: runs a `ClientSession` over links, with every frame on the tape before the session sees it.

Contract: `Capture.run` returns when `stop` is called, when the time is over, or when the tape fails; by then the session was closed in
order, everything received is on the tape, and the tape is closed. Losing the connection, or not getting one, is no reason to end: it is
tried again with the session's backoff. What the session says of logins and channels goes to `tell`, in words.

The first connection begins with questions about the instruments, whose answers complete the tape's header; nothing is subscribed
before they are there, or `SETUP_SEC` are over.

Frames of subscriptions are told by how they begin, and counted; one of them every `LOOK_NS`, and every frame of another form, is
decoded, for what it means and for its lag. So a busy feed costs little, and a quiet one is read whole.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from derive_bench.adapter import (
    ChannelRefused,
    ClientSession,
    Credentials,
    LoginFailed,
    PeerSilent,
    Protocol,
    RequestAnswered,
    RequestEnd,
    SessionEvent,
    SessionOpened,
    SessionSettings,
    SessionState,
    Subscription,
)
from derive_bench.replay.capture.instruments import Instruments
from derive_bench.replay.capture.link import Link, LinkError, open_link
from derive_bench.replay.capture.recorder import FLUSH_NS, Recorder
from derive_bench.replay.capture.redaction import redact
from derive_bench.replay.capture.tally import Tally
from derive_bench.replay.capture.topics import topic_of
from derive_bench.replay.records import Connect, Disconnect, Frame, Header

__all__ = ["Capture", "Plan"]

SETUP_SEC: Final = 10.0
LOOK_NS: Final = 10_000_000
_NS: Final = 1_000_000_000


class Plan(Struct, frozen=True, kw_only=True):
    """What to record.

    Attributes:
        url: of the WebSocket; the protocol's own where None.
        path: of the tape; its ending says how it is compressed.
        duration_sec: None for until `stop`.
        rotate_bytes, rotate_sec: when to begin another tape.
        instruments: names to have in the header besides those of the channels; None for none at all.
    """

    protocol: Protocol
    channels: tuple[str, ...]
    path: Path
    url: str | None = None
    duration_sec: float | None = None
    rotate_bytes: int | None = None
    rotate_sec: float | None = None
    instruments: tuple[str, ...] | None = ()
    tool: str = ""


class Capture:
    """One recording. `tell` gets a line for whatever a user should know."""

    def __init__(
        self,
        plan: Plan,
        credentials: Credentials | None = None,
        *,
        settings: SessionSettings | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.plan = plan
        self.tally = Tally()
        self.recorder = Recorder(
            plan.path,
            max_bytes=plan.rotate_bytes,
            max_ns=None if plan.rotate_sec is None else int(plan.rotate_sec * _NS),
            failed=self.stop,
        )
        self.session = ClientSession(plan.protocol, credentials, settings, start_ns=time.monotonic_ns())
        self._url = plan.url or plan.protocol.ws_url
        self._tell = tell
        self._instruments = Instruments(plan.channels, plan.instruments or ())
        self._asked: set[int] | None = None
        self._began_ns = time.time_ns()
        self._connection = ""
        self._looked_ns = 0
        self._nudge = asyncio.Event()
        self._stopped = asyncio.Event()
        self._hurried = asyncio.Event()

    def stop(self) -> None:
        """End in order; called once more, at once."""
        (self._hurried if self._stopped.is_set() else self._stopped).set()
        self._nudge.set()

    async def run(self) -> None:
        """Record."""
        loop = asyncio.get_running_loop()
        timer = None if self.plan.duration_sec is None else loop.call_later(self.plan.duration_sec, self._stopped_by_time)
        flusher = asyncio.create_task(self._flush())
        try:
            while self.session.state is SessionState.WAITING and not self._stopped.is_set():
                await self._connect()
        finally:
            flusher.cancel()
            if timer is not None:
                timer.cancel()
            if self.session.state is SessionState.WAITING:
                self.session.close(time.monotonic_ns())
            if self.recorder.has_begun and not self.recorder.is_complete:
                self._complete()
            self.recorder.close()

    # -- a connection ------------------------------------------------------------------------------------------------

    async def _connect(self) -> None:
        due_ns = self.session.connect_at_ns
        if due_ns is not None and await _happens(self._stopped, due_ns - time.monotonic_ns()):
            return
        opening = asyncio.create_task(open_link(self._url))
        stopping = asyncio.create_task(self._stopped.wait())
        await asyncio.wait((opening, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not opening.done():
            opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)
            return
        try:
            link = opening.result()
        except LinkError as error:
            self.tally.failed_attempts += 1
            self._handle(self.session.disconnected(time.monotonic_ns(), str(error)))
            self._tell(f"no connection: {error}; trying again{self._when()}")
            return
        await self._converse(link)

    async def _converse(self, link: Link) -> None:
        self.tally.connections += 1
        self.tally.reconnects = self.tally.connections - 1
        self._connection = str(self.tally.connections)
        now_ns = time.time_ns()
        if not self.recorder.has_begun:
            self.recorder.begin(self._header())
        self.recorder.record(Connect(now_ns, self._connection, self._url))
        self._handle(self.session.opened(time.monotonic_ns(), now_ns))
        link.start(self._received)
        keeper = asyncio.create_task(self._keep(link))
        ended = asyncio.create_task(link.wait_closed())
        hurried = asyncio.create_task(self._hurried.wait())
        try:
            await asyncio.wait((keeper, ended, hurried), return_when=asyncio.FIRST_COMPLETED)
            if not ended.done() and not hurried.done():
                closing = asyncio.create_task(link.close())
                await asyncio.wait((closing, hurried), return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not ended.done():
                await link.abort()
                await ended
            hurried.cancel()
            keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await keeper
        reason = link.how_it_ended()
        self._handle(self.session.disconnected(time.monotonic_ns(), reason))
        self.recorder.record(Disconnect(time.time_ns(), self._connection, reason))
        if self.session.state is SessionState.WAITING:
            self._tell(f"connection {self._connection} {reason}; connecting again{self._when()}")

    async def _keep(self, link: Link) -> None:
        """Send what the session wants sent, in time, until it wants to hang up."""
        setup_ends = time.monotonic() + SETUP_SEC
        while not self.session.hang_up:
            self._nudge.clear()
            now_ns = time.monotonic_ns()
            if self._stopped.is_set() and self.session.state is SessionState.OPEN:
                self._handle(self.session.close(now_ns))
            self._handle(self.session.tick(now_ns))
            if not self.recorder.is_complete and (not self._asked or time.monotonic() >= setup_ends):
                self._complete()
                self._subscribe()
            for frame in self.session.outgoing(now_ns):
                self.tally.sent += 1
                self.tally.raw_bytes += len(frame)
                self.recorder.record(Frame(time.time_ns(), redact(frame), "out", self._connection))
                if not await link.deliver(frame):
                    return
            if self.session.hang_up:
                return
            wake_ns = self.session.wake_at_ns
            wait_ns = _NS if wake_ns is None else max(0, min(_NS, wake_ns - time.monotonic_ns()))
            await _happens(self._nudge, wait_ns)

    def _received(self, message: bytes, binary: bool, now_ns: int) -> None:
        self.recorder.record(Frame(now_ns, message, "in", self._connection, binary))
        self.tally.received += 1
        self.tally.raw_bytes += len(message)
        topic = topic_of(message)
        if topic is not None and now_ns - self._looked_ns < LOOK_NS:
            self.tally.channels[topic] += 1
            events = self.session.heard(time.monotonic_ns())
            if not events:
                return
        else:
            self._looked_ns = now_ns
            events = self.session.receive(message, time.monotonic_ns())
        for event in events:
            self.tally.seen(event, now_ns)
        if len(events) != 1 or not isinstance(events[0], Subscription):
            self._handle(events)
            self._nudge.set()

    # -- what it means -----------------------------------------------------------------------------------------------

    def _handle(self, events: list[SessionEvent]) -> None:
        for event in events:
            if isinstance(event, SessionOpened):
                self._ask()
            elif isinstance(event, RequestEnd):
                self._ended(event)
            elif isinstance(event, LoginFailed):
                self._tell(f"login failed: {event.reason}")
            elif isinstance(event, ChannelRefused):
                self.tally.refused[event.channel] = event.reason
                self._tell(f"channel {event.channel} refused: {event.reason}")
            elif isinstance(event, PeerSilent):
                self._tell(f"nothing heard for {event.silent_ns / _NS:.0f} s: the connection is taken for dead")

    def _ask(self) -> None:
        """Ask about the instruments, on the first connection only."""
        if self.recorder.is_complete or self.plan.instruments is None:
            return
        now_ns = time.monotonic_ns()
        self._asked = {self.session.request(method, params, now_ns, context=self) for method, params in self._instruments.questions()}

    def _ended(self, end: Any) -> None:
        if end.request.context is not self or self._asked is None:
            return
        self._asked.discard(end.request.id)
        if isinstance(end, RequestAnswered):
            self._instruments.take(end.result)

    def _header(self) -> Header:
        return Header(
            protocol=self.plan.protocol.name,
            start_ns=self._began_ns,
            tool=self.plan.tool,
            instruments=self._instruments.records,
            info={"url": self._url, "channels": list(self.plan.channels)},
        )

    def _complete(self) -> None:
        self.recorder.complete(self._header())
        if self.plan.instruments is not None and self._instruments.missing:
            self._tell(f"the venue told nothing of: {', '.join(self._instruments.missing)}")

    def _subscribe(self) -> None:
        if self.session.state is SessionState.OPEN:
            self._handle(self.session.subscribe(self.plan.channels, time.monotonic_ns()))

    async def _flush(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_NS / _NS)
            self.recorder.flush(time.time_ns())

    def _stopped_by_time(self) -> None:
        if not self._stopped.is_set():
            self.stop()

    def _when(self) -> str:
        due_ns = self.session.connect_at_ns
        return "" if due_ns is None else f" in {max(0, due_ns - time.monotonic_ns()) / _NS:.1f} s"


async def _happens(event: asyncio.Event, within_ns: int) -> bool:
    """Wait for an event: whether it came in time."""
    if within_ns <= 0:
        await asyncio.sleep(0)
        return event.is_set()
    try:
        async with asyncio.timeout(within_ns / _NS):
            await event.wait()
    except TimeoutError:
        return False
    return True
