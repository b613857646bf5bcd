"""What checks judge of this process: the interpreter, the clock, the libraries."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from derive_bench.measure.checks.finding import State
from derive_bench.measure.checks.interpreter import JUDGES, Build, running
from derive_bench.measure.checks.libraries import CORE, Library, judge
from derive_bench.measure.checks.plan import Plan
from derive_bench.measure.checks.system import System, Unread, cpu_list, cpus_text, number
from derive_bench.measure.checks.timers import judge_step, smallest_step
from tests.measure.checks.trees import PINNED, find

RELEASE = {
    "Py_DEBUG": 0,
    "CONFIG_ARGS": "'--enable-optimizations' '--with-lto'",
    "PY_CFLAGS_NODIST": "-std=c11",
    "PY_LDFLAGS_NODIST": "",
}
PLAIN = RELEASE | {"CONFIG_ARGS": "'--prefix=/usr'"}


@pytest.mark.parametrize(
    ("name", "build", "state", "value"),
    [
        ("python_debug", Build(RELEASE), State.PASS, "no"),
        ("python_debug", Build(RELEASE | {"Py_DEBUG": 1}), State.FAIL, "debug"),
        ("python_debug", Build({}, total_references=True), State.FAIL, "debug"),
        ("python_pgo", Build(RELEASE), State.PASS, "--enable-optimizations"),
        ("python_pgo", Build(PLAIN), State.FAIL, "not optimised"),
        # Debian's packages say it in the flags alone.
        ("python_pgo", Build(PLAIN | {"PY_CFLAGS_NODIST": "-O3 -fprofile-use -fprofile-correction"}), State.PASS, "-fprofile-use"),
        # The name of the flag is kept in every build.
        ("python_pgo", Build(PLAIN | {"PGO_PROF_USE_FLAG": "-fprofile-use"}), State.FAIL, "not optimised"),
        ("python_lto", Build(RELEASE), State.PASS, "--with-lto"),
        ("python_lto", Build(PLAIN), State.FAIL, "across files"),
        ("python_lto", Build(PLAIN | {"CONFIG_ARGS": "'--with-lto=no'"}), State.FAIL, "across files"),
        ("python_lto", Build(PLAIN | {"PY_LDFLAGS_NODIST": "-flto=auto -g"}), State.PASS, "-flto=auto"),
        ("python_threads", Build(RELEASE, gil=True), State.PASS, "one thread"),
        ("python_threads", Build(RELEASE | {"Py_GIL_DISABLED": 1}, gil=False), State.FAIL, "the lock is off"),
        ("python_threads", Build(RELEASE | {"Py_GIL_DISABLED": 1}, gil=True), State.FAIL, "the lock is on"),
        ("python_jit", Build(RELEASE), State.PASS, "none"),
        ("python_jit", Build(RELEASE, jit=False), State.PASS, "off"),
        ("python_jit", Build(RELEASE, jit=True), State.FAIL, "on"),
        ("python_jit", Build(RELEASE | {"CONFIG_ARGS": "'--enable-experimental-jit=yes'"}), State.FAIL, "--enable-experimental-jit"),
    ],
)
def test_builds(name: str, build: Build, state: State, value: str) -> None:
    outcome = JUDGES[name](build)
    assert (outcome.state, value in outcome.value) == (state, True), outcome


@pytest.mark.parametrize("name", JUDGES)
def test_a_build_that_says_nothing_is_unknown(name: str) -> None:
    with pytest.raises(Unread, match="sysconfig"):
        JUDGES[name](Build({}))


@pytest.mark.parametrize("name", ["python_pgo", "python_lto", "python_jit"])
def test_variables_that_are_no_texts_are_unknown(name: str) -> None:
    with pytest.raises(Unread, match="sysconfig: no CONFIG_ARGS"):
        JUDGES[name](Build({"CONFIG_ARGS": None, "PY_CFLAGS_NODIST": None}))


def test_this_build_is_read() -> None:
    assert {name: JUDGES[name](running()).state for name in JUDGES}["python_debug"] in (State.PASS, State.FAIL)


@pytest.mark.parametrize(
    ("plan", "states"),
    [
        (PINNED, {"hash_seed": State.PASS, "warm_up": State.PASS}),
        (Plan(cpus=(0,), fixed=True), {"hash_seed": State.FAIL, "warm_up": State.FAIL}),
        (Plan(cpus=(0,)), {"hash_seed": State.PASS, "warm_up": State.PASS}),
        (Plan(cpus=(0,), hash_seed="7", warmups=0), {"hash_seed": State.WARN, "warm_up": State.FAIL}),
        (Plan(cpus=(0,), fixed=True, hash_seed="random"), {"hash_seed": State.FAIL}),
    ],
)
def test_seed_and_warm_up_are_those_of_the_plan(plan: Plan, states: Mapping[str, State], tmp_path: Path) -> None:
    assert {name: find(name, System(tmp_path), plan).state for name in states} == states


def test_which_cpus_is_not_known(tmp_path: Path) -> None:
    nowhere = Plan(cpus=())
    assert {find(name, System(tmp_path), nowhere).state for name in ("governor", "turbo", "smt", "affinity", "thermal")} == {State.UNKNOWN}


@pytest.mark.parametrize(("seconds", "state"), [(40e-9, State.PASS), (1e-6, State.WARN), (1e-3, State.FAIL)])
def test_steps_of_the_clock(seconds: float, state: State) -> None:
    assert judge_step(seconds).state is state


def test_the_clock_steps() -> None:
    assert smallest_step() > 0


@pytest.mark.parametrize("library", CORE, ids=[library.distribution for library in CORE])
def test_core_libraries_are_compiled(library: Library) -> None:
    outcome = judge(library)
    assert outcome.state is State.PASS
    assert outcome.value.endswith(", compiled")


def test_a_fallback_in_python_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_fallback.py").write_text("")
    (tmp_path / "broken_fallback.py").write_text("import nothing_of_this_name")
    monkeypatch.syspath_prepend(tmp_path)
    assert judge(Library("msgspec", "slow_fallback")).value.endswith("in pure Python")
    assert judge(Library("msgspec", "slow_fallback")).state is State.FAIL
    assert "does not load: No module named 'nothing_of_this_name'" in judge(Library("msgspec", "broken_fallback")).value
    assert judge(Library("no-such-distribution", "msgspec._core")).value == "not installed"
    for name in ("slow_fallback", "broken_fallback"):
        sys.modules.pop(name, None)


def test_a_module_of_no_origin_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "of_no_origin", ModuleType("of_no_origin"))
    with pytest.raises(Unread, match="does not say from where"):
        judge(Library("msgspec", "of_no_origin"))


@pytest.mark.parametrize(
    ("text", "cpus"), [("", ()), ("\n", ()), ("0", (0,)), ("0,4", (0, 4)), ("0-1\n", (0, 1)), ("8-9,0-2", (0, 1, 2, 8, 9))]
)
def test_lists_of_cpus(text: str, cpus: tuple[int, ...]) -> None:
    assert cpu_list(text, "there") == cpus
    assert cpu_list(cpus_text(cpus), "there") == cpus


@pytest.mark.parametrize("text", [",", "a", "1-", "-1", "3-2", "1--2", "0x1", "1;2", "99999999"])
def test_no_lists_of_cpus(text: str) -> None:
    with pytest.raises(Unread, match="there"):
        cpu_list(text, "there")


def test_cpus_as_the_kernel_writes_them() -> None:
    assert cpus_text((8, 0, 1, 2, 5)) == "0-2,5,8"


@pytest.mark.parametrize("text", ["", "-", "1.0", "٣", "1_000", "9" * 21])
def test_no_numbers(text: str) -> None:
    with pytest.raises(Unread, match="is not a number"):
        number(text, "there")
