"""Recorder: frames onto tapes, flushed and synced, so that what was received stays received.

Contract: `record` puts a record on the tape before anything else is done with it; every `FLUSH_NS` at most the tape is handed over
to the system, which outlives a killed process, and a thread of its own asks the disk every `SYNC_SEC` to keep it, which outlives a
power cut, so that a slow disk holds up no frame. When the tape or the disk fails, `failure` says how, once and for all, and
records are dropped from then on: what was written stays readable. `close` ends the tape and waits for the disk.

A tape's header stands in front, but says what the first records had to ask for. So `begin` makes the tape at once with what is known,
and `complete` puts a tape with the whole header and the same records in its place, in one step.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from derive_bench.replay.records import Header, Record, TapeError
from derive_bench.replay.rotation import RotatingWriter, numbered
from derive_bench.replay.writer import TapeWriter

__all__ = ["FLUSH_NS", "Recorder", "check_place"]

FLUSH_NS: Final = 50_000_000
SYNC_SEC: Final = 0.05


def check_place(path: Path, *, rotates: bool) -> None:
    """See to it, before anything is recorded, that the tape can be made. Raises `TapeError`."""
    if rotates:
        first = numbered(path, 1)
        stem, _, endings = first.name.partition("0001")
        earlier = sorted(found for found in path.parent.glob(f"{_literal(stem)}[0-9][0-9][0-9][0-9]*{_literal(endings)}"))
        if earlier:
            raise TapeError(f"{earlier[0]}: exists already; give another name or remove it")
    elif path.exists():
        raise TapeError(f"{path}: exists already; give another name or remove it")
    if not path.parent.is_dir():
        raise TapeError(f"{path}: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise TapeError(f"{path}: the folder {path.parent} cannot be written to")


def _literal(text: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)


class Recorder:
    """Puts records on a tape at `path`, or on numbered ones of `max_bytes` or `max_ns`. A failure of the tape calls `failed`, once."""

    def __init__(
        self, path: Path, *, max_bytes: int | None = None, max_ns: int | None = None, failed: Callable[[], None] = lambda: None
    ) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._max_ns = max_ns
        self._failed = failed
        self._tape: TapeWriter | RotatingWriter | None = None
        self._early: list[Record] | None = []
        self._flushed_ns = 0
        self._syncer: _Syncer | None = None
        self.failure: str | None = None

    @property
    def has_begun(self) -> bool:
        """Whether there is a tape."""
        return self._tape is not None

    @property
    def is_complete(self) -> bool:
        """Whether the tape has its final header."""
        return self._early is None

    @property
    def paths(self) -> list[Path]:
        """The tapes so far."""
        if isinstance(self._tape, RotatingWriter):
            return self._tape.paths
        return [] if self._tape is None else [self._tape.path]

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return 0 if self._tape is None else self._tape.size

    def begin(self, header: Header) -> None:
        """Make the tape, with what is known so far."""
        try:
            if self._max_bytes is None and self._max_ns is None:
                self._tape = TapeWriter(self._path, header)
            else:
                self._tape = RotatingWriter(self._path, header, max_bytes=self._max_bytes, max_ns=self._max_ns)
            self._syncer = _Syncer(self)
        except TapeError as error:
            self.fail(str(error))

    def complete(self, header: Header) -> None:
        """Give the tape its whole header; to be called once, soon after `begin`."""
        early, self._early = self._early, None
        if self._tape is None or self.failure is not None or early is None:
            return
        try:
            self._tape.begin_again(header, early)
        except TapeError as error:
            self.fail(str(error))

    def record(self, record: Record) -> None:
        """Put a record on the tape."""
        if self.failure is not None or self._tape is None:
            return
        if self._early is not None:
            self._early.append(record)
        try:
            self._tape.write(record)
            if record.time_ns - self._flushed_ns >= FLUSH_NS:
                self.flush(record.time_ns)
        except TapeError as error:
            self.fail(str(error))

    def flush(self, now_ns: int) -> None:
        """Hand everything over to the system; to be called every `FLUSH_NS`."""
        if self._tape is None or self.failure is not None:
            return
        self._flushed_ns = now_ns
        try:
            self._tape.flush()
        except TapeError as error:
            self.fail(str(error))
        if self._syncer is not None and self._syncer.failure is not None:
            self.fail(self._syncer.failure)

    def fail(self, reason: str) -> None:
        """The tape takes nothing more."""
        if self.failure is None:
            self.failure = reason
            self._failed()

    def close(self) -> None:
        """End the tape and wait until the disk has it."""
        if self._tape is None:
            return
        try:
            self._tape.close()
        except TapeError as error:
            self.fail(str(error))
        if self._syncer is not None:
            self._syncer.stop()
            if self._syncer.failure is not None:
                self.fail(self._syncer.failure)


class _Syncer(threading.Thread):
    """Asks the disk to keep the recorder's tapes, and the folder their names, over and over. A failure ends it."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(name="tape-sync", daemon=True)
        self._recorder = recorder
        self._stopped = threading.Event()
        self._kept = 0
        self._named = (0, False)
        self.failure: str | None = None
        self.start()

    def run(self) -> None:
        """Sync until stopped, and once more."""
        last_turn = False
        while not last_turn and self.failure is None:
            last_turn = self._stopped.wait(SYNC_SEC)
            paths = list(self._recorder.paths)
            for path in paths[self._kept :]:
                self._sync(path, path)
            named = (len(paths), self._recorder.is_complete)
            if paths and self._named != named:
                self._sync(paths[-1].parent, paths[-1])
                self._named = named
            self._kept = max(0, len(paths) - 1)

    def stop(self) -> None:
        """Sync once more, then end."""
        self._stopped.set()
        self.join()

    def _sync(self, place: Path, tape: Path) -> None:
        try:
            handle = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            self.failure = f"{tape}: cannot be kept on the disk: {error.strerror}"
