"""What the boundary's tests share: the commands of the engines, with a reason where one cannot be had, and their processes."""

from __future__ import annotations

import contextlib
import sys
from functools import cache
from pathlib import Path

import pytest

from derive_bench.boundary.builds import BUILDS, BuildUnavailable, engine

PYTHON_ENGINE = [sys.executable, "-m", "derive_bench.boundary.server"]

_HOSTED = """
import sys
from derive_bench.boundary.frames import OK, reply
from derive_bench.boundary.hosting import host

def serve(stream):
    while True:
        stream.send(reply(OK, stream.receive_body()[1:]))

host(sys.argv[1:], serve)
"""


@cache
def _program(name: str) -> str:
    return str(engine(BUILDS[name]))


def engine_command(name: str) -> list[str]:
    """The command of `python`, of `hosted`, the same without the kernel, or of one of the Rust builds."""
    if name == "hosted":
        return [sys.executable, "-c", _HOSTED]
    if name == "python":
        return PYTHON_ENGINE
    try:
        return [_program(name)]
    except BuildUnavailable as error:
        pytest.skip(str(error))


def children(parent: int) -> set[int]:
    """Processes whose parent this is, read without starting one."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            pid, _, rest = stat.read_text().partition(" ")
            if int(rest.rpartition(")")[2].split()[1]) == parent:
                found.add(int(pid))
    return found


def alive(pid: int) -> bool:
    """Whether a process still runs; one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def memory(pid: int, field: str) -> int:
    """A process's `VmRSS`, what it holds, or `VmHWM`, the most it has held, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(field))) * 1024
