"""The recipe: which CPU and seed a profile gives to workers, and when a process can be run anew without ASLR."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from derive_bench.measure import recipe
from derive_bench.measure.checks import aslr
from derive_bench.measure.checks.cpu import usable_cpus
from derive_bench.measure.checks.plan import allowed_cpus
from derive_bench.measure.checks.system import System
from derive_bench.measure.recipe import FIXED_HASH_SEED, RERUN, AffinityUnreadable, AslrRefused, make_plan, rerun_without_aslr
from derive_bench.measure.runner import PROFILES
from tests.measure.checks.trees import CPU, plant

STANDARD, PUBLISH = PROFILES["standard"], PROFILES["publish"]
WORDS = ("--profile", "publish")


def test_others_leave_to_chance_what_publish_fixes(tmp_path: Path) -> None:
    nothing_isolated = plant(tmp_path, {f"{CPU}/isolated": "\n", f"{CPU}/online": "0-3"})
    free = make_plan(STANDARD, affinity=None, hash_seed="7", system=nothing_isolated)
    assert (free.cpus, free.pinned, free.fixed, free.hash_seed, free.warmup_pass) == ((0, 1, 2, 3), False, False, "7", False)
    fixed = make_plan(PUBLISH, affinity=None, hash_seed="7", system=nothing_isolated)
    assert (fixed.cpus, fixed.pinned, fixed.fixed) == ((3,), True, True)
    assert (fixed.hash_seed, fixed.warmup_pass) == (FIXED_HASH_SEED, True)


def test_isolated_cpus_are_taken_first(tmp_path: Path) -> None:
    system = plant(tmp_path, {f"{CPU}/isolated": "4-6"})
    assert make_plan(STANDARD, affinity=None, system=system).cpus == (4, 5, 6)
    assert make_plan(PUBLISH, affinity=None, system=system).cpus == (6,)
    assert make_plan(PUBLISH, affinity="1,3", system=system).cpus == (1, 3)
    assert make_plan(PUBLISH, affinity=None, system=System(tmp_path / "none")).cpus == ()


def test_cpus_of_this_process_are_those_it_may_use() -> None:
    assert usable_cpus(System()) == allowed_cpus()


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({"proc/self/status": "Name: x\nCpus_allowed_list:\t2-3\n", f"{CPU}/online": "0-3"}, (2, 3)),
        ({"proc/self/status": "Name: x\n", f"{CPU}/online": "0-1"}, (0, 1)),
        ({f"{CPU}/cpu0/online": "1", f"{CPU}/cpu10/online": "1", f"{CPU}/cpufreq/boost": "1"}, (0, 10)),
        ({f"{CPU}/online": "all"}, ()),
    ],
)
def test_cpus_as_far_as_a_system_shows(files: dict[str, str | None], cpus: tuple[int, ...], tmp_path: Path) -> None:
    assert usable_cpus(plant(tmp_path, files)) == cpus


@pytest.mark.parametrize("affinity", ["", "x", "3-1", "-1"])
def test_an_affinity_that_is_none_is_refused(affinity: str) -> None:
    with pytest.raises(AffinityUnreadable, match="--affinity"):
        make_plan(STANDARD, affinity=affinity)


@pytest.fixture
def randomised(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A process with ASLR, whose command line was WORDS, and which must not be replaced."""
    monkeypatch.setattr(aslr, "recorded", lambda system: "Full randomization")
    monkeypatch.setattr(sys, "argv", ["derive-bench", *WORDS])
    monkeypatch.setattr(os, "execv", lambda path, command: pytest.fail(f"replaced by {command}"))
    # Set and removed, so that it is removed again in the end, whatever the test makes of it.
    monkeypatch.setenv(RERUN, "")
    monkeypatch.delenv(RERUN)
    return monkeypatch


def fake_setarch(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "setarch").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "setarch").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_without_aslr_nothing_is_to_be_done(randomised: pytest.MonkeyPatch) -> None:
    randomised.setattr(aslr, "recorded", lambda system: aslr.OFF)
    randomised.setenv("PATH", "")
    rerun_without_aslr(WORDS)


def test_no_setarch(randomised: pytest.MonkeyPatch, tmp_path: Path) -> None:
    randomised.setenv("PATH", str(tmp_path))
    with pytest.raises(AslrRefused, match="no setarch: apt install util-linux"):
        rerun_without_aslr(WORDS)


def test_the_call_is_refused(randomised: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_setarch(tmp_path, "echo 'setarch: failed to set personality: Operation not permitted' >&2; exit 1", randomised)
    with pytest.raises(AslrRefused, match=r"fails \(setarch: failed to set personality: Operation not permitted\).*seccomp"):
        rerun_without_aslr(WORDS)


@pytest.mark.parametrize("told", ["00000000", "", "what"])
def test_a_setarch_that_changes_nothing(randomised: pytest.MonkeyPatch, tmp_path: Path, told: str) -> None:
    fake_setarch(tmp_path, f"echo {told}", randomised)
    with pytest.raises(AslrRefused, match="left ASLR on"):
        rerun_without_aslr(WORDS)


def test_a_process_is_not_started_over_and_over(randomised: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_setarch(tmp_path, "echo 00040000", randomised)
    randomised.setenv(RERUN, "1")
    with pytest.raises(AslrRefused, match="left ASLR on"):
        rerun_without_aslr(WORDS)


def test_a_program_that_calls_is_not_replaced(randomised: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_setarch(tmp_path, "echo 00040000", randomised)
    with pytest.raises(AslrRefused, match="start the program under setarch -R"):
        rerun_without_aslr(["--other"])


def test_the_same_command_is_run_anew(randomised: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_setarch(tmp_path, "echo 00040000", randomised)
    ran: list[list[str]] = []
    randomised.setattr(os, "execv", lambda path, command: ran.append(command))
    for words in (WORDS, WORDS[1:]):
        randomised.delenv(RERUN, raising=False)
        rerun_without_aslr(words)
    assert [command[2:4] for command in ran] == [["-R", sys.executable]] * 2
    assert ran[0][4:] == sys.orig_argv[1:]


def test_setarch_of_this_machine() -> None:
    try:
        told = subprocess.run(["setarch", os.uname().machine, "-R", "cat", "/proc/self/personality"], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("no setarch here")
    if told.returncode:
        pytest.skip(f"setarch is refused here: {told.stderr.strip()}")
    assert aslr.exempt(told.stdout.strip())
    assert recipe.TELL.count("/proc/self/personality") == 1
