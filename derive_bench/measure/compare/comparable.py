"""Comparable: why two results must not be compared.

Times depend on the machine and on everything that runs on it; instruction counts on the interpreter's build and the libraries alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from derive_bench.measure.compare.loading import SESSION, Measured
from derive_bench.measure.environment import LIBRARIES

__all__ = ["obstacles"]

ALWAYS = {
    "data_hash": "input data",
    "protocol": "protocol",
    "python": "interpreter",
    "python_compiler": "interpreter's compiler",
    "python_cflags": "interpreter's build",
    "aslr": "ASLR",
    "profile": "profile",
    "hash_seed": "hash seed",
    "valgrind": "valgrind",
}
TIMES_ONLY = {"hostname": "host", "cpu_model_name": "CPU", "cpu_count": "number of CPUs"}
REQUIRED = ("data_hash", "protocol", "python", "aslr", "profile")
"""What every result of ours says of itself."""


def obstacles(base: Measured, head: Measured) -> list[str]:
    """Reasons against a comparison, each with what differs; none if there is nothing against it."""
    if base.unit != head.unit:
        return [f"one holds times, the other instruction counts: {base.name} is in {base.unit}s, {head.name} in {head.unit}s"]
    return [*_foreign(base), *_foreign(head), *_differences(base, head)]


def _foreign(measured: Measured) -> Iterator[str]:
    metadata = measured.results.metadata
    missing = [key for key in REQUIRED if key not in metadata]
    if missing:
        yield f"{measured.name} was written by an older version: it does not say its {', '.join(missing)}; measure it anew"
    if metadata.get("suites") == "peers":
        yield f"{measured.name} compares libraries; it is no run of ours over time"


def _differences(base: Measured, head: Measured) -> Iterator[str]:
    one, other = base.results.metadata, head.results.metadata
    keys = ALWAYS | ({} if base.unit == "integer" else TIMES_ONLY)
    for key, name in keys.items():
        if key in one and key in other and one[key] != other[key]:
            yield f"other {name}: {_short(one[key])} and {_short(other[key])}"
    for library in LIBRARIES:
        key = f"lib_{library.replace('-', '_')}"
        if one.get(key) != other.get(key):
            yield f"other version of {library}: {one.get(key, 'none')} and {other.get(key, 'none')}"
    if (SESSION in one) != (SESSION in other):
        yield "one was measured interleaved, the other alone"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
