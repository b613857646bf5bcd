"""Loading: a result as rounds. A round is what one worker process measured of a row: its values, in seconds or instructions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyperf

from derive_bench.measure.results import ResultError, Results

__all__ = ["SESSION", "Measured", "Rounds", "load", "measured"]

SESSION = "interleaved"
"""Metadata of both results of an interleaved session, the same in both: round i of one was measured beside round i of the other."""

Rounds = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """A result with every value.

    Attributes:
        name: what it is called in a comparison.
        rounds: by row; statements: what each row times, in text.
    """

    name: str
    results: Results
    rounds: Mapping[str, Rounds]
    statements: Mapping[str, str]

    @property
    def unit(self) -> str:
        """``second`` or ``integer`` (instructions)."""
        return str(self.results.metadata.get("unit", "second"))


def measured(benchmarks: Iterable[pyperf.Benchmark], name: str) -> Measured:
    """Benchmarks in memory.

    Raises:
        ResultError: see :meth:`Results.of`; or a row has a run without values, or one that is not positive.
    """
    some = list(benchmarks)
    results = Results.of(some)
    rounds = {
        benchmark.get_name(): tuple(tuple(map(float, run.values)) for run in benchmark.get_runs() if run.values) for benchmark in some
    }
    for row, runs in rounds.items():
        if not runs or any(not 0 < value < float("inf") for values in runs for value in values):
            raise ResultError(f"{name}: {row}: a value is missing or not positive; measure it anew")
    statements = {benchmark.get_name(): str(benchmark.get_metadata().get("statement", "")) for benchmark in some}
    return Measured(name, results, rounds, statements)


def load(path: Path) -> Measured:
    """A pyperf file of ours.

    Raises:
        ResultError: see :meth:`Results.load` and :func:`measured`.
    """
    Results.load(path)
    return measured(pyperf.BenchmarkSuite.load(str(path)), path.name)
