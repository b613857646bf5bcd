"""Counts: instructions per call of each row."""

from __future__ import annotations

import pyperf

from derive_bench.measure.count.tables import NOTE, group_tables
from derive_bench.measure.report.figures import COLOURS, Chart, axis, lanes
from derive_bench.measure.report.files import Material
from derive_bench.measure.report.section import Section

__all__ = ["make"]


def make(material: Material) -> Section | None:
    """None without counts."""
    charts, tables = [], []
    for counts in material.counts:
        groups: dict[str, list[pyperf.Benchmark]] = {}
        for benchmark in counts.benchmarks:
            groups.setdefault(benchmark.get_name().partition("/")[0], []).append(benchmark)
        charts += [_chart(f"{group}, {counts.source}", members) for group, members in groups.items()]
        tables += group_tables(counts.benchmarks)
    if not charts:
        return None
    return Section(
        "counts", "Instructions per call", ["Counted under valgrind, not timed: load and frequency do not matter."], charts, tables, [NOTE]
    )


def _chart(title: str, benchmarks: list[pyperf.Benchmark]) -> Chart:
    means = [benchmark.mean() for benchmark in benchmarks]
    bar = {"type": "bar", "orientation": "h", "x": means, "y": list(range(len(means))), "marker": {"color": COLOURS[2]}, "hoverinfo": "x"}
    names = [f"<b>{each.get_name().partition('/')[2]}</b>  {mean:,.0f}" for each, mean in zip(benchmarks, means, strict=True)]
    said = f"Instructions per call of {len(means)} rows."
    return lanes(title, said, [{**bar, "name": ""}], names, axis("instructions", rangemode="tozero", tickformat="~s"), bargap=0.62)
