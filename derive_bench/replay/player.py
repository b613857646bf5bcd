"""The player: sessions through the adapter, at full speed or at their own, and what was found.

Contract: `Session.open(path, …)` reads one or more tapes; iterating gives the events of every frame, `steps()` each frame with its
events, and `async for` does the same in an event loop. When the iteration ends, or is left, `report()` tells everything:
counts, latencies, rates, pauses, digest. Each iteration begins anew. A bad frame never ends a replay unless `strict` is set: then
`BadFrameMet` names it.

Latency is the time from when a frame was due until its events were there. At full speed a frame is due when its turn comes; at
a given speed when the session says, whether or not the replay was ready, so that a stall shows in all frames it held up (no
coordinated omission). What a caller does with the events between two frames is part of a stall, never of a frame's own time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from derive_bench.adapter.dispatch import EmitterError
from derive_bench.adapter.errors import DecodeError, DeriveBenchError, UnknownInstrument
from derive_bench.replay.counts import BadFrame, Counts, excerpt
from derive_bench.replay.digest import EventDigest
from derive_bench.replay.known import resolve
from derive_bench.replay.latency import DRAIN_AT, GcPauses, Latencies
from derive_bench.replay.pace import Pace, Throughput
from derive_bench.replay.pipeline import Pipeline
from derive_bench.replay.reader import open_tape
from derive_bench.replay.records import Connect, Disconnect, Frame, Record, TapeError
from derive_bench.replay.report import Report, make_report
from derive_bench.replay.selection import Filter, merged

__all__ = ["BadFrameMet", "Session", "Step"]

_DRAIN_IN_NS: Final = 20_000_000
"""An idle time long enough to take latencies into their histograms, at a given speed."""
_WAITING_MOST: Final = 262_144
"""Latencies that wait at a given speed, should there never be such a time."""
_YIELD_EVERY: Final = 256
"""Frames after which the async form lets others run."""


class BadFrameMet(DeriveBenchError):
    """A frame that could not be decoded or used, in a strict replay; the message says which and why."""


class Step(NamedTuple):
    """One frame received and the events it made."""

    frame: Frame
    events: Sequence[Any]


class Session:
    """Tapes about to be played. Settings are those of `open`."""

    def __init__(
        self,
        paths: Sequence[str | Path],
        *,
        speed: float | Literal["max"] = "max",
        wanted: Filter | None = None,
        loops: int | None = 1,
        instruments: Path | None = None,
        strict: bool = False,
        digest: bool = True,
        latencies: bool = True,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        if not paths:
            raise TapeError("no file to replay")
        if speed != "max" and not 0 < speed < float("inf"):
            raise TapeError(f"speed: must be above 0, or `max`, not {speed}")
        self.tapes = [open_tape(path) for path in paths]
        self.instruments = resolve(self.tapes, instruments)
        self.speed = speed
        self._filter = Filter() if wanted is None else wanted
        self._loops = loops
        self._strict = strict
        self._with_digest = digest
        self._with_latencies = latencies
        self._clock = clock
        self._begin()

    @classmethod
    def open(cls, *paths: str | Path, **settings: Any) -> Session:
        """Open tapes for replay; several are merged by time.

        Args:
            speed: `max`, or how many times as fast as it happened.
            wanted: a `Filter`.
            loops: how often, None for ever. Each pass begins with a new adapter.
            instruments: a JSON file with the venue's records, for tapes that have none.
            strict: raise `BadFrameMet` for the first frame that cannot be decoded or used.
            digest, latencies: whether to make them.
            clock: ns, monotonic.

        Raises `TapeError`.
        """
        return cls(paths, **settings)

    def __iter__(self) -> Iterator[Any]:
        for step in self.steps():
            yield from step.events

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for step in self.asteps():
            for event in step.events:
                yield event

    def steps(self) -> Iterator[Step]:
        """Yield each received frame with its events, which are valid until the next. Raises `TapeError`, `BadFrameMet`."""
        for step in self._play():
            if isinstance(step, Step):
                yield step
            elif step:
                time.sleep(step)

    async def asteps(self) -> AsyncIterator[Step]:
        """The same in an event loop."""
        number = 0
        for step in self._play():
            if isinstance(step, Step):
                yield step
                number += 1
                if number % _YIELD_EVERY == 0:
                    await asyncio.sleep(0)
            elif step:
                await asyncio.sleep(step)

    def report(self) -> Report:
        """Return what the iteration that was begun last has found so far."""
        return make_report(self, self.counts, self.latencies, self.pace, self.throughput, self.pauses, self.digest)

    def _begin(self) -> None:
        self.counts = Counts()
        self.latencies = Latencies()
        self.pace = Pace(self.speed, self._clock)
        self.throughput = Throughput(self._clock)
        self.pauses = GcPauses()
        self.digest = EventDigest()
        self.dispatch_stats: dict[str, int] = {}

    def _play(self) -> Iterator[Step | float]:
        """Yield steps, and between them how many seconds to wait, 0 for a moment too short to sleep."""
        self._begin()
        passes = 0
        with self.pauses:
            self.pace.start()
            self.throughput.start()
            while self._loops is None or passes < self._loops:
                received = self.counts.frames
                pipeline = Pipeline(self.instruments.registry)
                try:
                    yield from self._pass(pipeline)
                finally:
                    self._add_stats(pipeline)
                    self.pace.stop()
                passes += 1
                self.counts.new_pass()
                self.pace.new_pass()
                if self.counts.frames == received:
                    return

    def _pass(self, pipeline: Pipeline) -> Iterator[Step | float]:
        clock, counts, pace, chooser = self._clock, self.counts, self.pace, self._filter.chooser()
        receive, every, digest = pipeline.receive, chooser.all, self.digest.update if self._with_digest else None
        note, most_waiting = self.latencies.note, _WAITING_MOST if pace.paced else DRAIN_AT
        for place, record in merged(self.tapes):
            if not every and not chooser.wants(record):
                continue
            connection = record.connection if place == 0 else f"{place}:{record.connection}"
            if type(record) is not Frame or record.direction == "out":
                self._aside(record, connection, pipeline)
                continue
            due = None
            if pace.paced:
                due = pace.due(record.time_ns)
                while (left := due - clock()) > 0:
                    if left > _DRAIN_IN_NS and self.latencies.waiting:
                        self.latencies.drain()
                        continue
                    yield pace.nap(left)
            begin = clock()
            try:
                events = receive(record.raw, record.time_ns, connection)
            except (DecodeError, UnknownInstrument, EmitterError) as error:
                self._bad(record, connection, error)
                continue
            end = clock()
            kind = counts.frame(pipeline.message, len(record.raw), connection, events)
            if due is not None:
                pace.note(begin - due)
            if self._with_latencies:
                note(kind, end - (begin if due is None else due), most_waiting)
            self.throughput.add(end, len(record.raw), due)
            if digest is not None:
                digest(events)
            yield Step(record, events)

    def _aside(self, record: Record, connection: str, pipeline: Pipeline) -> None:
        """Take what is no received frame."""
        if isinstance(record, Frame):
            self.counts.sent += 1
            pipeline.sent(record.raw, connection)
        elif isinstance(record, Connect):
            self.counts.connects += 1
        elif isinstance(record, Disconnect):
            self.counts.disconnected(connection)

    def _bad(self, record: Frame, connection: str, error: DeriveBenchError) -> None:
        number = self.counts.frames + 1
        if self._strict:
            raise BadFrameMet(f"frame {number} on connection {connection}: {error}: {excerpt(record.raw)}") from None
        unknown = error.name if isinstance(error, UnknownInstrument) else None
        self.counts.unusable(BadFrame(number, record.time_ns, connection, str(error), excerpt(record.raw)), len(record.raw), unknown)

    def _add_stats(self, pipeline: Pipeline) -> None:
        stats = pipeline.stats
        for name in stats.__struct_fields__:
            self.dispatch_stats[name] = self.dispatch_stats.get(name, 0) + getattr(stats, name)
