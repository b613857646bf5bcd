"""The baseline: one run's figures kept in the repository, for people in BENCHMARKS.md and for programs in benches/baseline.json.

BENCHMARKS.md is prose around generated stretches, which alone are rewritten: the baseline between :data:`BEGIN` and :data:`END`, and
the comparison with other libraries between :data:`PEERS_BEGIN` and :data:`PEERS_END`, which a result of ``peers`` replaces,
what became of known slowdowns between :data:`SELFTEST_BEGIN` and :data:`SELFTEST_END`, which one of ``selftest`` does, and what a
process boundary costs between :data:`BOUNDARY_BEGIN` and :data:`BOUNDARY_END`, which one of ``boundary`` does.
benches/baseline.json is what it is generated from (schema version :data:`SCHEMA`)::

    {"schema": 1, "run": {metadata}, "waived": [name, …], "previous": {"date": …, "commit": …, "differs": [key, …]} | null,
     "rows": {name: {"median": s, "mad": s, "values": n, "processes": n, "suite": …, "summary": …, "parts": […],
                     "control": name | null, "reference": [s, low, high] | null, "previous": s | null}}}

A run is taken only if it is whole (all rows of the four suites, not interrupted), from a clean tree, of a profile that is made for
keeping, of the live protocol and on the inputs of the project; each of the five can be waived by name, and the waiver is then shown
above the tables.

A change since the previous baseline is the ratio of two medians, taken at two times. How far the control rows moved, which hold none of
our code, is told with it, and so is what else is not the same: then the changes say little of the code.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pyperf

from derive_bench.measure.checks.verdict import ALLOWED, FAILED, MARK, MEANWHILE, SUMMARY, UNKNOWN, WARNED, marks
from derive_bench.measure.peers import report
from derive_bench.measure.reference import Figure
from derive_bench.measure.results import Result, ResultError, Results
from derive_bench.measure.selftest import figures
from derive_bench.measure.tables import Column, Table, depth_table, group_tables, notes, share_table

__all__ = [
    "BEGIN",
    "BOUNDARY_BEGIN",
    "BOUNDARY_END",
    "END",
    "PEERS_BEGIN",
    "PEERS_END",
    "SELFTEST_BEGIN",
    "SELFTEST_END",
    "WAIVERS",
    "BaselineError",
    "objections",
    "stale",
    "update",
    "update_boundary",
]

BEGIN = "<!-- baseline: begin (written by `python -m derive_bench baseline`; edits in here are lost) -->"
END = "<!-- baseline: end -->"
PEERS_BEGIN = "<!-- peers: begin (written by `python -m derive_bench baseline PEERS.json`; edits in here are lost) -->"
PEERS_END = "<!-- peers: end -->"
SELFTEST_BEGIN = "<!-- selftest: begin (written by `python -m derive_bench baseline SELFTEST.json`; edits in here are lost) -->"
SELFTEST_END = "<!-- selftest: end -->"
BOUNDARY_BEGIN = "<!-- boundary: begin (written by `python -m derive_bench baseline BOUNDARY.json`; edits in here are lost) -->"
BOUNDARY_END = "<!-- boundary: end -->"

PAGE = "BENCHMARKS.md"

SCHEMA = 1

WAIVERS = ("dirty", "partial", "profile", "protocol", "data")
"""Names of the objections that ``--allow`` waives."""

KEPT_PROFILES = ("standard", "rigorous", "publish")

KEPT_PROTOCOL = "v3"

_RUN_KEYS = (
    *("protocol", "profile", "rows_per_process", "derive_bench_version", "commit", "dirty", "data_hash", "python", "hash_seed"),
    *("platform", "cpu_model_name", "cpu_count", "governor", "aslr", "affinity", "load_before"),
)

_NEWER_KEYS = ("warmup_pass", SUMMARY, FAILED, UNKNOWN, WARNED, ALLOWED, MEANWHILE)
"""What results of older versions do not say."""

_COMPARABLE = ("data_hash", "python", "platform", "cpu_model_name", "cpu_count", "governor", "aslr", "profile", "hash_seed")
"""What must be the same, besides the libraries, if a change is to say something of the code."""

NOTEWORTHY = 0.1
"""A change by more than this, beyond that of the controls, is counted."""


class BaselineError(Exception):
    """The baseline cannot be written or read; the message says why."""


def objections(results: Results, expected: Collection[str], data_hash: str) -> dict[str, str]:
    """Why a run should not become the baseline: name of the waiver -> reason in words.

    Args:
        expected: names of all rows of the default suites.
        data_hash: of the project's inputs of the live protocol.
    """
    metadata, found = results.metadata, {}
    if metadata.get("dirty") != "no":
        found["dirty"] = "it was measured on a tree with uncommitted changes, or on none"
    missing = sorted(set(expected) - set(results.rows))
    if metadata.get("complete") != "yes":
        found["partial"] = f"it was {metadata.get('complete', 'not finished')}"
    elif missing:
        found["partial"] = f"it lacks {len(missing)} rows, {missing[0]} among them"
    if metadata.get("profile") not in KEPT_PROFILES:
        found["profile"] = f"its profile is {metadata.get('profile')}, not {', '.join(KEPT_PROFILES[:-1])} or {KEPT_PROFILES[-1]}"
    if metadata.get("protocol") != KEPT_PROTOCOL:
        found["protocol"] = f"its protocol is {metadata.get('protocol')}, not {KEPT_PROTOCOL}"
    elif metadata.get("data_hash") != data_hash:
        found["data"] = "it was measured on other inputs than those of the project"
    return found


def update(run: Path, root: Path, expected: Collection[str], allowed: Collection[str], *, data_hash: str) -> tuple[str, list[str]]:
    """Make a run the baseline of the checkout at ``root``; returns what holds it now, and the objections that were waived.

    Raises:
        BaselineError: an objection that is not waived, or files that are not as they should be. Nothing is written then.
        ResultError: the run cannot be read.
    """
    if (trials := figures.load(run)) is not None:
        page = _read_page(root, [(SELFTEST_BEGIN, SELFTEST_END)])
        _write(_page_path(root), _splice(page, render_selftest(trials), SELFTEST_BEGIN, SELFTEST_END))
        return PAGE, []
    results = Results.load(run)
    peers = results.metadata.get("suite") == report.KIND
    reasons = objections(results, () if peers else expected, data_hash)
    _refuse(run, reasons, allowed)
    page = _read_page(root)
    if peers:
        stretch = render_peers(report.load_details(run), _date(run), sorted(reasons))
        _write(_page_path(root), _splice(page, stretch, PEERS_BEGIN, PEERS_END))
        return PAGE, sorted(reasons)
    previous = _read_copy(root) if _copy_path(root).exists() else None
    document = _document(results, _date(run), sorted(reasons), previous)
    text = _splice(page, render(document), BEGIN, END)
    _write(_copy_path(root), json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    _write(_page_path(root), text)
    return f"{PAGE} and benches/baseline.json", sorted(reasons)


def update_boundary(
    run: Path, root: Path, tables: Sequence[Table], sentences: Sequence[str], allowed: Collection[str]
) -> tuple[str, list[str]]:
    """Put the tables of a run of ``boundary`` into the page; as `update`, and raises as it does."""
    results = Results.load(run)
    own_inputs = ("protocol", "data")
    reasons = {name: reason for name, reason in objections(results, (), "").items() if name not in own_inputs}
    _refuse(run, reasons, allowed)
    page = _read_page(root, [(BOUNDARY_BEGIN, BOUNDARY_END)])
    summary = _summary({"run": {**results.metadata, "date": _date(run)}, "waived": sorted(reasons), "previous": None})
    blocks = [BOUNDARY_BEGIN, "", summary, "", *(line for table in tables for line in (table.markdown(), ""))]
    _write(_page_path(root), _splice(page, "\n".join([*blocks, _listed(sentences), "", BOUNDARY_END]), BOUNDARY_BEGIN, BOUNDARY_END))
    return PAGE, sorted(reasons)


def stale(root: Path, expected: Iterable[str]) -> list[str]:
    """How the kept baseline differs from the rows there are now, and the page from its copy; empty if it does not.

    Raises:
        BaselineError: there is no baseline.
    """
    document = _read_copy(root)
    kept, now = set(document["rows"]), set(expected)
    found = [f"added since: {name}" for name in sorted(now - kept)]
    found += [f"removed or renamed since: {name}" for name in sorted(kept - now)]
    page = _read_page(root)
    if _splice(page, render(document), BEGIN, END) != page:
        found.append("the tables of BENCHMARKS.md are not those of benches/baseline.json")
    return found


def render(document: dict[str, Any]) -> str:
    """The generated stretch, markers included."""
    rows = {name: _result(name, values) for name, values in document["rows"].items()}
    results = Results(document["run"], rows)
    before = {name: values["previous"] for name, values in document["rows"].items()}

    def change(row: Result) -> str:
        then = before[row.name]
        return f"{row.median / then - 1:+.1%}" if then else ""

    further = [Column("change", change)] if document["previous"] else []
    blocks = [BEGIN, "", _summary(document), ""]
    for table in group_tables(results, further):
        # A page is narrower than a terminal, and a rate is no more than the median again.
        blocks += [table.without("per second").markdown(), ""]
    blocks += [line for table in (share_table(results), depth_table(results)) if table for line in (table.markdown(), "")]
    return "\n".join([*blocks, _listed(notes(results)), "", END])


def render_peers(details: dict[str, Any], date: str, waived: Sequence[str]) -> str:
    """The generated stretch on other libraries, markers included."""
    summary = _summary({"run": details["run"] | {"date": date}, "waived": waived, "previous": None})
    blocks = [PEERS_BEGIN, "", summary, ""]
    for table in report.peer_tables(details):
        blocks += [table.markdown(), ""]
    return "\n".join([*blocks, _listed(report.peer_notes(details)), "", PEERS_END])


def render_selftest(trials: Mapping[str, Any]) -> str:
    """The generated stretch on known slowdowns, markers included."""
    summary = _summary({"run": trials["run"], "waived": [], "previous": None})
    took = f"{len(trials['trials'])} trials in {trials['run']['seconds'] / 60:.0f} minutes."
    blocks = [SELFTEST_BEGIN, "", summary, "", took, "", figures.table(trials).markdown(), ""]
    return "\n".join([*blocks, _listed(figures.notes(trials)), "", SELFTEST_END])


def _refuse(run: Path, reasons: Mapping[str, str], allowed: Collection[str]) -> None:
    for name, reason in reasons.items():
        if name not in allowed:
            raise BaselineError(f"{run} is no baseline: {reason}; --allow {name} takes it nevertheless")


def _listed(sentences: Iterable[str]) -> str:
    return "\n".join("- " + sentence.replace("*", r"\*") for sentence in sentences)


def _summary(document: dict[str, Any]) -> str:
    run = document["run"]
    libraries = ", ".join(f"{key.removeprefix('lib_')} {value}" for key, value in run.items() if key.startswith("lib_"))
    lines = [
        f"- measured {run['date']}, commit `{str(run['commit'])[:12]}`, protocol {run['protocol']}, profile {run['profile']}",
        f"- machine: {run['cpu_model_name']}, {run['cpu_count']} CPUs; governor {run['governor']}, ASLR: {run['aslr'].lower()}, "
        f"affinity {run['affinity']}, load before {run['load_before']}",
        f"- toolchain: {run['python']}; {libraries}; hash seed {run['hash_seed']}",
    ]
    if "rustc" in run:
        lines.append(f"- Rust: {run['rustc']}")
    if SUMMARY in run:
        lines.append(f"- environment: {run[SUMMARY]}")
    if marked := marks(run):
        lines.append(f"- **{MARK} published in spite of**: {', '.join(marked)}")
    if document["waived"]:
        lines.append(f"- **taken although**: {', '.join(document['waived'])}")
    if document["previous"]:
        lines += _since(document)
    return "\n".join(lines)


def _since(document: dict[str, Any]) -> list[str]:
    """What is to be known of the changes since the previous baseline."""
    previous = document["previous"]
    lines = [f"- previous baseline, since which *change* is told: {previous['date']}, commit `{str(previous['commit'])[:12]}`"]
    if differs := previous.get("differs"):
        lines.append(f"- **not the same as then**: {', '.join(differs)}; the changes are not those of the code alone")
    changes = {name: row["median"] / row["previous"] - 1 for name, row in document["rows"].items() if row["previous"]}
    if controls := [change for name, change in changes.items() if name.startswith("control/")]:
        drift = median(controls)
        lines.append(
            f"- control rows, which hold none of our code, moved by {drift:+.1%} ({min(controls):+.1%} to {max(controls):+.1%}): "
            f"so far did the machine drift"
        )
        own = {name: change for name, change in changes.items() if not name.startswith("control/")}
        moved = {name: (1 + change) / (1 + drift) - 1 for name, change in own.items()}
        slower = [name for name, change in moved.items() if change > NOTEWORTHY]
        faster = [name for name, change in moved.items() if change < -NOTEWORTHY]
        told = f"- beyond that, {len(slower)} of {len(own)} rows are more than {NOTEWORTHY:.0%} slower and {len(faster)} faster"
        if slower or faster:
            farthest = max(moved, key=lambda name: abs(moved[name]))
            told += f"; farthest moved `{farthest}`, by {moved[farthest]:+.1%}"
        lines.append(told)
    return lines


def _document(results: Results, date: str, waived: Sequence[str], previous: dict[str, Any] | None) -> dict[str, Any]:
    metadata = results.metadata
    run = {"date": date} | {key: metadata.get(key, "unknown") for key in _RUN_KEYS}
    run |= {key: value for key, value in metadata.items() if key.startswith("lib_") or key in _NEWER_KEYS}
    before = previous["rows"] if previous else {}
    rows = {
        row.name: {
            "suite": row.suite,
            "summary": row.summary,
            "median": _rounded(row.median),
            "mad": _rounded(row.mad),
            "values": row.values,
            "processes": row.processes,
            "parts": list(row.parts),
            "control": row.control,
            "reference": [figure.median, figure.low, figure.high] if (figure := row.reference) else None,
            "previous": before.get(row.name, {}).get("median"),
        }
        for row in results.rows.values()
    }
    then = {key: previous["run"][key] for key in ("date", "commit")} | {"differs": _differing(previous["run"], run)} if previous else None
    return {"schema": SCHEMA, "run": run, "waived": list(waived), "previous": then, "rows": rows}


def _differing(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Keys in which two runs are not the same; a key that one of them does not know is no difference."""
    keys = [*_COMPARABLE, *(key for key in now if key.startswith("lib_"))]
    pairs = {key: (then.get(key, "unknown"), now.get(key, "unknown")) for key in keys}
    return [key for key, (one, other) in pairs.items() if "unknown" not in (one, other) and one != other]


def _rounded(seconds: float) -> float:
    """Five significant digits: more than the spread bears out, and a diff that people can read."""
    return float(f"{seconds:.5g}")


def _result(name: str, values: dict[str, Any]) -> Result:
    return Result(
        name=name,
        suite=values["suite"],
        summary=values["summary"],
        median=values["median"],
        mad=values["mad"],
        values=values["values"],
        processes=values["processes"],
        parts=tuple(values["parts"]),
        control=values["control"],
        reference=Figure(*values["reference"]) if values.get("reference") else None,
    )


def _date(run: Path) -> str:
    dates = pyperf.BenchmarkSuite.load(str(run)).get_dates()
    if not dates:
        raise ResultError(f"{run}: says nowhere when it was measured")
    return f"{dates[0]:%Y-%m-%d}"


def _page_path(root: Path) -> Path:
    return root / PAGE


def _copy_path(root: Path) -> Path:
    return root / "benches" / "baseline.json"


def _read_page(root: Path, needed: Sequence[tuple[str, str]] = ((BEGIN, END), (PEERS_BEGIN, PEERS_END))) -> str:
    try:
        text = _page_path(root).read_text(encoding="utf-8")
    except OSError as error:
        raise BaselineError(f"{_page_path(root)}: cannot be read: {error.strerror}") from None
    for begin, end in needed:
        if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
            raise BaselineError(f"{_page_path(root)}: needs the two lines {begin} and {end}, once each and in this order")
    return text


def _splice(page: str, stretch: str, begin: str, end: str) -> str:
    return page[: page.index(begin)] + stretch + page[page.index(end) + len(end) :]


def _read_copy(root: Path) -> dict[str, Any]:
    path = _copy_path(root)
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise BaselineError(f"{path}: cannot be read: {error.strerror}; write it with: python -m derive_bench baseline RUN.json") from None
    except ValueError as error:
        raise BaselineError(f"{path}: not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise BaselineError(f"{path}: not a baseline of schema {SCHEMA}")
    return document


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise BaselineError(f"{path}: cannot be written: {error.strerror}") from None
