"""The two data trees are found beside the package and inside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from derive_bench.measure import trees
from derive_bench.measure.trees import TreeMissing, checkout_root, find_tree


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "derive_bench").mkdir()
    monkeypatch.setattr(trees, "PACKAGE_DIR", tmp_path / "derive_bench")
    monkeypatch.setattr(trees, "PACKAGE_PARENT", tmp_path)
    return tmp_path


@pytest.mark.parametrize("parent", [".", "derive_bench"])
def test_found_in_both_places(place: Path, parent: str) -> None:
    (place / parent / "test_data").mkdir()
    assert find_tree("test_data") == place / parent / "test_data"


def test_missing_tree_names_both_places(place: Path) -> None:
    with pytest.raises(TreeMissing, match=r"no benches/ folder: looked in .*derive_bench.benches and .*benches"):
        find_tree("benches")


def test_a_checkout_has_a_project_file_and_rows(place: Path) -> None:
    assert checkout_root() is None
    (place / "pyproject.toml").touch()
    (place / "benches").mkdir()
    assert checkout_root() == place


def test_the_project_itself() -> None:
    assert find_tree("benches").is_dir()
    assert find_tree("test_data").is_dir()
