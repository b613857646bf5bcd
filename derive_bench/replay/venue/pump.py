"""The pump: plays a tape at its pace, or another, or as fast as it is taken.

Contract: at a *speed*, an item is played when its time has come, that is (its time - the first one's) / speed after the start, plus at
most the *tick* for which items are gathered so that a client gets them in one piece; the clock goes on while nothing can be played, and
:meth:`Pump.state` says how far behind the pump is. Without one, items are played as fast as clients take them: while one is crowded, it
waits. Paused time does not count. After the last item the pump starts again where it is to loop, and ends otherwise.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from derive_bench.replay.venue.tape import Item
from derive_bench.replay.venue.venue import Control

__all__ = ["Pump"]

_NS: Final = 1_000_000_000
_BURST: Final = 64
"""Most items played before others get their turn."""
_CROWDED_WAIT_SEC: Final = 0.001


class Pump(Control):
    """See the module's text.

    Args:
        open_tape: opens the tape anew.
        play: takes an item that is due.
        flush: is called when a batch has been played.
        crowded: whether some client has as much to take as it should.
        speed: None for as fast as it is taken.
        tick_sec: for how long items are gathered now.
    """

    def __init__(
        self,
        open_tape: Callable[[], Iterator[Item]],
        play: Callable[[Item], None],
        flush: Callable[[], None],
        crowded: Callable[[], bool],
        *,
        speed: float | None,
        loop: bool,
        tick_sec: Callable[[], float],
    ) -> None:
        self._open_tape = open_tape
        self._play = play
        self._flush = flush
        self._crowded = crowded
        self._speed = speed
        self._loop = loop
        self._tick_sec = tick_sec
        self._go = asyncio.Event()
        self._began = 0.0
        self._first_ns: int | None = None
        self._behind_sec = 0.0
        self._worst_sec = 0.0
        self.played = 0
        self.rounds = 0
        self.finished = asyncio.Event()

    def start(self) -> None:
        """Play on, or from the beginning where nothing has been played."""
        self._go.set()

    def pause(self) -> None:
        """Stop until :meth:`start`."""
        self._go.clear()

    def state(self) -> dict[str, Any]:
        """For `venue/status`: frames played, and the seconds the pump is and was at worst behind the tape."""
        playing = self._go.is_set() and not self.finished.is_set()
        where = "playing" if playing else "finished" if self.finished.is_set() else "paused" if self.played else "waiting"
        behind = {"behind_sec": round(self._behind_sec, 4), "worst_behind_sec": round(self._worst_sec, 4)}
        return {"state": where, "frames_played": self.played, "rounds": self.rounds, "speed": self._speed or "max"} | behind

    async def run(self) -> None:
        """Play the tape, when told to start."""
        await self._go.wait()
        while True:
            self._began, self._first_ns = time.monotonic(), None
            played = self.played
            await self._round()
            self.rounds += 1
            if not self._loop or self.played == played:
                break
        self.finished.set()

    async def _round(self) -> None:
        burst = 0
        for item in self._open_tape():
            if await self._wait_for(item):
                burst = 0
            elif burst >= _BURST:
                burst = 0
                self._flush()
                await asyncio.sleep(0)
                await self._wait_for_clients()
            if not self._go.is_set():
                await self._pause()
            burst += 1
            self._play(item)
            self.played += item.frame is not None
        self._flush()

    async def _wait_for(self, item: Item) -> bool:
        """Wait until an item is due; whether that took any time."""
        if self._speed is None:
            return False
        if self._first_ns is None:
            self._first_ns = item.received_ns
        due = self._began + (item.received_ns - self._first_ns) / _NS / self._speed
        early = due - time.monotonic()
        if early <= 0:
            self._behind_sec = -early
            self._worst_sec = max(self._worst_sec, -early)
            return False
        self._behind_sec = 0.0
        self._flush()
        await asyncio.sleep(max(early, self._tick_sec()))
        return True

    async def _wait_for_clients(self) -> None:
        while self._speed is None and self._crowded():
            await asyncio.sleep(_CROWDED_WAIT_SEC)

    async def _pause(self) -> None:
        self._flush()
        before = time.monotonic()
        await self._go.wait()
        self._began += time.monotonic() - before
