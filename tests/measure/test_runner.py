"""The session: rounds over rows, interleaved; merged benchmarks; what happens when a worker does not deliver."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyperf
import pytest

from derive_bench.measure.catalogue import Catalogue
from derive_bench.measure.rows import Row
from derive_bench.measure.runner import PROFILES, Launcher, Profile, Progress, Session, WorkerFailed, WorkerRefused
from derive_bench.measure.worker import RETAKES_IN_ALL, Task

FAKE = Path(__file__).resolve().parents[1] / "fake_benches"
TINY = Profile("tiny", processes=3, values=2, warmups=1, min_time=0.0001, rows_per_process=1)


class Recorder(Launcher):
    """Starts nothing; answers with one benchmark of one run per task and keeps what it was asked."""

    asked: list[list[Task]]
    disturbed: dict[int, dict[str, float]]
    """Which answers, counted from 0, have other metadata than those of a quiet machine."""

    def __init__(self, disturbed: dict[int, dict[str, float]] | None = None) -> None:
        super().__init__("v3")
        object.__setattr__(self, "asked", [])
        object.__setattr__(self, "disturbed", disturbed or {})

    def measure(self, suite: str, tasks: Sequence[Task], profile: Profile) -> list[pyperf.Benchmark]:
        metadata = {"loops": 8, "inner_loops": 10, "retaken_values": 0, "probe_seconds": 1.0} | self.disturbed.get(len(self.asked), {})
        self.asked.append(list(tasks))
        return [
            pyperf.Benchmark([pyperf.Run([1.0] * profile.values, metadata=metadata | {"name": task.row}, collect_metadata=False)])
            for task in tasks
        ]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return Catalogue.load("v3", FAKE).select()


def test_rounds_go_over_all_rows_and_turn_round(rows: list[Row]) -> None:
    launcher = Recorder()
    session = Session(rows, TINY, launcher)
    session.run()
    names = [row.name for row in rows]
    assert [tasks[0].row for tasks in launcher.asked] == [*names, *reversed(names), *names]
    assert session.rounds_done == 3
    assert {name: benchmark.get_nrun() for name, benchmark in session.benchmarks.items()} == dict.fromkeys(names, 3)


def test_first_round_calibrates_and_later_ones_repeat_it(rows: list[Row]) -> None:
    launcher = Recorder()
    Session(rows[:1], TINY, launcher).run()
    assert [(task.inner, task.loops) for (task,) in launcher.asked] == [(0, 0), (10, 8), (10, 8)]


def test_a_warm_up_pass_is_thrown_away_but_for_its_calibration(rows: list[Row]) -> None:
    launcher, seen = Recorder(), list[Progress]()
    session = Session(rows[:2], replace(TINY, processes=2, warmup_pass=True), launcher)
    session.run(seen.append)
    names = [row.name for row in rows[:2]]
    assert [tasks[0].row for tasks in launcher.asked] == [*reversed(names), *names, *reversed(names)]
    assert [tasks[0].loops for tasks in launcher.asked] == [0, 0, 8, 8, 8, 8]
    assert {benchmark.get_nrun() for benchmark in session.benchmarks.values()} == {2}
    assert [(progress.round, progress.done, progress.total) for progress in seen] == [
        (0, 0, 6),
        (0, 1, 6),
        (1, 2, 6),
        (1, 3, 6),
        (2, 4, 6),
        (2, 5, 6),
    ]


def test_nothing_is_kept_of_an_interrupted_warm_up_pass(rows: list[Row]) -> None:
    def stop(progress: Progress) -> None:
        if progress.done == 1:
            raise KeyboardInterrupt

    session = Session(rows[:2], replace(TINY, warmup_pass=True), Recorder())
    with pytest.raises(KeyboardInterrupt):
        session.run(stop)
    assert session.benchmarks == {}


def test_given_loops_are_kept(rows: list[Row]) -> None:
    launcher = Recorder()
    Session(rows[:1], replace(TINY, processes=1), launcher, loops=3).run()
    assert [task.loops for (task,) in launcher.asked] == [3]


def test_rows_share_a_process_only_within_a_suite(rows: list[Row]) -> None:
    launcher = Recorder()
    Session(rows, replace(TINY, processes=1, rows_per_process=4), launcher).run()
    assert [len(tasks) for tasks in launcher.asked] == [4, 2, 1]
    assert launcher.asked[2][0].row == "control/json_loads_ticker"


def test_only_quick_shares_processes() -> None:
    assert [name for name, profile in PROFILES.items() if profile.rows_per_process > 1] == ["quick"]


@pytest.mark.parametrize("signs", [{"probe_seconds": 1.31}, {"retaken_values": RETAKES_IN_ALL}])
def test_disturbed_runs_are_made_again_after_the_round(rows: list[Row], signs: dict[str, float]) -> None:
    launcher = Recorder({1: signs})
    session = Session(rows[:3], TINY, launcher)
    session.run()
    first, second, third = (row.name for row in rows[:3])
    assert [tasks[0].row for tasks in launcher.asked] == [first, second, third, second, third, second, first, first, second, third]
    assert session.repeated == 1
    assert [len(session.runs[name]) for name in (first, second, third)] == [3, 3, 3]
    assert all(run.get_metadata()["probe_seconds"] == 1.0 for run in session.runs[second])
    assert all(run.get_metadata()["retaken_values"] == 0 for run in session.runs[second])


def test_a_machine_that_is_never_quiet_costs_a_tenth_more(rows: list[Row]) -> None:
    many = [replace(rows[0], name=f"a/{number}") for number in range(20)]
    launcher = Recorder({number: {"retaken_values": RETAKES_IN_ALL} for number in range(1_000)})
    Session(many, replace(TINY, processes=2), launcher).run()
    assert len(launcher.asked) == 2 * (20 + 2)


def test_progress_counts_workers_and_rounds(rows: list[Row]) -> None:
    seen: list[Progress] = []
    Session(rows[:2], TINY, Recorder()).run(seen.append)
    assert [(progress.done, progress.total, progress.round) for progress in seen] == [(n, 6, n // 2 + 1) for n in range(6)]
    assert seen[0].seconds_left is None
    assert seen[5].seconds_left is not None


def test_interruption_keeps_what_there_is(rows: list[Row]) -> None:
    def stop(progress: Progress) -> None:
        if progress.done == 3:
            raise KeyboardInterrupt

    session = Session(rows[:2], TINY, Recorder())
    with pytest.raises(KeyboardInterrupt):
        session.run(stop)
    assert {name: benchmark.get_nrun() for name, benchmark in session.benchmarks.items()} == {rows[0].name: 1, rows[1].name: 2}
    assert session.rounds_done == 1


def test_another_row_than_asked_for_is_an_error(rows: list[Row]) -> None:
    class Swapped(Recorder):
        def measure(self, suite: str, tasks: Sequence[Task], profile: Profile) -> list[pyperf.Benchmark]:
            return super().measure(suite, [replace(task, row="a/other") for task in tasks], profile)

    with pytest.raises(WorkerFailed, match="got a/other"):
        Session(rows[:1], TINY, Swapped()).run()


def test_real_workers_end_to_end(rows: list[Row]) -> None:
    session = Session(rows[:3], replace(TINY, processes=2), Launcher("v3", benches=FAKE))
    session.run()
    assert list(session.benchmarks) == [row.name for row in rows[:3]]
    for benchmark in session.benchmarks.values():
        assert (benchmark.get_nrun(), benchmark.get_nvalue()) == (2, 4)
        first, second = benchmark.get_runs()
        assert (first.get_loops(), first.get_inner_loops()) == (second.get_loops(), second.get_inner_loops())
        assert [len(run.warmups) for run in (first, second)] == [1, 1]


def write_suite(folder: Path, builder: str) -> list[Row]:
    (folder / "mine.py").write_text(
        f"from derive_bench.measure.rows import Suite\nsuite = Suite('mine', '')\n"
        f"@suite.row('a/b', 'abs(1)', summary='test')\ndef _(inputs):\n    {builder}\n    return {{}}\n"
    )
    return Catalogue.load("v3", folder).select()


def test_missing_input_file_is_told_in_one_line(tmp_path: Path) -> None:
    rows = write_suite(tmp_path, "inputs.frame('ticker')")
    with pytest.raises(WorkerRefused, match=r"ticker_slim\.json: missing"):
        Session(rows, TINY, Launcher("v3", data=tmp_path, benches=tmp_path)).run()


def test_missing_library_is_told_in_one_line(tmp_path: Path) -> None:
    rows = write_suite(tmp_path, "import no_such_library")
    with pytest.raises(WorkerRefused, match="a/b needs no_such_library, which is not installed"):
        Session(rows, TINY, Launcher("v3", benches=tmp_path)).run()


def test_crash_shows_the_traceback(tmp_path: Path) -> None:
    rows = write_suite(tmp_path, "raise RuntimeError('broken row')")
    with pytest.raises(WorkerFailed, match=r"(?s)a/b: worker ended with 1\n.*RuntimeError: broken row"):
        Session(rows, TINY, Launcher("v3", benches=tmp_path)).run()


def test_hanging_worker_is_given_up(tmp_path: Path) -> None:
    rows = write_suite(tmp_path, "import time; time.sleep(60)")
    with pytest.raises(WorkerFailed, match=r"a/b: no result after 0\.5 s"):
        Session(rows, TINY, Launcher("v3", benches=tmp_path, timeout=0.5)).run()


def test_environment_is_pruned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_MINE", "1")
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    assert {"SECRET_OF_MINE", "PYTHONHASHSEED"}.isdisjoint(Launcher("v3").environ())
    assert Launcher("v3", inherit_environ=("PYTHONHASHSEED",)).environ()["PYTHONHASHSEED"] == "7"
    assert Launcher("v3", inherit_environ=None).environ() == dict(os.environ)


def test_a_fixed_hash_seed_counts_whatever_is_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    assert "PYTHONHASHSEED" not in Launcher("v3").environ()
    for inherited in ((), ("PYTHONHASHSEED",), None):
        assert Launcher("v3", inherit_environ=inherited, hash_seed="0").environ()["PYTHONHASHSEED"] == "0"
    assert Launcher("v3", inherit_environ=("PYTHONHASHSEED",)).environ()["PYTHONHASHSEED"] == "7"


def test_everything_a_worker_needs_is_on_its_command_line() -> None:
    launcher = Launcher("v2", data=Path("my_data"), benches=Path("rows"), options=("--affinity=1",))
    command = launcher.command("data", [Task("a/b", "12345678", 10, 5)], TINY)
    assert command[command.index("--protocol") + 1] == "v2"
    assert command[command.index("--data") + 1] == str(Path("my_data").resolve())
    assert command[command.index("--benches") + 1] == str(Path("rows").resolve())
    assert command[command.index("--row") + 1] == '{"row": "a/b", "fingerprint": "12345678", "inner": 10, "loops": 5}'
    assert command[-1] == "--affinity=1"
