"""The sweep's variants: one thing changed at a time, to see what a difference between two builds comes from.

Contract: `rust_variant` and `numba_variant` open a `Timed` whose call is a whole sweep; for Rust the time that counts is what the
engine's own clock says, so no boundary is in it. All results pass the gate first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import FunctionType
from typing import Any, Final

import numba
import numpy as np

from derive_bench.boundary import kernel
from derive_bench.boundary.architectures import Opening, engine_command, expected
from derive_bench.boundary.engines import open_engine
from derive_bench.boundary.frames import Outcomes
from derive_bench.boundary.gate import compare
from derive_bench.boundary.session import Timed
from derive_bench.boundary.workload import Closes, Windows, Workload

__all__ = ["NUMBA_VARIANTS", "REORDERING", "numba_variant", "rust_variant"]

Sweep = Callable[[Closes, Windows], Outcomes]

_FUNCTIONS: Final = ("_average", "_step", "_combination", "_sweep")


def rust_variant(work: Workload, name: str) -> Opening:
    """One build of the engine, behind a pipe."""

    @contextlib.contextmanager
    def opened() -> Iterator[Timed]:
        with open_engine(engine_command(name), "pipe") as client:
            client.load(work.closes)
            yield Timed(lambda: client.run(work.windows), lambda found: compare(found, expected(work)), client.compute_ns)

    return opened


def numba_variant(work: Workload, name: str) -> Opening:
    """One way to compile the Python kernel."""

    @contextlib.contextmanager
    def opened() -> Iterator[Timed]:
        sweep = NUMBA_VARIANTS[name][1]()
        sweep(work.closes[:300], work.windows[:1])
        yield Timed(lambda: sweep(work.closes, work.windows), lambda found: compare(found, expected(work)))

    return opened


def _compiled(**flags: Any) -> Sweep:
    """The kernel's functions compiled anew, each calling the others of the same set."""
    names = dict(vars(kernel))
    for name in _FUNCTIONS:
        code = vars(kernel)[name].py_func.__code__
        names[name] = numba.njit(nogil=True, **flags)(FunctionType(code, names))
    run = names["_sweep"]

    def sweep(closes: Closes, windows: Windows) -> Outcomes:
        profits, trades = np.zeros(len(windows)), np.zeros(len(windows), dtype=np.int64)
        run(closes, windows, profits, trades)
        return profits, trades

    return sweep


def _in_threads() -> Sweep:
    """Combinations over all processors; the kernel lets go of the interpreter's lock."""

    def sweep(closes: Closes, windows: Windows) -> Outcomes:
        with ThreadPoolExecutor() as pool:
            found = list(pool.map(lambda at: kernel.sweep(closes, windows[at : at + 1]), range(len(windows))))
        return np.concatenate([profits for profits, _ in found]), np.concatenate([trades for _, trades in found])

    return sweep


NUMBA_VARIANTS: Final[dict[str, tuple[str, Callable[[], Sweep]]]] = {
    "numba": ("as it stands", lambda: kernel.sweep),
    "numba_bounds": ("with bounds checks", lambda: _compiled(boundscheck=True)),
    "numba_reassoc": ("additions may be reordered", lambda: _compiled(fastmath={"reassoc", "nsz"})),
    # All of fast-math but its promise that there are no NaNs, which the lines begin with: with that the gate refuses the result.
    "numba_fastmath": ("all of fast-math but nnan and ninf", lambda: _compiled(fastmath={"reassoc", "nsz", "arcp", "contract", "afn"})),
    "numba_threads": ("combinations over all processors", _in_threads),
}
"""What each variant changes, and what makes it."""

REORDERING: Final = frozenset({"numba_reassoc", "numba_fastmath", "rust_reassoc", "rust_reassoc_native", "rust_simd"})
"""Variants that add in another order."""
