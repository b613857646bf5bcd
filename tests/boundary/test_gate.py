"""The gate: what is equal passes, what differs is named; mistakes planted in the Rust source are each caught."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from derive_bench.boundary import builds, kernel
from derive_bench.boundary.builds import BUILDS, Build, BuildUnavailable
from derive_bench.boundary.engines import open_engine
from derive_bench.boundary.frames import Outcomes
from derive_bench.boundary.gate import compare, fingerprint
from derive_bench.boundary.session import Case, Plan, Session
from derive_bench.boundary.variants import rust_variant
from derive_bench.boundary.workload import Workload
from tests.boundary.engines import engine_command

WORK = Workload(1200, 12)


def outcomes(*pairs: tuple[float, int]) -> Outcomes:
    return np.array([profit for profit, _ in pairs]), np.array([count for _, count in pairs])


def test_what_is_within_the_tolerance_is_equal() -> None:
    assert compare(outcomes((1.0, 3), (2.0, 4)), outcomes((1.0 + 9e-7, 3), (2.0 - 9e-7, 4))) == ""


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (outcomes((1.0, 3), (2.0, 5)), "1 of 2 combinations differ; combination 1: 5 trades and 2 % instead of 4 and 2 %"),
        (outcomes((1.000002, 3), (2.0, 4)), "1 of 2 combinations differ; combination 0: 3 trades and 1.000002 % instead of 3 and 1 %"),
        (outcomes((1.0, 3), (float("nan"), 4)), "combination 1: 4 trades and nan %"),
        (outcomes((1.0, 3)), "1 combinations instead of 2"),
    ],
)
def test_what_differs_is_named(found: Outcomes, says: str) -> None:
    assert says in compare(found, outcomes((1.0, 3), (2.0, 4)))


def test_a_fingerprint_tells_outcomes_apart() -> None:
    one = fingerprint(outcomes((1.0, 3), (-0.0, 4)))
    assert (one.first_profit, one.total_trades) == (1.0, 7)
    assert one == fingerprint(outcomes((1.0, 3), (0.0, 4)))
    assert one.digest != fingerprint(outcomes((1.0, 3), (0.0, 5))).digest
    assert one.digest != fingerprint(outcomes((1.0, 3), (0.00001, 4))).digest


PLANTED = """
/// Whether a mistake is asked for.
pub fn planted(name: &str) -> bool {
    static ASKED: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    ASKED.get_or_init(|| std::env::var("PLANTED").unwrap_or_default()) == name
}
"""

MISTAKES = {
    "fee": [("* 100.0 - FEE;", '* 100.0 - if planted("fee") { 0.10 } else { FEE };')],
    "window": [("last + 1 - window)", 'if planted("window") { last - window.min(last) } else { last + 1 - window })')],
    "nan": [("} else if fast < slow {", '} else if fast < slow || (planted("nan") && !(fast >= slow)) {')],
    "weight": [
        ("total += values[first + j] * (j + 1)", 'total += values[first + j] * (j + 1 + planted("weight") as usize)'),
        ("get_unchecked(first + j) } * (j + 1)", 'get_unchecked(first + j) } * (j + 1 + planted("weight") as usize)'),
        ("let mut weight = 0.0;", 'let mut weight = planted("weight") as u8 as f64;'),
        ("weights = [1.0, 2.0, 3.0, 4.0];", 'weights = if planted("weight") { [2.0, 3.0, 4.0, 5.0] } else { [1.0, 2.0, 3.0, 4.0] };'),
        ("_mm256_setr_pd(1.0,", '_mm256_setr_pd(1.0 + planted("weight") as u8 as f64,'),
    ],
}
"""Each in all the places of the source that a build may have in its stead."""


def planted(build: Build, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """The same build of sources that make a mistake when they are asked to, without the optimiser, which takes the most time."""
    engine_command("rust")
    sources = folder / "engine"
    shutil.copytree(builds.SOURCES, sources)
    text = (sources / "kernel.rs").read_text() + PLANTED
    for right, wrong in itertools.chain(*MISTAKES.values()):
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    (sources / "kernel.rs").write_text(text)
    monkeypatch.setattr(builds, "SOURCES", sources)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return replace(build, flags=(*build.flags, "-C", "opt-level=0"))


@pytest.mark.parametrize("name", [name for name in BUILDS if not name.endswith("native")])
def test_every_build_computes_the_same_and_every_mistake_in_it_is_caught(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = [str(builds.engine(planted(BUILDS[name], tmp_path, monkeypatch)))]
    expected, verdicts = kernel.sweep(WORK.closes, WORK.windows), {}
    for mistake in ("none", *MISTAKES):
        monkeypatch.setenv("PLANTED", mistake)
        with open_engine(program, "pipe") as client:
            verdicts[mistake] = compare(client.sweep(WORK.closes, WORK.windows), expected)
    assert verdicts.pop("none") == ""
    assert {mistake for mistake, verdict in verdicts.items() if "combinations differ" in verdict} == set(MISTAKES)


def test_the_optimised_build_computes_the_same() -> None:
    with open_engine(engine_command("rust"), "pipe") as client:
        assert compare(client.sweep(WORK.closes, WORK.windows), kernel.sweep(WORK.closes, WORK.windows)) == ""


def test_a_build_that_computes_something_else_is_told_and_not_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = planted(BUILDS["rust"], tmp_path, monkeypatch)
    monkeypatch.setitem(builds.BUILDS, build.name, build)
    monkeypatch.setenv("PLANTED", "nan")
    session = Session([Case("kernel/planted", "", rust_variant(WORK, build.name))], Plan(1, 1e-6, WORK.bars, WORK.combinations))
    session.run()
    found = session.measured["kernel/planted"]
    assert found.wrong
    assert "combinations differ" in found.trouble
    assert not found.calls


def test_what_a_killed_build_left_is_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine_command("rust")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "derive_bench" / "engines"
    for name, age in ((".build-old", 7200), (".build-new", 60)):
        (folder / name).mkdir(parents=True)
        (folder / name / "engine").touch()
        os.utime(folder / name, (time.time() - age,) * 2)
    with pytest.raises(BuildUnavailable):
        builds.engine(Build("bad", "", ("--no-such-flag",)))
    assert [left.name for left in folder.iterdir()] == [".build-new"]


def test_a_build_that_cannot_be_had_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine_command("rust")
    with pytest.raises(BuildUnavailable, match="is for sparc64, and this is"):
        builds.engine(Build("other", "", machine="sparc64"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(BuildUnavailable, match="rustc does not build bad: error"):
        builds.engine(Build("bad", "", ("--no-such-flag",)))
    assert not list((tmp_path / "derive_bench" / "engines").iterdir())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildUnavailable, match="apt install rustc"):
        builds.engine(BUILDS["rust"])


def test_a_build_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Path(engine_command("rust")[0])

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(builds, "_compile", fail)
    assert builds.engine(BUILDS["rust"]) == program
    assert subprocess.run([program], capture_output=True, check=False).returncode == 2
