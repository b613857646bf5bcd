"""Peers: fake libraries in fake environments, checked against ours and measured; what is told of those that do not agree."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyperf
import pytest

from derive_bench.cli import main
from derive_bench.measure.baseline import PEERS_BEGIN, PEERS_END
from derive_bench.measure.peers.adapters import Adapter, AdapterError, Comparison
from derive_bench.measure.peers.environments import InstallFailed, environment, install, interpreter
from derive_bench.measure.peers.report import load_details, peer_notes, peer_tables
from derive_bench.measure.results import ResultError
from derive_bench.measure.trees import PACKAGE_PARENT

FAKE = Path(__file__).resolve().parents[1] / "fake_benches"
BENCHES = ("--benches", str(FAKE))
FAKES = Comparison.load(FAKE)
ALL = [peer.name for peer in FAKES.peers]


def fake_environment(cache: Path, *names: str) -> None:
    """Environments that are this very Python."""
    for name in names:
        binaries = cache / "derive_bench" / "peers" / f"{name}-1.0" / "bin"
        binaries.mkdir(parents=True)
        (binaries / "python").symlink_to(sys.executable)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, str, Path]:
    """One run of all fake peers but one, which is not installed: exit code, output, complaints, file."""
    folder = tmp_path_factory.mktemp("peers")
    fake_environment(folder, *(name for name in ALL if name != "dier"))
    result = folder / "peers.json"
    command = [sys.executable, "-m", "derive_bench", "peers", *BENCHES, "--profile", "quick", "-o", str(result)]
    environ = os.environ | {"XDG_CACHE_HOME": str(folder)}
    done = subprocess.run(command, cwd=PACKAGE_PARENT, env=environ, capture_output=True, text=True, timeout=100, check=False)
    return done.returncode, done.stdout, done.stderr, result


def results_of(path: Path, stage: str) -> dict[str, Any]:
    """Results of one stage by contender, from the details."""
    document = load_details(path)
    return next(each["results"] for each in document["stages"] if each["name"] == stage)


def test_equal_peers_are_timed_beside_ours(whole: tuple[int, str, str, Path]) -> None:
    _, output, _, path = whole
    results = results_of(path, "decode/number")
    assert results["derive_bench"]["status"] == results["good"]["status"] == "timed"
    good = results["good"]
    assert 0 < good["ratio_low"] <= good["ratio"] <= good["ratio_high"]
    assert (good["values"], good["undone"]) == (10, "floats")
    assert results_of(path, "auth/now")["good"]["status"] == "timed", "ours was asked with the time that the peer took"
    line = next(line for line in output.splitlines() if line.startswith("  decode/number "))
    assert "× (" in line
    assert "1.56 µs = " in line, "the Rust reference"
    assert "] floats\n" in output


def test_a_peer_of_v2_is_compared_with_ours_on_its_inputs(whole: tuple[int, str, str, Path]) -> None:
    results = results_of(whole[3], "decode/number")
    assert results["legacy"]["status"] == results["derive_bench-v2"]["status"] == "timed"
    assert "derive_bench-v2" not in whole[1]
    assert results_of(whole[3], "sign/thing")["legacy"] == {"status": "lacking", "reason": "it does not sign"}


def test_a_wrong_signature_is_told_and_not_timed(whole: tuple[int, str, str, Path]) -> None:
    code, output, complaints, path = whole
    assert code == 1
    assert complaints.splitlines()[-1] == "derive-bench: not the signature that ours makes: sign/thing of forger"
    forger = results_of(path, "sign/thing")["forger"]
    assert forger["status"] == "differs"
    assert forger["reason"].startswith("signature: 0x00000000…00000001 in place of 0x6b86b273…")
    assert "median" not in forger
    assert "NOT EQUAL" in output
    assert results_of(path, "decode/number")["forger"]["status"] == "timed", "its other stages are"


def test_other_numbers_and_failures_are_told_and_not_timed(whole: tuple[int, str, str, Path]) -> None:
    _, output, _, path = whole
    assert results_of(path, "decode/number")["dropper"]["reason"] == "levels[0][1]: 1.51 in place of 1.50"
    assert results_of(path, "sign/thing")["dropper"]["reason"] == "LookupError: the thing is dropped"
    assert "] not timed: LookupError: the thing is dropped" in output


def test_missing_and_broken_peers_do_not_stop_the_others(whole: tuple[int, str, str, Path]) -> None:
    _, output, _, path = whole
    contenders = {each["name"]: each for each in load_details(path)["contenders"]}
    assert contenders["dier"]["status"] == "missing"
    assert "peers --install --only dier" in contenders["dier"]["reason"]
    assert contenders["crasher"]["status"] == "broken"
    assert contenders["crasher"]["reason"] == "ModuleNotFoundError: No module named 'not_installed_anywhere'"
    assert "crasher 1.0: BROKEN: ModuleNotFoundError" in output
    assert "dier 1.0: MISSING: not installed" in output
    assert contenders["derive_bench"]["versions"].keys() <= {"pip"}
    assert contenders["good"]["python"] == sys.version.split()[0]


def test_the_file_is_pyperfs(whole: tuple[int, str, str, Path]) -> None:
    path = whole[3]
    suite = pyperf.BenchmarkSuite.load(str(path))
    names = suite.get_benchmark_names()
    assert "decode/number@good" in names
    assert "sign/thing@forger" not in names
    assert [name for name in names if "@crasher" in name or "@dier" in name] == []
    metadata = suite.get_benchmark("decode/number@legacy").get_metadata()
    expected = {"suite": "peers", "control": "decode/number@derive_bench-v2", "dialect": "v2", "profile": "quick", "complete": "yes"}
    assert {key: metadata[key] for key in expected} == expected
    assert suite.get_benchmark("decode/number@good").get_nrun() == 2
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["derive_bench", "peers.details.json", "peers.json"]
    done = subprocess.run([sys.executable, "-m", "pyperf", "stats", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_details_have_a_schema_and_make_the_table(whole: tuple[int, str, str, Path], tmp_path: Path) -> None:
    document = load_details(whole[3])
    assert (document["schema"], document["kind"], document["run"]["profile"]) == (1, "peers", "quick")
    assert [stage["name"] for stage in document["stages"]] == list(FAKES.stages)
    for table in peer_tables(document):
        assert table.text() in whole[1]
    assert "\n".join(peer_notes(document)) in whole[1]
    (tmp_path / "run.details.json").write_text('{"schema": 99}')
    with pytest.raises(ResultError, match="not details of peers of schema 1"):
        load_details(tmp_path / "run.json")
    with pytest.raises(ResultError, match="cannot be read"):
        load_details(tmp_path / "other.json")


def test_the_table_goes_into_the_page(whole: tuple[int, str, str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "benches").mkdir()
    (tmp_path / "benches" / "data.py").write_text((FAKE / "data.py").read_text())
    page = tmp_path / "BENCHMARKS.md"
    page.write_text((PACKAGE_PARENT / "BENCHMARKS.md").read_text(encoding="utf-8"), encoding="utf-8")
    before = page.read_text(encoding="utf-8")
    words = ["baseline", str(whole[3]), "--root", str(tmp_path)]
    assert main(words) == 2
    assert "--allow" in capsys.readouterr().err
    assert main([*words, "--allow", "profile", "--allow", "dirty"]) == 0
    assert capsys.readouterr().out.startswith("BENCHMARKS.md now holds ")
    after = page.read_text(encoding="utf-8")
    assert after[: after.index(PEERS_BEGIN)] == before[: before.index(PEERS_BEGIN)]
    assert after[after.index(PEERS_END) :] == before[before.index(PEERS_END) :]
    stretch = after[after.index(PEERS_BEGIN) : after.index(PEERS_END)]
    assert "| stage | ours | ± | good 1.0 | legacy 1.0 |" in stretch
    assert "- legacy 1.0 (v2): a fake" in stretch
    assert "**taken although**: " in stretch
    assert not (tmp_path / "benches" / "baseline.json").exists()


def test_a_peer_that_dies_under_way_is_broken_and_the_others_go_on(cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake_environment(cache, "good", "dier")
    path = tmp_path / "peers.json"
    words = ["peers", *BENCHES, "--only", "good", "--only", "dier", "--profile", "quick", "-o", str(path)]
    assert main(words) == 0
    assert "dier 1.0: BROKEN: died with exit code 3: segmentation fault, or so" in capsys.readouterr().out
    results = results_of(path, "decode/number")
    assert (results["dier"]["status"], results["good"]["status"]) == ("broken", "timed")


def test_without_environments_it_says_what_to_run(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["peers", *BENCHES]) == 2
    output, complaint = capsys.readouterr()
    assert output == ""
    assert complaint == (
        f"derive-bench: not installed in {cache / 'derive_bench' / 'peers'}: {', '.join(ALL)}; "
        "run: python -m derive_bench peers --install\n"
    )
    assert main(["peers", *BENCHES, "--only", "good"]) == 2
    assert capsys.readouterr().err.endswith("run: python -m derive_bench peers --install --only good\n")
    assert not cache.exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--only", "nobody"), "no peer 'nobody'; there are: good legacy"),
        (("--profile", "fast"), "invalid choice: 'fast'"),
        (("--reference", str(FAKE)), "holds no Criterion results"),
        (("-o", str(FAKE / "missing" / "peers.json")), "cannot be written"),
    ],
)
def test_wrong_usage_is_one_line(cache: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], complaint: str) -> None:
    fake_environment(cache, "good")
    try:
        code: Any = main(["peers", *BENCHES, *words])
    except SystemExit as error:
        code = error.code
    assert code == 2
    output, told = capsys.readouterr()
    assert (output, told.count("\n")) == ("", 1)
    assert complaint in told


def test_existing_details_are_not_overwritten(cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake_environment(cache, "good")
    (tmp_path / "peers.details.json").write_text("mine")
    assert main(["peers", *BENCHES, "-o", str(tmp_path / "peers.json")]) == 2
    assert "exists already" in capsys.readouterr().err
    assert (tmp_path / "peers.details.json").read_text() == "mine"


def test_reference_of_this_machine(cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake_environment(cache, "good")
    folder = tmp_path / "sign_trade_action" / "new"
    folder.mkdir(parents=True)
    median = {"point_estimate": 42_000.0, "confidence_interval": {"lower_bound": 41_000.0, "upper_bound": 43_000.0}}
    (folder / "estimates.json").write_text(json.dumps({"median": median}))
    words = ["peers", *BENCHES, "--only", "good", "--profile", "quick", "--reference", str(tmp_path)]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert next(line for line in lines if line.startswith("  sign/thing ")).endswith("× †")
    assert next(line for line in lines if line.startswith("  decode/number ")).endswith("× *")


LAPS = """\
laps, at_the_last = 0, False


def number(text):
    global laps, at_the_last
    if at_the_last:
        laps, at_the_last = laps + 1, False
        if laps == 2:
            open({path!r}, "w").close()
    return float(text)


def last(pair):
    global at_the_last
    at_the_last = True
    return pair


NAME = """


def test_interruption_keeps_what_there_is(tmp_path: Path) -> None:
    fake_environment(tmp_path, "good")
    path, well_under_way = tmp_path / "peers.json", tmp_path / "well_under_way"
    shutil.copytree(FAKE / "peers", tmp_path / "benches" / "peers")
    good = tmp_path / "benches" / "peers" / "good.py"
    # Its stages are gone through once to compare them and once to calibrate; behind that, ours has been measured at the first.
    text = good.read_text().replace("NAME = ", LAPS.format(path=str(well_under_way)), 1)
    good.write_text(text.replace(", float,", ", number,").replace("(77, sign(77))", "last((77, sign(77)))"))
    benches = str(tmp_path / "benches")
    # A generation of seconds, so that the signal comes in the first.
    long = ["--profile", "rigorous", "--benches", benches, "--only", "good", "-o", str(path)]
    command = [sys.executable, "-m", "derive_bench", "peers", *long]
    environ = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    process = subprocess.Popen(command, cwd=PACKAGE_PARENT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not well_under_way.exists():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=30)
    assert process.returncode == 130, complaint
    assert complaint.splitlines()[-1] == f"derive-bench: interrupted; kept in {path}"
    assert "Traceback" not in complaint
    assert load_details(path)["run"]["complete"] == "interrupted in generation 1 of 10"


def adapter(**changes: Any) -> Adapter:
    values: dict[str, Any] = {"path": FAKE / "peers" / "good.py", "name": "thing", "version": "1.0", "dialect": "v3", "requirements": ()}
    return Adapter(**(values | {"about": "", "lacks": {}} | changes))


def test_an_environment_is_made_whole_or_not_at_all(cache: Path) -> None:
    assert interpreter(adapter()) is None
    with pytest.raises(InstallFailed, match=r"-m pip install failed: .*not a requirement"):
        install(adapter(requirements=("not a requirement",)))
    assert list((cache / "derive_bench" / "peers").iterdir()) == []


def test_a_made_environment_has_its_name_and_python(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def run(command: list[str]) -> None:
        commands.append(command)
        if "venv" in command:
            (Path(command[-1]) / "bin").mkdir()
            (Path(command[-1]) / "bin" / "python").symlink_to(sys.executable)

    monkeypatch.setattr("derive_bench.measure.peers.environments._run", run)
    install(adapter(requirements=("thing==1.0", "other==2.0")))
    assert interpreter(adapter()) == environment(adapter()) / "bin" / "python"
    assert [path.name for path in (cache / "derive_bench" / "peers").iterdir()] == ["thing-1.0"]
    assert commands[1][1:4] == ["-m", "pip", "install"]
    assert commands[1][-2:] == ["thing==1.0", "other==2.0"]


def test_an_environment_whose_python_is_gone_counts_as_missing(cache: Path) -> None:
    fake_environment(cache, "thing")
    python = environment(adapter()) / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python")
    assert interpreter(adapter()) is None


def test_the_projects_own_adapters_are_whole() -> None:
    comparison = Comparison.load()
    assert [peer.name for peer in comparison.peers] == ["derive-py", "derive-client", "derive_action_signing", "ccxt"]
    for peer in comparison.peers:
        assert all("==" in requirement for requirement in peer.requirements), "pinned"
        assert peer.requirements[0].endswith(f"=={peer.version}")
        assert set(peer.lacks) <= {*comparison.stages, *(stage.partition("/")[0] for stage in comparison.stages)}
    assert comparison.signed | set(comparison.echoed) | set(comparison.reference) <= set(comparison.stages)


def test_a_broken_adapter_is_named(tmp_path: Path) -> None:
    (tmp_path / "peers").mkdir()
    with pytest.raises(AdapterError, match=r"stages\.py: missing"):
        Comparison.load(tmp_path)
    (tmp_path / "peers" / "stages.py").write_text("PEERS = ('one',)\n")
    (tmp_path / "peers" / "one.py").write_text("NAME = 'one'\n")
    with pytest.raises(AdapterError, match=r"one\.py: .*VERSION"):
        Comparison.load(tmp_path)
