"""Ways to put the sweep somewhere else, each a whole job from the caller's side.

Contract: every function returns what opens a `Timed`: its call does the whole sweep and returns the outcomes, its check compares them
with the sweep in process, its clock tells what of it was computing. Only `bar_calls` is a sample: its call is one bar of the job.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

import numpy as np

from derive_bench.boundary import kernel
from derive_bench.boundary.builds import BUILDS, BuildUnavailable, engine
from derive_bench.boundary.engines import Client, open_engine, spawn_once
from derive_bench.boundary.frames import Opcode, Outcomes, outcomes, request
from derive_bench.boundary.gate import compare
from derive_bench.boundary.placing import apart, placed, spins_of
from derive_bench.boundary.ring import Unsupported
from derive_bench.boundary.session import Missing, Timed
from derive_bench.boundary.workload import Workload

__all__ = [
    "Opening",
    "bar_calls",
    "batch",
    "chatty",
    "engine_command",
    "expected",
    "in_process",
    "spawn_each",
    "spawn_sweep",
    "stateful",
]

Opening = Callable[[], AbstractContextManager[Timed]]

_BARS_BEFORE = 600
"""Bars fed before a bar's call is timed: more than the longest lines need, so that every call does the full work."""


def engine_command(name: str) -> list[str]:
    """The command of `python`, or of a Rust build. Raises `Missing`."""
    if name == "python":
        return [sys.executable, "-m", "derive_bench.boundary.server"]
    try:
        return [str(engine(BUILDS[name]))]
    except BuildUnavailable as error:
        raise Missing(str(error)) from error


@functools.cache
def expected(work: Workload) -> Outcomes:
    """The outcomes of the sweep in process."""
    return kernel.sweep(work.closes, work.windows)


def _join(found: Sequence[Outcomes]) -> Outcomes:
    return np.concatenate([profits for profits, _ in found]), np.concatenate([trades for _, trades in found])


def in_process(work: Workload) -> Opening:
    """The sweep as a plain call: what everything else is measured against."""

    @contextlib.contextmanager
    def opened() -> Iterator[Timed]:
        kernel.sweep(work.closes[:300], work.windows[:1])
        yield Timed(lambda: kernel.sweep(work.closes, work.windows))

    return opened


def _served(work: Workload, name: str, transport: str, prepare: Callable[[Client], object], call: Callable[[Client], Outcomes]) -> Opening:
    @contextlib.contextmanager
    def opened() -> Iterator[Timed]:
        try:
            where = apart()
            with placed(where) as cpus, open_engine(engine_command(name), transport, cpus=cpus, spins=spins_of(where)) as client:
                prepare(client)
                yield Timed(lambda: call(client), lambda found: compare(found, expected(work)), client.compute_ns)
        except Unsupported as error:
            raise Missing(str(error)) from error

    return opened


def batch(work: Workload, name: str, transport: str) -> Opening:
    """A resident server, one call with bars and all combinations."""
    return _served(work, name, transport, lambda _: None, lambda client: client.sweep(work.closes, work.windows))


def chatty(work: Workload, name: str, transport: str) -> Opening:
    """A resident server, one call a combination, with the bars sent again each time."""
    each = range(len(work.windows))
    return _served(
        work,
        name,
        transport,
        lambda _: None,
        lambda client: _join([client.sweep(work.closes, work.windows[at : at + 1]) for at in each]),
    )


def stateful(work: Workload, name: str, transport: str) -> Opening:
    """A resident server that was given the bars beforehand, one call a combination."""
    each = range(len(work.windows))
    return _served(
        work,
        name,
        transport,
        lambda client: client.load(work.closes),
        lambda client: _join([client.run(work.windows[at : at + 1]) for at in each]),
    )


def spawn_sweep(work: Workload, name: str) -> Opening:
    """A process started for the sweep, which is sent over its standard input."""

    @contextlib.contextmanager
    def opened() -> Iterator[Timed]:
        command = engine_command(name)

        def call() -> Outcomes:
            return outcomes(spawn_once(command, request(Opcode.SWEEP, work.closes, work.windows)))

        yield Timed(call, lambda found: compare(found, expected(work)))

    return opened


def spawn_each(work: Workload, name: str) -> Opening:
    """A process started for every combination."""

    @contextlib.contextmanager
    def opened() -> Iterator[Timed]:
        command = engine_command(name)

        def call() -> Outcomes:
            each = range(len(work.windows))
            return _join([outcomes(spawn_once(command, request(Opcode.SWEEP, work.closes, work.windows[at : at + 1]))) for at in each])

        yield Timed(call, lambda found: compare(found, expected(work)))

    return opened


def bar_calls(work: Workload, name: str, transport: str) -> Opening:
    """A call a bar for all combinations, in a loop over the bars; one call is timed, the job is as many as there are bars."""

    @contextlib.contextmanager
    def opened() -> Iterator[Timed]:
        closes = work.closes.tolist()
        where = apart()
        with placed(where) as cpus, open_engine(engine_command(name), transport, cpus=cpus, spins=spins_of(where)) as client:
            client.open(work.windows)
            before = [client.bar(close) for close in closes[:_BARS_BEFORE]][-1]
            following = itertools.cycle(closes[_BARS_BEFORE:] or closes)
            yield Timed(
                lambda: client.bar(next(following)),
                lambda _: compare(before, kernel.sweep(work.closes[:_BARS_BEFORE], work.windows)),
                client.compute_ns,
            )

    return opened
