"""Tables of a counting, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import pyperf

from derive_bench.measure.count import REPEATS_WITHIN
from derive_bench.measure.tables import Table

__all__ = ["NOTE", "group_tables"]

NOTE = (
    "instructions and allocations (blocks asked of Python's allocator) per call, the cyclic collector off. "
    f"≈: two processes alike differ by more than {REPEATS_WITHIN:.2%}, as the row uses randomness, the clock or a thread."
)


def group_tables(benchmarks: Sequence[pyperf.Benchmark]) -> list[Table]:
    """One table per group of rows (the name before the slash), in order of first appearance."""
    found = {benchmark.get_name(): benchmark for benchmark in benchmarks}
    order = list(dict.fromkeys(_group(name) for name in found))
    names = sorted(found, key=lambda name: order.index(_group(name)))
    headings = ["row", "instructions", "", "× control", "allocations"]
    return [Table(group, headings, [_cells(found, name) for name in members]) for group, members in groupby(names, key=_group)]


def _cells(found: dict[str, pyperf.Benchmark], name: str) -> list[str]:
    metadata, mean = found[name].get_metadata(), found[name].mean()
    control = found.get(metadata.get("control", ""))
    return [
        name,
        f"{mean:,.0f}",
        "≈" if metadata["repeats"] == "no" else "",
        f"{mean / control.mean():.2f}" if control else "",
        f"{metadata['allocations']:.1f}",
    ]


def _group(name: str) -> str:
    return name.partition("/")[0]
