"""The break-even: what may cross a boundary, given what a call computes.

Contract: with G = compute / floor, the boundary's share of a call is 1 / (1 + G). `share` adds the bytes; `advise` answers for one's
own call from one's own measurements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from derive_bench.boundary.echo import Fit

__all__ = ["LIMIT", "Advice", "advise", "granularity", "share"]

LIMIT: Final = 0.10
"""The share of a call that a boundary may take before it is called too dear."""


@dataclass(frozen=True)
class Advice:
    """What one transport would take of a call.

    Attributes:
        overhead_ns: a round trip's, the bytes included.
        ratio: G, compute over overhead.
        share: of the call, 1 / (1 + G).
        calls_worth: how many such computations one crossing would have to carry for the share to be at most `LIMIT`.
    """

    transport: str
    overhead_ns: float
    ratio: float
    share: float
    calls_worth: int

    @property
    def worth_it(self) -> bool:
        """Whether the share is within the limit."""
        return self.share <= LIMIT


def granularity(compute_ns: float, overhead_ns: float) -> float:
    """G: how much a call computes for what its crossing costs."""
    return compute_ns / overhead_ns


def share(ratio: float) -> float:
    """The boundary's share of a call, from its granularity."""
    return 1 / (1 + ratio)


def advise(compute_ns: float, size: float, fits: Mapping[str, Fit]) -> list[Advice]:
    """Say what each transport would take, the cheapest first.

    Args:
        compute_ns: what the call computes, in ns.
        size: bytes that go and come back.
        fits: of the transports that were measured.
    """
    found = []
    for transport, line in fits.items():
        overhead = line.round_trip_ns(size)
        ratio = granularity(compute_ns, overhead)
        # c computations in one crossing: floor + c * bytes against c * compute; None will do where the bytes alone are too dear.
        room = LIMIT / (1 - LIMIT) * compute_ns - line.ns_per_byte * size
        worth = -1 if room <= 0 else max(1, -int(-line.floor_ns // room))
        found.append(Advice(transport, overhead, ratio, share(ratio), worth))
    return sorted(found, key=lambda advice: advice.overhead_ns)
