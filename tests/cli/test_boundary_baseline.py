"""A run of `boundary` becomes a section of BENCHMARKS.md, and nothing else of the page changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from derive_bench.cli import main
from derive_bench.measure.baseline import BOUNDARY_BEGIN, BOUNDARY_END
from derive_bench.measure.results import details_path

pytest.importorskip("numba", reason="numba is not installed: make venv")

PAGE = f"# Figures\n\nBefore.\n\n{BOUNDARY_BEGIN}\nold\n{BOUNDARY_END}\n\nAfter.\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("boundary") / "run.json"
    words = ["boundary", "codec", "--profile", "quick", "--bars", "1000", "--combinations", "2", "--filter", "codec/array_raw_*"]
    assert main([*words, "-o", str(path)]) == 0
    return path


def test_its_tables_take_the_place_of_the_old_ones(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "BENCHMARKS.md"
    page.write_text(PAGE)
    assert main(["baseline", str(run), "--root", str(tmp_path), "--allow", "profile", "--allow", "dirty"]) == 0
    assert capsys.readouterr().out.startswith("BENCHMARKS.md now holds ")
    before, rest = page.read_text().split(BOUNDARY_BEGIN)
    stretch, after = rest.split(BOUNDARY_END)
    assert (before, after) == ("# Figures\n\nBefore.\n\n", "\n\nAfter.\n")
    assert "| `codec/array_raw` |" in stretch
    assert "profile quick" in stretch
    assert "**taken although**: dirty, profile" in stretch or "**taken although**: profile" in stretch
    assert "old" not in stretch.split()
    assert not (tmp_path / "benches").exists(), "the baseline of the suites is another thing"


def test_a_quick_one_is_refused_unless_it_is_allowed(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "BENCHMARKS.md").write_text(PAGE)
    assert main(["baseline", str(run), "--root", str(tmp_path), "--allow", "dirty"]) == 2
    assert "its profile is quick" in capsys.readouterr().err
    assert (tmp_path / "BENCHMARKS.md").read_text() == PAGE


def test_a_page_without_the_place_for_it_is_refused(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "BENCHMARKS.md").write_text("# Figures\n")
    assert main(["baseline", str(run), "--root", str(tmp_path), "--allow", "dirty", "--allow", "profile"]) == 2
    assert f"needs the two lines {BOUNDARY_BEGIN}" in capsys.readouterr().err


def test_details_of_another_schema_are_refused(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "run.json"
    other.write_bytes(run.read_bytes())
    details = json.loads(details_path(run).read_bytes())
    details_path(other).write_text(json.dumps(details | {"schema": 99}))
    assert main(["baseline", str(other), "--root", str(tmp_path)]) == 2
    assert "not details of boundary of schema 1" in capsys.readouterr().err
