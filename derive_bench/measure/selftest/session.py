"""The session: each trial measured interleaved, written to two result files, and judged from these alone.

A slowdown is sized by a first measurement of its row. The head's workers get it by their ``--inject`` option; nothing else differs between
the sides. A trial's outcome says what the comparison and the explanation made of it, and how large the slowdown really was, as the
workers found when they calibrated it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from derive_bench.measure.ab.session import PairedSession
from derive_bench.measure.compare.compare import compare
from derive_bench.measure.compare.loading import SESSION, load
from derive_bench.measure.compare.verdict import Comparison, Verdict
from derive_bench.measure.environment import Metadata
from derive_bench.measure.localise.explain import Explanation, explain
from derive_bench.measure.results import label, save
from derive_bench.measure.rows import Row
from derive_bench.measure.runner import PROFILES, Launcher, Profile, Progress, Session
from derive_bench.measure.selftest.trials import Trial, pipeline_rows, rows_of

__all__ = ["GATE", "ROUNDS", "Outcome", "SelfTest"]

GATE = 0.06
"""Half of it is the least change with a verdict: a slowdown of five percent can be found, one of two cannot."""

ROUNDS = Profile("selftest", processes=10, values=10, warmups=1, min_time=0.001, rows_per_process=20)

_REAL = re.compile(r"=([\d.]+)ns")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a trial.

    Attributes:
        real_share: how much slower the row was made, as a share of it.
        detected: its row was found slower.
        culprits: what was blamed for it.
        placed: exactly what had to be blamed.
        accused: rows that nothing was done to and that were called slower or faster all the same.
        innocent: how many such rows there were.
    """

    trial: Trial
    real_share: float
    detected: bool
    culprits: tuple[str, ...]
    placed: bool
    accused: tuple[str, ...]
    innocent: int


@dataclass
class SelfTest:
    """A series of trials. ``outcomes`` fills up and stays when the run is interrupted."""

    trials: Sequence[Trial]
    rows: Mapping[str, Row]
    run: Metadata
    profile: Profile = ROUNDS
    outcomes: list[Outcome] = field(default_factory=list)

    def measure(self, report: Callable[[int, int, str], None]) -> None:
        """Run all trials, telling ``report`` number, total and row before each.

        Raises:
            WorkerRefused, WorkerFailed
        """
        report(0, len(self.trials), "the rows as they are")
        times = self._row_times()
        for number, trial in enumerate(self.trials):
            report(number, len(self.trials), trial.row)
            self.outcomes.append(self._try(trial, times[trial.row]))

    def _row_times(self) -> dict[str, float]:
        """ns of each row that a trial slows down."""
        session = Session([self.rows[name] for name in pipeline_rows(self.trials)], PROFILES["quick"], Launcher("v3"))
        session.run(_untold)
        return {name: min(benchmark.get_values()) * 1e9 for name, benchmark in session.benchmarks.items()}

    def _try(self, trial: Trial, row_ns: float) -> Outcome:
        rows = rows_of(trial, self.rows)
        options = [word for injection in trial.injections(row_ns) for word in ("--inject", injection)]
        launchers = Launcher("v3"), Launcher("v3", options=tuple(options))
        session = PairedSession(rows, self.profile, launchers)
        session.run(_untold)
        with tempfile.TemporaryDirectory(prefix="derive_bench-") as folder:
            files = [Path(folder) / f"{side}.json" for side in ("base", "head")]
            for side, file in enumerate(files):
                save(label(rows, session.benchmarks(side), self.run | {SESSION: "selftest"}, {}), file)
            base, head = map(load, files)
        comparison = compare(base, head, GATE)
        real = _real_ns(session, trial) / row_ns
        return judge(trial, real, comparison, explain(head, comparison), affected(trial, self.rows))


def _untold(_: Progress) -> None:
    """Rounds within a trial are not told."""


def _real_ns(session: PairedSession, trial: Trial) -> float:
    """What the workers say that their slowdowns came to, for one call of the row."""
    runs = session.runs[1][trial.row]
    said = [[float(ns) for ns in _REAL.findall(str(run.get_metadata().get("injected", "")))] for run in runs]
    whole = [sum(ns * plant.calls for ns, plant in zip(each, trial.plants, strict=False)) for each in said]
    return median(whole) if whole else 0.0


def affected(trial: Trial, rows: Mapping[str, Row]) -> frozenset[str]:
    """Rows that a trial's slowdown is in: its own, what had to be blamed, and what lies between."""
    if not trial.plants:
        return frozenset()
    found: set[str] = {trial.row}

    def leads(name: str) -> bool:
        below = [leads(part) for part in rows[name].parts]
        hit = name in trial.blamed or any(below)
        if hit:
            found.add(name)
        return hit

    leads(trial.row)
    # Rows of the same stage share its code: a slower decode is in every row that decodes.
    stages = {name.partition("/")[0] for name in trial.blamed}
    return frozenset(found | {name for name in rows if name.partition("/")[0] in stages & {"decode_only"}})


def judge(trial: Trial, real_share: float, comparison: Comparison, explained: Sequence[Explanation], slowed: frozenset[str]) -> Outcome:
    """What the comparison and the explanations made of a trial."""
    verdicts = {change.name: change for change in comparison.changes if not change.control}
    own = verdicts[trial.row]
    explanation = next((each for each in explained if each.row.name == trial.row), None)
    culprits = explanation.culprits if explanation else ()
    innocent = [change for name, change in verdicts.items() if name not in slowed]
    accused = tuple(change.name for change in innocent if change.verdict in (Verdict.SLOWER, Verdict.FASTER))
    detected = bool(trial.plants) and own.verdict is Verdict.SLOWER
    return Outcome(trial, real_share, detected, culprits, detected and set(culprits) == trial.blamed, accused, len(innocent))
