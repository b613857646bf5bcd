"""Parsing what callgrind writes, on dumps made by hand."""

from __future__ import annotations

import pytest

from derive_bench.measure.count.dumps import DumpError, allocations, instructions

DUMP = """\
# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 4711
cmd:  python -m something
part: 2

desc: Trigger: --dump-before=getppid

positions: line
events: Ir
summary: 1234567

ob=(2) libpython.so
fl=(2) ceval.c
fn=(10) _PyEval_EvalFrameDefault
16 500
cfn=(11) _PyObject_Malloc
calls=3 0
16 300
cfi=(4) other.c
cfn=(12) _PyObject_Free
calls=7 0
16 70

fn=(13) _PyObject_Calloc'2
0 40
fn=(14) list_resize
0 40
cfn=(13)
calls=2 0
0 80
cfn=(11)
calls=5 0
0 80

totals: 1234567
"""


def test_instructions_are_the_summary() -> None:
    assert instructions(DUMP) == 1_234_567


def test_totals_serve_where_there_is_no_summary() -> None:
    assert instructions(DUMP.replace("summary: 1234567\n", "")) == 1_234_567


def test_first_of_several_events_counts() -> None:
    assert instructions(DUMP.replace("events: Ir", "events: Ir Dr Dw").replace("summary: 1234567", "summary: 99 5 4")) == 99


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("", "no events line"),
        ("# callgrind format\nevents: Ir\n", "no summary line"),
        (DUMP.replace("events: Ir", "events: Dr Ir"), "counts 'Dr Ir' in place of instructions"),
        (DUMP.partition("events")[0], "no events line"),
    ],
)
def test_what_is_no_whole_dump_is_refused(text: str, missing: str) -> None:
    with pytest.raises(DumpError, match=missing):
        instructions(text)


def test_allocations_are_calls_of_the_allocators_whoever_calls() -> None:
    assert allocations(DUMP.splitlines(keepends=True)) == 3 + 2 + 5


def test_allocations_of_named_functions() -> None:
    assert allocations(DUMP.splitlines(), frozenset({"_PyObject_Free"})) == 7
    assert allocations(DUMP.splitlines(), frozenset({"malloc"})) == 0
