"""An interleaved session: processes of two trees alternate, base, head, head, base …, over the same rows.

Which of the two begins changes from round to round, so that what grows steadily falls on both alike. Before the first round a pass is
thrown away: it calibrates each row once, in base, and both use these loops; and it leaves both trees with compiled modules. After each
round, pairs in which either process met a disturbed machine are made again, a tenth of the round at most; what was measured plays no part.

Rounds, and not values, are what a verdict counts, and in each the memory layout and the hash seed are dealt anew. So
:data:`INTERLEAVED` has twice the rounds of ``standard``: five pairs, with four degrees of freedom, show ten percent on a quiet machine
only. Its values last a millisecond, less than a time slice: on two busy CPUs some of twenty are undisturbed, where of values five times
as long hardly one is. Rows share a process, which saves most of the time; what a row owes to its neighbours it owes them on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from time import monotonic

import pyperf

from derive_bench.measure.rows import Row
from derive_bench.measure.runner import SLOW_PROBE, Launcher, Profile, Progress, WorkerFailed, by_worker
from derive_bench.measure.worker import Task

__all__ = ["INTERLEAVED", "PairedSession"]

INTERLEAVED = Profile("interleaved", processes=10, values=20, warmups=2, min_time=0.001, rows_per_process=12)
"""The default of an interleaved comparison."""

Runs = dict[str, list[pyperf.Run]]


@dataclass
class PairedSession:
    """One interleaved measurement. ``runs`` holds whole pairs alone, also after an interrupt.

    Attributes:
        rows: those that both trees have.
        launchers: of base and head.
        runs: of base and head, by row, one for each round.
        rounds_done, repeated: whole rounds so far, and pairs that were made again.
    """

    rows: Sequence[Row]
    profile: Profile
    launchers: tuple[Launcher, Launcher]
    runs: tuple[Runs, Runs] = field(default_factory=lambda: ({}, {}))
    rounds_done: int = 0
    repeated: int = 0
    _tasks: dict[str, Task] = field(default_factory=dict)

    def benchmarks(self, side: int) -> dict[str, pyperf.Benchmark]:
        """What has been measured so far of base (0) or head (1), by row."""
        runs = self.runs[side]
        return {row.name: pyperf.Benchmark(runs[row.name]) for row in self.rows if runs.get(row.name)}

    def run(self, report: Callable[[Progress], None] = lambda _: None) -> None:
        """Measure everything, telling ``report`` before each pair of workers.

        Raises:
            WorkerRefused, WorkerFailed
        """
        self._tasks = {row.name: Task(row.name, row.fingerprint) for row in self.rows}
        some = list(by_worker(self.rows, self.profile.rows_per_process))
        rounds = self.profile.processes
        total, begin, done = (rounds + 1) * len(some), monotonic(), 0
        for number in range(rounds + 1):
            for batch in some if number % 2 else reversed(some):
                left = (monotonic() - begin) / done * (total - done) if done else None
                report(Progress(batch[0].name, done, total, number, rounds, left))
                pair = self._pair(batch, number)
                if number:
                    self._keep(pair)
                done += 1
            if number:
                self._again(number)
                self.rounds_done += 1

    def _pair(self, batch: Sequence[Row], number: int) -> tuple[dict[str, pyperf.Run], dict[str, pyperf.Run]]:
        profile = self.profile if number else replace(self.profile, values=1)
        found: list[dict[str, pyperf.Run]] = [{}, {}]
        for side in (1, 0) if number and number % 2 == 0 else (0, 1):
            tasks = [self._tasks[row.name] for row in batch]
            benchmarks = self.launchers[side].measure(batch[0].suite, tasks, profile)
            for row, benchmark in zip(batch, benchmarks, strict=True):
                if benchmark.get_name() != row.name:
                    raise WorkerFailed(f"asked for {row.name}, got {benchmark.get_name()}")
                found[side][row.name] = benchmark.get_runs()[-1]
                task = self._tasks[row.name]
                if not task.inner:
                    self._tasks[row.name] = replace(task, inner=benchmark.get_inner_loops(), loops=benchmark.get_loops())
        return found[0], found[1]

    def _keep(self, pair: tuple[dict[str, pyperf.Run], dict[str, pyperf.Run]]) -> None:
        for runs, found in zip(self.runs, pair, strict=True):
            for name, run in found.items():
                runs.setdefault(name, []).append(run)

    def _again(self, number: int) -> None:
        for batch in by_worker(self._disturbed(), self.profile.rows_per_process):
            pair = self._pair(batch, number)
            for runs, found in zip(self.runs, pair, strict=True):
                for name, run in found.items():
                    runs[name][-1] = run
            self.repeated += len(batch)

    def _disturbed(self) -> list[Row]:
        probes = {row.name: max(_probe(runs[row.name][-1]) for runs in self.runs) for row in self.rows}
        usual = median(_probe(run) for runs in self.runs for some in runs.values() for run in some)
        slow = sorted((name for name, seconds in probes.items() if seconds > SLOW_PROBE * usual), key=lambda name: -probes[name])
        worst = slow[: math.ceil(len(self.rows) / 10)]
        return [row for row in self.rows if row.name in worst]


def _probe(run: pyperf.Run) -> float:
    # Workers of older revisions do not probe.
    return float(run.get_metadata().get("probe_seconds", 0.0))
