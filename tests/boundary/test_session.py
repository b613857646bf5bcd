"""The session: rounds there and back, what is wrong is told and not timed, shares and percentiles are of all calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from derive_bench.boundary.session import Case, Measured, Missing, Plan, Session, Timed

PLAN = Plan(rounds=3, seconds=0.0001, bars=1000, combinations=2)


class Opened:
    """A case's opening that keeps a diary."""

    def __init__(self, diary: list[str], name: str, trouble: BaseException | None = None, **timed: Any) -> None:
        self.diary, self.name, self.trouble, self.timed = diary, name, trouble, timed

    @contextlib.contextmanager
    def __call__(self) -> Iterator[Timed]:
        self.diary.append(self.name)
        if self.trouble:
            raise self.trouble
        yield Timed(**({"call": lambda: None} | self.timed))


def test_every_other_round_goes_the_other_way() -> None:
    diary: list[str] = []
    session = Session([Case(name, "", Opened(diary, name)) for name in "abc"], PLAN)
    told: list[tuple[str, int, int]] = []
    session.run(lambda *words: told.append(words))
    assert "".join(diary) == "abccbaabc"
    assert told == [(name, number, 9) for number, name in enumerate("abccbaabc")]
    assert session.rounds_done == 3
    assert all(len(found.calls) == 3 for found in session.measured.values())


def test_what_is_wrong_or_missing_or_fails_is_told_and_not_timed() -> None:
    diary: list[str] = []

    def fail() -> None:
        raise OSError("the pipe broke")

    session = Session(
        [
            Case("good", "", Opened(diary, "good", check=lambda _: "")),
            Case("wrong", "", Opened(diary, "wrong", check=lambda _: "3 trades instead of 4")),
            Case("missing", "", Opened(diary, "missing", Missing("no rustc here"))),
            Case("failing", "", Opened(diary, "failing", call=fail)),
        ],
        PLAN,
    )
    session.run()
    found = {name: (each.trouble, each.wrong, len(each.calls)) for name, each in session.measured.items()}
    assert found == {
        "good": ("", False, 3),
        "wrong": ("3 trades instead of 4", True, 0),
        "missing": ("no rustc here", False, 0),
        "failing": ("failed: the pipe broke", False, 0),
    }
    assert diary.count("wrong") == 1


def test_an_interrupted_run_keeps_what_it_has() -> None:
    diary: list[str] = []
    session = Session([Case("a", "", Opened(diary, "a")), Case("b", "", Opened(diary, "b", KeyboardInterrupt()))], PLAN)
    with pytest.raises(KeyboardInterrupt):
        session.run()
    assert session.measured["a"].calls
    assert not session.measured["b"].calls


def test_the_share_is_what_is_left_of_the_whole() -> None:
    found = Measured(Case("a", "", Opened([], "a")))
    found.calls, found.computed = [np.array([100, 300]), np.array([400, 400])], [150.0, 100.0]
    assert found.share == pytest.approx((0.25 + 0.75) / 2)
    assert (found.compute_ns, found.median_ns, found.percentile_ns(100)) == (125.0, 350.0, 400.0)
    assert found.values == [[pytest.approx(1e-7), pytest.approx(3e-7)], [pytest.approx(4e-7)] * 2]


def test_a_call_may_count_for_something_else_than_its_time() -> None:
    session = Session([Case("a", "", Opened([], "a", elapsed_ns=lambda: 7, compute_ns=lambda: 0))], PLAN)
    session.run()
    assert session.measured["a"].median_ns == 7
    assert session.measured["a"].compute_ns == 0


def test_what_is_checked_is_what_the_first_call_gave_and_a_long_call_is_made_once() -> None:
    made: list[int] = []
    checked: list[int] = []

    def call() -> int:
        made.append(len(made))
        return made[-1]

    def check(found: int) -> str:
        checked.append(found)
        return ""

    session = Session([Case("a", "", Opened([], "a", call=call, check=check))], Plan(rounds=2, seconds=0, bars=1000, combinations=2))
    session.run()
    assert checked == [0]
    assert made == [0, 1], "a call longer than the least to measure is made once a round, and the checked one counts"
    assert [len(calls) for calls in session.measured["a"].calls] == [1, 1]
