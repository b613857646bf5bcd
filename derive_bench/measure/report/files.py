"""What a report is made of: results, counts, comparisons with other libraries, tails and replays, told apart by their content."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyperf

from derive_bench.measure import count
from derive_bench.measure.peers import report as peers
from derive_bench.measure.reference import read_criterion
from derive_bench.measure.report.replays import REPLAY_PREFIX, Replay, read_replay
from derive_bench.measure.results import ResultError, Results

__all__ = ["Counts", "Material", "Run", "Tail", "load"]

TAIL_SCHEMA, TAIL_VERSION = "derive_bench.tail", 1
TAIL_FIGURES = {"p50_ns", "p99_ns", "p999_ns", "max_ns", "calls"}

COMPARABLE = ("protocol", "hostname", "cpu_model_name", "python", "aslr", "profile", "data_hash", "hash_seed")
"""What runs must have in common if their history is to say something of the code."""


@dataclass(frozen=True, slots=True)
class Run:
    """One result with times.

    Attributes:
        date: of its first value, ISO 8601 as pyperf has it, to the minute.
        values: all values of a row, in seconds, by row.
    """

    source: str
    date: str
    results: Results
    values: Mapping[str, tuple[float, ...]]

    @property
    def label(self) -> str:
        """Date and short commit, for an axis."""
        dirty = "+" if self.results.metadata.get("dirty") == "yes" else ""
        return f"{self.date} {str(self.results.metadata.get('commit', ''))[:7]}{dirty}".strip()


@dataclass(frozen=True, slots=True)
class Counts:
    """One result with instructions."""

    source: str
    benchmarks: tuple[pyperf.Benchmark, ...]


@dataclass(frozen=True, slots=True)
class Tail:
    """One document of ``tail``."""

    source: str
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Material:
    """All that was given: runs by date, the others as given."""

    runs: tuple[Run, ...]
    counts: tuple[Counts, ...]
    peers: tuple[Mapping[str, Any], ...]
    tails: tuple[Tail, ...]
    replays: tuple[Replay, ...] = ()

    @property
    def latest(self) -> Run | None:
        """The run that all sections but the history show."""
        return self.runs[-1] if self.runs else None

    def differing(self) -> dict[str, list[str]]:
        """What the runs do not have in common and should: key -> its values in the order of the runs."""
        found = {}
        for key in COMPARABLE:
            values = [str(run.results.metadata.get(key, "unknown")) for run in self.runs]
            if len(set(values)) > 1:
                found[key] = values
        return found


def load(paths: Sequence[Path], criterion: Path | None = None) -> Material:
    """Read the files.

    Args:
        criterion: result tree of the reference on this machine, whose figures take the place of those in the last run.

    Raises:
        ResultError: a file cannot be read or is of no kind that a report shows.
        ReferenceUnreadable
    """
    names = Counter(path.name for path in paths)
    read = [_load(path, path.name if names[path.name] == 1 else str(path)) for path in paths]
    runs = sorted((each for each in read if isinstance(each, Run)), key=lambda run: run.date)
    if criterion and runs:
        runs[-1] = _with_reference(runs[-1], criterion)
    return Material(
        tuple(runs),
        tuple(each for each in read if isinstance(each, Counts)),
        tuple(each for each in read if isinstance(each, dict)),
        tuple(each for each in read if isinstance(each, Tail)),
        tuple(each for each in read if isinstance(each, Replay)),
    )


def _load(path: Path, source: str) -> Run | Counts | Tail | Replay | dict[str, Any]:
    document = _json(path)
    if str(document.get("schema")).startswith(REPLAY_PREFIX):
        return read_replay(path, source, document)
    if document.get("schema") == TAIL_SCHEMA:
        return _tail(path, document)
    if document.get("kind") == peers.KIND:
        return peers.load_details(path.with_name(path.name.replace(".details.json", ".json")))
    try:
        benchmarks = pyperf.BenchmarkSuite.load(str(path)).get_benchmarks()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ResultError(
            f"{path}: not a result of derive_bench, nor details of peers, nor of tail or replay: {error or type(error).__name__}"
        ) from None
    try:
        results = Results.of(benchmarks)
    except ResultError as error:
        raise ResultError(f"{path}: {error}; give a file that `python -m derive_bench … -o` has written") from None
    if results.metadata.get("suite") == peers.KIND:
        return peers.load_details(path)
    if benchmarks[0].get_unit() == count.UNIT:
        return Counts(path.name, tuple(benchmarks))
    dates = [dates[0] for benchmark in benchmarks if (dates := benchmark.get_dates())]
    date = min(dates).strftime("%Y-%m-%d %H:%M") if dates else "no date"
    return Run(path.name, date, results, {each.get_name(): each.get_values() for each in benchmarks})


def _json(path: Path) -> dict[str, Any]:
    try:
        content = path.read_bytes()
        document = json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
    except (OSError, EOFError) as error:
        raise ResultError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except ValueError as error:
        raise ResultError(f"{path}: not JSON, or cut off: {error}") from None
    if not isinstance(document, dict):
        raise ResultError(f"{path}: not a result: holds a {type(document).__name__}, not an object")
    return document


def _tail(path: Path, document: dict[str, Any]) -> Tail:
    if document.get("schema_version") != TAIL_VERSION:
        raise ResultError(f"{path}: tails of schema version {document.get('schema_version')}; this report reads {TAIL_VERSION}")
    if not isinstance(document.get("rows"), dict) or not document["rows"]:
        raise ResultError(f"{path}: tails without rows")
    for name, row in document["rows"].items():
        figures = row.get("collector") if isinstance(row, dict) else None
        if not isinstance(figures, dict) or not all(isinstance(each, dict) and each.keys() >= TAIL_FIGURES for each in figures.values()):
            raise ResultError(f"{path}: tails of {name} without {', '.join(sorted(TAIL_FIGURES))} for each mode of the collector")
    return Tail(path.name, document)


def _with_reference(run: Run, criterion: Path) -> Run:
    here = read_criterion(criterion, list(run.results.rows))
    rows = {name: replace(row, reference=here.get(name, row.reference)) for name, row in run.results.rows.items()}
    return replace(run, results=replace(run.results, rows=rows))
