"""A book that evolves level by level.

Contract: always `LEVELS` levels a side, best first, bids below asks, amounts above zero. `evolve` changes about a given share
of the best levels (most of them only their amount) and now and then moves the price by a tick, back towards where it began;
`take` trades against the best level. Prices are ticks, amounts steps.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from derive_bench.replay.synth.dice import Dice
from derive_bench.replay.synth.instruments import SynthInstrument

__all__ = ["LEVELS", "Level", "SynthBook"]

LEVELS: Final = 100
_MOVES: Final = 150
"""Of a thousand snapshots: those before which the price moves."""
_AMOUNT_ONLY: Final = 850
"""Of a thousand changes: those of an amount alone."""


class Level(NamedTuple):
    """One level, with its JSON."""

    ticks: int
    steps: int
    json: str


class SynthBook:
    """The book of one instrument."""

    def __init__(self, instrument: SynthInstrument, dice: Dice) -> None:
        self.instrument = instrument
        self._dice = dice
        self.bids: list[Level] = []
        self.asks: list[Level] = []
        self.bids.append(self._level(instrument.start))
        self.asks.append(self._level(instrument.start + 1 + dice.below(3)))
        self._fill_up(self.bids)
        self._fill_up(self.asks)

    def evolve(self, depth: int, change: int) -> None:
        """Go on to the next snapshot of `depth` levels a side, in which `change` of a thousand levels are others."""
        dice = self._dice
        if dice.share(_MOVES):
            self._move()
        expected = 2 * depth * change
        for _ in range(expected // 1000 + dice.share(expected % 1000)):
            side = self.bids if dice.below(2) else self.asks
            place = dice.below(depth)
            if dice.share(_AMOUNT_ONLY):
                side[place] = self._level(side[place].ticks)
            else:
                self._insert_or_remove(side, place)

    def take(self, buy: bool, most: int) -> Level:
        """Trade against the best level with up to `most` steps; return price and amount of the trade."""
        side = self.asks if buy else self.bids
        best = side[0]
        steps = min(most, best.steps)
        if steps == best.steps:
            del side[0]
            self._fill_up(side)
        else:
            side[0] = self._level(best.ticks, best.steps - steps)
        return best._replace(steps=steps)

    def sides(self, depth: int) -> tuple[str, str]:
        """Return the JSON of bids and asks."""
        return f"[{','.join([level.json for level in self.bids[:depth]])}]", f"[{','.join([level.json for level in self.asks[:depth]])}]"

    def _move(self) -> None:
        """Move the price by a tick or a few: one side loses its best level, the other gains a better one."""
        start, price = self.instrument.start, self.bids[0].ticks
        up = self._dice.share(min(1000, max(0, 500 - 5000 * (price - start) // start)))
        losing, gaining, sign = (self.asks, self.bids, 1) if up else (self.bids, self.asks, -1)
        del losing[0]
        self._fill_up(losing)
        room = abs(losing[0].ticks - gaining[0].ticks) - 1
        if room > 0:
            gaining.insert(0, self._level(gaining[0].ticks + sign * (1 + self._dice.below(min(room, 3)))))
            del gaining[LEVELS:]

    def _insert_or_remove(self, side: list[Level], place: int) -> None:
        step = abs(side[place + 1].ticks - side[place].ticks) if place + 1 < LEVELS else 1
        if step > 1:
            sign = -1 if side is self.bids else 1
            side.insert(place + 1, self._level(side[place].ticks + sign))
            del side[LEVELS:]
        elif place:
            del side[place]
            self._fill_up(side)

    def _fill_up(self, side: list[Level]) -> None:
        sign = -1 if side is self.bids else 1
        while len(side) < LEVELS:
            ticks = side[-1].ticks + sign * (1 + self._dice.below(3))
            side.append(self._level(max(ticks, 1)))

    def _level(self, ticks: int, steps: int = 0) -> Level:
        steps = steps or self._dice.small(self.instrument.most)
        return Level(ticks, steps, f'["{self.instrument.price(ticks)}","{self.instrument.amount(steps)}"]')
