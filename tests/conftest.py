"""Settings of all tests: Hypothesis draws the same examples every time and keeps no database."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "bounded",
    database=None,
    deadline=None,
    derandomize=True,
    max_examples=200,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("bounded")
