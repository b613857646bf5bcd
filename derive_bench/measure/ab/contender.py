"""A contender: a tree of the project's sources, the rows that it defines, and the inputs that it brings.

The tree is asked in a process of its own, since two versions of one package do not fit into one. Only what the worker protocol needs comes
back: a row here has no builder, and is good for selecting, launching and labelling.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NoReturn

from derive_bench.measure.catalogue import Catalogue, SelectionError
from derive_bench.measure.compare.compare import is_control
from derive_bench.measure.inputs import Inputs
from derive_bench.measure.rows import Row, Suite
from derive_bench.measure.runner import Launcher
from derive_bench.measure.worker import Task

__all__ = ["Contender", "TooOld", "ask", "choose"]

CONTROLS = 5
"""Fewest controls of a selection, if there are that many."""

QUESTION = """\
import json, sys
from dataclasses import fields
from pathlib import Path
from derive_bench.measure.catalogue import Catalogue
from derive_bench.measure.inputs import Inputs
from derive_bench.measure.worker import Task
protocol, data, benches = json.loads(sys.argv[1])
catalogue = Catalogue.load(protocol, benches and Path(benches))
names = ("name", "statement", "summary", "suite", "parts", "control", "each", "fresh")
print(json.dumps({
    "task": [field.name for field in fields(Task)],
    "suites": [[suite.name, suite.summary] for suite in catalogue.suites],
    "rows": [{name: getattr(row, name) for name in names} for row in catalogue.rows.values()],
    "data_hash": Inputs(protocol, data and Path(data)).data_hash(),
}))
"""
"""What a tree is asked, in the words of every version that has the worker protocol."""


class TooOld(Exception):
    """A tree does not have the worker protocol, or cannot be asked; the message says what went wrong."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A tree and what it holds.

    Attributes:
        label: what it is called in messages.
        data_hash: of its inputs, or of those that were named for both.
    """

    label: str
    launcher: Launcher
    catalogue: Catalogue
    data_hash: str


def ask(label: str, launcher: Launcher) -> Contender:
    """Ask the tree of a launcher for its rows.

    Raises:
        TooOld
    """
    if not (launcher.root / "derive_bench" / "measure" / "worker.py").is_file():
        raise TooOld(f"{label} cannot be measured: it is older than the worker protocol (it has no derive_bench/measure/worker.py)")
    places = [str(place.resolve()) if place else None for place in (launcher.data, launcher.benches)]
    question = [sys.executable, "-c", QUESTION, json.dumps([launcher.protocol, *places])]
    try:
        done = subprocess.run(question, cwd=launcher.root, env=launcher.environ(), capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        raise TooOld(f"{label} cannot be measured: it does not say in a minute which rows it has") from None
    if done.returncode:
        reason = done.stderr.strip().rpartition("\n")[2]
        raise TooOld(f"{label} cannot be measured: it is older than the worker protocol, or broken: {reason}")
    answer: dict[str, Any] = json.loads(done.stdout)
    expected = [field.name for field in fields(Task)]
    if answer["task"] != expected:
        raise TooOld(f"{label} cannot be measured: its workers take {', '.join(answer['task'])}, ours {', '.join(expected)}")
    rows = {row["name"]: Row(build=_none, **row | {"parts": tuple(row["parts"])}) for row in answer["rows"]}
    return Contender(label, launcher, Catalogue(tuple(Suite(*suite) for suite in answer["suites"]), rows), answer["data_hash"])


def _none(_: Inputs) -> NoReturn:
    raise NotImplementedError("a contender's rows are built in its own tree")


def choose(base: Contender, head: Contender, suites: Sequence[str], filters: Sequence[str]) -> tuple[list[Row], list[Row]]:
    """The rows of either tree that a selection means, with all parts and controls that they name, transitively.

    There are at least :data:`CONTROLS` controls: a single one's noise would be everyone's. A part explains a change, and a control
    measures the drift, so they come along with a filter, too. What one tree does not know the other may: only what neither knows is
    refused.

    Raises:
        SelectionError
    """
    all_suites = {suite.name: suite for side in (base, head) for suite in side.catalogue.suites}
    both = Catalogue(tuple(all_suites.values()), base.catalogue.rows | head.catalogue.rows)
    wanted = {row.name for row in both.select(suites, filters)}
    wanted |= set([name for name in both.rows if is_control(name)][:CONTROLS])
    found = tuple(_closed(side.catalogue.rows, wanted) for side in (base, head))
    if not any(found):
        raise SelectionError("no row to measure")
    return found[0], found[1]


def _closed(rows: Mapping[str, Row], names: set[str]) -> list[Row]:
    closed: set[str] = set()
    waiting = [name for name in names if name in rows]
    while waiting:
        name = waiting.pop()
        if name in closed:
            continue
        closed.add(name)
        waiting += [other for other in (*rows[name].parts, rows[name].control) if other is not None and other in rows]
    return [row for row in rows.values() if row.name in closed]
