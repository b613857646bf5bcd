"""Pace: when each frame is due, how far the replay was behind, and how much went through over time.

Contract: at a speed N a frame is due N times as soon after the first as it was received after it; times that go back are due at
once. `Throughput` sums frames and bytes in at most some hundreds of equal spans of the run, which double in length when they run out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

__all__ = ["Pace", "Throughput"]

_SPIN_NS: Final = 200_000
"""A sleep may last this much longer than asked for; what is left of it is spent looking at the clock."""
LATE_NS: Final = 1_000_000
"""A frame that begins later than this after it was due is late."""
_BEHIND_SHARE: Final = 0.01

_SPANS_MOST: Final = 512
_FIRST_SPAN_NS: Final = 50_000_000


class Pace:
    """The clock of one replay."""

    def __init__(self, speed: float | Literal["max"], clock: Callable[[], int]) -> None:
        self.paced = speed != "max"
        self.late = 0
        """Frames that began late."""
        self.latest_ns = 0
        self.frames = 0
        self.elapsed_ns = 0
        self.wanted_ns = 0
        """How long the session lasts at this speed."""
        self._speed = 1.0 if speed == "max" else float(speed)
        self._clock = clock
        self._began = 0
        self._offset = 0
        self._first: int | None = None
        self._last_due = 0

    def start(self) -> None:
        """The run begins now."""
        self._began = self._clock()

    def stop(self) -> None:
        """The run has come this far."""
        self.elapsed_ns = self._clock() - self._began

    def new_pass(self) -> None:
        """The session begins anew, right behind its last frame."""
        self._first = None
        self._offset = self._last_due

    def due(self, time_ns: int) -> int:
        """Return the clock's time at which a frame that was received at `time_ns` is due."""
        if self._first is None:
            self._first = time_ns
        after = self._offset + int((time_ns - self._first) / self._speed)
        self._last_due = after = max(after, self._last_due)
        self.wanted_ns = after
        return self._began + after

    def note(self, behind_ns: int) -> None:
        """Count a frame that began so long after it was due."""
        self.frames += 1
        self.latest_ns = max(self.latest_ns, behind_ns)
        if behind_ns > LATE_NS:
            self.late += 1

    @staticmethod
    def nap(left_ns: int) -> float:
        """Return the seconds to sleep when a frame is due in so many ns."""
        return max(0, left_ns - _SPIN_NS) / 1e9

    @property
    def behind(self) -> bool:
        """Whether so many frames were late that the speed was not kept."""
        return self.paced and self.late > _BEHIND_SHARE * max(self.frames, 1)

    def as_dict(self, frames: int) -> dict[str, Any]:
        """Return rates in frames per second, `None` where there is none."""
        achieved = frames / (self.elapsed_ns / 1e9) if self.elapsed_ns else None
        wanted = self.frames / (self.wanted_ns / 1e9) if self.paced and self.wanted_ns else None
        return {
            "speed": self._speed if self.paced else "max",
            "elapsed_ns": self.elapsed_ns,
            "achieved_per_s": achieved,
            "wanted_per_s": wanted,
            "late_frames": self.late,
            "latest_ns": self.latest_ns,
            "behind": self.behind,
        }


class Throughput:
    """Frames and bytes over the time of the run."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._began = 0
        self._span = _FIRST_SPAN_NS
        self._frames = [0]
        self._bytes = [0]
        self._due = [0]

    def start(self) -> None:
        """The run begins now."""
        self._began = self._clock()

    def add(self, now_ns: int, size: int, due_ns: int | None = None) -> None:
        """Count a frame that was done at `now_ns`, and had been due, if it was, at `due_ns`."""
        place = (now_ns - self._began) // self._span
        while place >= len(self._frames):
            if place >= _SPANS_MOST:
                self._double()
                place = (now_ns - self._began) // self._span
            else:
                self._frames.append(0)
                self._bytes.append(0)
                self._due.append(0)
        self._frames[place] += 1
        self._bytes[place] += size
        if due_ns is not None:
            self._due[max(0, due_ns - self._began) // self._span] += 1

    def as_dict(self) -> dict[str, Any]:
        """Return the length of a span in ns, and frames and bytes of each, and frames due, `None` at full speed."""
        return {"span_ns": self._span, "frames": self._frames, "bytes": self._bytes, "due": self._due if any(self._due) else None}

    def _double(self) -> None:
        for name in ("_frames", "_bytes", "_due"):
            values = getattr(self, name)
            if len(values) % 2:
                values.append(0)
            setattr(self, name, [sum(values[place : place + 2]) for place in range(0, len(values), 2)])
        self._span *= 2
