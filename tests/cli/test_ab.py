"""The verb ab, in a repository of its own that holds this package and tiny rows."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from derive_bench.measure.compare.loading import SESSION, load
from derive_bench.measure.trees import PACKAGE_DIR, PACKAGE_PARENT

BENCH = '''\
"""Two rows and a control."""
from derive_bench.measure.rows import Suite

suite = Suite("data", "tiny")


def decode(text):
    {slow}
    return int(text)


@suite.row("group/decode", "decode(x)", summary="a row")
def _(inputs):
    return {{"decode": decode, "x": "12"}}


@suite.row("{own}", "int(x)", summary="a row of this revision alone")
@suite.row("control/int", "int(x)", summary="a control")
def _(inputs):
    return {{"x": "12"}}
'''


def git(place: Path, *words: str) -> None:
    command = ["git", "-C", str(place), "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    subprocess.run(command, capture_output=True, check=True)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tags: ``old`` without the package, ``base``, and ``slow``, in which a row is slow and another has a new name."""
    place = tmp_path_factory.mktemp("project")
    git(place, "init", "-q")
    (place / "pyproject.toml").write_text("")
    (place / ".gitignore").write_text("__pycache__\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "old")
    git(place, "tag", "old")
    shutil.copytree(PACKAGE_DIR, place / "derive_bench", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(PACKAGE_PARENT / "test_data", place / "test_data")
    (place / "benches").mkdir()
    for tag, own, slow in (("base", "group/gone", "pass"), ("slow", "group/new", "sum(range(60))")):
        (place / "benches" / "data.py").write_text(BENCH.format(own=own, slow=slow))
        git(place, "add", ".")
        git(place, "commit", "-qm", tag)
        git(place, "tag", tag)
    return place


def ab(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "derive_bench", "ab", *words]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120, check=False)


def leftovers(project: Path) -> list[Path]:
    return [*(project / ".git").glob("worktrees/*")]


def test_a_slow_row_fails_and_both_results_are_kept(project: Path, tmp_path: Path) -> None:
    (project / "benches" / "data.py").write_text("the working tree is broken")
    done = ab(project, "base", "slow", "-p", "3", "-o", str(tmp_path / "kept"))
    git(project, "checkout", "-q", ".")
    assert done.returncode == 1, done.stderr
    assert "1 of 1 rows slower by more than 10%, worst group/decode" in done.stdout
    assert "3 interleaved rounds" in done.stdout
    assert re.search(r"only in slow \(\w+\): group/new\nonly in base \(\w+\): group/gone\n", done.stdout)
    assert done.stderr.startswith("environment: ")
    base, head = load(tmp_path / "kept.base.json"), load(tmp_path / "kept.head.json")
    assert base.results.metadata[SESSION] == head.results.metadata[SESSION]
    assert base.results.metadata["commit"] != head.results.metadata["commit"]
    assert [len(rounds) for rounds in base.rounds.values()] == [3, 3]
    assert "check" in base.results.metadata, "the verdict on the environment is recorded"
    assert leftovers(project) == []


def test_what_cannot_be_compared(project: Path) -> None:
    same = ab(project, "base", "base")
    assert (same.returncode, same.stdout.partition(":")[0]) == (0, "no verdict")
    old = ab(project, "old", "base")
    assert (old.returncode, old.stderr.count("\n")) == (2, 1)
    assert "older than the worker protocol" in old.stderr
    assert leftovers(project) == []


def test_an_interrupt_leaves_nothing_behind(project: Path) -> None:
    command = [sys.executable, "-m", "derive_bench", "ab", "base", "slow", "-p", "200"]
    with subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60
        while not leftovers(project) and time.monotonic() < until:
            time.sleep(0.02)
        assert process.stderr is not None
        while not process.stderr.readline().startswith("["):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert leftovers(project) == []
