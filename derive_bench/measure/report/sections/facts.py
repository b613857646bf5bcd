"""Facts: what was measured, where, and what the environment was worth."""

from __future__ import annotations

from derive_bench.measure.checks.verdict import MARK, SUMMARY
from derive_bench.measure.report.files import Material, Run
from derive_bench.measure.report.section import Section
from derive_bench.measure.tables import Table, seconds_text

__all__ = ["make"]

SHOWN = ("protocol", "profile", "commit", "dirty", "complete", "python", "cpu_model_name", "cpu_count", "governor", "aslr", "affinity")
HEADLINES = ("book_deltas_cold", "quotes_cold", "trades_cold", "submit_limit_cold", "modify_cold", "cancel_cold")
"""Rows of the pipelines that a reader looks for first, as far as they were measured."""


def make(material: Material) -> Section | None:
    """None without a run."""
    if not material.runs:
        return None
    texts, tables = [], []
    for run in material.runs:
        summary = run.results.metadata.get(SUMMARY, "not checked: a result of an older version")
        texts.append(f"{run.label} ({run.source}): environment {summary}.")
        if run.results.marks:
            texts.append(f"{MARK} {run.source} was published in spite of: {', '.join(run.results.marks)}. Its numbers carry the mark.")
        if run.results.metadata.get("complete", "yes") != "yes":
            texts.append(f"{run.source} is not whole: it was {run.results.metadata['complete']}.")
    for key, values in material.differing().items():
        texts.append(
            f"NOT COMPARABLE: the runs differ in {key}: {', '.join(dict.fromkeys(values))}. Their history does not tell of the code alone."
        )
    if latest := material.latest:
        tables.append(_headlines(latest))
        tables.append(_environment(material))
    return Section("facts", "Facts", texts, tables=[table for table in tables if table.rows], open_tables=True)


def _headlines(run: Run) -> Table:
    found = [row for row in run.results.rows.values() if row.name.partition("/")[2] in HEADLINES]
    mark = f" {MARK}" if run.results.marks else ""
    rows = [[row.name, f"{seconds_text(row.median)}{mark}", f"{row.mad / row.median:.1%}", row.summary] for row in found]
    return Table(f"Every input new, {run.label}", ["row", f"median{mark}", "±", "what"], rows)


def _environment(material: Material) -> Table:
    keys = [*SHOWN, *(key for key in material.runs[-1].results.metadata if key.startswith(("lib_", "found_")))]
    rows = [[key.replace("_", " "), *(str(run.results.metadata.get(key, "–")) for run in material.runs)] for key in keys]
    return Table("Environment", ["", *(run.label for run in material.runs)], rows)
