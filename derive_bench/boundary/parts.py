"""The parts of the study: which cases each has.

Contract: `PARTS[name](study)` gives a part's cases in the order in which they are told; a case's group is the part's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from derive_bench.boundary import architectures, variants, wall
from derive_bench.boundary.builds import BUILDS
from derive_bench.boundary.codecs import ARRAY_CODECS, EVENT_CODECS
from derive_bench.boundary.deployed import MESSAGING, messaging_echoes
from derive_bench.boundary.echo import DOUBLES, FEWER_DOUBLES, echoes
from derive_bench.boundary.engines import TRANSPORTS
from derive_bench.boundary.placing import PLACEMENTS
from derive_bench.boundary.serialisation import decoding, doubles, encoding, quotes
from derive_bench.boundary.session import Case
from derive_bench.boundary.wall import BATCHES, DeriveLoad
from derive_bench.boundary.workload import Workload

__all__ = ["IN_PROCESS", "PARTS", "WAYS", "Study", "cases"]

IN_PROCESS: Final = "architecture/in_process"

_NUMBA: Final = "kernel/numba"
_CODEC_EVENTS: Final = 1_000
_CROSSINGS: Final = (("frames", "unix"), ("msgpack", "unix"), ("arrow", "unix"), ("msgpack", "shm"), ("raw", "shm"))
"""How quotes cross the wall: the form of a batch, and the transport."""


@dataclass(frozen=True)
class Study:
    """What the parts work on: the sweep, and the venue's frames."""

    work: Workload
    load: DeriveLoad


def _kernel(study: Study) -> Iterator[Case]:
    for name, (summary, _) in variants.NUMBA_VARIANTS.items():
        reorders = name in variants.REORDERING
        yield Case(f"kernel/{name}", f"numba, {summary}", variants.numba_variant(study.work, name), control=_NUMBA, reorders=reorders)
    for build in BUILDS.values():
        opened = variants.rust_variant(study.work, build.name)
        yield Case(f"kernel/{build.name}", f"Rust, {build.summary}", opened, control=_NUMBA, reorders=build.name in variants.REORDERING)


def _architecture(study: Study) -> Iterator[Case]:
    work = study.work

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


WAYS: Final = (*TRANSPORTS, *(f"{library}_{transport}" for library in MESSAGING for transport in ("unix", "tcp")))
"""Ways to send an echo: our own transports, then each library over two sockets."""


def _echo(_: Study) -> Iterator[Case]:
    for where in PLACEMENTS:
        for count in DOUBLES:
            for transport in TRANSPORTS:
                summary = f"{count} doubles and back over {transport}, {where.replace('_', ' ')}"
                yield Case(f"echo/{transport}_{where}_{count}", summary, echoes("rust", transport, count, where))
            for library in MESSAGING if count in FEWER_DOUBLES else ():
                for transport in ("unix", "tcp"):
                    summary = f"{count} doubles and back through {library} over {transport}, {where.replace('_', ' ')}"
                    opened = messaging_echoes(library, transport, count, where)
                    yield Case(f"echo/{library}_{transport}_{where}_{count}", summary, opened)


def _codec(study: Study) -> Iterator[Case]:
    array, events = partial(doubles, study.work.bars), quotes(study.load, _CODEC_EVENTS)
    for kind, codecs, value in (("array", ARRAY_CODECS, array), ("events", EVENT_CODECS, events)):
        for codec in codecs.values():
            for what, opening in (("encode", encoding), ("decode", decoding)):
                yield Case(f"codec/{kind}_{codec.name}_{what}", codec.holds, opening(codec, value), control=f"codec/{kind}_raw_{what}")


def _wall(study: Study) -> Iterator[Case]:
    load = study.load
    for count in BATCHES:
        plain = f"wall/quotes_{count}"
        yield Case(plain, "frames to quotes without a wall", wall.quotes_in_process(load, count), events=count)
        for form, transport in _CROSSINGS:
            name, way = f"wall/{form}_{transport}_{count}", f"{form} over {transport}"
            yield Case(
                f"{name}_latency", f"{way}: frames there to quotes here", wall.latency(load, form, transport, count), plain, events=count
            )
            yield Case(f"{name}_stream", f"{way}, as fast as it goes", wall.throughput(load, form, transport, count), plain, events=count)
    for signed in ("plain", "presigned"):
        presigned = signed == "presigned"
        local = f"wall/order_{signed}"
        yield Case(local, "an order to signed params without a wall", wall.orders_in_process(load, presigned=presigned), events=1)
        for transport in ("unix", "shm"):
            name = f"wall/order_{signed}_{transport}"
            yield Case(name, "an order out, signed params back", wall.order(load, transport, presigned=presigned), local, events=1)


PARTS: Final[dict[str, Callable[[Study], Iterator[Case]]]] = {
    "kernel": _kernel,
    "architecture": _architecture,
    "echo": _echo,
    "codec": _codec,
    "wall": _wall,
}


def cases(names: Sequence[str], study: Study) -> list[Case]:
    """The cases of some parts, all of them by default. `KeyError` for a part that there is not."""
    return [case for name in names or PARTS for case in PARTS[name](study)]
