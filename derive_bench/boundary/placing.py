"""Which processors client and engine run on, since that alone moves the floor of a round trip several times over.

Contract: within `placed(where)` this process keeps to its processors; what it yields are the engine's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Final

from derive_bench.boundary.engines import SPINS
from derive_bench.boundary.session import Missing

__all__ = ["PLACEMENTS", "apart", "placed", "spins_of"]

PLACEMENTS: Final = ("one_core", "two_cores")


@contextlib.contextmanager
def placed(where: str) -> Iterator[set[int]]:
    """Keep this process on its processors for a while. Raises `Missing` where there are not enough of them."""
    before = os.sched_getaffinity(0)
    if where == "two_cores" and len(before) < 2:
        raise Missing("two cores need two processors, and this process may use one")
    ours, its = min(before), min(before) if where == "one_core" else max(before)
    os.sched_setaffinity(0, {ours})
    try:
        yield {its}
    finally:
        os.sched_setaffinity(0, before)


def apart() -> str:
    """The placement for work that goes on on both sides at once: two cores where there are two."""
    return "two_cores" if len(os.sched_getaffinity(0)) > 1 else "one_core"


def spins_of(where: str) -> int:
    """A reader that spins on the core that the writer needs only keeps it waiting."""
    return 0 if where == "one_core" else SPINS
