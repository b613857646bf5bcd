"""Compare: verdicts, false alarms and power under heavy-tailed noise, drift, and what is not compared."""

from __future__ import annotations

import random

import pytest

from derive_bench.measure.compare.compare import compare
from derive_bench.measure.compare.verdict import Verdict

from .made import CONTROLS, ROWS, result, sides

VERDICTS = (Verdict.SLOWER, Verdict.FASTER)


@pytest.mark.parametrize(("rounds", "paired"), [(3, False), (5, False), (10, True)])
def test_identical_code_makes_next_to_no_false_alarm(rounds: int, paired: bool) -> None:
    """In 40 nights of 50 rows: at most two nights with any alarm (the promise is 5 %), whatever the tails."""
    rng = random.Random(1)
    nights = [compare(*sides(rng, rounds=rounds, paired=paired, scale=rng.choice([0.005, 0.02, 0.08]))) for _ in range(40)]
    alarms = [[change.name for change in night.changes if change.verdict in VERDICTS] for night in nights]
    assert sum(map(bool, alarms)) <= 2, alarms


@pytest.mark.parametrize(("rounds", "paired", "change"), [(5, False, 1.2), (10, True, 1.12)])
def test_a_real_change_is_found_on_a_noisy_machine(rounds: int, paired: bool, change: float) -> None:
    rng = random.Random(2)
    found = 0
    for _ in range(20):
        night = compare(*sides(rng, rounds=rounds, paired=paired, scale=0.015, slower={"group/r7": change, "group/r9": 1 / change}))
        by_name = {row.name: row.verdict for row in night.changes}
        found += (by_name["group/r7"] is Verdict.SLOWER) + (by_name["group/r9"] is Verdict.FASTER)
    assert found >= 34


def test_the_drift_of_the_machine_is_shown_and_divided_out() -> None:
    comparison = compare(*sides(random.Random(3), scale=0.005, drift=0.3, slower={"group/r1": 1.25}))
    assert comparison.drift.ratio == pytest.approx(1.35, abs=0.02)
    assert comparison.drift.controls == len(CONTROLS)
    assert [change.name for change in comparison.changes if change.verdict in VERDICTS] == ["group/r1"]
    assert [change.name for change in comparison.regressions] == ["group/r1"]
    assert comparison.regressions[0].ratio == pytest.approx(1.25, abs=0.06)


def test_a_machine_that_changes_between_rounds_hides_nothing() -> None:
    """Every round of base and head at another speed, as where neighbours come and go: the controls tell."""
    rng = random.Random(4)
    names = (*ROWS[:10], *CONTROLS)
    both = []
    for head in (False, True):
        speeds = [rng.uniform(1.0, 1.5) for _ in range(5)]
        factor = {"group/r3": 1.2} if head else {}
        both.append(
            result(
                {name: [[1e-6 * speed * factor.get(name, 1) * rng.gauss(1, 0.004) for _ in range(4)] for speed in speeds] for name in names}
            )
        )
    comparison = compare(both[0], both[1])
    assert [change.name for change in comparison.changes if change.verdict in VERDICTS] == ["group/r3"]


def test_controls_that_disagree_widen_every_margin() -> None:
    flat = {name: [[1e-6] * 4] * 5 for name in (*ROWS[:3], *CONTROLS)}
    torn = flat | {name: [[1e-6 * (0.8 + 0.1 * number)] * 4] * 5 for number, name in enumerate(CONTROLS)}
    calm, doubtful = compare(result(flat), result(flat)), compare(result(flat), result(torn))
    assert (calm.drift.disagree, doubtful.drift.disagree) == (False, True)
    assert min(change.margin for change in doubtful.changes) > 0.2 > 0.01 > max(change.margin for change in calm.changes)
    assert {change.verdict for change in calm.changes} == {Verdict.SAME}
    assert {change.verdict for change in doubtful.changes} == {Verdict.NOISY}


def test_one_process_is_no_repetition() -> None:
    comparison = compare(result({"group/a": [[1e-6] * 9]}), result({"group/a": [[9e-6] * 9]}))
    (change,) = comparison.changes
    assert (change.verdict, change.reason) == (Verdict.NOISY, "one process: no repetition")
    assert not comparison.regressions


def test_quartiles_that_overlap_make_no_verdict() -> None:
    base = {"group/a": [[1.0e-6]] * 20 + [[1.3e-6]] * 20}
    head = {"group/a": [[1.2e-6]] * 20 + [[1.5e-6]] * 20}
    (change,) = compare(result(base), result(head)).changes
    assert (change.verdict, change.reason, change.p < 0.01) == (Verdict.NOISY, "the quartiles overlap", True)


def test_controls_are_not_gated() -> None:
    base = {name: [[1e-6] * 4] * 5 for name in CONTROLS}
    comparison = compare(result(base), result(base | {"control/c0": [[2e-6] * 4] * 5}))
    assert comparison.changes[0].verdict is Verdict.SLOWER
    assert comparison.regressions == ()


@pytest.mark.parametrize(("gate", "failed"), [(0.1, 1), (0.25, 0), (None, 1)])
def test_the_gate_fails_what_is_slower_by_more(gate: float | None, failed: int) -> None:
    base = {"group/a": [[1e-6] * 4] * 5, "group/b": [[1e-6] * 4] * 5}
    comparison = compare(result(base), result(base | {"group/a": [[1.2e-6] * 4] * 5}), gate)
    assert comparison.changes[0].verdict is Verdict.SLOWER
    assert len(comparison.regressions) == failed


def test_rows_of_one_side_only_and_redefined_ones_are_listed() -> None:
    runs = [[1e-6] * 4] * 5
    base = result({"group/a": runs, "group/gone": runs})
    head = result({"group/a": runs, "group/new": runs}, statement="other")
    comparison = compare(base, head)
    assert (comparison.added, comparison.removed, comparison.redefined) == (("group/new",), ("group/gone",), ("group/a",))
    assert comparison.changes == ()


def test_counts_need_no_repetition() -> None:
    base = {"group/a": [[1000.0], [1000.0]], "group/b": [[1000.0], [1000.0]], "group/c": [[1000.0], [1000.0]]}
    head = {"group/a": [[1010.0], [1010.0]], "group/b": [[1003.0], [1003.0]], "group/c": [[990.0], [1025.0]]}
    comparison = compare(result(base, unit="integer"), result(head, unit="integer"))
    assert [change.verdict for change in comparison.changes] == [Verdict.SLOWER, Verdict.SAME, Verdict.NOISY]
    assert [change.name for change in comparison.regressions] == ["group/a"]
