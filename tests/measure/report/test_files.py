"""What a report is made of: kinds told apart, runs in order, bad files refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from derive_bench.measure.report.files import load
from derive_bench.measure.results import ResultError
from tests.measure.report import given


def test_every_kind_is_told_by_its_content(tmp_path: Path) -> None:
    paths = [
        given.times(tmp_path / "a"),
        given.counts(tmp_path / "b"),
        given.tail(tmp_path / "c"),
        given.peers(tmp_path / "p.details.json"),
        given.replay(tmp_path / "r"),
    ]
    material = load(paths)
    kinds = (material.runs, material.counts, material.tails, material.peers, material.replays)
    assert [len(kind) for kind in kinds] == [1, 1, 1, 1, 1]


def test_runs_are_ordered_by_date_and_what_differs_is_named(tmp_path: Path) -> None:
    later = given.times(tmp_path / "a.json", date="2026-02-01 00:00:00", protocol="v2")
    material = load([later, given.times(tmp_path / "b.json.gz")])
    assert [run.source for run in material.runs] == ["b.json.gz", "a.json"]
    assert material.latest is material.runs[-1]
    assert material.differing() == {"protocol": ["v3", "v2"]}


def test_the_reference_of_this_machine_takes_the_place_of_the_published(tmp_path: Path) -> None:
    place = tmp_path / "criterion" / "inbound_pipeline" / "quotes" / "new" / "estimates.json"
    place.parent.mkdir(parents=True)
    interval = {"lower_bound": 900.0, "upper_bound": 1100.0}
    place.write_text(json.dumps({"median": {"point_estimate": 1000.0, "confidence_interval": interval}}))
    latest = load([given.times(tmp_path / "a.json")], tmp_path / "criterion").latest
    assert latest is not None
    figure = latest.results.rows["inbound_pipeline/quotes"].reference
    assert figure is not None
    assert figure.median == pytest.approx(1e-6)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"version": "1.0", "benchm', "cut off"),
        ("[1, 2]", "holds a list"),
        ('{"some": "thing"}', "not a result of derive_bench"),
        ('{"schema": "derive_bench.tail", "schema_version": 9, "rows": {}}', "version 9"),
        ('{"schema": "derive_bench.tail", "schema_version": 1}', "without rows"),
        ('{"schema": "derive_bench.tail", "schema_version": 1, "rows": {"a/b": {"collector": {"on": {}}}}}', "tails of a/b without"),
    ],
)
def test_a_bad_file_is_refused_with_its_name(tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content)
    with pytest.raises(ResultError, match=told) as refusal:
        load([path])
    assert "bad.json" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_file_of_another_tool_and_one_that_is_missing_are_refused(tmp_path: Path) -> None:
    import pyperf

    run = pyperf.Run([1.0], metadata={"name": "other", "loops": 1}, collect_metadata=False)
    pyperf.BenchmarkSuite([pyperf.Benchmark([run])]).dump(str(tmp_path / "other.json"))
    with pytest.raises(ResultError, match=r"other\.json.*not measured by derive_bench"):
        load([tmp_path / "other.json"])
    with pytest.raises(ResultError, match=r"none\.json: cannot be read"):
        load([tmp_path / "none.json"])
