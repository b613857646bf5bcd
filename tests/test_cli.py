"""The command: what it prints and writes, its exit codes, and how it ends when it is interrupted."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyperf
import pytest

from derive_bench.adapter.protocol import PROTOCOLS
from derive_bench.cli import VERBS, main
from derive_bench.cli.options import DATA_VARIABLE, PROFILE_NAMES, PROTOCOL_NAMES
from derive_bench.measure.catalogue import DEFAULT_SUITES
from derive_bench.measure.runner import PROFILES
from derive_bench.measure.trees import PACKAGE_PARENT

FAKE = Path(__file__).resolve().parent / "fake_benches"
LITTLE = ("--benches", str(FAKE), "--profile", "quick", "-p", "2", "-n", "2", "--min-time", "0.0005")


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run a command that must be refused; its one line of complaint."""
    try:
        code = main(words)
    except SystemExit as error:
        code = int(error.code or 0)
    output, complaint = capsys.readouterr()
    assert code == 2
    assert output == ""
    assert complaint.startswith("derive-bench: ")
    assert complaint.count("\n") == 1
    return complaint


def test_a_run_prints_tables_and_writes_one_pyperf_file(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    command = [sys.executable, "-m", "derive_bench", *LITTLE, "-o", str(path)]
    done = subprocess.run(command, cwd=PACKAGE_PARENT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "profile custom: 7 rows, 2 rounds, up to 30 rows in a process" in done.stdout
    assert re.search(r"inbound_pipeline/quotes +[\d.]+ [nµ]s +[\d.]+% +[\d.]+ [kM] +[\d.]+ +1\.64 µs", done.stdout)
    assert re.search(r"inbound_pipeline/quotes_cold +.*\d+%", done.stdout)
    assert "ANOTHER MACHINE" in done.stdout
    assert done.stderr.startswith("[1/4] round 1/2: decode_only/ticker\n")
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]

    suite = pyperf.BenchmarkSuite.load(str(path))
    assert len(suite) == 7
    metadata = suite.get_metadata()
    expected = {"protocol": "v3", "profile": "custom", "complete": "yes", "suites": "data signing", "filters": "none", "unit": "second"}
    assert {key: metadata[key] for key in expected} == expected
    wanted = ("commit", "dirty", "data_hash", "python", "lib_pyperf", "cpu_model_name", "governor", "aslr", "affinity", "load_before")
    assert [key for key in wanted if key not in metadata] == []
    for benchmark in suite:
        assert (benchmark.get_nrun(), benchmark.get_nvalue()) == (2, 4)


def test_pyperf_reads_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    assert main([*LITTLE, "--filter", "decode_only/ticker", "-o", str(path)]) == 0
    for verb in ("stats", "hist", "check", "show", "metadata"):
        done = subprocess.run([sys.executable, "-m", "pyperf", verb, str(path)], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, f"{verb}: {done.stderr}"
    done = subprocess.run([sys.executable, "-m", "pyperf", "compare_to", str(path), str(path)], capture_output=True, text=True, check=True)
    assert "hidden because not significant (1): decode_only/ticker" in done.stdout


def test_list_has_a_line_for_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--benches", str(FAKE)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "data: tiny rows"
    quotes = next(line for line in lines if line.startswith("  inbound_pipeline/quotes "))
    assert quotes.split(maxsplit=1)[1] == (
        "frame -> text [decode_only/ticker + parse_only/ticker_quote; against control/json_loads_ticker]"
    )
    assert len(lines) == 2 + 7


def test_list_takes_suites_filters_and_protocol(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "data", "--benches", str(FAKE), "--protocol", "v2", "--filter", "atom/*"]) == 0
    assert capsys.readouterr().out.splitlines() == ["data: tiny rows", "  atom/v2_only  a row of the legacy protocol"]


def test_wrong_usage_is_one_line_and_exit_code_two(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    fake = ("--benches", str(FAKE))
    assert "no suite 'dta'; there are: data signing" in refused(capsys, "dta", *fake)
    assert "no row matches 'zzz'" in refused(capsys, "--filter", "zzz", *fake)
    assert "invalid choice: 'fast'" in refused(capsys, "--profile", "fast", *fake)
    assert "invalid choice: 'v4'" in refused(capsys, "--protocol", "v4", *fake)
    assert "-p/--processes: 0 is not positive" in refused(capsys, "-p", "0", *fake)
    assert "run.json: cannot be written" in refused(capsys, "-o", str(tmp_path / "missing" / "run.json"), *fake)
    assert "no such directory" in refused(capsys, "--data", str(tmp_path / "missing"), *fake)
    assert "give either RUN.json or --check" in refused(capsys, "baseline")
    assert "cannot be read" in refused(capsys, "baseline", str(tmp_path / "run.json"))


def test_reference_of_this_machine(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "criterion" / "inbound_pipeline" / "quotes" / "new"
    folder.mkdir(parents=True)
    median = {"point_estimate": 1700.0, "confidence_interval": {"lower_bound": 1683.0, "upper_bound": 1717.0}}
    (folder / "estimates.json").write_text(json.dumps({"median": median}))
    words = [*LITTLE, "--filter", "inbound_pipeline/*", "--reference", str(tmp_path)]
    assert main([*words, "-o", str(tmp_path / "run.json")]) == 0
    output = capsys.readouterr().out
    assert re.search(r"inbound_pipeline/quotes +.* 1\.70 µs ± 1\.0% † +[\d.]+ †\n", output)
    assert "† Reference: " in output
    metadata = pyperf.BenchmarkSuite.load(str(tmp_path / "run.json")).get_benchmark("inbound_pipeline/quotes").get_metadata()
    assert metadata["reference_median_sec"] == pytest.approx(1.7e-6)
    assert "holds no Criterion results" in refused(capsys, *LITTLE, "--reference", str(FAKE))


def test_existing_output_is_refused_and_left_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("mine")
    assert "exists already" in refused(capsys, *LITTLE, "-o", str(path))
    assert path.read_text() == "mine"


def test_missing_data_file_is_told_before_anything_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaint = refused(capsys, *LITTLE, "--data", str(tmp_path), "-o", str(tmp_path / "run.json"))
    assert re.search(r"orderbook_d1\.json: missing", complaint)
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    assert re.search(r"orderbook_d1\.json: missing", refused(capsys, *LITTLE))
    assert list(tmp_path.iterdir()) == []


def test_failing_worker_writes_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text(
        "from derive_bench.measure.rows import Suite\n"
        "suite = Suite('data', '')\n"
        "suite.row('a/good', 'abs(1)', summary='test')(lambda inputs: {})\n"
        "suite.row('a/bad', 'abs(missing)', summary='test')(lambda inputs: {})\n"
    )
    code = main(["--benches", str(tmp_path), "-p", "1", "-n", "1", "-l", "1", "-o", str(tmp_path / "run.json")])
    complaint = capsys.readouterr().err
    assert code == 2
    assert complaint.endswith("in row a/bad\n")
    assert "name 'missing' is not defined" in complaint
    assert not (tmp_path / "run.json").exists()


SLOW = """\
import pathlib
from derive_bench.measure.rows import Suite
suite = Suite("data", "")
@suite.row("a/one", "abs(1)", summary="test")
@suite.row("a/two", "abs(2)", summary="test")
def _(inputs):
    with open(pathlib.Path(__file__).parent / "started", "a") as log:
        log.write("x")
    {wait}
    return {{}}
"""


def interrupt(folder: Path, wait: str, workers: int) -> tuple[int, str]:
    """Interrupt a long run when its ``workers``-th worker has started; exit code and complaints."""
    (folder / "data.py").write_text(SLOW.format(wait=wait))
    started = folder / "started"
    command = [sys.executable, "-m", "derive_bench", "--benches", str(folder), "-p", "1000", "-n", "1", "-o", str(folder / "run.json")]
    process = subprocess.Popen(command, cwd=PACKAGE_PARENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while not (started.exists() and len(started.read_bytes()) >= workers):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=30)
    return process.returncode, complaint


def test_interrupted_run_keeps_what_was_measured(tmp_path: Path) -> None:
    code, complaint = interrupt(tmp_path, "pass", workers=4)
    assert code == 130, complaint
    assert complaint.splitlines()[-1] == f"derive-bench: interrupted with 2 of 2 rows measured; kept in {tmp_path / 'run.json'}"
    assert "Traceback" not in complaint
    suite = pyperf.BenchmarkSuite.load(str(tmp_path / "run.json"))
    assert suite.get_benchmark_names() == ["a/two", "a/one"]
    assert suite.get_metadata()["complete"] == "interrupted in round 2 of 1000"
    assert {path.name for path in tmp_path.iterdir()} <= {"data.py", "started", "run.json", "__pycache__"}


def test_interruption_before_the_first_result_writes_nothing(tmp_path: Path) -> None:
    begin = time.monotonic()
    code, complaint = interrupt(tmp_path, "import time; time.sleep(60)", workers=1)
    assert code == 130, complaint
    assert complaint.splitlines()[-1] == "derive-bench: interrupted with 0 of 2 rows measured; nothing kept"
    assert not (tmp_path / "run.json").exists()
    assert time.monotonic() - begin < 30, "the worker was ended, too"


def test_baseline_is_kept_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "benches").mkdir()
    for suite in ("data", "signing"):
        (tmp_path / "benches" / f"{suite}.py").write_text((FAKE / f"{suite}.py").read_text())
    page = (PACKAGE_PARENT / "BENCHMARKS.md").read_text()
    (tmp_path / "BENCHMARKS.md").write_text(page)
    run = tmp_path / "run.json"
    root = ("--root", str(tmp_path))
    assert main([*LITTLE, "-o", str(run)]) == 0
    capsys.readouterr()
    assert main(["baseline", str(run), *root]) == 2
    assert "--allow" in capsys.readouterr().err
    assert main(["baseline", str(run), *root, "--allow", "profile", "--allow", "dirty"]) == 0
    assert "although" in capsys.readouterr().out
    assert main(["baseline", "--check", *root]) == 0
    assert len(json.loads((tmp_path / "benches" / "baseline.json").read_text())["rows"]) == 7
    (tmp_path / "benches" / "signing.py").unlink()
    capsys.readouterr()
    assert main(["baseline", "--check", *root]) == 1
    assert capsys.readouterr().out == "removed or renamed since: control/json_loads_ticker\n"


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m derive_bench list --benches {FAKE} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=PACKAGE_PARENT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--help"], *([verb, "--help"] for verb in VERBS)):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 0
        assert "python -m derive_bench" in capsys.readouterr().out


def test_names_agree_with_those_they_stand_for() -> None:
    assert set(PROTOCOL_NAMES) == set(PROTOCOLS)
    assert set(PROFILE_NAMES) == set(PROFILES)
    assert not set(VERBS) & set(DEFAULT_SUITES)


def test_refusing_costs_no_heavy_import() -> None:
    code = "import sys; from derive_bench.cli import main; main(['nope']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE_PARENT, capture_output=True, text=True, check=True, env=os.environ)
    assert {"pyperf", "eth_account", "coincurve", "wallycore"}.isdisjoint(done.stdout.split())
