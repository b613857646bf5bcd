"""Faults on request: what goes wrong in a session, and exactly how often.

Contract: `Faults(counts, frames)` spreads each kind evenly over the session; `due(kind, received)` tells whether one is to be
made now, and counts it. A kind that found no place before the end is in `left`. What each looks like to who reads the session:

- `duplicates`: the private connection breaks and is made again, and the last trade of ours is sent once more.
- `reorders`: the two frames of a replace come in the wrong order, so that the orders channel goes back in time once.
- `gaps`: one to five numbers are missing from a book's `publish_id`.
- `regressions`: a book comes once more, so that its `publish_id` does not go up.
- `unknown_fields`: a frame has fields nobody has heard of.
- `unknown_topics`: a frame of a channel nobody has heard of.
- `malformed`: a frame that cannot be decoded: cut off, no JSON, not UTF-8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from derive_bench.adapter.errors import CallerError
from derive_bench.replay.synth.dice import Dice

__all__ = ["FAULT_KINDS", "Faults", "FaultsLeft", "add_unknown_fields", "spoil"]

FAULT_KINDS: Final = ("duplicates", "reorders", "gaps", "regressions", "unknown_fields", "unknown_topics", "malformed")

_RESERVE: Final = 40
"""No fault is made among the last frames, where what belongs to it could be cut off."""


class FaultsLeft(CallerError):
    """The session is too short for its faults, or has none of the frames that they need."""


class Faults:
    """Which faults are still to come."""

    def __init__(self, counts: Mapping[str, int], frames: int) -> None:
        self._frames = frames
        self._counts = {kind: count for kind, count in counts.items() if count}
        self._made = dict.fromkeys(self._counts, 0)
        self._next = {kind: self._place(kind) for kind in self._counts}
        self._last = frames - _RESERVE

    def due(self, kind: str, received: int) -> bool:
        """Whether a fault of this kind is to be made after so many frames; if so, it counts as made."""
        place = self._next.get(kind)
        if place is None or received < place or received > self._last:
            return False
        self._made[kind] += 1
        if self._made[kind] == self._counts[kind]:
            del self._next[kind]
        else:
            self._next[kind] = self._place(kind)
        return True

    @property
    def left(self) -> dict[str, int]:
        """How many of each kind found no place."""
        return {kind: count - self._made[kind] for kind, count in self._counts.items() if count > self._made[kind]}

    def _place(self, kind: str) -> int:
        return self._frames * (self._made[kind] + 1) // (self._counts[kind] + 2)


def add_unknown_fields(frame: str) -> str:
    """Return a subscription's frame with fields that the venue may add tomorrow, outside and inside its payload."""
    head, data, payload = frame.partition('"data":')
    opening = 2 if payload.startswith("[{") else 1
    return f'{head}"x_trace":{{"hops":[1,2,3]}},{data}{payload[:opening]}"x_flag":null,"x_name":"\\u00e9",{payload[opening:]}'


def spoil(frame: str, dice: Dice) -> bytes:
    """Return a frame that cannot be decoded, made from a good one."""
    raw = frame.encode()
    way = dice.below(4)
    if way == 0:
        return raw[: 1 + dice.below(len(raw) - 1)]
    if way == 1:
        return b"<html><body>502 Bad Gateway</body></html>"
    if way == 2:
        return raw.replace(b'"method"', b'"\xff\xfe', 1)
    return raw[:-1] + b",,"
