"""The verdict: what it says in a line and in metadata, and what stands in the way of publishing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from derive_bench.measure.checks import load
from derive_bench.measure.checks.finding import Finding, State
from derive_bench.measure.checks.system import System
from derive_bench.measure.checks.verdict import MARK, NAMES, Verdict, marks, meanwhile, verdict
from tests.measure.checks.trees import CPU2, GOOD, GROUP, PINNED, plant

FOUND = Verdict(
    (
        Finding("governor", State.UNKNOWN, "not there", "why", "mend"),
        Finding("turbo", State.FAIL, "on", "why", "mend"),
        Finding("smt", State.WARN, "shared", "why", "mend"),
        Finding("load", State.PASS, "0.1", "why", ""),
    )
)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "sleep", lambda seconds: None)


def test_names_are_fit_for_an_option_and_for_metadata() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert [name for name in NAMES if not re.fullmatch(r"[a-z][a-z0-9_]*", name)] == []


def test_the_summary_is_one_line() -> None:
    assert FOUND.summary == "1 pass, 1 warn (smt), 1 fail (turbo), 1 unknown (governor)"
    assert FOUND.headline == f"environment: {FOUND.summary}"


def test_what_is_unknown_stands_in_the_way_of_publishing_alone() -> None:
    assert [finding.name for finding in FOUND.blocking(unknown=True)] == ["governor", "turbo"]
    assert [finding.name for finding in FOUND.blocking(unknown=False)] == ["turbo"]


def test_what_is_allowed_marks_if_it_was_needed() -> None:
    allowed = Verdict(FOUND.findings, ("governor", "turbo", "smt", "load"))
    assert allowed.blocking(unknown=True) == []
    assert allowed.marks == ["governor", "turbo"]
    assert allowed.headline.splitlines()[1] == f"{MARK} published in spite of: governor, turbo"
    assert marks(allowed.metadata()) == ("governor", "turbo")
    assert marks(FOUND.metadata()) == marks({}) == ()


def test_metadata_holds_all() -> None:
    metadata = FOUND.metadata()
    assert metadata["check"] == FOUND.summary
    told = [metadata[f"check_{key}"] for key in ("failed", "unknown", "warned", "allowed")]
    assert told == ["turbo", "governor", "smt", "none"]
    assert metadata["found_governor"] == "unknown: not there"
    assert metadata["found_load"] == "pass: 0.1"
    assert all(metadata.values()), "pyperf refuses empty values"


def test_a_machine_as_it_should_be(tmp_path: Path) -> None:
    found = verdict(PINNED, system=plant(tmp_path, GOOD))
    of_the_interpreter = {"python_debug", "python_pgo", "python_lto", "python_threads", "python_jit", "timer"}
    assert {finding.name for finding in found.findings if finding.state is not State.PASS} <= of_the_interpreter


def test_every_finding_says_why_and_what_mends_it(tmp_path: Path) -> None:
    for finding in verdict(PINNED, system=System(tmp_path)).findings:
        assert finding.why
        assert finding.value
        assert bool(finding.mend) is (finding.state is not State.PASS)


def test_what_slowed_the_machine_down_during_a_run_is_told(tmp_path: Path) -> None:
    throttled = f"{CPU2}/thermal_throttle/core_throttle_count"
    system = plant(tmp_path, {**GOOD, throttled: "5\n"})
    before = verdict(PINNED, system=system)
    # What was counted before is a failure of the machine, not of this run.
    assert meanwhile(before, PINNED, system=system) == {"check_meanwhile": "none"}
    plant(tmp_path, {throttled: "6\n", f"{GROUP}/user.slice/cpu.stat": "nr_throttled 1\n"})
    assert meanwhile(before, PINNED, system=system) == {"check_meanwhile": "throttling thermal"}
    plant(tmp_path, {throttled: None, f"{GROUP}/user.slice/cpu.stat": ""})
    assert meanwhile(before, PINNED, system=system) == {"check_meanwhile": "none"}
