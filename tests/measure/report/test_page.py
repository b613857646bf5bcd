"""The page: its sections, their figures, and that nothing in it is loaded from elsewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from derive_bench.measure.report.files import load
from derive_bench.measure.report.page import render, write
from derive_bench.measure.report.sections import SECTIONS, history, pipeline
from derive_bench.measure.results import OutputError
from tests.measure.report import given


def test_the_parts_and_the_rest_make_up_the_row(tmp_path: Path) -> None:
    latest = load([given.times(tmp_path / "a.json")]).latest
    assert latest is not None
    first, over = pipeline.broken(latest.results)
    assert first.rest == pytest.approx(0.5e-6)
    assert over.rest == pytest.approx(-0.3e-6)
    assert sum(seconds for _, seconds in over.parts) + over.rest == pytest.approx(over.row.median)


def test_a_change_is_told_against_the_first_run(tmp_path: Path) -> None:
    runs = load([given.times(tmp_path / "a.json"), given.times(tmp_path / "b.json", date="2026-01-02 00:00:00", factor=1.5)]).runs
    assert [(number, round(change, 9)) for number, change, _ in history.changes(runs, "atom/a")] == [(0, 0.0), (1, 0.5)]


def test_every_section_is_there_for_files_of_every_kind_and_few_for_one_run(tmp_path: Path) -> None:
    run = given.times(tmp_path / "a.json")
    others = [
        given.times(tmp_path / "b.json"),
        given.counts(tmp_path / "c"),
        given.tail(tmp_path / "t"),
        given.peers(tmp_path / "p.details.json"),
        given.replay(tmp_path / "r"),
    ]
    full = load([run, *others])
    assert all(make(full) for make in SECTIONS)
    keys = [section.key for make in SECTIONS if (section := make(load([run])))]
    assert keys == ["facts", "parts", "depth", "ratios", "rows"]


def test_marks_and_mixed_runs_are_told(tmp_path: Path) -> None:
    marked = given.times(tmp_path / "a.json", check_allowed="governor", check="1 unknown (governor)")
    text = render(load([marked, given.times(tmp_path / "b.json", date="2025-01-01 00:00:00", protocol="v2")]), "")
    assert "published in spite of: governor" in text
    assert "differ in protocol: v2, v3" in text
    assert all(f"{title} ‡</h2>" in text for title in ("Rows and their parts", "Cost over the depth of the book", "All rows"))


def test_nothing_is_loaded_and_names_are_escaped(tmp_path: Path) -> None:
    write(load([given.times(tmp_path / "a.json", profile="</script><img src=x>")]), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "<img src=x>" not in text
    assert not re.search(r"<(?:script|link|img|iframe|source)[^>]*\s(?:src|href)\s*=|@import|url\(\s*[\"']?(?:https?:)?//", text)
    assert "default-src 'none'" in text
    assert not list(tmp_path.glob(".*"))


def test_figures_in_the_page_are_plotly_figures(tmp_path: Path) -> None:
    import plotly.graph_objects as go

    text = render(load([given.times(tmp_path / "a.json"), given.tail(tmp_path / "t"), given.peers(tmp_path / "p.details.json")]), "")
    figures = [json.loads(found) for found in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text)]
    assert len(figures) == text.count('class="chart"') > 5
    for figure in figures:
        go.Figure(figure)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        write(load([given.times(tmp_path / "a.json")]), tmp_path / "none" / "page.html")
