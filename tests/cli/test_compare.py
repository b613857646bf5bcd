"""The verb compare: its exit codes, also in a pipeline, its formats, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from derive_bench.cli import main
from derive_bench.measure.trees import PACKAGE_PARENT

from ..measure.compare.made import write

CONTROL = {f"control/c{number}": [[1e-6] * 4] * 5 for number in range(3)}
BASE = {"group/a": [[1e-6] * 4] * 5, "group/b|c": [[1e-6] * 4] * 5} | CONTROL
HEAD = BASE | {"group/a": [[1.3e-6] * 4] * 5}


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    return str(write(tmp_path / "base.json", BASE)), str(write(tmp_path / "head.json", HEAD))


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    try:
        code = main(["compare", *words])
    except SystemExit as error:
        code = int(error.code or 0)
    output, complaint = capsys.readouterr()
    assert (code, output, complaint.count("\n")) == (2, "", 1)
    return complaint


def test_the_gate_stops_a_pipeline(files: tuple[str, str]) -> None:
    """The exit code reaches a shell that pipes the table on, as a workflow's step does; without a regression it is 0."""

    def shell(first: str, second: str) -> int:
        command = f"set -o pipefail; '{sys.executable}' -m derive_bench compare '{first}' '{second}' --format github | cat > /dev/null"
        return subprocess.run(["bash", "-c", command], cwd=PACKAGE_PARENT, check=False, timeout=60).returncode

    assert shell(*files) == 1
    assert shell(files[0], files[0]) == 0


def test_the_threshold_of_the_gate_is_an_option(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *files, "--fail-above", "25%"]) == 1
    assert "group/a" in capsys.readouterr().out
    assert main(["compare", *files, "--fail-above", "35%"]) == 0
    assert main(["compare", *reversed(files)]) == 0, "faster is no regression"


def test_github_gets_escaped_annotations_and_a_table(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *files, "--format", "github"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("::error title=group/a is +30.0%25 slower::group/a: 1.00 µs -> 1.30 µs, +30.0%25 ± ")
    assert "### base.json → head.json" in lines
    assert "| row | base | head | change | ± | p | verdict |" in lines


def test_markdown_keeps_its_cells_apart(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["compare", *files, "--format", "markdown"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| `")]
    assert len(rows) == 5
    assert {line.replace("\\|", "").count("|") for line in rows} == {8}


def test_json_says_everything(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["compare", *files, "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["regressions"], document["paired"]) == (1, ["group/a"], False)
    change = document["changes"][0]
    assert (change["name"], change["verdict"], change["regression"]) == ("group/a", "slower", True)
    assert change["ratio"] == pytest.approx(1.3)


def test_what_is_not_comparable_is_refused_unless_forced_and_then_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = str(write(tmp_path / "base.json", BASE))
    other = str(write(tmp_path / "other.json", BASE, hostname="there", data_hash="bb"))
    complaint = refused(capsys, base, other)
    assert "other input data: aa and bb; other host: here and there; --force" in complaint
    assert main(["compare", base, other, "--force"]) == 0
    assert "forced, although not comparable: other host: here and there" in capsys.readouterr().out


@pytest.mark.parametrize("content", [b"", b"{}", b'{"version": "1.0", "benchmarks": [{"runs": [{"val', b"[1, 2", b"\xff\xfe"])
def test_files_that_are_none_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes) -> None:
    base, bad = write(tmp_path / "base.json", BASE), tmp_path / "bad.json"
    bad.write_bytes(content)
    assert "bad.json: not a pyperf result file" in refused(capsys, str(base), str(bad))


def test_a_file_cut_anywhere_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = write(tmp_path / "base.json", BASE)
    whole, bad = base.read_bytes(), tmp_path / "bad.json"
    for length in range(1, len(whole) - 2, len(whole) // 15):
        bad.write_bytes(whole[:length])
        refused(capsys, str(base), str(bad))


def test_other_complaints_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = str(write(tmp_path / "base.json", BASE))
    assert "No such file" in refused(capsys, base, str(tmp_path / "none.json"))
    assert "'10' is not a percentage such as 10%" in refused(capsys, base, base, "--fail-above", "10")
    assert "'nan%' is not a percentage" in refused(capsys, base, base, "--fail-above", "nan%")
    assert "no row in common" in refused(capsys, base, str(write(tmp_path / "x.json", {"group/x": [[1e-6]]})))
    counts = str(write(tmp_path / "counts.json", BASE, unit="integer"))
    assert "instruction counts" in refused(capsys, base, counts, "--force")
    old = write(tmp_path / "old.json", BASE)
    old.write_text(old.read_text().replace('"data_hash"', '"hash_of_data"'))
    assert "written by an older version: it does not say its data_hash" in refused(capsys, base, str(old))
    foreign = write(tmp_path / "foreign.json", BASE)
    foreign.write_text(foreign.read_text().replace('"suite"', '"tool"'))
    assert "was not measured by derive_bench" in refused(capsys, base, str(foreign))
