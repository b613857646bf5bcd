"""Figures: how many slowdowns were found, how many were rightly placed, and how many rows were falsely accused."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from derive_bench.measure.results import ResultError
from derive_bench.measure.selftest.session import Outcome
from derive_bench.measure.tables import Table

__all__ = ["KIND", "SCHEMA", "document", "load", "notes", "table"]

SCHEMA = 1
KIND = "selftest"


def document(outcomes: Sequence[Outcome], run: Mapping[str, Any]) -> dict[str, Any]:
    """Everything, for the details file: a list of trials and the metadata of the run."""
    trials = [
        asdict(outcome) | {"kind": outcome.trial.kind, "row": outcome.trial.row, "share": outcome.trial.share} for outcome in outcomes
    ]
    for trial in trials:
        trial["expected"] = sorted(plant["blamed"] for plant in trial.pop("trial")["plants"])
    return {"schema": SCHEMA, "kind": KIND, "run": dict(run), "trials": trials}


def load(path: Path) -> dict[str, Any] | None:
    """The document in a file, None if the file is something else or is not there.

    Raises:
        ResultError: it is of another version.
    """
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or found.get("kind") != KIND:
        return None
    if found.get("schema") != SCHEMA:
        raise ResultError(f"{path}: not a self-test of schema {SCHEMA}; run it anew")
    return found


def table(details: Mapping[str, Any]) -> Table:
    """A line for each kind and size of slowdown, one for all identical runs."""
    groups: dict[tuple[str, float], list[Mapping[str, Any]]] = {}
    for trial in details["trials"]:
        groups.setdefault((trial["kind"], trial["share"]), []).append(trial)
    order = ["single", "double", "uncovered", "identical"]
    body = [_line(kind, share, groups[kind, share]) for kind, share in sorted(groups, key=lambda key: (order.index(key[0]), key[1]))]
    return Table("known slowdowns", ["planted", "trials", "really", "found", "rightly placed", "rows falsely accused"], body)


def _line(kind: str, share: float, trials: Sequence[Mapping[str, Any]]) -> list[str]:
    accused, innocent = sum(len(trial["accused"]) for trial in trials), sum(trial["innocent"] for trial in trials)
    wrong = f"{accused} of {innocent}"
    if kind == "identical":
        return ["nothing: identical runs", str(len(trials)), "", "", "", wrong]
    named = {"single": "in one part", "double": "in two parts at once", "uncovered": "in code that no part covers"}[kind]
    really = median(trial["real_share"] for trial in trials)
    found, placed = (sum(trial[key] for trial in trials) for key in ("detected", "placed"))
    count = len(trials)
    return [
        f"{share:.0%} {named}",
        str(count),
        f"{really:.1%}",
        f"{found} ({found / count:.0%})",
        f"{placed} ({placed / count:.0%})",
        wrong,
    ]


def notes(details: Mapping[str, Any]) -> list[str]:
    """What was missed, trial by trial."""
    return [
        "Each trial is ten interleaved rounds of the slowed-down row, its parts, neighbours and controls; comparison and localisation see "
        "the two result files alone. Rightly placed: exactly the parts that were slowed down are blamed, or, for code that no part "
        "covers, the change is called unexplained. Falsely accused: a verdict on a row that nothing was done to.",
        *_missed(details["trials"]),
    ]


def _missed(trials: Iterable[Mapping[str, Any]]) -> list[str]:
    told = []
    for trial in trials:
        if trial["kind"] != "identical" and not trial["placed"]:
            blamed = f"blamed {', '.join(trial['culprits']) or 'nothing'}" if trial["detected"] else "not found"
            told.append(f"{trial['share']:.0%} of {trial['row']} in {', '.join(trial['expected'])}: {blamed}")
        told += [f"falsely accused: {name}, in a trial of {trial['row']}" for name in trial["accused"]]
    return told
