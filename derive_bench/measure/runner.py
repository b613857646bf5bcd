"""The runner: sends rows to worker processes, round after round, and merges what they measured into pyperf benchmarks.

Rows are interleaved: one round visits every row once, the next visits them in reverse, so that a drift of the machine falls on
a row, its parts and its control alike. Under the ``standard`` and ``rigorous`` profiles every row gets a process of its own in
each round; ``quick`` saves process starts by letting one process measure up to :attr:`Profile.rows_per_process` rows one after the
other, which lets rows share caches: its numbers are for a first look. One worker runs at a time.

Loops are calibrated by a row's first worker and reused by all later ones. After each round the runs that met a disturbed machine, as
their workers noticed (:data:`SLOW_PROBE`), are made again, a tenth of the round at most: what a run measured plays no part in this.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from pathlib import Path
from statistics import median
from time import monotonic

import pyperf

from derive_bench.measure.rows import Row
from derive_bench.measure.trees import PACKAGE_PARENT
from derive_bench.measure.worker import RETAKES_IN_ALL, Task

__all__ = ["HASH_SEED", "PROFILES", "Launcher", "Profile", "Progress", "Session", "WorkerFailed", "WorkerRefused", "by_worker"]


@dataclass(frozen=True, slots=True)
class Profile:
    """How much is measured.

    Attributes:
        processes: worker processes per row, one in each round.
        values: values per process; warmups: values measured and set aside before them.
        min_time: shortest duration of a value, in seconds.
        rows_per_process: rows one worker measures.
        fixed: the recipe of publishing: workers pinned, ASLR off and one hash seed, so that all processes are alike.
        warmup_pass: whether a whole pass over the rows is measured first and thrown away.
    """

    name: str
    processes: int
    values: int
    warmups: int
    min_time: float
    rows_per_process: int
    fixed: bool = False
    warmup_pass: bool = False


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("quick", processes=3, values=5, warmups=1, min_time=0.003, rows_per_process=30),
        Profile("standard", processes=5, values=6, warmups=1, min_time=0.01, rows_per_process=1),
        Profile("rigorous", processes=24, values=10, warmups=2, min_time=0.02, rows_per_process=1),
        Profile("publish", processes=10, values=6, warmups=1, min_time=0.01, rows_per_process=1, fixed=True, warmup_pass=True),
    )
}


SLOW_PROBE = 1.3
"""A worker's probe of the machine beyond this multiple of the usual one, like values taken again in vain, means a disturbed run."""


class WorkerRefused(Exception):
    """A worker could not measure what it was asked for, for a reason that it gave in one line."""


class WorkerFailed(Exception):
    """A worker crashed or hung; the message ends with what it wrote to standard error."""


@dataclass(frozen=True)
class Launcher:
    """Starts workers for one tree of sources.

    Attributes:
        protocol, data: what :class:`Inputs` gets.
        benches: folder of the row definitions, if not the project's own.
        root: folder that holds the package; a worker starts there and imports it from there.
        options: pyperf options for the worker, as it would read them from its command line.
        inherit_environ: names of environment variables a worker gets besides :data:`KEPT_ENVIRON`; None means all.
        timeout: seconds after which a worker is given up.
        hash_seed: PYTHONHASHSEED of the workers, whatever they inherit; None: what they inherit, or random per process.
    """

    protocol: str
    data: Path | None = None
    benches: Path | None = None
    root: Path = PACKAGE_PARENT
    options: tuple[str, ...] = ()
    inherit_environ: tuple[str, ...] | None = ()
    timeout: float = 600.0
    hash_seed: str | None = None

    def measure(self, suite: str, tasks: Sequence[Task], profile: Profile) -> list[pyperf.Benchmark]:
        """Run one worker over rows of one suite; one benchmark of one run for each task, in order.

        Raises:
            WorkerRefused, WorkerFailed
        """
        process = subprocess.Popen(
            self.command(suite, tasks, profile),
            cwd=self.root,
            env=self.environ(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            # A group of its own: Ctrl-C reaches the manager alone, which then ends the worker.
            process_group=0,
        )
        with process:
            try:
                output, complaint = process.communicate(timeout=self.timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise WorkerFailed(f"{_named(tasks)}: no result after {self.timeout:g} s") from None
            except BaseException:
                process.kill()
                raise
        if process.returncode == 2:
            raise WorkerRefused(complaint.strip().rpartition("\n")[2])
        if process.returncode:
            raise WorkerFailed(f"{_named(tasks)}: worker ended with {process.returncode}\n{complaint.strip()}")
        return list(pyperf.BenchmarkSuite.loads(output))

    def command(self, suite: str, tasks: Sequence[Task], profile: Profile) -> list[str]:
        """The worker's command line: all that it needs to know."""
        command = [sys.executable, "-m", "derive_bench.measure.worker", "--suite-file", suite, "--protocol", self.protocol]
        if self.data is not None:
            command += ["--data", str(self.data.resolve())]
        if self.benches is not None:
            command += ["--benches", str(self.benches.resolve())]
        for task in tasks:
            command += ["--row", task.to_json()]
        # pyperf insists on loops for a worker; each task brings its own.
        command += ["--worker", "--loops", "1", "--values", str(profile.values), "--warmups", str(profile.warmups)]
        return [*command, "--min-time", repr(profile.min_time), *self.options]

    def environ(self) -> dict[str, str]:
        """The pruned environment, after pyperf's example: a variable set by chance must not change a number."""
        fixed = {} if self.hash_seed is None else {HASH_SEED: self.hash_seed}
        if self.inherit_environ is None:
            return {**os.environ, **fixed}
        names = {*KEPT_ENVIRON, *self.inherit_environ}
        return {name: value for name, value in os.environ.items() if name in names or name.startswith("LC_")} | fixed


KEPT_ENVIRON = ("PATH", "HOME", "TEMP", "LANG", "PYTHONPATH", "SYSTEMROOT")
"""Environment variables that workers get in any case, besides the locale's."""

HASH_SEED = "PYTHONHASHSEED"


def _named(tasks: Sequence[Task]) -> str:
    return tasks[0].row if len(tasks) == 1 else f"{tasks[0].row} and {len(tasks) - 1} more"


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a session stands when a worker is about to start.

    Attributes:
        row: the row it begins with.
        done, total: workers.
        round, rounds: counted from 1; round 0 is a warm-up pass.
        seconds_left: an estimate, None before there is anything to base it on.
    """

    row: str
    done: int
    total: int
    round: int
    rounds: int
    seconds_left: float | None


@dataclass
class Session:
    """One measurement of rows. ``runs`` fills up while :meth:`run` goes on and keeps what there is when it is interrupted.

    Attributes:
        rows: in the order in which they are reported.
        loops: a fixed number of loops for all rows, or 0 to calibrate each.
        runs: by row, one for each worker that measured it.
        rounds_done, repeated: whole rounds so far, and runs that were made again.
    """

    rows: Sequence[Row]
    profile: Profile
    launcher: Launcher
    loops: int = 0
    runs: dict[str, list[pyperf.Run]] = field(default_factory=dict)
    rounds_done: int = 0
    repeated: int = 0
    _tasks: dict[str, Task] = field(default_factory=dict)

    @property
    def benchmarks(self) -> dict[str, pyperf.Benchmark]:
        """What has been measured so far, by row."""
        return {row.name: pyperf.Benchmark(self.runs[row.name]) for row in self.rows if row.name in self.runs}

    def run(self, report: Callable[[Progress], None] = lambda _: None) -> None:
        """Measure everything, telling ``report`` before each worker.

        Raises:
            WorkerRefused, WorkerFailed
        """
        self._tasks = {row.name: Task(row.name, row.fingerprint, loops=self.loops) for row in self.rows}
        batches = list(by_worker(self.rows, self.profile.rows_per_process))
        rounds = self.profile.processes
        numbers = range(0 if self.profile.warmup_pass else 1, rounds + 1)
        total = len(numbers) * len(batches)
        begin, done = monotonic(), 0
        for number in numbers:
            for batch in batches if number % 2 else reversed(batches):
                left = (monotonic() - begin) / done * (total - done) if done else None
                report(Progress(batch[0].name, done, total, number, rounds, left))
                self._measure(batch, keep=number > 0)
                done += 1
            if number == 0:
                continue
            for batch in by_worker(self._disturbed(), self.profile.rows_per_process):
                self._measure(batch)
                for row in batch:
                    del self.runs[row.name][-2]
                self.repeated += len(batch)
            self.rounds_done += 1

    def _disturbed(self) -> list[Row]:
        """Rows whose latest run met a disturbed machine, the worst of them if they are many."""
        probes = {name: [float(run.get_metadata()["probe_seconds"]) for run in runs] for name, runs in self.runs.items()}
        usual = median(chain.from_iterable(probes.values()))
        slow = [
            name
            for name, runs in self.runs.items()
            if probes[name][-1] > SLOW_PROBE * usual or runs[-1].get_metadata()["retaken_values"] >= RETAKES_IN_ALL
        ]
        worst = sorted(slow, key=lambda name: probes[name][-1], reverse=True)[: math.ceil(len(self.rows) / 10)]
        return [row for row in self.rows if row.name in worst]

    def _measure(self, batch: Sequence[Row], *, keep: bool = True) -> None:
        """Run a worker; what is not kept calibrates all the same, so that after a warm-up pass no measured process has to."""
        tasks = [self._tasks[row.name] for row in batch]
        for task, benchmark in zip(tasks, self.launcher.measure(batch[0].suite, tasks, self.profile), strict=True):
            name = benchmark.get_name()
            if name != task.row:
                raise WorkerFailed(f"asked for {task.row}, got {name}")
            if keep:
                self.runs.setdefault(name, []).extend(benchmark.get_runs())
            self._tasks[name] = replace(task, inner=benchmark.get_inner_loops(), loops=benchmark.get_loops())


def by_worker(rows: Sequence[Row], size: int) -> Iterator[Sequence[Row]]:
    """Rows that share a worker: neighbours of one suite, at most ``size``."""
    for _, members in groupby(rows, key=lambda row: row.suite):
        some = list(members)
        for start in range(0, len(some), size):
            yield some[start : start + size]
