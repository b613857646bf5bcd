"""How many instructions a build runs for a bar of one combination: what its time does not say.

Contract: `instructions(name)` runs a build under valgrind's callgrind twice, once with one more sweep, and divides the difference, so
that starting and reading are not counted. The sweep is small, since a program runs some fifty times slower there. `Missing` where
valgrind is not installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Final

from derive_bench.boundary.architectures import engine_command
from derive_bench.boundary.frames import Opcode, request
from derive_bench.boundary.session import Missing
from derive_bench.boundary.workload import Workload

__all__ = ["SWEPT", "instructions"]

SWEPT: Final = Workload(bars=800, combinations=4)
"""What is swept: the average work a bar is that of the full range of lengths, but for the bars before the longest line exists."""

_COLLECTED: Final = re.compile(rb"Collected : (\d+)")
_PATIENCE: Final = 120


def instructions(name: str) -> float:
    """Instructions a bar and combination, for a Rust build.

    The numba kernel is not counted: valgrind would have to run LLVM first, which takes it many minutes.

    Raises:
        Missing: no valgrind, or no such build here, or valgrind does not know this processor's instructions.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise Missing("no valgrind here; to have it: apt install valgrind")
    frame = b"".join(request(Opcode.SWEEP, SWEPT.closes, SWEPT.windows))
    watched = [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", *engine_command(name), "pipe"]
    counts = [_collected(watched, frame * sweeps) for sweeps in (1, 2)]
    return (counts[1] - counts[0]) / (SWEPT.bars * SWEPT.combinations)


def _collected(command: list[str], requests: bytes) -> int:
    done = subprocess.run(command, input=requests, capture_output=True, check=False, timeout=_PATIENCE)
    found = _COLLECTED.search(done.stderr)
    if done.returncode or found is None:
        raise Missing(f"valgrind does not run it: {done.stderr.decode(errors='replace').strip().splitlines()[-1:]}")
    return int(found[1])
