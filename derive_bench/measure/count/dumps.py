"""What callgrind writes: the instructions of a stretch, and how often Python's allocator was called in it.

A dump is text: a head of ``key: value`` lines, among them ``events: Ir`` and ``summary: N``, then costs by function. A call is
a line ``cfn=(ID) NAME``, the name given the first time only, and below it ``calls=COUNT …``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["ALLOCATORS", "HEAD_BYTES", "DumpError", "allocations", "instructions"]

HEAD_BYTES = 2_000
"""The ``summary`` stands within this many bytes from the start; a command line in the head may be long, hence :data:`_SUMMARY`."""

ALLOCATORS = frozenset({"_PyObject_Malloc", "_PyObject_Calloc", "_PyObject_Realloc"})
"""The functions of CPython that give out blocks to objects; what comes from a type's free list never gets to them."""

_EVENTS = re.compile(r"^events: (.*)$", re.MULTILINE)
_SUMMARY = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)
_NAMED = re.compile(r"c?fn=\((\d+)\)(?: (.*))?")


class DumpError(Exception):
    """A file is not a callgrind dump with instruction counts; the message says what is missing."""


def instructions(text: str) -> int:
    """The instructions executed in the stretch a dump is about.

    Raises:
        DumpError: no such figure, or another event comes first.
    """
    events, summary = _EVENTS.search(text), _SUMMARY.search(text)
    if events is None or summary is None:
        raise DumpError(f"no {'events' if events is None else 'summary'} line: cut short, or not of callgrind")
    if events[1].split()[:1] != ["Ir"]:
        raise DumpError(f"counts {events[1]!r} in place of instructions (Ir)")
    return int(summary[1])


def allocations(lines: Iterable[str], allocators: frozenset[str] = ALLOCATORS) -> int:
    """How often one of ``allocators`` was called in the stretch a dump is about."""
    names: dict[str, str] = {}
    called, total = "", 0
    for line in lines:
        if named := _NAMED.match(line):
            number, name = named.groups()
            if name is not None:
                names[number] = name.strip().partition("'")[0]
            if line.startswith("c"):
                called = names.get(number, "")
        elif line.startswith("calls=") and called in allocators:
            total += int(line[6:].split()[0])
    return total
