"""The parts of the study: which cases each has, and what the whole of it is called in a result.

Contract: `PARTS[name](work)` lists a part's cases in the order in which they are told; a case's group is the part's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from derive_bench.boundary import architectures, variants
from derive_bench.boundary.builds import BUILDS
from derive_bench.boundary.echo import DOUBLES, PLACEMENTS, echoes
from derive_bench.boundary.engines import TRANSPORTS
from derive_bench.boundary.session import Case
from derive_bench.boundary.workload import Workload

__all__ = ["IN_PROCESS", "PARTS", "cases"]

IN_PROCESS: Final = "architecture/in_process"
_NUMBA: Final = "kernel/numba"


def _kernel(work: Workload) -> Iterator[Case]:
    for name, (summary, _) in variants.NUMBA_VARIANTS.items():
        yield Case(f"kernel/{name}", f"numba, {summary}", variants.numba_variant(work, name), control=_NUMBA)
    for build in BUILDS.values():
        yield Case(f"kernel/{build.name}", f"Rust, {build.summary}", variants.rust_variant(work, build.name), control=_NUMBA)


def _architecture(work: Workload) -> Iterator[Case]:
    def case(name: str, summary: str, opened: architectures.Opening, times: int = 1) -> Case:
        return Case(f"architecture/{name}", summary, opened, control=IN_PROCESS, times=times)

    yield Case(IN_PROCESS, "numba, a plain call", architectures.in_process(work))
    for transport in TRANSPORTS:
        yield case(f"batch_{transport}", f"one call over {transport}", architectures.batch(work, "rust", transport))
    yield case("chatty_unix", "a call a combination, the bars each time", architectures.chatty(work, "rust", "unix"))
    yield case("chatty_shm", "the same through shared memory", architectures.chatty(work, "rust", "shm"))
    yield case("stateful_unix", "a call a combination, the bars beforehand", architectures.stateful(work, "rust", "unix"))
    yield case("stateful_shm", "the same through shared memory", architectures.stateful(work, "rust", "shm"))
    yield case("spawn_sweep", "a process for the sweep, over its standard input", architectures.spawn_sweep(work, "rust"))
    yield case("spawn_combination", "a process for each combination", architectures.spawn_each(work, "rust"))
    yield case("python_batch_unix", "one call to Python with numba", architectures.batch(work, "python", "unix"))
    yield case("python_chatty_unix", "a call a combination to it, the bars each time", architectures.chatty(work, "python", "unix"))
    yield case("python_stateful_unix", "a call a combination to it, the bars beforehand", architectures.stateful(work, "python", "unix"))
    for transport in ("unix", "shm"):
        yield case(f"bar_{transport}", "a call a bar, sampled", architectures.bar_calls(work, "rust", transport), times=work.bars)


def _echo(_: Workload) -> Iterator[Case]:
    for where in PLACEMENTS:
        for transport in TRANSPORTS:
            for doubles in DOUBLES:
                summary = f"{doubles} doubles and back over {transport}, {where.replace('_', ' ')}"
                yield Case(f"echo/{transport}_{where}_{doubles}", summary, echoes("rust", transport, doubles, where))


PARTS: Final[dict[str, Callable[[Workload], Iterator[Case]]]] = {
    "kernel": _kernel,
    "architecture": _architecture,
    "echo": _echo,
}


def cases(names: list[str], work: Workload) -> list[Case]:
    """The cases of some parts, all of them by default. `KeyError` for a part that there is not."""
    return [case for name in names or PARTS for case in PARTS[name](work)]
