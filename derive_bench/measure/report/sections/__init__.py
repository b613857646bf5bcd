"""The sections of the report, in its order. Each is a module with ``make(material) -> Section | None``: None if it has nothing to show."""

from __future__ import annotations

from collections.abc import Callable

from derive_bench.measure.report.files import Material
from derive_bench.measure.report.section import Section
from derive_bench.measure.report.sections import counts, depths, distributions, facts, history, peers, pipeline, ratios, replays, tails

__all__ = ["SECTIONS"]

SECTIONS: tuple[Callable[[Material], Section | None], ...] = (
    facts.make,
    pipeline.make,
    depths.make,
    ratios.make,
    peers.make,
    tails.make,
    replays.make,
    counts.make,
    history.make,
    distributions.make,
)
