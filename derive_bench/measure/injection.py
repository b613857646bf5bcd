"""Known slowdowns, for the test of localisation alone: a worker told ``--inject TARGET=NS`` makes one piece of code slower.

A target is ``package.module:name`` (or ``package.module:Class.method``): the callable is wrapped wherever a module of the same
package holds it, before any row's namespace is built, so that all rows that use it feel it. Or it is ``row:NAME``: the spin stands in that
row's statement, behind its first line, in code that no other row measures. A wrapped callable takes positional arguments.

What is injected is what a spin costs *with* its wrapper's call, found by timing it; no wrapper is cheaper than its call. The worker records
what it came to (:attr:`Injection.real_ns`). Without the option nothing of this is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import repeat
from time import perf_counter
from types import ModuleType
from typing import Any

from derive_bench.measure.inputs import Inputs
from derive_bench.measure.rows import Row, RowError

__all__ = ["ROW", "Injection", "InjectionError", "inject", "parse"]

ROW = "row:"
"""How a target begins that is a row's statement and not a callable."""

SPIN = "spin_"
"""The name of the spin among a row's names."""

CALLS = 200
PASSES = 25


class InjectionError(ValueError):
    """A target that there is not, or a duration that is none; the message says which."""


@dataclass(frozen=True, slots=True)
class Injection:
    """A slowdown: where, how much was asked for and, once applied, what it came to, in ns a call."""

    target: str
    ns: float
    real_ns: float = 0.0


def parse(text: str) -> Injection:
    """``TARGET=NS``.

    Raises:
        InjectionError
    """
    target, _, amount = text.rpartition("=")
    try:
        ns = float(amount)
    except ValueError:
        ns = -1.0
    if not target or not 0 < ns < 1e9:
        raise InjectionError(f"--inject {text}: needs TARGET=NS with a positive number of ns")
    return Injection(target, ns)


def inject(wanted: Sequence[Injection], rows: dict[str, Row]) -> list[Injection]:
    """Apply slowdowns to this process and to ``rows``; returns them with what they came to.

    Raises:
        InjectionError: a module, name or row that there is not.
    """
    applied = []
    for one in wanted:
        if one.target.startswith(ROW):
            name = one.target.removeprefix(ROW)
            if name in rows:  # a worker of another suite has nothing to do
                steps, real = _calibrated(one.ns, _spin, _nothing)
                rows[name] = _with_spin(rows[name], _spin(_nothing, steps))
                applied.append(replace(one, real_ns=real))
        else:
            steps, real = _calibrated(one.ns, _spin, _nothing)
            _wrap(one.target, steps)
            applied.append(replace(one, real_ns=real))
    return applied


def _spin(call: Callable[..., Any], steps: int) -> Callable[..., Any]:
    """``call``, after ``steps`` rounds of an empty loop."""
    rounds = (None,) * steps

    def slower(*args: Any) -> Any:
        for _ in rounds:
            pass
        return call(*args)

    return slower


def _nothing(*_: object) -> None:
    """What is called where a spin's cost is found."""


def _calibrated(ns: float, make: Callable[[Callable[..., Any], int], Callable[..., Any]], call: Callable[..., Any]) -> tuple[int, float]:
    """How many steps make a call slower by ``ns``, and by how much they do."""
    plain = _cost(call)
    least = _cost(make(call, 0)) - plain
    many = 1_000
    per_step = (_cost(make(call, many)) - plain - least) / many
    steps = max(0, round((ns - least) / per_step))
    return steps, _cost(make(call, steps)) - plain


def _cost(call: Callable[..., Any]) -> float:
    """ns a call, the best of several passes."""
    best = float("inf")
    for _ in range(PASSES):
        begin = perf_counter()
        for _ in repeat(None, CALLS):
            call(0)
        best = min(best, perf_counter() - begin)
    return best / CALLS * 1e9


def _wrap(target: str, steps: int) -> None:
    module_name, _, path = target.partition(":")
    *owners, name = path.split(".")
    try:
        owner: Any = import_module(module_name)
        for step in owners:
            owner = getattr(owner, step)
        original = getattr(owner, name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InjectionError(f"--inject {target}: no such callable: {error}") from None
    if not callable(original):
        raise InjectionError(f"--inject {target}: not callable")
    slower = _spin(original, steps)
    if owners:
        setattr(owner, name, slower)
        return
    for module in _family(module_name):
        for alias in [key for key, value in vars(module).items() if value is original]:
            setattr(module, alias, slower)


def _family(module_name: str) -> list[ModuleType]:
    """The loaded modules of the same package; those loaded later take what is wrapped from these."""
    package = ".".join(module_name.split(".")[:2])
    return [module for name, module in list(sys.modules.items()) if name == package or name.startswith(f"{package}.")]


def _with_spin(row: Row, spin: Callable[..., Any]) -> Row:
    first, *rest = row.statement.splitlines()
    build = row.build

    def build_with_spin(inputs: Inputs) -> dict[str, Any]:
        names = dict(build(inputs))
        if SPIN in names:
            raise RowError(f"row {row.name!r}: has a name {SPIN!r} of its own")
        return names | {SPIN: spin}

    return replace(row, statement="\n".join([first, f"{SPIN}()", *rest]), build=build_with_spin)
