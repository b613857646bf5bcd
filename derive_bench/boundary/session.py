"""Measuring across a boundary: cases opened afresh in every round, every call timed by itself.

Contract: a `Case` names what is timed and opens it; `Session.run` goes over all cases in each round, the next round the other way, so
that a drift of the machine falls on all alike. The first time a case is opened its result is checked; one that computes something else,
cannot be had here or fails is told and not timed. `Measured` keeps every call's time, for percentiles, and the time that the other side
says it spent computing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any, Final

import numpy as np
import numpy.typing as npt

__all__ = ["PLANS", "Case", "Measured", "Missing", "Plan", "Session", "Timed", "call_times", "warm_up"]


class Missing(RuntimeError):
    """A case cannot be had here; the message says what is missing and how to get it."""


@dataclass(frozen=True)
class Timed:
    """What an opened case does.

    Attributes:
        call: the call that is timed.
        check: returns what is wrong with what the first call gave, an empty text if nothing is; None where there is nothing to check.
        compute_ns: the ns that the other side has spent computing since it was last asked.
        elapsed_ns: what the last call is to count for, where that is not the time it took.
        size: bytes on the wire, where that is not plain from the name.
    """

    call: Callable[[], object]
    check: Callable[[Any], str] | None = None
    compute_ns: Callable[[], int] | None = None
    elapsed_ns: Callable[[], int] | None = None
    size: int | None = None


@dataclass(frozen=True)
class Case:
    """One thing to time.

    Attributes:
        name: of the row, group and slash included.
        opened: opens it; raises `Missing` where it cannot be had.
        control: the row that it is compared with.
        times: how many such calls the whole job takes, for what is sampled and extrapolated.
        events: how many events one call is for, where that is what it is about.
        reorders: it adds in another order by design, so that a crossing which is a tie may fall otherwise. Then it is wrong, and not timed,
            like any other; but it is no fault.
    """

    name: str
    summary: str
    opened: Callable[[], AbstractContextManager[Timed]]
    control: str | None = None
    times: int = 1
    events: int | None = None
    reorders: bool = False


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Attributes:
        rounds: how often each case is opened.
        seconds: the least that its calls take in a round.
        warmups: the share of that which is spent before, unrecorded; a call that takes longer than all of it is made
            once, and not warmed up.
        bars, combinations: size of the sweep.
    """

    rounds: int
    seconds: float
    bars: int
    combinations: int
    warmups: float = 0.2


PLANS: Final = {
    "quick": Plan(rounds=1, seconds=0.1, bars=20_000, combinations=16),
    "standard": Plan(rounds=2, seconds=0.25, bars=150_000, combinations=80),
    "rigorous": Plan(rounds=8, seconds=0.5, bars=150_000, combinations=80),
}

_VALUES: Final = 6
"""Values a round's calls are put together into, for the result file."""


@dataclass
class Measured:
    """What was found of one case.

    Attributes:
        trouble: why it was not timed.
        wrong: it computes something else.
        calls: ns of every call, an array for each round.
        computed: ns a call that the other side spent computing, for each round, where it says so.
        size: bytes on the wire.
    """

    case: Case
    trouble: str = ""
    wrong: bool = False
    calls: list[npt.NDArray[np.int64]] = field(default_factory=list)
    computed: list[float] = field(default_factory=list)
    size: int | None = None

    @property
    def values(self) -> list[list[float]]:
        """Seconds a call, the mean of neighbouring calls, for each round."""
        return [[float(part.mean()) / 1e9 for part in np.array_split(calls, min(_VALUES, len(calls)))] for calls in self.calls]

    @property
    def median_ns(self) -> float:
        """The median call, in ns."""
        return float(np.median(np.concatenate(self.calls)))

    def percentile_ns(self, percent: float) -> float:
        """A percentile of all calls, in ns."""
        return float(np.percentile(np.concatenate(self.calls), percent))

    @property
    def compute_ns(self) -> float | None:
        """The median of what the other side spent computing a call, in ns, where it says so."""
        return float(np.median(self.computed)) if self.computed else None

    @property
    def share(self) -> float | None:
        """The boundary's share of a call, where the other side says what it spent computing."""
        if self.compute_ns is None:
            return None
        means = [1 - computed / float(calls.mean()) for computed, calls in zip(self.computed, self.calls, strict=True)]
        return float(np.median(means))


@dataclass
class Session:
    """One run over some cases. ``measured`` fills up and keeps what there is when the run is interrupted."""

    cases: Sequence[Case]
    plan: Plan
    measured: dict[str, Measured] = field(default_factory=dict)
    rounds_done: int = 0

    def run(self, report: Callable[[str, int, int], None] = lambda *_: None) -> None:
        """Measure everything, telling ``report`` the case, and which of how many openings it is."""
        self.measured = {case.name: Measured(case) for case in self.cases}
        for number in range(self.plan.rounds):
            for position, case in enumerate(self.cases if number % 2 == 0 else reversed(self.cases)):
                report(case.name, number * len(self.cases) + position, self.plan.rounds * len(self.cases))
                found = self.measured[case.name]
                if not found.trouble:
                    self._measure(found, first=number == 0)
            self.rounds_done += 1

    def _measure(self, found: Measured, *, first: bool) -> None:
        try:
            with found.case.opened() as timed:
                found.size = timed.size
                self._time(found, timed, first=first)
        except Missing as error:
            found.trouble = str(error)
        except (OSError, RuntimeError, ValueError) as error:
            found.trouble = f"failed: {error}"
            found.calls.clear()

    def _time(self, found: Measured, timed: Timed, *, first: bool) -> None:
        spent_computing = timed.compute_ns or (lambda: 0)
        spent_computing()
        begin = perf_counter_ns()
        result = timed.call()
        took = perf_counter_ns() - begin
        if first and timed.check is not None:
            found.trouble = timed.check(result)
            found.wrong = bool(found.trouble)
            if found.wrong:
                return
        if took >= self.plan.seconds * 1e9:
            times = np.array([took if timed.elapsed_ns is None else timed.elapsed_ns()], dtype=np.int64)
        else:
            warm_up(timed, self.plan.seconds * self.plan.warmups)
            spent_computing()
            times = call_times(timed, self.plan.seconds)
        found.calls.append(times)
        if timed.compute_ns is not None:
            found.computed.append(timed.compute_ns() / len(times))


def warm_up(timed: Timed, seconds: float) -> None:
    """Call it for so long."""
    spent = 0
    while spent < seconds * 1e9:
        begin = perf_counter_ns()
        timed.call()
        spent += perf_counter_ns() - begin


def call_times(timed: Timed, seconds: float) -> npt.NDArray[np.int64]:
    """Call it for so long, once at least, and return the ns of each call."""
    call = timed.call
    times: list[int] = []
    spent = 0
    while spent < seconds * 1e9 or not times:
        begin = perf_counter_ns()
        call()
        took = perf_counter_ns() - begin
        times.append(took if timed.elapsed_ns is None else timed.elapsed_ns())
        spent += took
    return np.array(times, dtype=np.int64)
