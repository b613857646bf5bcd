"""The verb check, and what it means for a run under the profile publish."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyperf
import pytest

from derive_bench.cli import main
from derive_bench.measure.checks import libraries, load
from derive_bench.measure.checks.finding import passed
from derive_bench.measure.checks.interpreter import JUDGES
from derive_bench.measure.checks.verdict import MARK, NAMES
from derive_bench.measure.trees import PACKAGE_PARENT
from tests.measure.checks.trees import CPU, CPU2, GOOD, plant

FAKE = PACKAGE_PARENT / "tests" / "fake_benches"
PINNED = ("--affinity", "2")
ALLOW_ALL = tuple(word for name in NAMES for word in ("--allow", name))
OF_THE_BUILD = tuple(word for name in ("timer", *JUDGES) for word in ("--allow", name))
"""What the fixture trees cannot mend of the interpreter that runs the tests."""


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "sleep", lambda seconds: None)


def check(capsys: pytest.CaptureFixture[str], root: Path, *words: str) -> tuple[int, str]:
    code = main(["check", "--system", str(root), *PINNED, *OF_THE_BUILD, *words])
    return code, capsys.readouterr().out


def document(capsys: pytest.CaptureFixture[str], root: Path, *words: str) -> tuple[int, dict[str, Any]]:
    code, output = check(capsys, root, "--json", *words)
    return code, json.loads(output)


@pytest.mark.parametrize("profile", ["quick", "standard", "rigorous", "publish"])
def test_a_good_machine_is_fit(profile: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plant(tmp_path, GOOD)
    code, output = check(capsys, tmp_path, "--profile", profile)
    assert code == 0, output
    assert output.startswith("environment: ")
    assert "not fit" not in output


def test_a_failure_counts_under_every_profile(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plant(tmp_path, {**GOOD, f"{CPU2}/cpufreq/scaling_governor": "powersave"})
    for profile in ("standard", "publish"):
        code, output = check(capsys, tmp_path, "--profile", profile)
        assert code == 1
        assert f"$ echo performance | sudo tee /{CPU2}/cpufreq/scaling_governor\n" in output
        assert output.splitlines()[-1].endswith(": governor")
    assert check(capsys, tmp_path, "--profile", "publish", "--allow", "governor")[0] == 0


def test_what_is_unknown_counts_under_publish(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plant(tmp_path, {**GOOD, f"{CPU}/intel_pstate/no_turbo": ""})
    assert check(capsys, tmp_path)[0] == 0
    code, output = check(capsys, tmp_path, "--profile", "publish")
    assert (code, output.splitlines()[-1]) == (1, "not fit for publish: turbo")
    code, output = check(capsys, tmp_path, "--profile", "publish", "--allow", "turbo")
    assert code == 0
    assert f"{MARK} published in spite of: " in output
    assert "(allowed)" in output


def test_for_programs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plant(tmp_path, {**GOOD, f"{CPU2}/topology/thread_siblings_list": "2,6"})
    code, found = document(capsys, tmp_path, "--profile", "publish")
    assert code == 1
    assert (found["schema"], found["profile"], found["fit"], found["blocking"]) == (1, "publish", False, ["smt"])
    assert [finding["name"] for finding in found["findings"]] == list(NAMES)
    smt = next(finding for finding in found["findings"] if finding["name"] == "smt")
    assert smt["state"] == "fail"
    assert smt["value"] == "CPU 2 shares a core with 6"
    assert smt["mend"] == f"echo 0 | sudo tee /{CPU}/cpu6/online"
    assert set(smt) == {"name", "state", "value", "why", "mend"}


def test_a_machine_that_shows_nothing_has_no_pass_from_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, found = document(capsys, tmp_path, "--profile", "publish")
    assert code == 1
    assert {"governor", "turbo", "affinity", "hypervisor", "aslr", "load", "cpu_quota", "swap", "thermal", "power"} <= set(
        found["blocking"]
    )
    assert found["allowed"] == [name for name in JUDGES if name in found["allowed"]]


def test_wrong_usage_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for words, reason in (
        (["--allow", "nothing"], "--allow nothing: no finding of check; those are governor"),
        (["--affinity", "x"], "--affinity: 'x' is not a number"),
        (["--system", str(tmp_path / "missing")], "no such folder"),
    ):
        assert main(["check", *words]) == 2
        output, complaint = capsys.readouterr()
        assert output == ""
        assert complaint.count("\n") == 1
        assert reason in complaint


def test_allow_goes_with_publish_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--allow", "smt", "--benches", str(FAKE)])
    assert ended.value.code == 2
    assert "--allow goes with --profile publish" in capsys.readouterr().err


PUBLISH = [sys.executable, "-m", "derive_bench", "--profile", "publish", "--benches", str(FAKE), "--filter", "decode_only/ticker*"]
LITTLE = ["-p", "2", "-n", "1", "-w", "1", "--min-time", "0.0005"]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=PACKAGE_PARENT, capture_output=True, text=True, timeout=60, check=False)


def test_publish_runs_without_aslr_and_marks_what_it_was_allowed(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    done = run(*PUBLISH, *LITTLE, *ALLOW_ALL, "-o", str(path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("environment: ")
    assert "warm-up pass" in done.stderr
    metadata = pyperf.BenchmarkSuite.load(str(path)).get_metadata()
    assert metadata["aslr"] == "No randomization" or "aslr" in metadata["check_allowed"]
    assert (str(metadata["hash_seed"]), str(metadata["python_hash_seed"]), metadata["warmup_pass"]) == ("0", "0", "yes")
    assert str(metadata["affinity"]) == str(metadata["cpu_affinity"])
    assert all(f"found_{name}" in metadata for name in NAMES)
    for benchmark in pyperf.BenchmarkSuite.load(str(path)):
        assert benchmark.get_nrun() == 2, "the warm-up pass is thrown away"
        assert not any(run._is_calibration() for run in benchmark.get_runs())
    if metadata["check_allowed"] != "none":
        assert f"median {MARK}" in done.stdout
        assert f"{MARK} Published in spite of: " in done.stdout


def test_publish_refuses_what_is_not_fit() -> None:
    done = run(*PUBLISH, *LITTLE, "--affinity", "4095")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "not fit to publish: " in done.stderr
    assert "affinity (fail: CPU 4095 is not online)" in done.stderr
    assert "--allow affinity" in done.stderr


def test_publish_cannot_replace_a_program_that_calls_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(PUBLISH[3:]) == 2
    assert "ASLR cannot be switched off: a program called the command" in capsys.readouterr().err


def test_libraries_in_pure_python_are_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, GOOD)
    assert document(capsys, tmp_path)[0] == 0
    monkeypatch.setattr(libraries, "ExtensionFileLoader", type(passed("x")))
    code, found = document(capsys, tmp_path)
    assert (code, found["blocking"]) == (1, ["msgspec", "orjson", "coincurve", "wallycore", "tiny_keccak", "uuid_utils"])
