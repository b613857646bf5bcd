"""Formats of a comparison: text for a terminal, Markdown for a pull request, JSON for programs, and GitHub's annotations.

Markdown shows the rows with a verdict and folds the others away. GitHub's format is a workflow command for each regression, and then the
Markdown; its runner takes the commands out of the log. What a command must not contain is escaped as the runner's toolkit does it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from derive_bench.measure.compare.verdict import Change, Comparison, Verdict
from derive_bench.measure.count import UNIT as INSTRUCTIONS
from derive_bench.measure.localise import show
from derive_bench.measure.localise.explain import Explanation
from derive_bench.measure.tables import Table, seconds_text

__all__ = ["FORMATS", "percent"]

SCHEMA = 1
"""Version of the JSON document."""

ORDER = (Verdict.SLOWER, Verdict.FASTER, Verdict.NOISY, Verdict.SAME)
HEADINGS = ("row", "base", "head", "change", "±", "p", "verdict")


def percent(ratio: float) -> str:
    """A ratio as a change: ``+12.3%``."""
    return f"{ratio - 1:+.1%}" if abs(ratio - 1) >= 0.01 else f"{ratio - 1:+.2%}"


def text(comparison: Comparison, explained: Sequence[Explanation] = ()) -> str:
    """Aligned columns, what differs first, and what a reader must know."""
    table = Table(
        f"{comparison.base} -> {comparison.head}", HEADINGS, [_cells(change, comparison) for change in _ordered(comparison.changes)]
    )
    why = [show.text(explained), ""] if explained else []
    return "\n".join([table.text(), "", *why, *_facts(comparison), "", conclusion(comparison)])


def markdown(comparison: Comparison, explained: Sequence[Explanation] = ()) -> str:
    """Fit for a comment on a pull request."""
    told = [change for change in _ordered(comparison.changes) if change.verdict in (Verdict.SLOWER, Verdict.FASTER)]
    quiet = [change for change in _ordered(comparison.changes) if change not in told]
    lines = [f"### {_plain(comparison.base)} → {_plain(comparison.head)}", "", f"**{conclusion(comparison)}**", ""]
    if told:
        lines += [*_markdown_table(told, comparison), ""]
    if explained:
        lines += ["```", show.text(explained), "```", ""]
    if quiet:
        lines += [f"<details><summary>{len(quiet)} rows without a change to report</summary>", ""]
        lines += [*_markdown_table(quiet, comparison), "", "</details>", ""]
    return "\n".join([*lines, *(f"- {_plain(fact)}" for fact in _facts(comparison))])


def document(comparison: Comparison, explained: Sequence[Explanation] = ()) -> str:
    """Everything, as JSON; a margin that is not known is null."""
    values = asdict(comparison)
    for change in values["changes"]:
        if math.isinf(change["margin"]):
            change["margin"] = None
    values |= {"schema": SCHEMA, "regressions": [change.name for change in comparison.regressions]}
    values["explanations"] = show.document(explained)
    return json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False)


def github(comparison: Comparison, explained: Sequence[Explanation] = ()) -> str:
    """A workflow command for each regression (an error) and for what was overlooked or not compared (a warning), then the Markdown."""
    commands = [
        _command("error", f"{change.name} is {percent(change.ratio)} slower", _sentence(change, comparison))
        for change in comparison.regressions
    ]
    commands += [_command("warning", "benchmark comparison", mark) for mark in comparison.marks]
    commands += [_command("warning", "row not compared", fact) for fact in _unmatched(comparison)]
    return "\n".join([*commands, markdown(comparison, explained)])


FORMATS: Mapping[str, Callable[[Comparison, Sequence[Explanation]], str]] = {
    "text": text,
    "markdown": markdown,
    "json": document,
    "github": github,
}


def conclusion(comparison: Comparison) -> str:
    """One sentence: what the gate says."""
    ours = [change for change in comparison.changes if not change.control]
    counts = ", ".join(f"{len(comparison.having(verdict))} {verdict}" for verdict in ORDER)
    gate = f"{comparison.gate:.3g}" if comparison.gate < 0.0001 else f"{comparison.gate:.4%}".rstrip("%").rstrip("0").rstrip(".") + "%"
    if failed := comparison.regressions:
        return f"{len(failed)} of {len(ours)} rows slower by more than {gate}, worst {failed[0].name} {percent(failed[0].ratio)} ({counts})"
    return f"no row of {len(ours)} is slower by more than {gate} ({counts})"


def _ordered(changes: Sequence[Change]) -> list[Change]:
    return sorted(changes, key=lambda change: (change.control, ORDER.index(change.verdict), -abs(math.log(change.ratio))))


def _amount(value: float, comparison: Comparison) -> str:
    return f"{value:,.0f}" if comparison.unit == INSTRUCTIONS else seconds_text(value)


def _cells(change: Change, comparison: Comparison) -> list[str]:
    margin = "" if math.isinf(change.margin) else f"{change.margin:.1%}"
    p = "" if comparison.unit == INSTRUCTIONS else f"{change.p:.2f}" if change.p >= 0.01 else f"{change.p:.0e}"
    mark = " !" if change.regression else ""
    verdict = f"{change.verdict}{mark}{f' ({change.reason})' if change.reason else ''}"
    return [change.name, _amount(change.base, comparison), _amount(change.head, comparison), percent(change.ratio), margin, p, verdict]


def _markdown_table(changes: Sequence[Change], comparison: Comparison) -> list[str]:
    # The heading belongs to a table of the baseline's page; here it would stand between a summary and its rows.
    rows = [[_plain(cell) for cell in _cells(change, comparison)] for change in changes]
    return Table("", HEADINGS, rows).markdown().splitlines()[2:]


def _sentence(change: Change, comparison: Comparison) -> str:
    margin = "" if math.isinf(change.margin) else f" ± {change.margin:.1%}"
    amounts = f"{_amount(change.base, comparison)} -> {_amount(change.head, comparison)}"
    return f"{change.name}: {amounts}, {percent(change.ratio)}{margin}, {comparison.base} -> {comparison.head}"


def _facts(comparison: Comparison) -> list[str]:
    facts = list(comparison.marks)
    if comparison.unit != INSTRUCTIONS:
        facts += [_drift(comparison), _method(comparison)]
    else:
        facts.append(f"instructions per call; a verdict needs a change of {comparison.threshold:.1%} and disjoint quartiles")
    return facts + _unmatched(comparison)


def _unmatched(comparison: Comparison) -> list[str]:
    kinds = {
        f"only in {comparison.head}": comparison.added,
        f"only in {comparison.base}": comparison.removed,
        "redefined, not compared": comparison.redefined,
    }
    return [f"{kind}: {', '.join(names)}" for kind, names in kinds.items() if names]


def _drift(comparison: Comparison) -> str:
    drift = comparison.drift
    if not drift.controls:
        return "no control row was measured: a drift of the machine would look like a change"
    told = f"drift of the machine, by {drift.controls} controls: {percent(drift.ratio)} ± {drift.spread:.1%}, divided out"
    return f"{told}; the controls disagree, so every ± is widened by that" if drift.disagree else told


def _method(comparison: Comparison) -> str:
    rounds = (
        f"{comparison.rounds[0]} interleaved rounds" if comparison.paired else f"{comparison.rounds[0]} and {comparison.rounds[1]} rounds"
    )
    return (
        f"{rounds}; a verdict needs a change of {comparison.threshold:.1%}, disjoint quartiles, repetition over the rounds and p <= 0.05 "
        "over all rows together (Student's t of each round's fastest value, Holm)"
    )


def _plain(value: str) -> str:
    return value.replace("|", "\\|").replace("<", "&lt;")


def _command(kind: str, title: str, message: str) -> str:
    return f"::{kind} title={_property(title)}::{_data(message)}"


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")
