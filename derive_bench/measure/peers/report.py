"""The report: pyperf benchmarks, the details beside them, and the tables, which are made from the details alone.

A benchmark is called ``STAGE@CONTENDER``. The details (schema version :data:`SCHEMA`)::

    {"schema": 1, "kind": "peers", "run": {metadata},
     "contenders": [{"name", "version", "dialect", "about", "status": "measured|missing|broken", "reason", "versions", "python"}],
     "stages": [{"name", "summary", "reference": {"row", "seconds", "low", "high", "here"} | null,
                 "results": {contender: {"status": "timed|differs|broken|missing|lacking", "reason", "undone",
                                         "median", "mad", "values", "ratio", "ratio_low", "ratio_high"}}}]}

Times are in seconds. A ratio is the median, with its quartiles, of theirs over ours of the same round.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import pyperf

from derive_bench.measure import reference
from derive_bench.measure.environment import Metadata
from derive_bench.measure.peers.session import OURS, Cell, Entry, PeerSession, our_name
from derive_bench.measure.reference import Figure
from derive_bench.measure.results import ResultError, details_path
from derive_bench.measure.tables import ELSEWHERE, Table, seconds_text

__all__ = ["KIND", "SCHEMA", "benchmarks", "details", "load_details", "peer_notes", "peer_tables"]

SCHEMA = 1
KIND = "peers"
"""Name of the suite in a result's metadata, and of the kind of details."""

RATIO = (
    "× is theirs over ours: the median over all rounds, in each of which both were measured one after the other, and its quartiles. "
    "Peers of v2 are compared with ours on the inputs of v2."
)


def benchmarks(session: PeerSession, run: Metadata) -> list[pyperf.Benchmark]:
    """What was timed, a run for each generation, with the metadata of the run and of each cell."""
    now = datetime.now().isoformat(sep=" ")  # noqa: DTZ005 -- as pyperf has it
    made = []
    for cell in session.cells.values():
        own: Metadata = {"name": f"{cell.stage}@{cell.entry.name}", "suite": KIND, "stage": cell.stage, "contender": cell.entry.name}
        own |= {"description": session.comparison.stages[cell.stage], "dialect": cell.entry.dialect, "date": now, "unit": "second"}
        if not cell.entry.ours:
            own["control"] = f"{cell.stage}@{our_name(cell.entry.dialect)}"
        runs = [
            pyperf.Run(values, metadata=run | own | {"loops": calls}, collect_metadata=False)
            for calls, values in zip(cell.calls, cell.values, strict=True)
            if values
        ]
        if runs and cell.timed:
            made.append(pyperf.Benchmark(runs))
    return made


def details(session: PeerSession, run: Metadata, here: Mapping[str, Figure]) -> dict[str, Any]:
    """The details of a session.

    Args:
        here: the reference's figures from this machine, by row.
    """
    stages = []
    for stage, summary in session.comparison.stages.items():
        results = {entry.name: _result(session, stage, entry) for entry in session.entries}
        stages.append({"name": stage, "summary": summary, "reference": _reference(session, stage, here), "results": results})
    return {
        "schema": SCHEMA,
        "kind": KIND,
        "run": dict(run),
        "contenders": [_contender(each) for each in session.entries],
        "stages": stages,
    }


def _contender(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "version": entry.adapter.version if entry.adapter else "",
        "dialect": entry.dialect,
        "about": entry.adapter.about if entry.adapter else "ours",
        "status": "missing" if entry.place is None else "broken" if entry.trouble else "measured",
        "reason": entry.trouble,
        "versions": entry.versions,
        "python": entry.python,
    }


def _result(session: PeerSession, stage: str, entry: Entry) -> dict[str, Any]:
    cell = session.cells.get((stage, entry.name))
    if entry.trouble:
        return {"status": "missing" if entry.place is None else "broken", "reason": entry.trouble}
    if cell is None:
        lacks = entry.adapter.lacks if entry.adapter else {}
        return {"status": "lacking", "reason": lacks.get(stage, lacks.get(stage.partition("/")[0], ""))}
    undone = entry.abilities[stage]
    if cell.trouble:
        return {"status": "differs", "reason": cell.trouble, "undone": undone}
    values = [value for generation in cell.values for value in generation]
    if not values:
        return {"status": "broken", "reason": "not measured before the end", "undone": undone}
    middle = median(values)
    result: dict[str, Any] = {"status": "timed", "reason": "", "undone": undone, "median": middle, "values": len(values)}
    result["mad"] = median(abs(value - middle) for value in values)
    if not entry.ours and (ratios := _ratios(cell, session.cells[stage, our_name(entry.dialect)])):
        low, _, high = quantiles(ratios, method="inclusive") if len(ratios) > 1 else ratios * 3
        result |= {"ratio": median(ratios), "ratio_low": low, "ratio_high": high}
    return result


def _ratios(theirs: Cell, ours: Cell) -> list[float]:
    pairs = zip(theirs.values, ours.values, strict=False)
    return [one / other for generations in pairs for one, other in zip(*generations, strict=False)]


def _reference(session: PeerSession, stage: str, here: Mapping[str, Figure]) -> dict[str, Any] | None:
    row = session.comparison.reference.get(stage)
    if row is None:
        return None
    if figure := here.get(row):
        return {"row": row, "seconds": figure.median, "low": figure.low, "high": figure.high, "here": True}
    if row not in reference.PUBLISHED:
        return None
    return {"row": row, "seconds": reference.PUBLISHED[row] * 1e-9, "low": None, "high": None, "here": False}


def load_details(result: Path) -> dict[str, Any]:
    """The details beside a result of peers.

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
        raise ResultError(f"{path}: not details of peers of schema {SCHEMA}")
    return document


class _Notes:
    """Sentences under the tables, numbered in the order in which they are referred to."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def mark(self, text: str) -> str:
        if not text:
            return ""
        if text not in self.texts:
            self.texts.append(text)
        return f" [{self.texts.index(text) + 1}]"


def peer_tables(document: Mapping[str, Any]) -> list[Table]:
    """One table for each group of stages: ours, then each peer as a multiple of it."""
    return _tables(document, _Notes())


def peer_notes(document: Mapping[str, Any]) -> list[str]:
    """What a reader of the tables must know: versions, what the marks mean, what each peer leaves undone."""
    notes = _Notes()
    _tables(document, notes)
    lines = [_who(each) for each in document["contenders"] if each["name"] != our_name("v2")]
    figures = [stage["reference"] for stage in document["stages"] if stage["reference"]]
    lines.append(RATIO)
    if any(figure["here"] for figure in figures):
        lines.append("† Reference: the medians of a Criterion run on THIS MACHINE, its inputs fixed; the ratio is to ours.")
    if any(not figure["here"] for figure in figures):
        lines.append(f"* {ELSEWHERE}")
    return lines + [f"[{number}] {text}" for number, text in enumerate(notes.texts, 1)]


def _who(contender: Mapping[str, Any]) -> str:
    name = f"{contender['name']} {contender['version']}".strip()
    if contender["status"] != "measured":
        return f"{name}: {contender['status'].upper()}: {contender['reason']}"
    own = contender["name"].lower().replace("_", "-")
    libraries = ", ".join(f"{key} {value}" for key, value in contender["versions"].items() if key.lower().replace("_", "-") != own)
    return f"{name} ({contender['dialect']}): {contender['about']}; Python {contender['python']}{'; ' if libraries else ''}{libraries}"


def _tables(document: Mapping[str, Any], notes: _Notes) -> list[Table]:
    peers = [each for each in document["contenders"] if not each["name"].startswith(OURS)]
    headings = ["stage", "ours", "±", *(f"{peer['name']} {peer['version']}" for peer in peers), "reference"]
    tables = []
    for group, stages in groupby(document["stages"], key=lambda stage: str(stage["name"]).partition("/")[0]):
        rows = [_row(stage, peers, notes) for stage in stages]
        if any(row[1] for row in rows):
            tables.append(Table(group, headings, rows))
    return tables


def _row(stage: Mapping[str, Any], peers: Sequence[Mapping[str, Any]], notes: _Notes) -> list[str]:
    ours = stage["results"][OURS]
    if ours["status"] != "timed":
        return [stage["name"], "", *[""] * (len(peers) + 2)]
    first = f"{seconds_text(ours['median'])}{notes.mark(ours['undone'])}"
    cells = [_cell(stage["results"][peer["name"]], notes) for peer in peers]
    return [stage["name"], first, f"{ours['mad'] / ours['median']:.1%}", *cells, _reference_cell(stage["reference"], ours["median"])]


def _cell(result: Mapping[str, Any], notes: _Notes) -> str:
    match result["status"]:
        case "timed" if "ratio" in result:
            spread = f"{_times(result['ratio'])}× ({_times(result['ratio_low'])}–{_times(result['ratio_high'])})"
            return f"{spread}{notes.mark(result['undone'])}"
        case "lacking":
            return f"–{notes.mark(result['reason'])}"
        case "differs":
            return f"NOT EQUAL{notes.mark('not timed: ' + result['reason'])}"
        case status:
            return str(status)


def _times(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:.0f}"


def _reference_cell(figure: Mapping[str, Any] | None, ours: float) -> str:
    if figure is None:
        return ""
    mark = "†" if figure["here"] else "*"
    return f"{seconds_text(figure['seconds'])} = {_times(figure['seconds'] / ours)}× {mark}"
