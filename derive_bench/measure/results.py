"""Results: a finished run as plain values, and its pyperf JSON file.

The file is pyperf's own format, one benchmark per row, in seconds. Each benchmark's metadata repeats what a reader needs to judge
it without the code: suite, description, statement, parts (names separated by blanks) and control, besides what
:mod:`environment` says about the run, and the reference's figure where that comes from this machine. :class:`Results` reads such
a file, or benchmarks in memory, into :class:`Result` rows.

What does not fit pyperf's format stands in a second file beside it, ``NAME.details.json``, with a schema version.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyperf

from derive_bench.measure.checks.verdict import marks
from derive_bench.measure.environment import Metadata, complete
from derive_bench.measure.reference import Figure
from derive_bench.measure.rows import Row

__all__ = [
    "OutputError",
    "Result",
    "ResultError",
    "Results",
    "check_output",
    "details_path",
    "label",
    "save",
    "save_details",
    "save_document",
]


REFERENCE_KEYS = ("reference_median_sec", "reference_low_sec", "reference_high_sec")
"""Metadata of a row whose reference was measured on this machine: its median and confidence interval."""


class OutputError(Exception):
    """The output file cannot be written; the message says why and what to do."""


class ResultError(Exception):
    """A result file cannot be read as one of ours; the message says why."""


@dataclass(frozen=True, slots=True)
class Result:
    """One row's figures, in seconds.

    Attributes:
        mad: median absolute deviation of the values from their median.
        values, processes: how many values, from how many worker processes.
        reference: what the reference's benches took on this machine, if they ran here.
    """

    name: str
    suite: str
    summary: str
    median: float
    mad: float
    values: int
    processes: int
    parts: tuple[str, ...] = ()
    control: str | None = None
    reference: Figure | None = None

    @property
    def group(self) -> str:
        """The part of the name before the slash."""
        return self.name.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Results:
    """The rows of a run, in the run's order, and the metadata that all of them share."""

    metadata: Mapping[str, str | int | float]
    rows: Mapping[str, Result]

    @classmethod
    def of(cls, benchmarks: Iterable[pyperf.Benchmark]) -> Results:
        """The results of benchmarks that carry our metadata.

        Raises:
            ResultError: there are none, or they are of another origin.
        """
        suite = pyperf.BenchmarkSuite(list(benchmarks))
        rows = {benchmark.get_name(): _result(benchmark) for benchmark in suite}
        return cls(suite.get_metadata(), rows)

    @classmethod
    def load(cls, path: Path) -> Results:
        """The results in a pyperf JSON file.

        Raises:
            ResultError: no such file, not pyperf's format, or not written by this project.
        """
        try:
            return cls.of(pyperf.BenchmarkSuite.load(str(path)))
        except OSError as error:
            raise ResultError(f"{path}: cannot be read: {error.strerror or error}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise ResultError(f"{path}: not a pyperf result file: {error}") from None

    @property
    def marks(self) -> tuple[str, ...]:
        """Findings on the environment in spite of which the run was published; its numbers are shown with a mark."""
        return marks(self.metadata)

    def total(self, names: Iterable[str]) -> float | None:
        """Sum of the medians of some rows, or None if one was not measured."""
        seconds = 0.0
        for name in names:
            if name not in self.rows:
                return None
            seconds += self.rows[name].median
        return seconds


def _result(benchmark: pyperf.Benchmark) -> Result:
    metadata = benchmark.get_metadata()
    name = benchmark.get_name()
    if "suite" not in metadata:
        raise ResultError(f"{name}: was not measured by derive_bench: its metadata names no suite")
    control = metadata.get("control")
    return Result(
        name=name,
        suite=str(metadata["suite"]),
        summary=str(metadata.get("description", "")),
        median=benchmark.median(),
        mad=benchmark.median_abs_dev() if benchmark.get_nvalue() > 1 else 0.0,
        values=benchmark.get_nvalue(),
        processes=benchmark.get_nrun(),
        parts=tuple(str(metadata.get("parts", "")).split()),
        control=None if control is None else str(control),
        reference=Figure(*(float(metadata[key]) for key in REFERENCE_KEYS)) if REFERENCE_KEYS[0] in metadata else None,
    )


def label(
    rows: Sequence[Row], benchmarks: Mapping[str, pyperf.Benchmark], run: Metadata, here: Mapping[str, Figure]
) -> list[pyperf.Benchmark]:
    """The benchmarks of a session in row order, with the metadata of the run and of each row added.

    Args:
        here: the reference's figures from this machine, by row.
    """
    labelled = []
    for row in rows:
        benchmark = benchmarks.get(row.name)
        if benchmark is None:
            continue
        own: Metadata = {"suite": row.suite, "description": row.summary, "statement": "; ".join(row.statement.splitlines())}
        if row.parts:
            own["parts"] = " ".join(row.parts)
        if row.control:
            own["control"] = row.control
        if figure := here.get(row.name):
            own |= reference_metadata(figure)
        benchmark.update_metadata(complete(run | own, benchmark.get_metadata()))
        labelled.append(benchmark)
    return labelled


def reference_metadata(figure: Figure) -> Metadata:
    """How a figure of the reference from this machine stands in a benchmark's metadata."""
    return dict(zip(REFERENCE_KEYS, (figure.median, figure.low, figure.high), strict=True))


def check_output(path: Path) -> None:
    """See to it, before anything is measured, that ``path`` can be written.

    Raises:
        OutputError: it exists (as pyperf does, nothing is overwritten), or its folder is missing or not writable.
    """
    if path.exists():
        raise OutputError(f"{path}: exists already, and a result is never overwritten; remove it or name another file")
    temporary = _temporary(path)
    try:
        temporary.touch(exist_ok=False)
        temporary.unlink()
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None


def save(benchmarks: Sequence[pyperf.Benchmark], path: Path) -> None:
    """Write a pyperf file under a temporary name and rename it.

    Raises:
        OutputError
    """
    temporary = _temporary(path)
    try:
        pyperf.BenchmarkSuite(list(benchmarks)).dump(str(temporary), replace=True)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None


def details_path(path: Path) -> Path:
    """Where the details of a result lie: ``run.details.json`` beside ``run.json``."""
    return path.with_name(f"{path.name.removesuffix('.gz').removesuffix('.json')}.details.json")


def save_details(document: Mapping[str, Any], path: Path) -> None:
    """Write the details of the result ``path`` beside it, under a temporary name and renamed.

    Raises:
        OutputError
    """
    save_document(document, details_path(path))


def save_document(document: Mapping[str, Any], path: Path) -> None:
    """Write a JSON document, under a temporary name and renamed.

    Raises:
        OutputError
    """
    temporary = _temporary(path)
    try:
        temporary.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None


def _temporary(path: Path) -> Path:
    # The ending stays, since pyperf compresses what ends with .gz.
    return path.with_name(f".{os.getpid()}-{path.name}")
