"""The JSON file of tails, whose layout ``docs/tail.md`` describes, and its table on a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from time import get_clock_info
from typing import Any

from derive_bench.measure.environment import Metadata
from derive_bench.measure.results import OutputError
from derive_bench.measure.rows import Row
from derive_bench.measure.tables import Table, seconds_text
from derive_bench.measure.tail.worker import BURST_CALLS, BURSTS, MODES, PAUSE_MS

__all__ = ["SCHEMA", "SCHEMA_VERSION", "DocumentError", "load", "of", "save", "tables"]

SCHEMA, SCHEMA_VERSION = "derive_bench.tail", 1


class DocumentError(Exception):
    """A file is no file of tails that we can read; the message says why."""


def of(
    rows: Sequence[Row],
    found: Mapping[str, Mapping[str, Any]],
    metadata: Metadata,
    calls: int,
    allocations: Mapping[str, float],
    no_allocations: str | None,
) -> dict[str, Any]:
    """The document of some rows measured in all modes.

    Args:
        found: by row and mode, what the worker said.
        allocations: by row, per call; ``no_allocations`` says why there are none.
    """
    timers = [found[row.name][mode]["timer"] for row in rows for mode in MODES]
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "metadata": dict(metadata),
        "calls": calls,
        "timer": {
            "overhead_ns": median(timer["p50_ns"] for timer in timers),
            "overhead_p999_ns": median(timer["p999_ns"] for timer in timers),
            "resolution_ns": get_clock_info("perf_counter").resolution * 1e9,
        },
        "burst": {"calls": BURST_CALLS, "bursts": BURSTS, "pause_ms": PAUSE_MS},
        "rows": {
            row.name: {
                "suite": row.suite,
                "description": row.summary,
                "collector": {mode: found[row.name][mode]["collector"] for mode in MODES},
                "memory": {
                    "peak_bytes": found[row.name]["on"]["peak_bytes"],
                    "allocations": allocations.get(row.name),
                    "reason": None if row.name in allocations else no_allocations,
                },
                "burst": found[row.name]["on"]["burst"],
            }
            for row in rows
        },
    }


def save(document: Mapping[str, Any], path: Path) -> None:
    """Write a document under a temporary name and rename it.

    Raises:
        OutputError
    """
    temporary = path.with_name(f".{path.name}.part")
    try:
        temporary.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None


def load(path: Path) -> dict[str, Any]:
    """Read a document.

    Raises:
        DocumentError: it cannot be read, is not JSON, or of another schema or version.
    """
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise DocumentError(f"{path}: not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise DocumentError(f"{path}: not a file of tails; python -m derive_bench tail -o writes one")
    if document.get("schema_version") != SCHEMA_VERSION:
        raise DocumentError(f"{path}: version {document.get('schema_version')} of the layout; this release reads {SCHEMA_VERSION}")
    return document


def tables(document: Mapping[str, Any]) -> list[Table]:
    """One table for the modes of the collector, one for bursts and memory."""
    tails, bursts = [], []
    for name, row in document["rows"].items():
        for mode in MODES:
            one = row["collector"][mode]
            figures = (seconds_text(one[key] * 1e-9) for key in ("p50_ns", "p99_ns", "p999_ns", "max_ns"))
            tails.append([name if mode == MODES[0] else "", mode, *figures, "/".join(map(str, one["collections"])), str(one["preempted"])])
        burst, memory = row["burst"], row["memory"]
        figures = (seconds_text(burst[key] * 1e-9) for key in ("first_ns", "rest_p50_ns", "p99_ns", "max_ns"))
        allocated = "" if memory["allocations"] is None else f"{memory['allocations']:.1f}"
        bursts.append([name, *figures, str(burst["settled_after"]), f"{memory['peak_bytes']:,}", allocated])
    return [
        Table("call by call", ["row", "collector", "p50", "p99", "p99.9", "max", "collections", "preempted"], tails),
        Table(
            f"{BURST_CALLS:,} calls after a pause of {PAUSE_MS} ms, and memory",
            ["row", "first", "rest p50", "p99", "max", "settled after", "peak bytes", "allocations"],
            bursts,
        ),
    ]
