"""Made-up results: rows with known changes under heavy-tailed noise."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyperf

from derive_bench.measure.compare.loading import SESSION, Measured, measured
from derive_bench.measure.results import Results, save

METADATA: dict[str, str | int | float] = {
    "suite": "data",
    "protocol": "v3",
    "profile": "standard",
    "data_hash": "aa",
    "python": "CPython 3.11.7",
    "aslr": "Full randomization",
    "hostname": "here",
    "cpu_model_name": "CPU",
    "hash_seed": "random per process",
    "lib_orjson": "3.11.0",
}

CONTROLS = tuple(f"control/c{number}" for number in range(8))
ROWS = tuple(f"group/r{number}" for number in range(50))


def benchmarks(rounds: Mapping[str, Sequence[Sequence[float]]], **metadata: str | float) -> list[pyperf.Benchmark]:
    """pyperf benchmarks of these values."""
    return [
        pyperf.Benchmark(
            [
                pyperf.Run(list(values), metadata=METADATA | {"name": name, "statement": name} | metadata, collect_metadata=False)
                for values in runs
            ]
        )
        for name, runs in rounds.items()
    ]


def result(rounds: Mapping[str, Sequence[Sequence[float]]], name: str = "a.json", **metadata: str | float) -> Measured:
    """A result in memory."""
    return measured(benchmarks(rounds, **metadata), name)


def write(path: Path, rounds: Mapping[str, Sequence[Sequence[float]]], **metadata: str | float) -> Path:
    """A result file."""
    save(benchmarks(rounds, **metadata), path)
    return path


def noise(rng: random.Random, scale: float) -> float:
    """Student's t with three degrees of freedom, and now and then a burst that makes it up to half as slow again."""
    t = rng.gauss(0, 1) / math.sqrt(sum(rng.gauss(0, 1) ** 2 for _ in range(3)) / 3)
    return scale * t + (rng.uniform(0.1, 0.5) if rng.random() < 0.03 else 0.0)


def sides(
    rng: random.Random,
    *,
    rows: Sequence[str] = ROWS,
    rounds: int = 5,
    scale: float = 0.02,
    drift: float = 0.0,
    slower: Mapping[str, float] | None = None,
    paired: bool = False,
) -> tuple[Measured, Measured]:
    """Base and head: each row with a level of its own, each process with noise, each value with less."""
    levels = {name: math.log(1e-6) + rng.uniform(-2, 4) for name in (*rows, *CONTROLS)}
    both = []
    for head in (False, True):
        found = {}
        for name, level in levels.items():
            change = (drift + math.log((slower or {}).get(name, 1.0))) if head else 0.0
            runs = []
            for _ in range(rounds):
                process = level + change + noise(rng, scale)
                runs.append([math.exp(process + rng.gauss(0, scale / 4)) for _ in range(4)])
            found[name] = runs
        extra = {SESSION: "s"} if paired else {}
        # pyperf's objects would take most of the time of a simulation.
        results = Results(METADATA | extra, {})
        rounds_of = {name: tuple(map(tuple, runs)) for name, runs in found.items()}
        both.append(Measured("head" if head else "base", results, rounds_of, dict.fromkeys(found, "")))
    return both[0], both[1]
