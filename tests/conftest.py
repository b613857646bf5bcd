"""Settings of all tests: Hypothesis draws the same examples every time and keeps no database."""

from __future__ import annotations

import sys

import pytest
from hypothesis import HealthCheck, settings

from derive_bench.replay.synth import cached

RECURSION_LIMIT = sys.getrecursionlimit()

cached.FRAMES = 12_000  # the rows of suite session on a shorter one

settings.register_profile(
    "bounded",
    database=None,
    deadline=None,
    derandomize=True,
    max_examples=200,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("bounded")


@pytest.fixture(autouse=True)
def _own_recursion_limit() -> None:
    """Take back what py_ecc, which eth-account loads, sets when imported: a limit at which the C stack ends first."""
    sys.setrecursionlimit(RECURSION_LIMIT)
