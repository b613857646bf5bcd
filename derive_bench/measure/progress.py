"""Progress of a session on a text stream: one line that rewrites itself on a terminal, a plain line every ten seconds elsewhere."""

from __future__ import annotations

import shutil
from time import monotonic
from typing import TextIO

from derive_bench.measure.runner import Progress

__all__ = ["ProgressLine"]

PLAIN_EVERY = 10.0
"""Seconds between two lines where the stream is no terminal."""


class ProgressLine:
    """Shows :class:`Progress` on ``stream``; call it for each, and :meth:`clear` before anything else is written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._next = 0.0

    def __call__(self, progress: Progress) -> None:
        self.show(describe(progress))

    def show(self, text: str) -> None:
        """Show another kind of progress, which is a line of text already."""
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"\r\x1b[K{text[:width]}")
        elif monotonic() >= self._next:
            self._next = monotonic() + PLAIN_EVERY
            self._stream.write(f"{text}\n")
        self._stream.flush()

    def clear(self) -> None:
        """Remove the line from a terminal."""
        if self._terminal:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def describe(progress: Progress) -> str:
    """``[37/190] round 2/8, 2:10 left: inbound_pipeline/quotes``; ``[3/190] warm-up pass, …`` before the first round."""
    left = "" if progress.seconds_left is None else f", {_clock(progress.seconds_left)} left"
    count = f"[{progress.done + 1}/{progress.total}]"
    place = f"round {progress.round}/{progress.rounds}" if progress.round else "warm-up pass"
    return f"{count} {place}{left}: {progress.row}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
