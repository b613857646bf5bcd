"""Latencies and pace: the histograms hold what was noted, pauses are the collector's, spans of throughput add up."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive_bench.replay.latency import GcPauses, Latencies
from derive_bench.replay.pace import Throughput


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=300))
@settings(max_examples=30)
def test_percentiles_are_those_of_the_values(values: list[int]) -> None:
    latencies = Latencies()
    for value in values:
        latencies.note("a", value)
    summary = latencies.summaries()["a"]
    ordered = sorted(values)
    assert summary["count"] == len(values)
    assert summary["max_ns"] == pytest.approx(ordered[-1], rel=0.001)
    assert summary["mean_ns"] == round(sum(values) / len(values))
    assert summary["curve"][0][1] == pytest.approx(ordered[0], rel=0.001)
    assert summary["curve"][-1][0] == 100.0
    assert summary["p50_ns"] in [pytest.approx(value, rel=0.001) for value in ordered]
    assert [value for _, value in summary["curve"]] == sorted(value for _, value in summary["curve"])


def test_overall_is_all_channels_together(tmp_path: Path) -> None:
    latencies = Latencies()
    for value in range(1, 1_001):
        latencies.note("a", value)
        latencies.note("b", 10 * value, most=100)
    assert latencies.waiting == 0, "the last of b were the last of a hundred"
    summaries = latencies.summaries()
    assert summaries["overall"]["count"] == 2_000
    assert summaries["overall"]["max_ns"] == pytest.approx(10_000, rel=0.001)


def test_curves_are_files_that_plotters_read(tmp_path: Path) -> None:
    latencies = Latencies()
    for value in range(1, 1_001):
        latencies.note("a", 10 * value)
    paths = latencies.write_hgrm(tmp_path / "curves")
    assert [path.name for path in paths] == ["overall.hgrm", "a.hgrm"]
    lines = paths[1].read_text().splitlines()
    assert lines[0].split() == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]
    points = [line.split() for line in lines[2:] if not line.startswith("#")]
    assert float(points[-1][0]) == pytest.approx(10.0, rel=0.001)
    assert points[-1][1:] == ["1.000000000000", "1000"]


def test_pauses_are_the_collectors() -> None:
    with GcPauses() as pauses:
        gc.collect()
        gc.collect(0)
    outside = pauses.summary()["collections"]
    gc.collect()
    summary = pauses.summary()
    assert summary["collections"] == outside >= 2
    assert summary["by_generation"][2] >= 1
    assert summary["curve"][-1] == [100.0, summary["max_ns"]]
    assert 0 < summary["p50_ns"] <= summary["max_ns"] <= summary["total_ns"] * 1.001


@given(st.lists(st.integers(0, 10**11), max_size=200))
@settings(max_examples=40)
def test_spans_add_up_and_stay_few(times: list[int]) -> None:
    throughput = Throughput(lambda: 0)
    throughput.start()
    for time in sorted(times):
        throughput.add(time, 3, time // 2 - 1)
    data = throughput.as_dict()
    assert sum(data["frames"]) == len(times)
    assert sum(data["bytes"]) == 3 * len(times)
    assert sum(data["due"] or []) == len(times)
    assert len(data["frames"]) == len(data["bytes"]) == len(data["due"] or data["bytes"]) <= 513
    if times:
        assert len(data["frames"]) - 1 == max(times) // data["span_ns"]
