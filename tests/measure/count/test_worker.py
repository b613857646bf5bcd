"""The counting worker, with dumps made by hand in place of callgrind's."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import pytest

from derive_bench.measure.count.dumps import DumpError
from derive_bench.measure.count.heap import half_filled
from derive_bench.measure.count.worker import Dumps, Plan, count, plan
from derive_bench.measure.inputs import SharedInputs
from derive_bench.measure.rows import RowError, Suite


class Machine:
    """Writes a dump when it is signalled, as callgrind would; statements of rows spend instructions."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.spent, self.dumped = 0, 0
        self.cut_short = False
        monkeypatch.chdir(folder)
        monkeypatch.setattr(os, "getppid", self.dump)
        monkeypatch.setattr(os, "getpgrp", self.zero)

    def spend(self, instructions: int) -> None:
        self.spent += instructions

    def dump(self) -> int:
        self.dumped += 1
        head = "cmd: " + "x" * 5_000 + "\nevents: Ir\n"
        Path(f"out.{self.dumped}").write_text(head + ("" if self.cut_short else f"summary: {self.spent + 33}\n"))
        self.spent = 0
        return 1

    def zero(self) -> int:
        self.spent = 0
        return 1


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


KINDS: list[dict[str, Any]] = [{}, {"each": "numbers"}, {"fresh": "make"}]


@pytest.mark.parametrize("kind", KINDS, ids=["plain", "each", "fresh"])
@pytest.mark.parametrize("cost", [7, 50_000, 500_000, 9_000_000])
def test_count_is_what_a_call_costs_less_what_readings_cost(machine: Machine, kind: dict[str, Any], cost: int) -> None:
    suite = Suite("data", "")
    suite.row("a/b", "spend(cost)", summary="test", **kind)(
        lambda inputs: {"spend": machine.spend, "cost": cost, "numbers": list(range(1_000)), "make": lambda: machine.spend(10**9)}
    )
    found = count(suite.rows["a/b"], SharedInputs(), Dumps())
    # A reading costs 33; a loop around an empty statement is measured with it, hence a share of it over a cold row's thousand inputs.
    assert found.instructions == pytest.approx(cost, abs=0.05 * 33)
    assert (found.inner, found.few, found.many) == _numbers(plan(cost, unrolled=not kind))
    left = {int(path.suffix[1:]) for path in Path().glob("out.*")}
    assert left == {*found.few_dumps, *found.many_dumps}
    assert gc.isenabled()


def _numbers(chosen: Plan) -> tuple[int, int, int]:
    return chosen.inner, chosen.few, chosen.many


def test_plan_depends_on_the_cost_alone() -> None:
    assert plan(100, unrolled=True).calls == 800
    assert [plan(cost, unrolled=False).inner for cost in (0, 99_999, 100_000, 3_999_999, 4_000_000)] == [50, 50, 10, 10, 1]


def test_a_row_whose_library_is_missing_is_refused(machine: Machine) -> None:
    suite = Suite("data", "")

    @suite.row("a/b", "pass", summary="test")
    def _(inputs: Any) -> dict[str, Any]:
        raise ModuleNotFoundError("no", name="coincurve")

    with pytest.raises(RowError, match="row a/b needs coincurve, which is not installed"):
        count(suite.rows["a/b"], SharedInputs(), Dumps())


def test_a_dump_cut_short_is_refused(machine: Machine) -> None:
    dumps = Dumps()
    dumps.read()
    machine.cut_short = True
    with pytest.raises(DumpError, match="no summary line"):
        dumps.read()


def test_half_of_each_size_stays() -> None:
    kept = half_filled()
    assert len(kept) > 1_000
    assert {type(value) for value in kept} == {object, int, bytes}
