"""The worker process: measures the rows it is given and writes one pyperf suite to its standard output.

``python -m derive_bench.measure.worker --suite-file data --row JSON … --worker --values 5 --warmups 1``

It is a pyperf worker: :class:`pyperf.Runner` times the rows and collects the metadata, and pyperf's own options apply.
Everything it needs stands on its command line, since the environment of workers is pruned; each ``--row`` carries name,
fingerprint, inner number and loops, and a row whose fingerprint differs from what the file now says is refused. A row without loops is
calibrated first, in this same process.

Exit codes: 0 done, 2 refused (one line on standard error).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, thread_time
from typing import TextIO

import pyperf

from derive_bench.measure.catalogue import SelectionError, load_suite
from derive_bench.measure.checks import aslr
from derive_bench.measure.checks.system import System
from derive_bench.measure.inputs import DataError, Inputs, SharedInputs
from derive_bench.measure.rows import Row, RowError, Timed

__all__ = ["Task", "calibrate", "main", "undisturbed"]

DISTURBED_SHARE = 0.01
"""A value during which the process was off the CPU for longer than this share (and DISTURBED_SECONDS) is taken again."""

DISTURBED_SECONDS = 20e-6

RETAKES = 3
"""How often one value is taken again at most; the last attempt counts, whatever it met."""

RETAKES_IN_ALL = 6
"""The same for all values of a row in one process: on a machine that is never quiet a run must end all the same."""

PROBE_WORK = range(20_000)
"""What :func:`probe` adds up, in about half a millisecond."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker is asked to measure.

    Attributes:
        row: the row's name.
        fingerprint: :attr:`Row.fingerprint` as the manager knows it.
        inner, loops: as calibrated by an earlier worker; an inner number of 0 means: calibrate both, or the first alone if
            there are loops.
    """

    row: str
    fingerprint: str
    inner: int = 0
    loops: int = 0

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def choose_inner(seconds: float) -> int:
    """How often one loop runs a statement that takes ``seconds``: enough to make its some 10 ns negligible, few enough to stay in cache."""
    if seconds < 1e-6:
        return 50
    return 10 if seconds < 20e-6 else 1


def calibrate(row: Row, namespace: dict[str, object], min_time: float) -> tuple[Timed, int]:
    """Compile a row with a fitting inner number, and the loops after which one value has taken ``min_time`` seconds.

    For rows whose inputs are built anew the time of building counts, at a third, or a value could last for minutes.
    """
    timed = row.compile(namespace, 1)
    timed.run(1)  # what happens the first time only, such as filling a pool
    loops = 1
    while True:
        # The better of two: a moment off the CPU would otherwise make every later value too short.
        seconds, whole = (min(pair) for pair in zip(_trial(timed, loops), _trial(timed, loops), strict=True))
        if seconds >= min_time / 5 or whole >= 3 * min_time:
            break
        loops *= 4
    cost = max(seconds, 1e-9) / loops
    inner = choose_inner(cost)
    per_loop = inner * max(cost, whole / loops / 3)
    return row.compile(namespace, inner), max(1, round(min_time / per_loop))


def _trial(timed: Timed, loops: int) -> tuple[float, float]:
    """Seconds timed, and seconds with all that was built around it."""
    begin = perf_counter()
    seconds = timed.run(loops)
    return seconds, perf_counter() - begin


def undisturbed(run: Callable[[int], float], counts: list[int]) -> Callable[[int], float]:
    """``run``, taken again while another process or an interrupt had the CPU for a noticeable part of it.

    A value is judged by how long the thread was off the CPU, never by how long it took. ``counts`` receives one entry per
    value: the number of attempts thrown away.
    """

    def timed(loops: int) -> float:
        retakes, most = 0, min(RETAKES, RETAKES_IN_ALL - sum(counts))
        while True:
            wall, cpu = perf_counter(), thread_time()
            seconds = run(loops)
            cpu, wall = thread_time() - cpu, perf_counter() - wall
            disturbed = wall - cpu > max(DISTURBED_SECONDS, DISTURBED_SHARE * wall)
            if not disturbed or retakes == most:
                counts.append(retakes)
                return seconds
            retakes += 1

    return timed


def probe() -> float:
    """Seconds that a fixed piece of work takes just now, best of three: how fast the machine is, whatever the row."""
    best = math.inf
    for _ in range(3):
        begin = perf_counter()
        total = 0
        for number in PROBE_WORK:
            total += number
        best = min(best, perf_counter() - begin)
    return best


def measure(runner: pyperf.Runner, row: Row, task: Task, inputs: Inputs) -> pyperf.Benchmark:
    """Time one row with pyperf; ``runner.args`` holds everything but the loops."""
    try:
        namespace = row.namespace(inputs)
    except ModuleNotFoundError as error:
        raise RowError(f"row {row.name} needs {error.name}, which is not installed") from error
    if task.inner:
        timed, loops = row.compile(namespace, task.inner), task.loops
    else:
        timed, loops = calibrate(row, namespace, runner.args.min_time)
    runner.args.loops = task.loops or loops
    counts: list[int] = []
    before = probe()
    with contextlib.redirect_stdout(io.StringIO()):
        benchmark = runner.bench_time_func(row.name, undisturbed(timed.run, counts), inner_loops=timed.inner)
    own = {"retaken_values": sum(counts), "probe_seconds": max(before, probe())}
    # pyperf takes ASLR from the system's setting, which setarch -R overrides.
    benchmark.update_metadata(own | {"aslr": aslr.recorded(System())})
    return benchmark


def _inject(words: Sequence[str], rows: dict[str, Row]) -> dict[str, str]:
    """Known slowdowns, for the test of localisation alone; returns what the results must say of them."""
    from derive_bench.measure.injection import InjectionError, inject, parse

    try:
        applied = inject([parse(word) for word in words], rows)
    except InjectionError as error:
        raise SelectionError(str(error)) from error
    return {"injected": " ".join(f"{one.target}={one.real_ns:.1f}ns" for one in applied)}


def main() -> int:
    """Measure the rows named on the command line; see the module's text."""
    with contextlib.ExitStack() as stack:
        # Whatever a row or a library prints goes to standard error: standard output carries the result alone.
        output: TextIO = stack.enter_context(os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8"))
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        runner = pyperf.Runner(program_args=("-m", "derive_bench.measure.worker"))
        runner.argparser.add_argument("--suite-file", required=True)
        runner.argparser.add_argument("--benches", type=Path)
        runner.argparser.add_argument("--protocol", required=True)
        runner.argparser.add_argument("--data", type=Path)
        runner.argparser.add_argument("--row", action="append", required=True)
        runner.argparser.add_argument("--inject", action="append", default=[], help=argparse.SUPPRESS)
        args = runner.parse_args()
        try:
            tasks = [Task(**json.loads(text)) for text in args.row]
            rows = {row.name: row for row in load_suite(args.suite_file, args.benches)}
            for task in tasks:
                if task.row not in rows or rows[task.row].fingerprint != task.fingerprint:
                    raise SelectionError(f"row {task.row!r} is not the one asked for: was benches/ edited during the run?")
            injected = _inject(args.inject, rows) if args.inject else {}
            inputs = SharedInputs(args.protocol, args.data)
            benchmarks = []
            for task in tasks:
                try:
                    benchmarks.append(measure(runner, rows[task.row], task, inputs))
                    benchmarks[-1].update_metadata(injected)
                except Exception as error:
                    error.add_note(f"in row {task.row}")
                    raise
        except (SelectionError, RowError, DataError, OSError) as error:
            print(error, file=sys.stderr)
            return 2
        pyperf.BenchmarkSuite(benchmarks).dump(output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
