"""What ``boundary`` writes and prints: pyperf benchmarks, the details beside them, and the tables, made from the details alone.

The details (schema version :data:`SCHEMA`)::

    {"schema": 1, "kind": "boundary", "run": {metadata},
     "workload": {"bars", "combinations", "seed", "first_profit", "total_trades", "digest"},
     "rows": [{"name", "summary", "control", "times", "status": "timed|missing|wrong|failed|skipped", "reason",
               "calls", "median_ns", "mad_ns", "p50_ns", "p99_ns", "p999_ns", "max_ns", "compute_ns", "share", "size", "events",
               "instructions"}],
     "lines": {"TRANSPORT_PLACEMENT": {"floor_ns", "floor_error_ns", "ns_per_byte", "ns_per_byte_error", "worst"}}}

Times are of one call. ``times`` is how many of them make the whole job, where a call is a sample of it; ``compute_ns`` is what the
other side spent computing, ``share`` what the boundary took of the call, ``size`` the bytes on the wire, ``events`` how many events a
call is for, ``instructions`` what callgrind counts for a bar of one combination.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyperf

from derive_bench.boundary.breakeven import LIMIT, Advice, share
from derive_bench.boundary.echo import DOUBLES, Fit, fit
from derive_bench.boundary.gate import Fingerprint
from derive_bench.boundary.parts import IN_PROCESS, WAYS
from derive_bench.boundary.placing import PLACEMENTS
from derive_bench.boundary.session import Measured, Session
from derive_bench.boundary.workload import Workload
from derive_bench.measure.environment import Metadata
from derive_bench.measure.results import ResultError, details_path
from derive_bench.measure.tables import Table, rate_text, seconds_text

__all__ = ["KIND", "advice_table", "benchmarks", "details", "fit_lines", "lines_of", "load_details", "notes", "tables"]

SCHEMA = 1
KIND = "boundary"

Row = Mapping[str, Any]


def benchmarks(session: Session, run: Metadata) -> list[pyperf.Benchmark]:
    """What was timed, a run for each round."""
    now = datetime.now().isoformat(sep=" ")  # noqa: DTZ005 -- as pyperf has it
    made = []
    for found in session.measured.values():
        if found.trouble or not found.calls:
            continue
        own: Metadata = {"name": found.case.name, "suite": KIND, "description": found.case.summary, "date": now, "unit": "second"}
        if found.case.control and found.case.control != found.case.name:
            own["control"] = found.case.control
        runs = [pyperf.Run(values, metadata=run | own | {"loops": 1}, collect_metadata=False) for values in found.values]
        made.append(pyperf.Benchmark(runs))
    return made


def details(
    session: Session, run: Metadata, work: Workload, result: Fingerprint, instructions: Mapping[str, float], uncounted: str = ""
) -> dict[str, Any]:
    """The details of a session.

    Args:
        result: the fingerprint of the sweep in process.
        instructions: a bar and combination, by row, where they were counted.
        uncounted: why they were not counted everywhere.
    """
    return {
        "schema": SCHEMA,
        "kind": KIND,
        "run": dict(run),
        "workload": {"bars": work.bars, "combinations": work.combinations, "seed": work.seed, **asdict(result)},
        "rows": [_row(found) | {"instructions": instructions.get(name)} for name, found in session.measured.items()],
        "uncounted": uncounted,
        "lines": {name: asdict(line) for name, line in fit_lines(session).items()},
    }


def _row(found: Measured) -> dict[str, Any]:
    case = found.case
    told: dict[str, Any] = {"name": case.name, "summary": case.summary, "control": case.control, "times": case.times}
    if found.trouble:
        status = "wrong" if found.wrong else "failed" if found.trouble.startswith("failed") else "missing"
        return told | {"status": status, "reason": found.trouble}
    if not found.calls:
        return told | {"status": "skipped", "reason": "not measured before the end"}
    calls = np.concatenate(found.calls)
    middle = found.median_ns
    return told | {
        "status": "timed",
        "reason": "",
        "calls": len(calls),
        "median_ns": middle,
        "mad_ns": float(np.median(np.abs(calls - middle))),
        "p50_ns": found.percentile_ns(50),
        "p99_ns": found.percentile_ns(99),
        "p999_ns": found.percentile_ns(99.9),
        "max_ns": float(calls.max()),
        "compute_ns": found.compute_ns,
        "share": found.share,
        "size": found.size,
        "events": case.events,
    }


def fit_lines(session: Session) -> dict[str, Fit]:
    """A line through the echoes of each transport and placement that were measured at three sizes or more."""
    lines = {}
    for where in PLACEMENTS:
        for transport in WAYS:
            found = {count: session.measured.get(f"echo/{transport}_{where}_{count}") for count in DOUBLES}
            points = {8 * count: each.median_ns for count, each in found.items() if each is not None and each.calls}
            if len(points) >= 3:
                lines[f"{transport}_{where}"] = fit(points)
    return lines


def load_details(result: Path) -> dict[str, Any]:
    """The details beside a result of ``boundary``.

    Raises:
        ResultError: they are missing, or something else.
    """
    path = details_path(result)
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise ResultError(f"{path}: cannot be read: {error.strerror}; it was written beside {result.name}") from None
    except ValueError as error:
        raise ResultError(f"{path}: not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("kind") != KIND or document.get("schema") != SCHEMA:
        raise ResultError(f"{path}: not details of boundary of schema {SCHEMA}")
    return document


def lines_of(document: Mapping[str, Any]) -> dict[str, Fit]:
    """The echo lines of a run."""
    return {name: Fit(**line) for name, line in document["lines"].items()}


def tables(document: Mapping[str, Any]) -> list[Table]:
    """All tables that the run has figures for."""
    rows = {row["name"]: row for row in document["rows"]}
    groups: dict[str, list[Row]] = {}
    for row in document["rows"]:
        groups.setdefault(row["name"].partition("/")[0], []).append(row)
    made = []
    for group, members in groups.items():
        made += _TABLES[group](group, members, rows)
    lines = lines_of(document)
    if lines:
        made.append(_lines(lines))
        made.append(_break_even(document, rows, lines))
    return made


def _kernels(group: str, members: Sequence[Row], rows: Mapping[str, Row]) -> list[Table]:
    body = []
    for row in members:
        control = rows.get(row["control"] or "")
        counted = f"{row['instructions']:,.0f}" if row["instructions"] else ""
        if row["status"] != "timed":
            body.append([row["name"], _status(row), "", "", counted, row["summary"]])
            continue
        ratio = f"{row['median_ns'] / control['median_ns']:.2f}" if control and control["status"] == "timed" else ""
        body.append([row["name"], _ns(row["median_ns"]), _spread(row), ratio, counted, row["summary"]])
    return [Table(f"{group}: the whole sweep", ["row", "median", "±", "× numba", "instructions", "what it is"], body, remarks=1)]


def _architectures(group: str, members: Sequence[Row], rows: Mapping[str, Row]) -> list[Table]:
    plain = rows.get(IN_PROCESS, {"status": "missing"})
    body = []
    for row in members:
        if row["status"] != "timed":
            body.append([row["name"], _status(row), "", "", "", "", row["summary"]])
            continue
        whole = row["median_ns"] * row["times"]
        computing = "" if row["compute_ns"] is None else _ns(row["compute_ns"] * row["times"])
        taken = "" if row["share"] is None else f"{row['share']:.2%}"
        ratio = f"{whole / plain['median_ns']:.2f}" if plain["status"] == "timed" else ""
        sampled = " ~" if row["times"] > 1 else ""
        body.append([row["name"], _ns(whole) + sampled, _spread(row), computing, taken, ratio, row["summary"]])
    return [
        Table(f"{group}: the whole sweep", ["row", "whole", "±", "computing", "boundary", "× in process", "what it is"], body, remarks=1)
    ]


def _echoes(group: str, members: Sequence[Row], _: Mapping[str, Row]) -> list[Table]:
    body = []
    for row in members:
        if row["status"] != "timed":
            body.append([row["name"], _status(row), *[""] * 4])
            continue
        body.append([row["name"], *(_ns(row[key]) for key in ("p50_ns", "p99_ns", "p999_ns", "max_ns")), str(row["calls"])])
    return [Table(f"{group}: a round trip", ["row", "p50", "p99", "p99.9", "max", "calls"], body)]


def _codecs(group: str, members: Sequence[Row], rows: Mapping[str, Row]) -> list[Table]:
    """One table for each kind of value; encoding and decoding of a codec in one line."""
    made = []
    for kind in dict.fromkeys(row["name"].split("/")[1].partition("_")[0] for row in members):
        body = []
        names = dict.fromkeys(row["name"].rpartition("_")[0] for row in members if row["name"].startswith(f"{group}/{kind}_"))
        whole = _codec_total(f"{group}/{kind}_raw", rows)
        for name in names:
            pair = [rows.get(f"{name}_{what}") for what in ("encode", "decode")]
            total = _codec_total(name, rows)
            cells = [_ns(row["median_ns"]) if row and row["status"] == "timed" else _status(row) if row else "" for row in pair]
            first = next(row for row in pair if row)
            size = f"{first['size']:,}" if first.get("size") else ""
            body.append([name, *cells, size, f"{total / whole:.1f}" if total and whole else "", first["summary"]])
        made.append(Table(f"{group}: {kind}", ["codec", "encode", "decode", "bytes", "× raw", "the receiver holds"], body, remarks=1))
    return made


def _codec_total(name: str, rows: Mapping[str, Row]) -> float | None:
    pair = [rows.get(f"{name}_{what}") for what in ("encode", "decode")]
    times = [row["median_ns"] for row in pair if row is not None and row["status"] == "timed"]
    return sum(times) if len(times) == 2 else None


def _walls(group: str, members: Sequence[Row], rows: Mapping[str, Row]) -> list[Table]:
    body = []
    for row in members:
        if row["status"] != "timed":
            body.append([row["name"], _status(row), *[""] * 6])
            continue
        control, events = rows.get(row["control"] or ""), row["events"] or 1
        added = ""
        if control and control["status"] == "timed":
            extra = (row["median_ns"] - control["median_ns"]) / events
            added = f"-{_ns(-extra)}" if extra < 0 else _ns(extra)
        figures = [_ns(row[key]) for key in ("median_ns", "p99_ns", "p999_ns")]
        body.append(
            [row["name"], *figures, _ns(row["median_ns"] / events), added, rate_text(events * 1e9 / row["median_ns"]), row["summary"]]
        )
    headings = ["row", "p50", "p99", "p99.9", "an event", "added to one", "events a second", "what it is"]
    return [Table(f"{group}: Derive quotes and orders", headings, body, remarks=1)]


_TABLES = {"kernel": _kernels, "architecture": _architectures, "echo": _echoes, "codec": _codecs, "wall": _walls}


def _lines(lines: Mapping[str, Fit]) -> Table:
    body = [
        [
            name,
            _ns(line.floor_ns),
            _ns(line.floor_error_ns),
            f"{line.bandwidth / 1e9:.2f} GB/s",
            f"{line.ns_per_byte_error / line.ns_per_byte:.1%}",
            f"{line.worst:.0%}",
        ]
        for name, line in lines.items()
    ]
    return Table("echo: floor and bandwidth", ["transport", "floor", "±", "bandwidth", "±", "off by at most"], body)


def _break_even(document: Mapping[str, Any], rows: Mapping[str, Row], lines: Mapping[str, Fit]) -> Table:
    """Which granularity may cross: the boundary's share of a call, by what a call computes."""
    work = document["workload"]
    plain = rows.get(IN_PROCESS) or rows.get("kernel/numba") or {"status": "missing"}
    names = [name for name in lines if name.endswith("two_cores")] or list(lines)
    headings = ["a call carries", "computing", *(name.removesuffix("_two_cores") for name in names)]
    if plain["status"] != "timed":
        return Table("break-even (run the part architecture for the computing)", headings, [])
    whole = plain["median_ns"]
    bars, combinations = work["bars"], work["combinations"]
    # (what, ns of computing, bytes that cross beside the answer): bars and windows where they are sent along.
    grains = [
        ("one bar for one combination", whole / bars / combinations, 8.0),
        ("one bar for all combinations", whole / bars, 8.0),
        ("one combination, bars beforehand", whole / combinations, 48.0),
        ("one combination, bars sent along", whole / combinations, 8.0 * bars / 2),
        ("the whole sweep, bars sent along", whole, (8.0 * bars + 48 * combinations) / 2),
    ]
    body = [
        [name, _ns(compute), *(f"{share(compute / lines[line].round_trip_ns(size)):.2%}" for line in names)]
        for name, compute, size in grains
    ]
    return Table("break-even: the boundary's share of a call", headings, body)


def advice_table(found: Sequence[Advice]) -> Table:
    """What each transport would take of a call of one's own."""
    body = [
        [
            each.transport,
            _ns(each.overhead_ns),
            f"{each.ratio:.3g}",
            f"{each.share:.1%}",
            "yes" if each.worth_it else "no",
            str(each.calls_worth) if each.calls_worth > 0 else "none: the bytes alone are too dear",
        ]
        for each in found
    ]
    headings = ["transport", "a crossing", "G", "boundary", f"within {LIMIT:.0%}", "calls to put into one"]
    return Table("what a boundary would take of this call", headings, body)


def notes(document: Mapping[str, Any]) -> list[str]:
    """What a reader of the tables must know."""
    work = document["workload"]
    groups = {row["name"].partition("/")[0] for row in document["rows"]}
    lines = [
        f"The sweep: {work['combinations']} combinations over {work['bars']} bars, seed {work['seed']}; "
        f"in process: first profit {work['first_profit']:.6f}, trades {work['total_trades']}, digest {work['digest']}. "
        "Nothing is timed that does not give the same."
    ]
    if any(row["instructions"] for row in document["rows"]):
        lines.append("instructions: counted by callgrind, for a bar of one combination.")
    if document.get("uncounted"):
        lines.append(f"instructions not counted: {document['uncounted']}")
    if "architecture" in groups:
        lines.append(
            "computing: by the other side's own clock; boundary: what is left of the whole, as a share. "
            "~ sampled: one call of the job was timed, and multiplied by how many there are."
        )
    if "echo" in groups:
        lines.append(
            "one core: client and engine share a processor; two cores: each has its own. T(b) = floor + 2b / bandwidth, least squares "
            "over relative errors, ± standard errors."
        )
    if "wall" in groups:
        lines.append(
            "wall: a batch of quotes or one order; latency is from the frames at hand in the adapter's process to the quotes in this one, "
            "stream a batch when nobody asks for it; added: against the row without a wall."
        )
    told = [f"{row['name']}: {row['status'].upper()}: {row['reason']}" for row in document["rows"] if row["status"] != "timed"]
    return lines + told


def _spread(row: Row) -> str:
    """The median absolute deviation as a share of the median; a single call has none."""
    return f"{row['mad_ns'] / row['median_ns']:.1%}" if row["calls"] > 1 else ""


def _status(row: Row) -> str:
    return str(row["status"]).upper()


def _ns(value: float) -> str:
    return seconds_text(value / 1e9)
