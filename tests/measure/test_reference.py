"""The reference: Criterion's result tree as it is on disk, with and without its ids, and trees that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from derive_bench.measure.reference import Figure, ReferenceUnreadable, criterion_id, read_criterion

ROWS = ["inbound_pipeline/book_deltas", "signing/sign_trade_action", "atom/uuid4_new"]


def write_estimates(folder: Path, median: object, full_id: str | None = None) -> None:
    """One benchmark of a tree, with what stands around it in a real one."""
    for name in ("new", "base"):
        (folder / name).mkdir(parents=True)
    interval = {"confidence_level": 0.95, "lower_bound": 450.0, "upper_bound": 500.0}
    estimates = {
        "mean": {"point_estimate": 1.0},
        "median": {"confidence_interval": interval, "point_estimate": median, "standard_error": 1},
    }
    (folder / "new" / "estimates.json").write_text(json.dumps(estimates))
    (folder / "base" / "estimates.json").write_text("{}")
    if full_id is not None:
        document = {"group_id": full_id, "function_id": None, "full_id": full_id, "directory_name": folder.name, "title": full_id}
        (folder / "new" / "benchmark.json").write_text(json.dumps(document))


def test_ids_come_from_the_folders(tmp_path: Path) -> None:
    write_estimates(tmp_path / "inbound_pipeline" / "book_deltas", 473.0)
    write_estimates(tmp_path / "sign_trade_action", 42_000.0)
    write_estimates(tmp_path / "other_group" / "thing", 1.0)
    found = read_criterion(tmp_path, ROWS)
    assert set(found) == {"inbound_pipeline/book_deltas", "signing/sign_trade_action"}
    assert found["signing/sign_trade_action"].median == pytest.approx(42e-6)
    deltas = found["inbound_pipeline/book_deltas"]
    assert (deltas.median, deltas.low, deltas.high) == pytest.approx((473e-9, 450e-9, 500e-9))


def test_ids_come_from_criterion_where_it_says_them(tmp_path: Path) -> None:
    write_estimates(tmp_path / "inbound_pipeline_book_deltas", 473.0, "inbound_pipeline/book_deltas")
    write_estimates(tmp_path / "atom" / "uuid4_new", 13.0, "something/else")
    assert set(read_criterion(tmp_path, ROWS)) == {"inbound_pipeline/book_deltas"}


@pytest.mark.parametrize("above", ["criterion", "target/criterion"])
def test_a_folder_above_the_tree_will_do(tmp_path: Path, above: str) -> None:
    write_estimates(tmp_path / above / "atom" / "uuid4_new", 13.0)
    assert set(read_criterion(tmp_path, ROWS)) == {"atom/uuid4_new"}


def test_signing_rows_have_no_group_there() -> None:
    assert [criterion_id(row) for row in ROWS] == ["inbound_pipeline/book_deltas", "sign_trade_action", "atom/uuid4_new"]


def test_folders_without_results_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReferenceUnreadable, match="no such folder"):
        read_criterion(tmp_path / "missing", ROWS)
    with pytest.raises(ReferenceUnreadable, match=r"holds no Criterion results.*run cargo bench"):
        read_criterion(tmp_path, ROWS)
    write_estimates(tmp_path / "other_group" / "thing", 1.0)
    with pytest.raises(ReferenceUnreadable, match="1 Criterion results, other_group/thing among them, but none of a row here"):
        read_criterion(tmp_path, ROWS)


def test_the_same_id_twice_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_estimates(tmp_path / name, 13.0, "atom/uuid4_new")
    with pytest.raises(ReferenceUnreadable, match="atom/uuid4_new twice"):
        read_criterion(tmp_path, ROWS)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"median": {"point_estimate": 1}}', '{"median": 1}'])
def test_broken_results_are_refused(tmp_path: Path, content: str) -> None:
    write_estimates(tmp_path / "atom" / "uuid4_new", 13.0)
    (tmp_path / "atom" / "uuid4_new" / "new" / "estimates.json").write_text(content)
    with pytest.raises(ReferenceUnreadable, match=r"estimates\.json: (not estimates of Criterion|cannot be read)"):
        read_criterion(tmp_path, ROWS)


@pytest.mark.parametrize("median", [0.0, -1.0, float("nan"), float("inf")])
def test_a_median_that_is_no_duration_is_refused(tmp_path: Path, median: float) -> None:
    write_estimates(tmp_path / "atom" / "uuid4_new", median)
    with pytest.raises(ReferenceUnreadable, match="is no duration"):
        read_criterion(tmp_path, ROWS)


def test_figures_are_in_seconds(tmp_path: Path) -> None:
    write_estimates(tmp_path / "atom" / "uuid4_new", 500.0)
    assert read_criterion(tmp_path, ROWS)["atom/uuid4_new"] == Figure(*(value * 1e-9 for value in (500.0, 450.0, 500.0)))
