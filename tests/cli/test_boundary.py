"""The verb boundary: what it measures is told and kept, what is wrong costs the exit code, and advice follows from what was measured."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from derive_bench.boundary.parts import PARTS
from derive_bench.boundary.session import PLANS
from derive_bench.cli import main
from derive_bench.cli.boundary import BOUNDARY_PROFILES, PART_NAMES
from derive_bench.measure.results import Results, details_path
from tests.boundary.engines import engine_command

QUICK = ["--profile", "quick", "--bars", "1000", "--combinations", "2"]


def test_names_agree_with_those_they_stand_for() -> None:
    assert tuple(PARTS) == PART_NAMES
    assert tuple(PLANS) == BOUNDARY_PROFILES


def test_a_run_is_told_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    engine_command("rust")
    monkeypatch.setitem(PLANS, "quick", replace(PLANS["quick"], seconds=0.002))
    run = tmp_path / "run.json"
    globs = ["*/in_process", "*/batch_unix", "*/numba", "echo/pipe_one_core_*", "codec/array_raw_*", "wall/quotes_1"]
    words = ["boundary", *QUICK, "-o", str(run), *(word for glob in globs for word in ("--filter", glob))]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert out.startswith("environment: ")
    for title in ("kernel: the whole sweep", "echo: floor and bandwidth", "break-even", "codec: array", "wall: Derive"):
        assert title in out
    results = Results.load(run)
    assert results.rows["architecture/batch_unix"].control == "architecture/in_process"
    document = json.loads(details_path(run).read_text())
    assert document["lines"].keys() == {"pipe_one_core"}
    assert {row["status"] for row in document["rows"]} == {"timed"}

    assert main(["boundary", "advise", "--compute-us", "1000000", "--bytes", "8", "--from", str(run)]) == 0
    assert "pipe_one_core" in (advice := capsys.readouterr().out)
    assert " yes " in advice


def test_what_reorders_additions_may_differ_and_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("derive_bench.boundary.variants.compare", lambda *_: "one tie fell otherwise")
    assert main(["boundary", *QUICK, "--filter", "kernel/numba"]) == 1
    monkeypatch.setattr("derive_bench.boundary.variants.REORDERING", frozenset({"numba"}))
    assert main(["boundary", *QUICK, "--filter", "kernel/numba"]) == 0
    assert "kernel/numba: WRONG: one tie fell otherwise" in capsys.readouterr().out


def test_what_computes_something_else_costs_the_exit_code(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    engine_command("rust")
    monkeypatch.setattr("derive_bench.boundary.architectures.compare", lambda *_: "3 trades instead of 4")
    assert main(["boundary", *QUICK, "--filter", "architecture/batch_pipe"]) == 1
    captured = capsys.readouterr()
    assert "WRONG" in captured.out
    assert "architecture/batch_pipe: WRONG: 3 trades instead of 4" in captured.out
    assert "not what the sweep in process computes: architecture/batch_pipe" in captured.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nope"], "no part 'nope'; there are: kernel architecture echo codec wall"),
        (["--filter", "nope/*"], "no row matches nope/*"),
        (["-o", "/no/such/folder/run.json"], "/no/such/folder/run.json: cannot be written"),
        (["advise", "--compute-us", "5", "--bytes", "8", "--from", "/no/such.json"], "/no/such.details.json: cannot be read"),
    ],
)
def test_refusals_are_one_line(words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["boundary", *words]) == 2
    captured = capsys.readouterr()
    assert complaint in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("words", [["--bars", "10"], ["advise", "--bytes", "8"], ["advise", "--compute-us", "0", "--bytes", "8"]])
def test_wrong_usage_is_told(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["boundary", *words])
    assert ended.value.code == 2
    assert "derive-bench: " in capsys.readouterr().err


def test_why_instructions_were_not_counted_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine_command("rust")
    monkeypatch.setattr("derive_bench.boundary.instructions.shutil", SimpleNamespace(which=lambda _: None))
    run = tmp_path / "run.json"
    words = ["--profile", "standard", "--bars", "1000", "--combinations", "2", "--filter", "kernel/rust", "-o", str(run)]
    assert main(["boundary", "kernel", *words]) == 0
    assert "instructions not counted: rust: no valgrind here; to have it: apt install valgrind" in capsys.readouterr().out
    assert json.loads(details_path(run).read_text())["uncounted"].startswith("rust: no valgrind here")


def test_an_interrupt_while_counting_keeps_what_was_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine_command("rust")

    def interrupted(_: str) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr("derive_bench.boundary.instructions.instructions", interrupted)
    run = tmp_path / "run.json"
    words = ["--profile", "standard", "--bars", "1000", "--combinations", "2", "--filter", "kernel/rust", "-o", str(run)]
    assert main(["boundary", "kernel", *words]) == 0
    assert "instructions not counted: rust: interrupted" in capsys.readouterr().out
    assert Results.load(run).rows["kernel/rust"].median > 0
