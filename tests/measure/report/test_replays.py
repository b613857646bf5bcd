"""Replays in the report: fields checked, curves and rates where they belong, counts as written, files told apart, the page the same."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from derive_bench.measure.report.figures import Chart
from derive_bench.measure.report.files import load
from derive_bench.measure.report.page import render
from derive_bench.measure.report.section import Section
from derive_bench.measure.report.sections import replays
from derive_bench.measure.results import ResultError
from derive_bench.replay import Session
from tests.measure.report import given
from tests.replay import tapes


def section(*paths: Path) -> Section:
    made = replays.make(load(paths))
    assert made is not None
    return made


def chart(made: Section, title: str) -> Chart:
    return next(each for each in made.charts if each.title.startswith(title))


def cells(made: Section, title: str) -> list[list[str]]:
    return [list(row) for table in made.tables if table.title == title for row in table.rows]


def test_a_curve_is_drawn_over_one_in_how_many_are_beyond(tmp_path: Path) -> None:
    drawn = chart(section(given.replay(tmp_path / "day.json")), "Latency, day.json")
    every, orderbook = drawn.figure["data"]
    assert every["x"] == pytest.approx([1, 2, 10, 100, 1000, 10_000])
    assert every["y"] == pytest.approx([9e-6, 12e-6, 20e-6, 50e-6, 90e-6, 800e-6])
    assert (every["name"], orderbook["name"]) == ("all frames, 10,000", "orderbook, 4,000")
    assert orderbook["x"][-1] == 4000
    axis = drawn.figure["layout"]["xaxis"]
    assert axis["type"] == "log"
    assert dict(zip(axis["ticktext"], axis["tickvals"], strict=True)) == {"50%": 2, "90%": 10, "99%": 100, "99.9%": 1000, "99.99%": 10_000}
    assert {"10.0 µs", "100 µs"} & set(drawn.figure["layout"]["yaxis"]["ticktext"])


def test_rates_stand_over_their_spans_and_the_last_is_as_long_as_the_run_was(tmp_path: Path) -> None:
    wanted, achieved = chart(section(given.replay(tmp_path / "day.json")), "Throughput").figure["data"]
    assert achieved["x"] == wanted["x"] == [0, 0.1, 0.2, 0.25]
    assert achieved["y"] == [40_000, 40_000, 40_000, 40_000]
    assert wanted["y"] == [41_000, 40_000, 38_000, 38_000]


def test_pauses_stand_apart_and_counts_as_they_were_written(tmp_path: Path) -> None:
    made = section(given.replay(tmp_path / "day.json"))
    assert [line["name"] for line in chart(made, "Garbage").figure["data"]] == ["day.json, 9 runs"]
    assert cells(made, "Garbage collection") == [["day.json", "9", "8 / 1 / 0", "900 µs", "0.36%", "10.0 µs", "100 µs", "600 µs", "600 µs"]]
    counts = dict(cells(made, "Counts"))
    assert [counts[name] for name in ("undecodable", "publish id gaps", "duplicate trades", "disconnects")] == ["3", "5", "7", "2"]
    assert cells(made, "Events") == [["QuoteTick", "9,000"], ["OrderBookDeltas", "997"]]
    assert cells(made, "Event digest") == [["day.json", "9,997", "ab" * 32]]
    assert "day.json: fell behind: much" in made.texts
    assert ["day.json", "trades", "10", "9,000", *["–"] * 6] in cells(made, "Latency")


def test_several_files_are_compared_and_told_apart_even_by_one_name(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    one, other = given.replay(tmp_path / "day.json"), given.replay(tmp_path / "old" / "day.json", events={"TradeTick": 4})
    made = section(one, other)
    assert len(chart(made, "Latency of all frames").figure["data"]) == 2
    assert [row[0] for row in cells(made, "Event digest")] == [str(one), str(other)]
    assert cells(made, "Events") == [["QuoteTick", "9,000", "–"], ["OrderBookDeltas", "997", "–"], ["TradeTick", "–", "4"]]
    assert render(load([one, other]), "") == render(load([one, other]), "")


def test_what_a_replay_writes_is_read_with_and_without_latencies(tmp_path: Path) -> None:
    tape = tapes.write(tmp_path / "tape.jsonl", *tapes.session(100))
    choices: list[dict[str, Any]] = [{}, {"latencies": False}, {"speed": 1e6}]
    for number, settings in enumerate(choices):
        session = Session.open(tape, **settings)
        assert len(list(session.steps())) == 100
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(session.report().data))
        made = section(path)
        assert any(each.title.startswith("Latency, ") for each in made.charts) == (number != 1)
        lines = chart(made, "Throughput").figure["data"]
        assert [line["name"] for line in lines] == (["wanted", "achieved"] if number == 2 else ["achieved"])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"schema": "derive_bench.replay/9"}, "version 9"),
        ({"overall": {"count": 3}}, "p50_ns` - at `$.overall"),
        ({"channels": {"trades": {"frames": "4", "bytes": 4, "latency": None}}}, r"$.channels[...].frames"),
        ({"overall": given.latency() | {"curve": [[100.5, 3]]}}, "$.overall.curve[0][0]"),
        ({"overall": given.latency() | {"curve": [[math.nan, 3]]}}, "$.overall.curve"),
        ({"overall": given.latency() | {"curve": []}}, "$.overall.curve"),
        ({"throughput": {"span_ns": 0, "frames": [1]}}, "$.throughput.span_ns"),
        ({"throughput": {"span_ns": 10**8, "frames": [1], "due": [1, 2]}}, "`due` and `frames` differ"),
        ({"throughput": {"span_ns": 10**9, "frames": [1, 1]}}, "throughput.frames"),
        ({"counts": {"frames": 3}}, "counts.bytes"),
        ({"gc": None}, "$.gc"),
        ({"gc": {"collections": 0, "by_generation": [0, 0, 0], "total_ns": 0, "curve": [[50.0, 3]]}}, "$.gc"),
        ({"rate": {"speed": 1.0, "elapsed_ns": 10**30}}, "$.rate.elapsed_ns"),
    ],
)
def test_a_field_that_is_missing_or_wrong_is_named_with_its_file(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ResultError) as refusal:
        load([given.replay(tmp_path / "bad.json", **changes)])
    assert "bad.json: " in str(refusal.value)
    assert told in str(refusal.value)
    assert "\n" not in str(refusal.value)
