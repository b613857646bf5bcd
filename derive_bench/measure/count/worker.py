"""The counting worker: counts the rows it is given, one after the other, and writes JSON to ``result.json`` in its directory.

``valgrind --tool=callgrind … python -P -m derive_bench.measure.count.worker --suite-file data --protocol v3 --row NAME FINGERPRINT …``

A row's count is the difference of two loop counts, over their difference in calls: what one reading costs falls out. Before them come one
call that is not counted, one that says how much the row may be repeated, and a warm-up of as many loops as the larger count has. The
loop around an empty statement is taken off as when time is measured. The cyclic collector is off while a row is counted, and what was
built beforehand is frozen: how often it runs is a matter of what was allocated before.

With ``--rehearse`` it does the same without valgrind and its figures mean nothing: that finds errors in seconds and leaves compiled
modules behind, so that no counted process has to compile them.

Exit codes: 0 done, 2 refused (one line on standard error).
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter_ns

from derive_bench.measure.catalogue import SelectionError, load_suite
from derive_bench.measure.count.dumps import HEAD_BYTES, DumpError, instructions
from derive_bench.measure.count.heap import half_filled
from derive_bench.measure.inputs import DataError, SharedInputs
from derive_bench.measure.rows import Meter, Row, RowError

__all__ = ["RESULT", "Counted", "Plan", "count", "main", "plan"]

RESULT = "result.json"
"""Name of what a worker writes: by row, a :class:`Counted`."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How often a row runs: ``few`` and ``many`` loops of ``inner`` calls each."""

    inner: int
    few: int
    many: int

    @property
    def calls(self) -> int:
        """By how many calls the two counts differ."""
        return (self.many - self.few) * self.inner


_UNROLLED = ((30_000, Plan(50, 1, 17)), (4_000_000, Plan(10, 1, 17)))
_LOOPED = ((100_000, Plan(50, 1, 9)), (4_000_000, Plan(10, 1, 9)))
_DEAREST = Plan(1, 1, 5)


def plan(cost: float, *, unrolled: bool) -> Plan:
    """How often a row runs whose second call took ``cost`` instructions: never a matter of time, so that two runs do the same.

    The interpreter adapts a loop to what it does within some ten times around, and the copies of an unrolled statement are one time around.
    """
    return next((found for below, found in (_UNROLLED if unrolled else _LOOPED) if cost < below), _DEAREST)


@dataclass(frozen=True, slots=True)
class Counted:
    """What a worker says of a row.

    Attributes:
        instructions: per call.
        inner, few, many: the :class:`Plan`.
        few_dumps, many_dumps: numbers of the dumps that hold the two counts.
    """

    instructions: float
    inner: int
    few: int
    many: int
    few_dumps: list[int]
    many_dumps: list[int]


class Dumps:
    """Readings of callgrind's counter, by twos: the second of two is higher than the first by the instructions between them.

    Attributes:
        number: how many dumps there have been, which is the number of the last one.
    """

    def __init__(self) -> None:
        self.number = 0
        self._total = 0
        self._began = False

    def read(self) -> int:
        """Begin a stretch, or end one: have it dumped and add it up."""
        self._began = not self._began
        if self._began:
            total = self._total
            os.getpgrp()
            return total
        os.getppid()
        self.number += 1
        with Path(f"out.{self.number}").open(encoding="utf-8", errors="replace") as dump:
            head = dump.read(HEAD_BYTES)
            while "\nsummary:" not in head and (more := dump.read(HEAD_BYTES)):
                head += more
        self._total += instructions(head)
        return self._total

    def drop(self, first: int) -> None:
        """Remove dump ``first`` and those after it."""
        for number in range(first, self.number + 1):
            Path(f"out.{number}").unlink()


class Rehearsal(Dumps):
    """The same without valgrind: a nanosecond stands for an instruction, near enough to say how often a row may be repeated."""

    def read(self) -> int:
        """The time."""
        return perf_counter_ns()

    def drop(self, first: int) -> None:
        """Nothing to remove."""


def count(row: Row, inputs: SharedInputs, dumps: Dumps) -> Counted:
    """Count one row; the dumps that its count comes from are left behind."""
    try:
        namespace = row.namespace(inputs)
    except ModuleNotFoundError as error:
        raise RowError(f"row {row.name} needs {error.name}, which is not installed") from error
    meter = Meter(dumps.read, empty_passes=1, empty_calls=2)
    first = dumps.number + 1
    once = row.compile(namespace, 1, meter)
    once.run(1)
    chosen = plan(once.run(1), unrolled=row.each is None and row.fresh is None)
    timed = row.compile(namespace, chosen.inner, meter)
    gc.collect()
    gc.freeze()
    gc.disable()
    fill = half_filled()
    try:
        timed.run(chosen.many)
        dumps.drop(first)
        few, few_dumps = _numbered(timed.run, chosen.few, dumps)
        many, many_dumps = _numbered(timed.run, chosen.many, dumps)
    finally:
        fill.clear()
        gc.enable()
    return Counted((many - few) / chosen.calls, chosen.inner, chosen.few, chosen.many, few_dumps, many_dumps)


def _numbered(run: Callable[[int], float], loops: int, dumps: Dumps) -> tuple[float, list[int]]:
    """What ``loops`` loops cost, and the numbers of the dumps that hold it."""
    before = dumps.number
    cost = run(loops)
    return cost, list(range(before + 1, dumps.number + 1))


def main() -> int:
    """Count the rows named on the command line; see the module's text."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--suite-file", required=True)
    parser.add_argument("--benches", type=Path)
    parser.add_argument("--protocol", required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--row", action="append", nargs=2, required=True, metavar=("NAME", "FINGERPRINT"))
    parser.add_argument("--rehearse", action="store_true")
    args = parser.parse_args()
    # Whatever a row or a library prints goes to standard error.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        rows = {row.name: row for row in load_suite(args.suite_file, args.benches)}
        for name, fingerprint in args.row:
            if name not in rows or rows[name].fingerprint != fingerprint:
                raise SelectionError(f"row {name!r} is not the one asked for: was benches/ edited during the run?")
        inputs = SharedInputs(args.protocol, args.data)
        dumps = Rehearsal() if args.rehearse else Dumps()
        counted = {name: asdict(count(rows[name], inputs, dumps)) for name, _ in args.row}
        Path(RESULT).write_text(json.dumps(counted), encoding="utf-8")
    except FileNotFoundError as error:
        print(f"{error.filename}: no such file; a dump that is missing means that callgrind did not see a signal", file=sys.stderr)
        return 2
    except (SelectionError, RowError, DataError, DumpError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
