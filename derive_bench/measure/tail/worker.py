"""The tail worker: measures one row call by call in one mode of the cyclic collector and writes JSON to standard output.

``python -m derive_bench.measure.tail.worker --suite-file data --protocol v3 --row NAME FINGERPRINT --mode on --calls 10000``

Modes: ``on`` as Python starts, ``off``, and ``frozen``: on, but what was built beforehand is out of its sight. Worker ``on`` also
measures the bursts and, last, the memory. Everything is a distribution already, so that what is handed on is small.

Exit codes: 0 done, 2 refused (one line on standard error).
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import sys
import time
import tracemalloc
from pathlib import Path
from statistics import median
from typing import Any

from derive_bench.measure.catalogue import SelectionError, load_suite
from derive_bench.measure.inputs import DataError, SharedInputs
from derive_bench.measure.rows import Row, RowError
from derive_bench.measure.tail import figures

__all__ = ["BURSTS", "BURST_CALLS", "MODES", "PAUSE_MS", "main", "measure"]

MODES = ("on", "off", "frozen")

WARM_UP_CALLS = 1_000
BURSTS, BURST_CALLS, PAUSE_MS = 5, 1_000, 50
MEMORY_CALLS = 200

CACHE_BYTES = 64 << 20
"""What is written during a pause, to drive the row's data and code from the caches."""


def measure(row: Row, inputs: SharedInputs, mode: str, calls: int) -> dict[str, Any]:
    """One row in one mode: its distribution, that of an empty statement, and in mode ``on`` bursts and memory."""
    try:
        namespace = row.namespace(inputs)
    except ModuleNotFoundError as error:
        raise RowError(f"row {row.name} needs {error.name}, which is not installed") from error
    clock = time.perf_counter_ns
    run = row.compile_calls(namespace, clock)
    timer = figures.distribution(_nothing().compile_calls({}, clock)(calls))
    run(WARM_UP_CALLS)
    gc.collect()
    if mode == "off":
        gc.disable()
    elif mode == "frozen":
        gc.freeze()
    before, preempted = _collections(), _preempted()
    found: dict[str, Any] = figures.distribution(run(calls))
    preempted = _preempted() - preempted
    collections = [after - earlier for after, earlier in zip(_collections(), before, strict=True)]
    result: dict[str, Any] = {"timer": timer, "collector": found | {"calls": calls, "collections": collections, "preempted": preempted}}
    if mode == "on":
        result["burst"] = figures.burst([_after_pause(run) for _ in range(BURSTS)])
        result["peak_bytes"] = peak_bytes(row, namespace)
    return result


def peak_bytes(row: Row, namespace: dict[str, Any]) -> int:
    """Most bytes alive at once during a call beyond those before it, as tracemalloc sees them: the median of some calls."""
    tracemalloc.start()
    try:
        meter = _Memory()
        own = median(_nothing().compile_calls({}, meter.read)(MEMORY_CALLS))
        peak = median(row.compile_calls(namespace, meter.read)(MEMORY_CALLS))
        # A reading's own bytes are gone before the statement begins; they show only where it takes less.
        return round(peak) if peak > own else 0
    finally:
        tracemalloc.stop()


class _Memory:
    """Reads, by twos, the bytes alive and the most that there were since."""

    def __init__(self) -> None:
        self._began = False

    def read(self) -> int:
        self._began = not self._began
        if self._began:
            tracemalloc.reset_peak()
            return tracemalloc.get_traced_memory()[0]
        return tracemalloc.get_traced_memory()[1]


def _nothing() -> Row:
    """A row whose statement does nothing."""
    return Row("timer/nothing", "pass", lambda _: {}, "nothing", "timer")


def _after_pause(run: Any) -> list[int]:
    """A burst after the process has slept and the caches hold something else."""
    bytearray(CACHE_BYTES)[::64] = b"x" * (CACHE_BYTES // 64)
    time.sleep(PAUSE_MS / 1_000)
    return list(run(BURST_CALLS))


def _collections() -> list[int]:
    return [generation["collections"] for generation in gc.get_stats()]


def _preempted() -> int:
    """How often the kernel has given the CPU to another so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def main() -> int:
    """Measure the row named on the command line; see the module's text."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--suite-file", required=True)
    parser.add_argument("--benches", type=Path)
    parser.add_argument("--protocol", required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--row", nargs=2, required=True, metavar=("NAME", "FINGERPRINT"))
    parser.add_argument("--mode", choices=MODES, required=True)
    parser.add_argument("--calls", type=int, required=True)
    args = parser.parse_args()
    # Whatever a row or a library prints goes to standard error: standard output carries the result alone.
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as output:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        name, fingerprint = args.row
        try:
            row = load_suite(args.suite_file, args.benches).rows.get(name)
            if row is None or row.fingerprint != fingerprint:
                raise SelectionError(f"row {name!r} is not the one asked for: was benches/ edited during the run?")
            found = measure(row, SharedInputs(args.protocol, args.data), args.mode, args.calls)
        except (SelectionError, RowError, DataError, OSError) as error:
            print(error, file=sys.stderr)
            return 2
        json.dump(found, output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
