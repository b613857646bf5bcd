"""``list``: every row, what it measures, its parts and its control."""

from __future__ import annotations

from collections.abc import Sequence

from derive_bench.cli.options import Parser, add_selection
from derive_bench.measure.catalogue import Catalogue
from derive_bench.measure.rows import Row

__all__ = ["run"]


def run(words: Sequence[str]) -> int:
    """``list``: every row, what it measures, its parts and its control."""
    parser = Parser(prog="python -m derive_bench list", description="Print every row: what it measures, its parts, its control.")
    add_selection(parser)
    args = parser.parse_args(words)
    catalogue = Catalogue.load(args.protocol, args.benches)
    chosen = {row.name for row in catalogue.select(args.suites, args.filter)}
    width = max(map(len, chosen))
    for suite in catalogue.suites:
        rows = [row for row in catalogue.rows.values() if row.suite == suite.name and row.name in chosen]
        if rows:
            print(f"{suite.name}: {suite.summary}")
        for row in rows:
            print(f"  {row.name:<{width}}  {row.summary}{_relations(row)}")
    return 0


def _relations(row: Row) -> str:
    relations = [" + ".join(row.parts)] if row.parts else []
    if row.control:
        relations.append(f"against {row.control}")
    return f" [{'; '.join(relations)}]" if relations else ""
