"""What the boundary's tests share: the commands of both engines, with a reason where one cannot be had."""

from __future__ import annotations

import sys
from functools import cache

import pytest

from derive_bench.boundary.builds import BUILDS, BuildUnavailable, engine

PYTHON_ENGINE = [sys.executable, "-m", "derive_bench.boundary.server"]


@cache
def _program(name: str) -> str:
    return str(engine(BUILDS[name]))


def engine_command(name: str) -> list[str]:
    """The command of `python`, or of one of the Rust builds."""
    if name == "python":
        return PYTHON_ENGINE
    try:
        return [_program(name)]
    except BuildUnavailable as error:
        pytest.skip(str(error))
