"""Explanations: the change of a slower row, broken down into the changes of its parts, down to the atoms.

A part has *changed* if its change goes the row's way, is beyond its own 95 % margin, and is at least :data:`WORTH` of the row's change.
Blame falls on the deepest parts that have changed. What a part has gained and its own changed parts do not make up is its rest; a rest that
is beyond its margin and at least :data:`REST` of the part's change is blamed on the part itself, and at the top it is *unexplained*:
code that no part covers, or an effect of parts on each other.

Changes are in the results' unit, with the machine's drift divided out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from derive_bench.measure.compare.loading import Measured
from derive_bench.measure.compare.verdict import Change, Comparison, Verdict
from derive_bench.measure.count import LAYOUT_NOISE
from derive_bench.measure.count import UNIT as INSTRUCTIONS

__all__ = ["REST", "UNEXPLAINED", "WORTH", "Explanation", "Part", "explain"]

UNEXPLAINED = "unexplained"

WORTH = 0.15
REST = 0.35


@dataclass(frozen=True, slots=True)
class Part:
    """A row among the parts of another.

    Attributes:
        times: how often the row contains it.
        change, margin: of all of them together, and half of its 95 % interval; an infinite margin: not known.
        share: of the explained row's change.
        changed: see the module's text.
        blamed: it is the deepest that has changed, or has a rest of its own.
        rest, rest_margin: what its own parts do not make up; all of it where it has none.
    """

    name: str
    times: int
    change: float
    margin: float
    share: float
    changed: bool
    blamed: bool
    rest: float
    rest_margin: float
    parts: tuple[Part, ...] = ()

    def walk(self) -> Iterator[Part]:
        """This part and everything below it."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a row is slower.

    Attributes:
        row: with its parts; its rest is what nothing explains.
        missing: parts that were not measured in both results.
    """

    row: Part
    unit: str
    missing: tuple[str, ...] = ()

    @property
    def culprits(self) -> tuple[str, ...]:
        """The parts that are blamed, and :data:`UNEXPLAINED` where the rest of the row itself is."""
        found = [UNEXPLAINED if part is self.row else part.name for part in self.row.walk() if part.blamed]
        return tuple(dict.fromkeys(found))


def explain(head: Measured, comparison: Comparison) -> list[Explanation]:
    """Explain each slower row that has parts and is not a part of another slower row, the worst first.

    Args:
        head: the newer result; it says what parts its rows have.
        comparison: of the older result with it.
    """
    changes = {change.name: change for change in comparison.changes}
    slower = [change for change in comparison.changes if change.verdict is Verdict.SLOWER and not change.control]
    covered = {part for change in slower for part in _parts(head, change.name)}
    tops = [change for change in slower if _parts(head, change.name) and change.name not in covered]
    return [_Explainer(head, changes, change).explanation() for change in sorted(tops, key=lambda change: -change.ratio)]


def _parts(measured: Measured, name: str) -> tuple[str, ...]:
    row = measured.results.rows.get(name)
    return row.parts if row else ()


class _Explainer:
    """Breaks one row down."""

    def __init__(self, head: Measured, changes: Mapping[str, Change], top: Change) -> None:
        self._head, self._changes, self._top = head, changes, top
        self._whole = _amount(top, head.unit)[0]
        self._missing: dict[str, None] = {}

    def explanation(self) -> Explanation:
        row = self._part(self._top.name, 1, ())
        return Explanation(row, self._head.unit, tuple(self._missing))

    def _part(self, name: str, times: int, above: tuple[str, ...]) -> Part:
        change, margin = (times * amount for amount in _amount(self._changes[name], self._head.unit))
        changed = name == self._top.name or (change > margin and change >= WORTH * self._whole)
        parts = tuple(self._below(name, times, (*above, name)))
        made_up = [part for part in parts if part.changed]
        rest = change - sum(part.change for part in made_up)
        rest_margin = math.hypot(margin, *(part.margin for part in parts if math.isfinite(part.margin)))
        own = rest > rest_margin and rest >= REST * change
        return Part(
            name,
            times,
            change,
            margin,
            change / self._whole,
            changed,
            changed and (own or not parts),
            rest,
            rest_margin,
            parts,
        )

    def _below(self, name: str, times: int, above: tuple[str, ...]) -> Iterator[Part]:
        # A file made by hand may say that a row is a part of itself.
        names = [part for part in _parts(self._head, name) if part not in above]
        for part in dict.fromkeys(names):
            if part in self._changes:
                yield self._part(part, times * names.count(part), above)
            else:
                self._missing[part] = None


def _amount(change: Change, unit: str) -> tuple[float, float]:
    """A row's change and its margin, in the results' unit."""
    if unit == INSTRUCTIONS:
        return change.base * (change.ratio - 1), change.base * max(change.margin, LAYOUT_NOISE)
    return change.base * (change.ratio - 1), change.base * change.ratio * change.margin
