"""Runs counting workers, several at once, and makes pyperf benchmarks of what they counted.

Rows of one suite share a process (:data:`ROWS_PER_PROCESS`), since one that starts under valgrind takes seconds before it counts anything.
Each batch is first rehearsed without valgrind, then counted by two processes alike. They agree to the last digit unless a row
uses randomness, the clock or a thread: so each result says of itself whether it repeats, ``repeats`` in its metadata.
"""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path
from statistics import fmean
from threading import Lock
from time import monotonic

import pyperf

from derive_bench.measure.count import PROFILE, REPEATS_WITHIN, UNIT
from derive_bench.measure.count.dumps import allocations
from derive_bench.measure.count.valgrind import Valgrind, environ
from derive_bench.measure.count.worker import RESULT, Counted
from derive_bench.measure.rows import Row
from derive_bench.measure.runner import Progress, WorkerFailed, WorkerRefused
from derive_bench.measure.trees import PACKAGE_PARENT

__all__ = ["PROCESSES", "CountSession", "Counter"]

ROWS_PER_PROCESS = 40
"""The most rows that one process counts."""

PROCESSES = 2
"""How many processes count each row, all alike."""


RANDOM = ("*presign*", "signing/nonce_next", "control/eth_account_sign*")
"""Rows that use randomness, or the clock, in a way that shows."""


@dataclass(frozen=True, slots=True)
class Counter:
    """Starts counting workers for one tree of sources.

    Attributes:
        protocol, data: what :class:`Inputs` gets.
        benches: folder of the row definitions, if not the project's own.
        root: folder that holds the package.
        timeout: seconds after which a worker is given up.
    """

    valgrind: Valgrind
    protocol: str
    data: Path | None = None
    benches: Path | None = None
    root: Path = PACKAGE_PARENT
    timeout: float = 1_800.0

    def program(self, rows: Sequence[Row]) -> list[str]:
        """The worker's command line, without valgrind."""
        program = [
            sys.executable,
            "-P",
            "-m",
            "derive_bench.measure.count.worker",
            "--suite-file",
            rows[0].suite,
            "--protocol",
            self.protocol,
        ]
        if self.data is not None:
            program += ["--data", str(self.data.resolve())]
        if self.benches is not None:
            program += ["--benches", str(self.benches.resolve())]
        for row in rows:
            program += ["--row", row.name, row.fingerprint]
        return program


@dataclass
class CountSession:
    """One counting of rows. ``counts`` fills up while :meth:`run` goes on and keeps what there is when it is interrupted.

    Attributes:
        rows: in the order in which they are reported.
        jobs: processes at a time.
        processes: how many count each row.
        counts: by row, one for each process that counted it: instructions and allocations per call, and the loops.
    """

    rows: Sequence[Row]
    counter: Counter
    jobs: int = 1
    processes: int = PROCESSES
    counts: dict[str, list[tuple[Counted, float]]] = field(default_factory=dict)
    _live: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)
    _stopped: bool = False

    def run(self, report: Callable[[Progress], None] = lambda _: None) -> None:
        """Count everything, telling ``report`` before the first process and after each.

        Raises:
            WorkerRefused, WorkerFailed
        """
        batches = list(_batches(self.rows))
        total, begin = len(batches) * self.processes, monotonic()
        report(Progress(self.rows[0].name, 0, total, 1, 1, None))
        with tempfile.TemporaryDirectory(prefix="derive-bench-count-") as scratch, ThreadPoolExecutor(self.jobs) as pool:
            try:
                rehearsals = [pool.submit(self._process, batch, Path(scratch), rehearse=True) for batch in batches]
                for rehearsal in as_completed(rehearsals):
                    rehearsal.result()
                waiting = {pool.submit(self._process, batch, Path(scratch)): batch for batch in batches for _ in range(self.processes)}
                for done, future in enumerate(as_completed(waiting), 1):
                    for name, found in future.result().items():
                        self.counts.setdefault(name, []).append(found)
                    left = (monotonic() - begin) / done * (total - done)
                    report(Progress(waiting[future][-1].name, min(done, total - 1), total, 1, 1, left))
            except BaseException:
                self._stop()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def benchmarks(self) -> dict[str, pyperf.Benchmark]:
        """What has been counted so far, by row: one run of one value for each process."""
        return {row.name: _benchmark(row.name, self.counts[row.name]) for row in self.rows if row.name in self.counts}

    def _stop(self) -> None:
        with self._lock:
            self._stopped = True
            for process in self._live:
                process.send_signal(signal.SIGKILL)

    def _process(self, batch: Sequence[Row], scratch: Path, *, rehearse: bool = False) -> dict[str, tuple[Counted, float]]:
        """Run one worker in a directory of its own; what it counted, and the allocations per call that its dumps tell of."""
        with tempfile.TemporaryDirectory(dir=scratch) as name:
            place = Path(name)
            program = self.counter.program(batch)
            self._start([*program, "--rehearse"] if rehearse else self.counter.valgrind.command(program), batch, place)
            if rehearse:
                return {}
            try:
                found = json.loads((place / RESULT).read_bytes())
                return {row.name: _with_allocations(Counted(**found[row.name]), place) for row in batch}
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise WorkerFailed(f"{_named(batch)}: the counting worker left no whole result: {error}") from None

    def _start(self, command: list[str], batch: Sequence[Row], place: Path) -> None:
        with self._lock:
            if self._stopped:
                raise WorkerFailed("stopped")
            # A group of its own: Ctrl-C reaches the manager alone, which then ends the workers.
            process = subprocess.Popen(
                command,
                cwd=place,
                env=environ(self.counter.root),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                process_group=0,
            )
            self._live.add(process)
        with process:
            try:
                _, complaint = process.communicate(timeout=self.counter.timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise WorkerFailed(f"{_named(batch)}: no result after {self.counter.timeout:g} s") from None
            finally:
                with self._lock:
                    self._live.discard(process)
        text = complaint.decode(errors="replace").strip()
        if process.returncode == 2:
            raise WorkerRefused(text.rpartition("\n")[2])
        if process.returncode:
            raise WorkerFailed(f"{_named(batch)}: counting worker ended with {process.returncode}\n{text}")


def _with_allocations(counted: Counted, place: Path) -> tuple[Counted, float]:
    few, many = (sum(_allocations_in(place / f"out.{n}") for n in numbers) for numbers in (counted.few_dumps, counted.many_dumps))
    return counted, (many - few) / ((counted.many - counted.few) * counted.inner)


def _allocations_in(path: Path) -> int:
    with path.open(encoding="utf-8", errors="replace") as lines:
        return allocations(lines)


def _benchmark(name: str, found: Sequence[tuple[Counted, float]]) -> pyperf.Benchmark:
    values = [counted.instructions for counted, _ in found]
    spread = (max(values) - min(values)) / fmean(values)
    own = {
        "name": name,
        "unit": UNIT,
        "profile": PROFILE,
        "allocations": round(fmean(allocated for _, allocated in found), 3),
        "repeats": "unknown" if len(found) < PROCESSES else "yes" if spread <= REPEATS_WITHIN else "no",
    }
    # Loops and not inner loops: a row that uses randomness may be repeated more often in one process than in another, and pyperf
    # refuses to put runs of different inner loops together.
    runs = [
        pyperf.Run([counted.instructions], metadata=own | {"loops": (counted.many - counted.few) * counted.inner}) for counted, _ in found
    ]
    return pyperf.Benchmark(runs)


def _batches(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Rows that share a process: neighbours of one suite, about as many in each; what uses randomness is kept apart.

    Two processes alike stop being alike with the first random number, and memory that is laid out differently moves other rows' counts.
    """
    for _, members in groupby(sorted(rows, key=_is_random), key=lambda row: (row.suite, _is_random(row))):
        some = list(members)
        size = math.ceil(len(some) / math.ceil(len(some) / ROWS_PER_PROCESS))
        for start in range(0, len(some), size):
            yield some[start : start + size]


def _is_random(row: Row) -> bool:
    return any(fnmatchcase(row.name, glob) for glob in RANDOM)


def _named(rows: Sequence[Row]) -> str:
    return rows[0].name if len(rows) == 1 else f"{rows[0].name} and {len(rows) - 1} more"
