"""The gate: what is equal passes, what differs is named; mistakes planted in the Rust source are each caught."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from derive_bench.boundary import builds, kernel
from derive_bench.boundary.builds import BUILDS, Build, BuildUnavailable
from derive_bench.boundary.engines import open_engine
from derive_bench.boundary.frames import Outcomes
from derive_bench.boundary.gate import compare, fingerprint
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


@pytest.mark.parametrize("name", BUILDS)
def test_every_build_computes_the_same(name: str) -> None:
    with open_engine(engine_command(name), "pipe") as client:
        assert compare(client.sweep(WORK.closes, WORK.windows), kernel.sweep(WORK.closes, WORK.windows)) == ""


MISTAKES = {
    "fee": ("pub const FEE: f64 = 0.09;", "pub const FEE: f64 = 0.10;"),
    "window": ("weighted(values, window, last + 1 - window)", "weighted(values, window, last - window.min(last))"),
    "weight": ("(j + 1) as f64", "(j + 2) as f64"),
    "nan": ("} else if fast < slow {", "} else if !(fast >= slow) {"),
    "start": ("let slow_from = full + smooth - 2;", "let slow_from = full + smooth - 1;"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_in_the_rust_source_are_caught(mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine_command("rust")
    sources = tmp_path / "engine"
    shutil.copytree(builds.SOURCES, sources)
    text = (sources / "kernel.rs").read_text()
    right, wrong = MISTAKES[mistake]
    assert text.count(right) >= 1
    (sources / "kernel.rs").write_text(text.replace(right, wrong))
    monkeypatch.setattr(builds, "SOURCES", sources)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with open_engine([str(builds.engine(Build(mistake, "planted", ("-C", "opt-level=0"))))], "pipe") as client:
        found = client.sweep(WORK.closes, WORK.windows)
    assert "combinations differ" in compare(found, kernel.sweep(WORK.closes, WORK.windows))


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
