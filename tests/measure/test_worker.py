"""The worker: calibration, retaken values, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyperf
import pytest

from derive_bench.measure import rows, worker
from derive_bench.measure.catalogue import load_suite
from derive_bench.measure.inputs import Inputs, SharedInputs
from derive_bench.measure.rows import Suite
from derive_bench.measure.runner import PROFILES, Launcher
from derive_bench.measure.trees import PACKAGE_PARENT
from derive_bench.measure.worker import RETAKES, Task, calibrate, choose_inner, undisturbed

FAKE = Path(__file__).resolve().parents[1] / "fake_benches"


def start(*tasks: Task, suite: str = "data", values: int = 2) -> subprocess.CompletedProcess[str]:
    command = Launcher("v3", benches=FAKE).command(suite, tasks, PROFILES["quick"])
    command += ["--values", str(values), "--min-time", "0.002"]
    return subprocess.run(command, cwd=PACKAGE_PARENT, capture_output=True, text=True, timeout=60, check=False)


def task(name: str, **changes: Any) -> Task:
    suite = "signing" if name.startswith("control/") else "data"
    return Task(name, load_suite(suite, FAKE).rows[name].fingerprint, **changes)


def test_one_worker_measures_several_rows_into_one_suite() -> None:
    done = start(task("decode_only/ticker", inner=10, loops=3), task("dispatch/consumed", inner=50, loops=2))
    assert done.returncode == 0, done.stderr
    first, second = pyperf.BenchmarkSuite.loads(done.stdout)
    assert (first.get_name(), first.get_inner_loops(), first.get_loops()) == ("decode_only/ticker", 10, 3)
    assert (second.get_name(), second.get_inner_loops(), second.get_loops()) == ("dispatch/consumed", 50, 2)
    assert first.get_nvalue() == 2
    assert first.get_unit() == "second"


def test_a_row_without_loops_is_calibrated() -> None:
    done = start(task("decode_only/ticker"))
    (benchmark,) = pyperf.BenchmarkSuite.loads(done.stdout)
    assert benchmark.get_loops() > 1
    assert benchmark.get_inner_loops() in (10, 50)


@pytest.mark.parametrize("asked", [Task("decode_only/nothing", "00000000"), Task("decode_only/ticker", "00000000")])
def test_a_row_that_is_not_the_one_expected_is_refused_in_one_line(asked: Task) -> None:
    done = start(asked)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f"row '{asked.row}' is not the one asked for" in done.stderr


def test_what_a_row_prints_stays_out_of_the_result(tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text(
        "from derive_bench.measure.rows import Suite\n"
        "suite = Suite('noisy', '')\n"
        "suite.row('a/b', 'print(1)', summary='test')(lambda inputs: print('building') or {})\n"
    )
    fingerprint = load_suite("noisy", tmp_path).rows["a/b"].fingerprint
    command = Launcher("v3", benches=tmp_path).command("noisy", [Task("a/b", fingerprint, 1, 1)], PROFILES["quick"])
    done = subprocess.run(command, cwd=PACKAGE_PARENT, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout)
    assert "building" in done.stderr


def test_a_worker_imports_what_its_row_needs_and_no_more() -> None:
    command = Launcher("v3", benches=FAKE).command("data", [task("decode_only/ticker", inner=1, loops=1)], PROFILES["quick"])
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *command[1:]], cwd=PACKAGE_PARENT, capture_output=True, text=True, check=True
    )
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "derive_bench.measure.worker" in modules or "derive_bench.measure.rows" in modules
    unwanted = ("msgspec", "orjson", "wallycore", "coincurve", "eth_account", "derive_bench.adapter.frames", "derive_bench.cli")
    assert modules.isdisjoint(unwanted)


def test_inner_number_falls_with_cost() -> None:
    assert [choose_inner(seconds) for seconds in (50e-9, 999e-9, 1e-6, 19e-6, 20e-6, 1.0)] == [50, 50, 10, 10, 1, 1]


class Clock:
    """A clock that only the statements and set-ups of rows advance."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(worker, "perf_counter", lambda: self.now)
        monkeypatch.setattr(rows, "SECONDS", replace(rows.SECONDS, read=lambda: self.now))

    def spend(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(("cost", "inner", "loops"), [(100e-9, 50, 2_000), (5e-6, 10, 200), (1e-3, 1, 10), (1.0, 1, 1)])
def test_calibration_reaches_the_time_asked_for(monkeypatch: pytest.MonkeyPatch, cost: float, inner: int, loops: int) -> None:
    clock = Clock(monkeypatch)
    suite = Suite("data", "")
    suite.row("a/b", "spend(cost)", summary="test")(lambda inputs: {"spend": clock.spend, "cost": cost})
    timed, found = calibrate(suite.rows["a/b"], {"spend": clock.spend, "cost": cost}, 0.01)
    assert (timed.inner, found) == (inner, loops)
    assert timed.run(found) == pytest.approx(max(0.01, cost))


def test_calibration_bounds_what_is_built_around_the_timed_region(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    suite = Suite("data", "")
    suite.row("a/b", "x.clear(); spend(2e-6)", fresh="make", summary="test")(lambda inputs: {})

    def make() -> list[int]:
        clock.spend(1e-3)
        return [1]

    timed, loops = calibrate(suite.rows["a/b"], {"make": make, "spend": clock.spend}, 0.01)
    begin = clock.now
    assert timed.run(loops) == pytest.approx(loops * timed.inner * 2e-6)
    assert clock.now - begin == pytest.approx(0.03, rel=0.1)


def test_a_value_is_taken_again_while_the_thread_was_off_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = iter([0.5, 0.5, 0.0])
    wall, cpu = 0.0, 0.0

    def run(loops: int) -> float:
        nonlocal wall, cpu
        wall, cpu = wall + 1.0, cpu + 1.0 - next(lost)
        return float(loops)

    monkeypatch.setattr(worker, "perf_counter", lambda: wall)
    monkeypatch.setattr(worker, "thread_time", lambda: cpu)
    counts: list[int] = []
    assert undisturbed(run, counts)(7) == 7.0
    assert counts == [2]


def test_retakes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(1_000))
    monkeypatch.setattr(worker, "perf_counter", lambda: float(next(ticks)))
    monkeypatch.setattr(worker, "thread_time", lambda: 0.0)
    calls: list[int] = []
    counts: list[int] = []

    def run(loops: int) -> float:
        calls.append(loops)
        return 1.0

    undisturbed(run, counts)(1)
    assert (len(calls), counts) == (RETAKES + 1, [RETAKES])


def test_retakes_of_all_values_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(1_000))
    monkeypatch.setattr(worker, "perf_counter", lambda: float(next(ticks)))
    monkeypatch.setattr(worker, "thread_time", lambda: 0.0)
    counts: list[int] = []
    timed = undisturbed(lambda loops: 1.0, counts)
    for _ in range(5):
        timed(1)
    assert counts == [3, 3, 0, 0, 0]


def test_rows_of_one_worker_share_cold_frames() -> None:
    shared, alone = SharedInputs(), Inputs()
    assert shared.frames_cold("trade", 1_000) is shared.frames_cold("trade", 1_000)
    assert shared.frames_cold("trade", 1_000) == alone.frames_cold("trade", 1_000)
    assert shared.frames_cold("trade", 1_000, jsonrpc=True) == alone.frames_cold("trade", 1_000, jsonrpc=True)
