"""Rows: what a suite accepts, and that a compiled loop runs its statement exactly as often as it says."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from derive_bench.measure.inputs import Inputs
from derive_bench.measure.rows import INNER, Meter, Row, RowError, Suite, Timed

INPUTS = Inputs()


@pytest.fixture
def suite() -> Suite:
    return Suite("data", "for tests")


def define(suite: Suite, name: str, statement: str, namespace: dict[str, Any] | None = None, **options: Any) -> Row:
    suite.row(name, statement, summary="a test", **options)(lambda inputs: namespace or {})
    return suite.rows[name]


def prepare(row: Row, inner: int = 1, meter: Meter | None = None) -> Timed:
    return row.compile(row.namespace(INPUTS), inner, meter)


@pytest.mark.parametrize("inner", INNER)
def test_plain_row_runs_loops_times_inner(suite: Suite, inner: int) -> None:
    calls: list[int] = []
    timed = prepare(define(suite, "a/b", "note(1)", {"note": calls.append}), inner)
    assert timed.inner == inner
    assert timed.run(7) > 0
    assert len(calls) == 7 * inner


def test_statement_of_several_lines_is_unrolled_whole(suite: Suite) -> None:
    calls: list[str] = []
    statement = """
        note("first")
        if wanted:
            note("second")
        """
    prepare(define(suite, "a/b", statement, {"note": calls.append, "wanted": True}), 10).run(1)
    assert calls == ["first", "second"] * 10


@pytest.mark.parametrize(("inner", "whole"), [(1, 1_027), (10, 1_020), (50, 1_000)])
def test_cold_row_sees_each_input_in_turn_and_goes_on_where_it_stopped(suite: Suite, inner: int, whole: int) -> None:
    seen: list[int] = []
    row = define(suite, "a/b", "note(x)", {"note": seen.append, "numbers": list(range(1_027))}, each="numbers")
    timed = prepare(row, inner)
    timed.run(600 // inner)
    timed.run(700 // inner)
    assert seen == [number % whole for number in range(1_300)]  # whole chunks only


def test_a_cold_row_compiled_anew_goes_on_where_it_stopped(suite: Suite) -> None:
    seen: list[int] = []
    row = define(suite, "a/b", "note(x)", {"note": seen.append, "numbers": list(range(1_027))}, each="numbers")
    namespace = row.namespace(INPUTS)
    row.compile(namespace, 1).run(1_024)
    row.compile(namespace, 50).run(2)
    row.compile(namespace, 10).run(1)
    assert seen == [number % 1_027 for number in range(1_134)]


def test_cold_inputs_may_come_from_a_function_that_other_rows_never_call(suite: Suite) -> None:
    def frames() -> list[int]:
        raise AssertionError("built for a row that does not use them")

    plain = define(suite, "a/b", "abs(x)", {"x": 1, "frames": frames}, cold="frames")
    cold = suite.rows["a/b_cold"]
    assert (plain.each, cold.each, cold.statement) == (None, "frames", plain.statement)
    prepare(plain).run(1)
    with pytest.raises(AssertionError, match="built for"):
        prepare(cold)


def test_cold_row_needs_a_thousand_inputs(suite: Suite) -> None:
    row = define(suite, "a/b", "x", {"numbers": lambda: [0] * 999}, each="numbers")
    with pytest.raises(RowError, match="999 inputs; a cold row needs 1,000"):
        prepare(row)


@pytest.mark.parametrize("inner", INNER)
def test_fresh_row_consumes_a_new_state_each_time(suite: Suite, inner: int) -> None:
    made: list[list[int]] = []

    def make() -> list[int]:
        made.append([1])
        return made[-1]

    prepare(define(suite, "a/b", "x.pop()", {"make": make}, fresh="make"), inner).run(3)
    assert made == [[]] * (3 * inner)


@pytest.mark.parametrize(("options", "namespace"), [({"each": "inputs"}, {}), ({"fresh": "make"}, {"other": 1})])
def test_missing_name_is_an_error(suite: Suite, options: dict[str, Any], namespace: dict[str, Any]) -> None:
    row = define(suite, "a/b", "x", namespace, **options)
    with pytest.raises(RowError, match="its namespace has no"):
        prepare(row)


@pytest.mark.parametrize("name", ["not a name", "__clock"])
def test_names_the_loop_cannot_bind_are_refused(suite: Suite, name: str) -> None:
    with pytest.raises(RowError, match="cannot be a name"):
        prepare(define(suite, "a/b", "pass", {name: 1}))


def test_other_inner_numbers_are_refused(suite: Suite) -> None:
    with pytest.raises(RowError, match="1, 10, 50 times, not 2"):
        prepare(define(suite, "a/b", "pass"), 2)


def test_a_name_is_taken_once(suite: Suite) -> None:
    define(suite, "a/b", "pass", cold="frames")
    with pytest.raises(RowError, match="twice"):
        define(suite, "a/b_cold", "pass")


@pytest.mark.parametrize("name", ["plain", "/b", "a/"])
def test_a_name_has_a_group(suite: Suite, name: str) -> None:
    with pytest.raises(RowError, match="group/row"):
        define(suite, name, "pass")


def test_statement_must_compile(suite: Suite) -> None:
    with pytest.raises(RowError, match="does not compile"):
        define(suite, "a/b", "for")


@pytest.mark.parametrize("summary", ["", " ", "two\nlines"])
def test_a_row_has_a_summary_of_one_line(suite: Suite, summary: str) -> None:
    with pytest.raises(RowError, match="summary of one line"):
        suite.row("a/b", "pass", summary=summary)


def test_a_row_is_of_one_kind(suite: Suite) -> None:
    with pytest.raises(RowError, match="one of"):
        define(suite, "a/b", "x", each="frames", fresh="make")


def test_fingerprint_follows_what_is_timed(suite: Suite) -> None:
    first = define(suite, "a/b", "abs(1)")
    other = define(Suite("data", "again"), "a/b", "abs(2)")
    same = define(Suite("data", "again"), "a/b", "abs(1)")
    assert first.fingerprint == same.fingerprint != other.fingerprint


@pytest.mark.parametrize(("protocols", "name", "applies"), [((), "v2", True), (("v3",), "v3-testnet", True), (("v3",), "v2", False)])
def test_rows_of_one_dialect(suite: Suite, protocols: tuple[str, ...], name: str, applies: bool) -> None:
    assert define(suite, "a/b", "pass", protocols=protocols).applies_to(name) is applies


def test_stacked_decorators_share_a_builder(suite: Suite) -> None:
    @suite.row("a/one", "f()", summary="one")
    @suite.row("a/two", "f()", summary="two")
    def build(inputs: Inputs) -> dict[str, Any]:
        return {"f": int}

    assert [row.build for row in suite] == [build, build]


@pytest.mark.parametrize(
    ("options", "namespace"), [({"each": "numbers"}, {"numbers": [1] * 1_000}), ({"fresh": "make"}, {"make": list})], ids=["each", "fresh"]
)
def test_loop_around_an_empty_statement_is_subtracted(suite: Suite, options: dict[str, Any], namespace: dict[str, Any]) -> None:
    ticks = itertools.count()
    meter = Meter(lambda: float(next(ticks)), empty_passes=7, empty_calls=1_000)
    timed = prepare(define(suite, "a/b", "x", namespace, **options), meter=meter)
    # Each look at the clock is one second later than the last: 1 s for the loop of a cold row and for each batch of a fresh one, whatever
    # they do. An empty pass of 1,000 loops took the same 1 s or 1,000 s.
    assert timed.run(500) == pytest.approx(0.5 if "each" in options else 0.0)
