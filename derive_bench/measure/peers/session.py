"""The session: checks every peer against ours, then measures all of them in turn.

A *cell* is a stage as one contender does it. Each generation starts every contender afresh, hence with a hash seed and a memory layout
of its own. A round then goes over the stages, and within a stage over the contenders, ours first; the next round goes the other
way. So the values that are divided by each other lie within moments, and a drift of the machine falls on both.

Ours is two contenders where peers speak v2: a ratio is always between results for the same inputs. Before anything is timed, the
facts of the first inputs are compared; a cell that says something else, or fails, is told and not timed. A peer that dies or hangs
is broken from then on, and what was measured of it is thrown away.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from derive_bench.measure.peers.adapters import Adapter, Comparison
from derive_bench.measure.peers.contender import Contender, ContenderFailed, Place, RequestFailed
from derive_bench.measure.peers.facts import difference
from derive_bench.measure.runner import Progress

__all__ = ["OURS", "PEER_PROFILES", "Cell", "Entry", "OursFailed", "PeerProfile", "PeerSession", "our_name"]

OURS = "derive_bench"

CHECKED = 16
"""How many inputs are compared for each cell."""


@dataclass(frozen=True, slots=True)
class PeerProfile:
    """How much is measured: values are one for each round of each generation, of about ``seconds`` each."""

    generations: int
    rounds: int
    seconds: float


PEER_PROFILES = {
    "quick": PeerProfile(generations=2, rounds=5, seconds=0.005),
    "standard": PeerProfile(generations=4, rounds=8, seconds=0.015),
    "rigorous": PeerProfile(generations=10, rounds=12, seconds=0.05),
}


class OursFailed(Exception):
    """Ours did not run: there is nothing to compare with."""


def our_name(dialect: str) -> str:
    """What ours is called with the inputs of a dialect."""
    return OURS if dialect == "v3" else f"{OURS}-{dialect}"


@dataclass
class Entry:
    """One contender of a session.

    Attributes:
        adapter: None for ours.
        place: None if it is not installed.
        trouble: why it is missing or broken, in words.
        abilities: stage -> what it leaves undone.
    """

    name: str
    dialect: str
    adapter: Adapter | None
    place: Place | None
    trouble: str = ""
    abilities: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    python: str = ""

    @property
    def ours(self) -> bool:
        return self.adapter is None


@dataclass
class Cell:
    """A stage as one contender does it.

    Attributes:
        trouble: how it differs from ours, or its error; such a cell is not timed.
        wrong_signature: its signature is another than ours.
        calls: per value, by generation.
        values: seconds a call, by generation, in the order of the rounds.
    """

    stage: str
    entry: Entry
    trouble: str = ""
    wrong_signature: bool = False
    calls: list[int] = field(default_factory=list)
    values: list[list[float]] = field(default_factory=list)

    @property
    def timed(self) -> bool:
        return not self.trouble and not self.entry.trouble


@dataclass
class PeerSession:
    """One comparison. ``cells`` fills up while :meth:`run` goes on and keeps what there is when it is interrupted.

    Attributes:
        entries: ours first, one for each dialect.
        materials: file with the inputs, by dialect.
    """

    comparison: Comparison
    entries: Sequence[Entry]
    materials: Mapping[str, Path]
    profile: PeerProfile
    cells: dict[tuple[str, str], Cell] = field(default_factory=dict)
    generations_done: int = 0
    _running: dict[str, Contender] = field(default_factory=dict)
    _our_facts: dict[tuple[str, str], list[Any]] = field(default_factory=dict)

    def run(self, report: Callable[[Progress], None] = lambda _: None) -> None:
        """Check and measure everything, telling ``report`` before each stage of each round.

        Raises:
            OursFailed
        """
        stages = list(self.comparison.stages)
        rounds, total = self.profile.rounds, self.profile.generations * self.profile.rounds * len(stages)
        begin, done = monotonic(), 0
        for generation in range(self.profile.generations):
            left = (monotonic() - begin) / done * (total - done) if done else None
            report(Progress("starting the libraries", done, total, generation * rounds + 1, rounds * self.profile.generations, left))
            with self._started():
                if not generation:
                    self._check()
                self._calibrate()
                for number in range(rounds):
                    onward = number % 2 == 0
                    for stage in stages if onward else reversed(stages):
                        left = (monotonic() - begin) / done * (total - done) if done else None
                        report(Progress(stage, done, total, generation * rounds + number + 1, rounds * self.profile.generations, left))
                        for cell in self._timed(stage) if onward else reversed(self._timed(stage)):
                            self._time(cell)
                        done += 1
            self.generations_done += 1

    def _timed(self, stage: str) -> list[Cell]:
        return [cell for cell in self.cells.values() if cell.stage == stage and cell.timed]

    @contextlib.contextmanager
    def _started(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for entry in self.entries:
                if entry.place is not None and not entry.trouble:
                    with self._failing(entry):
                        self._running[entry.name] = stack.enter_context(entry.place.start(self.materials[entry.dialect]))
            for entry in self.entries:
                if entry.name in self._running:
                    with self._failing(entry):
                        self._running[entry.name].ready()
            for entry in self.entries:
                if entry.name in self._running and not entry.trouble:
                    running = self._running[entry.name]
                    entry.abilities, entry.versions, entry.python = running.abilities, running.versions, running.python
            try:
                yield
            finally:
                self._running.clear()

    @contextlib.contextmanager
    def _failing(self, entry: Entry, cell: Cell | None = None) -> Iterator[None]:
        """What fails in here is the entry's trouble, or the cell's if it can go on; ours ends the session."""
        try:
            yield
        except ContenderFailed as error:
            if entry.ours:
                raise OursFailed(f"ours cannot be measured{f' at {cell.stage}' if cell else ''}: {error}") from None
            if cell is not None and isinstance(error, RequestFailed):
                cell.trouble = str(error)
            else:
                entry.trouble = str(error)

    def _check(self) -> None:
        """Make the cells, and compare the facts of each peer with ours of its dialect."""
        for stage in self.comparison.stages:
            dialects = {entry.dialect for entry in self.entries if not entry.ours and stage in entry.abilities} | {"v3"}
            for entry in self.entries:
                if stage in entry.abilities and not entry.trouble and (not entry.ours or entry.dialect in dialects):
                    self.cells[stage, entry.name] = Cell(stage, entry)
        for cell in self.cells.values():
            if not cell.entry.trouble:
                with self._failing(cell.entry, cell):
                    self._check_cell(cell)

    def _check_cell(self, cell: Cell) -> None:
        stage, signed = cell.stage, cell.stage in self.comparison.signed
        facts = self._running[cell.entry.name].ask(do="facts", stage=stage, count=CHECKED)["facts"]
        if cell.entry.ours:
            if broken := next((fact for fact in facts if isinstance(fact, str)), None):
                raise OursFailed(f"ours cannot be measured at {stage}: {broken}")
            # Asked once: what drops duplicates says nothing of the same inputs a second time.
            self._our_facts[stage, cell.entry.dialect] = facts
            return
        for theirs, ours in zip(facts, self._ours(cell, facts), strict=True):
            if found := difference(ours, theirs, signed):
                cell.trouble = found
                cell.wrong_signature = signed and not isinstance(theirs, str)
                return

    def _ours(self, cell: Cell, facts: Sequence[Any]) -> list[Any]:
        """What ours says about the inputs that a peer's facts are of."""
        echo = self.comparison.echoed.get(cell.stage)
        if echo is None:
            return self._our_facts[cell.stage, cell.entry.dialect]
        ours = next(entry for entry in self.entries if entry.ours and entry.dialect == cell.entry.dialect)
        taken = [fact.get(echo, 0) if isinstance(fact, dict) else 0 for fact in facts]
        with self._failing(ours, cell):
            return list(self._running[ours.name].ask(do="answer", stage=cell.stage, inputs=taken)["facts"])
        return []

    def _calibrate(self) -> None:
        for cell in self.cells.values():
            if cell.timed:
                with self._failing(cell.entry, cell):
                    calls = self._running[cell.entry.name].ask(do="calibrate", stage=cell.stage, seconds=self.profile.seconds)["calls"]
                    cell.calls.append(calls)
                    cell.values.append([])

    def _time(self, cell: Cell) -> None:
        if cell.entry.trouble:
            return
        with self._failing(cell.entry, cell):
            calls = cell.calls[-1]
            seconds = self._running[cell.entry.name].ask(do="time", stage=cell.stage, calls=calls)["seconds"]
            cell.values[-1].append(seconds / calls)
