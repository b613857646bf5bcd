"""Running counting workers: with a script in place of valgrind, and once with valgrind itself."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import pytest

from derive_bench.cli import main
from derive_bench.measure.catalogue import Catalogue
from derive_bench.measure.count.session import ROWS_PER_PROCESS, Counter, CountSession, _batches
from derive_bench.measure.count.valgrind import Valgrind, ValgrindUnfit
from derive_bench.measure.count.worker import Counted
from derive_bench.measure.rows import Row
from derive_bench.measure.runner import WorkerFailed, WorkerRefused
from derive_bench.measure.trees import PACKAGE_PARENT

BENCHES = Path(__file__).parents[2] / "fake_benches"


FIRST = "seen = Path(sys.argv[0]).with_name('seen')\nfirst = not seen.exists()\nseen.touch()\n"


def rows(*names: str) -> list[Row]:
    catalogue = Catalogue.load("v3", BENCHES, ["data"])
    return [catalogue.rows[name] for name in names]


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def session(folder: Path, script: str, jobs: int = 1) -> CountSession:
    """One whose valgrind is a Python script; rehearsals are real."""
    program = folder / "valgrind"
    program.write_text(f"#!{sys.executable}\nimport json, os, sys, time\nfrom pathlib import Path\n{FIRST}{script}\n")
    program.chmod(0o755)
    counter = Counter(Valgrind(str(program), "3.19.0"), "v3", benches=BENCHES)
    return CountSession(rows("decode_only/ticker"), counter, jobs)


def result(instructions: str) -> str:
    counted = asdict(Counted(0.0, 50, 1, 17, [3], [4]))
    return (
        f"counted = {counted!r}\ncounted['instructions'] = {instructions}\n"
        "Path('out.3').write_text('fn=(1) _PyObject_Malloc\\nfn=(2) f\\ncfn=(1)\\ncalls=100 0\\n')\n"
        "Path('out.4').write_text('fn=(1) _PyObject_Malloc\\nfn=(2) f\\ncfn=(1)\\ncalls=1700 0\\n')\n"
        "Path('result.json').write_text(json.dumps({'decode_only/ticker': counted}))"
    )


def test_counts_become_benchmarks_of_integers(tmp_path: Path, scratch: Path) -> None:
    counting = session(tmp_path, result("1000.5"), jobs=2)
    counting.run()
    benchmark = counting.benchmarks()["decode_only/ticker"]
    metadata = benchmark.get_metadata()
    assert benchmark.get_values() == (1000.5, 1000.5)
    assert (metadata["unit"], metadata["profile"], metadata["repeats"], metadata["allocations"]) == ("integer", "count", "yes", 2.0)
    assert not list(scratch.iterdir())


def test_rows_that_use_randomness_share_no_process_with_others() -> None:
    batches = list(_batches(list(Catalogue.load("v3", None).rows.values())))
    random = {row.name for batch in batches for row in batch if "presign" in row.name or row.name == "signing/nonce_next"}
    assert len(random) >= 5
    for batch in batches:
        names = {row.name for row in batch}
        assert not names & random or all(name in random or "eth_account" in name for name in names)


def test_a_row_may_be_repeated_more_often_in_one_process(tmp_path: Path) -> None:
    script = result("1000.0").replace("Path('out.3')", "counted['inner'] = 50 if first else 10\nPath('out.3')", 1)
    counting = session(tmp_path, script)
    counting.run()
    assert [run.get_metadata()["loops"] for run in counting.benchmarks()["decode_only/ticker"].get_runs()] == [800, 160]


@pytest.mark.parametrize(("instructions", "repeats"), [("1000 + first", "no"), ("10_000 + first", "yes")])
def test_a_row_says_whether_it_repeats(tmp_path: Path, instructions: str, repeats: str) -> None:
    counting = session(tmp_path, result(instructions))
    counting.run()
    assert counting.benchmarks()["decode_only/ticker"].get_metadata()["repeats"] == repeats


@pytest.mark.parametrize(
    ("script", "error", "complaint"),
    [
        ("sys.stderr.write('noise\\nrow is gone\\n'); sys.exit(2)", WorkerRefused, "^row is gone$"),
        ("os.abort()", WorkerFailed, "decode_only/ticker: counting worker ended with -6"),
        ("pass", WorkerFailed, "left no whole result"),
        ("Path('result.json').write_text('{')", WorkerFailed, "left no whole result"),
        ("Path('result.json').write_text('{}')", WorkerFailed, "left no whole result"),
    ],
    ids=["refused", "crashed", "silent", "cut short", "empty"],
)
def test_failing_children_are_reported_and_leave_nothing(
    tmp_path: Path, scratch: Path, script: str, error: type[Exception], complaint: str
) -> None:
    with pytest.raises(error, match=complaint):
        session(tmp_path, script).run()
    assert not list(scratch.iterdir())


def test_interrupt_ends_children_and_removes_their_files(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (tmp_path / "valgrind").write_text(
        f"#!{shutil.which('sh')}\n[ $1 = --version ] && echo valgrind-3.19.0 && exit\necho $$ > {tmp_path}/pid\nexec sleep 60\n"
    )
    (tmp_path / "valgrind").chmod(0o755)
    command = [sys.executable, "-m", "derive_bench", "count", "--benches", str(BENCHES), "--filter", "decode_only/ticker", "--jobs", "1"]
    environ = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "TMPDIR": str(scratch)}
    with subprocess.Popen(
        command, cwd=PACKAGE_PARENT, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        for _ in range(1_000):
            if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
                break
            try:
                process.wait(0.02)
            except subprocess.TimeoutExpired:
                continue
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=20)
    assert process.returncode == 130
    assert complaint.strip().endswith("interrupted with 0 of 1 rows counted; nothing kept")
    assert not list(scratch.iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_rows_of_a_suite_share_processes_evenly() -> None:
    many = rows("decode_only/ticker") * (2 * ROWS_PER_PROCESS + 1)
    assert [len(batch) for batch in _batches(many)] == [27, 27, 27]


def test_command_without_valgrind_is_one_line_and_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["count", "--benches", str(BENCHES), "data"]) == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith("derive-bench: counting needs valgrind")
    assert complaint.count("\n") == 1


def test_command_keeps_what_it_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    session(tmp_path, "if '--version' in sys.argv:\n    print('valgrind-3.19.0')\n    sys.exit()\n" + result("1234.5"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    output = tmp_path / "counts.json"
    words = ["count", "--benches", str(BENCHES), "--filter", "decode_only/ticker", "-o", str(output)]
    assert main(words) == 0
    document = json.loads(output.read_text())
    assert {key: document["metadata"][key] for key in ("unit", "profile", "hash_seed", "complete", "valgrind")} == {
        "unit": "integer",
        "profile": "count",
        "hash_seed": "0",
        "complete": "yes",
        "valgrind": "3.19.0",
    }
    assert "1,23" in capsys.readouterr().out
    assert main(words) == 2
    assert "exists already" in capsys.readouterr().err


def test_rows_under_valgrind() -> None:
    try:
        valgrind = Valgrind.find()
    except ValgrindUnfit as error:
        pytest.skip(str(error))
    names = ("parse_only/ticker_quote", "dispatch/consumed")
    counting = CountSession(rows(*names), Counter(valgrind, "v3", benches=BENCHES), processes=1)
    counting.run()
    parsed, consumed = (counting.counts[name][0][0].instructions for name in names)
    # str of a small dict takes some thousands of instructions; list.pop some dozens.
    assert 500 < parsed < 50_000
    assert 10 < consumed < 500
