"""The driver: holds one library in a process of its own and runs its abilities on request.

``PYTHON -P driver.py ADAPTER MATERIAL [--path DIR]`` loads the module ADAPTER and the inputs MATERIAL, then answers one JSON object on
standard input with one on standard output, line by line, until its input ends. It runs in the environment of the library, where
derive_bench is not installed, and needs the standard library alone. ``-P`` keeps this folder, whose modules are called like the
libraries, off the path.

An adapter says about itself, in constants that can be read without its library: ``NAME``, ``VERSION``, ``REQUIREMENTS`` (for pip),
``DIALECT`` ("v3" or "v2"), ``PACKAGES`` (distributions whose versions belong to the result) and ``ABOUT``. Its ``offer(can, material)``
imports the library and registers each ability::

    can("decode/ticker", session.decode, facts=ticker_facts, undone="numbers stay texts")

The call takes one input, ``prepare(input)`` made it outside the timed region, and ``facts(result)`` says what came out in the words of
``stages.py``: the same for every library, which is how results are compared. ``undone`` is what a user of the library has still to do.

First line of output: ``{"abilities": {stage: undone}, "versions": {distribution: version}, "python": …}``. Requests::

    {"do": "facts", "stage": …, "count": n}             -> {"facts": […]} of the first n inputs, an error in words where one fails
    {"do": "answer", "stage": …, "inputs": […]}         -> {"facts": […]} of other inputs
    {"do": "calibrate", "stage": …, "seconds": s}       -> {"calls": n}: how many calls take s
    {"do": "time", "stage": …, "calls": n}              -> {"seconds": s} for n calls

A request that fails is answered ``{"error": …}``; the process goes on.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

Call = Callable[[Any], Any]

DISTURBED_SHARE = 0.01
"""A value during which the process was off the CPU for longer than this share of it is taken again, RETAKES times at most."""

RETAKES = 1


class Ability:
    """One stage as a library does it, with its inputs, made when first asked for."""

    def __init__(self, call: Call, prepare: Call, facts: Call, undone: str, inputs: list[Any]) -> None:
        self.call = call
        self.prepare = prepare
        self.facts = facts
        self.undone = undone
        self._inputs = inputs
        self._source: Iterator[Any] | None = None

    def said(self, inputs: list[Any] | None = None, count: int | None = None) -> list[Any]:
        """What comes out of some inputs, in facts; words where it fails."""
        return [self._one(each) for each in (self._inputs if inputs is None else inputs)[:count]]

    def _one(self, raw: Any) -> Any:
        try:
            return self.facts(self.call(self.prepare(raw)))
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:300]

    def seconds(self, calls: int) -> float:
        """How long so many calls take; the inputs go round, from value to value."""
        if self._source is None:
            self._source = cycle([self.prepare(raw) for raw in self._inputs])
            gc.collect()
            gc.freeze()
        call, source = self.call, self._source
        for attempt in range(RETAKES + 1):
            some = list(islice(source, calls)) if calls < 100_000 else islice(source, calls)
            cpu, begin = thread_time(), perf_counter()
            for each in some:
                call(each)
            seconds = perf_counter() - begin
            if seconds - (thread_time() - cpu) <= DISTURBED_SHARE * seconds or attempt == RETAKES:
                break
        return seconds

    def calls_in(self, seconds: float) -> int:
        """How many calls take so many seconds, at least one."""
        calls = 1
        while (took := min(self.seconds(calls), self.seconds(calls))) < seconds / 5:
            calls *= 4
        return max(1, round(calls * seconds / took))


class Offers:
    """What an adapter registers its abilities with: see the module's text.

    Args:
        material: see ``stages.py``.
    """

    def __init__(self, material: dict[str, Any]) -> None:
        self.abilities: dict[str, Ability] = {}
        self._material = material

    def __call__(
        self, stage: str, call: Call, *, prepare: Call = lambda raw: raw, facts: Call = lambda result: result, undone: str
    ) -> None:
        inputs = self._material["inputs"][self._material["stages"][stage]]
        self.abilities[stage] = Ability(call, prepare, facts, undone, inputs)


def load(path: str) -> Any:
    """The module at ``path``, under a name that is nobody's."""
    spec = importlib.util.spec_from_file_location("derive_bench_peer", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answer(abilities: dict[str, Ability], request: dict[str, Any]) -> dict[str, Any]:
    ability = abilities[request["stage"]]
    match request["do"]:
        case "facts":
            return {"facts": ability.said(count=request["count"])}
        case "answer":
            return {"facts": ability.said(request["inputs"])}
        case "calibrate":
            return {"calls": ability.calls_in(request["seconds"])}
        case "time":
            return {"seconds": ability.seconds(request["calls"])}
        case other:
            raise ValueError(f"no such request: {other}")


def installed(names: list[str]) -> dict[str, str]:
    """Versions of those distributions that are there."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def main(arguments: list[str]) -> None:
    adapter_path, material_path, *further = arguments
    if further[:1] == ["--path"]:
        sys.path.insert(0, further[1])
    # Whatever a library prints goes to standard error: standard output carries the answers alone.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(document: dict[str, Any]) -> None:
        output.write(json.dumps(document) + "\n")
        output.flush()

    try:
        adapter = load(adapter_path)
        material = json.loads(Path(material_path).read_bytes())
        offers = Offers(material)
        adapter.offer(offers, material)
    except Exception as error:
        tell({"error": f"{type(error).__name__}: {error}"})
        raise
    undone = {stage: ability.undone for stage, ability in offers.abilities.items()}
    tell({"abilities": undone, "versions": installed(list(adapter.PACKAGES)), "python": sys.version.split()[0]})
    for line in sys.stdin:
        try:
            tell(answer(offers.abilities, json.loads(line)))
        except Exception as error:
            tell({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main(sys.argv[1:])
