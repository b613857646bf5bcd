"""A section of the report: what it is called, what must be known to read it, its charts and its tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from derive_bench.measure.checks.verdict import MARK
from derive_bench.measure.report.figures import Chart
from derive_bench.measure.report.files import Run
from derive_bench.measure.results import Result
from derive_bench.measure.tables import Table

__all__ = ["Section", "grouped", "marked"]


@dataclass(frozen=True, slots=True)
class Section:
    """One section.

    Attributes:
        key: its anchor.
        texts: paragraphs above the charts.
        notes: what stands below the tables.
    """

    key: str
    title: str
    texts: Sequence[str]
    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    open_tables: bool = False


def marked(title: str, run: Run) -> str:
    """The title of what shows a run's numbers, with the mark if the run carries one."""
    return f"{title} {MARK}" if run.results.marks else title


def grouped(rows: Sequence[Result]) -> dict[str, list[Result]]:
    """Rows by group, in order of first appearance."""
    groups: dict[str, list[Result]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    return groups
