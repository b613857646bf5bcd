"""The verb `tail` from row to file, on tiny rows; durations are never judged."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pytest

from derive_bench.cli import main
from derive_bench.measure.catalogue import Catalogue, SelectionError
from derive_bench.measure.inputs import SharedInputs
from derive_bench.measure.rows import Suite
from derive_bench.measure.runner import Launcher, WorkerFailed, WorkerRefused
from derive_bench.measure.tail import document
from derive_bench.measure.tail.session import TailSession, pipeline_rows
from derive_bench.measure.tail.worker import BURST_CALLS, BURSTS, MODES, measure, peak_bytes

BENCHES = Path(__file__).parents[2] / "fake_benches"


def catalogue() -> Catalogue:
    return Catalogue.load("v3", BENCHES, ["data"])


@pytest.fixture
def _collector_as_it_was() -> Any:
    yield
    gc.enable()
    gc.unfreeze()


def test_pipeline_rows_with_new_inputs_unless_named() -> None:
    found = catalogue().rows.values()
    assert [row.name for row in pipeline_rows(found)] == ["inbound_pipeline/quotes_cold", "dispatch/consumed"]
    assert [row.name for row in pipeline_rows(found, ["inbound_pipeline/*"])] == ["inbound_pipeline/quotes", "inbound_pipeline/quotes_cold"]
    with pytest.raises(SelectionError, match=r"no pipeline row matches 'decode_only/\*'; tails are measured of inbound_pipeline/\*"):
        pipeline_rows(found, ["decode_only/*"])


@pytest.mark.usefixtures("_collector_as_it_was")
@pytest.mark.parametrize("mode", MODES)
def test_every_call_is_made_and_counted(mode: str) -> None:
    made: list[int] = []
    suite = Suite("data", "")
    suite.row("dispatch/a", "note(x)", summary="test", fresh="make")(lambda inputs: {"note": made.append, "make": lambda: 7})
    found = measure(suite.rows["dispatch/a"], SharedInputs(), mode, 300)
    others = BURSTS * BURST_CALLS + 200 if mode == "on" else 0
    assert len(made) == 1_000 + 300 + others
    assert set(made) == {7}
    assert found["collector"]["calls"] == 300
    assert ("burst" in found) == (mode == "on")


@pytest.mark.usefixtures("_collector_as_it_was")
def test_collections_happen_in_mode_on_and_not_in_mode_off() -> None:
    suite = Suite("data", "")
    suite.row("dispatch/a", "keep(([],))", summary="test")(lambda inputs: {"keep": [].append})
    assert measure(suite.rows["dispatch/a"], SharedInputs(), "on", 5_000)["collector"]["collections"][0] > 0
    assert measure(suite.rows["dispatch/a"], SharedInputs(), "off", 5_000)["collector"]["collections"] == [0, 0, 0]


@pytest.mark.parametrize(
    ("statement", "least", "most"), [("pass", 0, 0), ("bytes(10_000)", 9_800, 10_200), ("bytes(9_000); bytes(5_000)", 8_800, 9_200)]
)
def test_peak_bytes_are_those_alive_at_once(statement: str, least: int, most: int) -> None:
    suite = Suite("data", "")
    suite.row("dispatch/a", statement, summary="test")(lambda inputs: {})
    row = suite.rows["dispatch/a"]
    # A reading's own bytes, and a coverage tracer's, come on top or go meanwhile.
    assert least <= peak_bytes(row, row.namespace(SharedInputs())) <= most


def test_file_has_the_documented_layout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "tail.json"
    words = ["tail", "dispatch/consumed", "--benches", str(BENCHES), "--calls", "50", "--no-allocations", "-o", str(output)]
    assert main(words) == 0
    found = document.load(output)
    row = found["rows"]["dispatch/consumed"]
    assert list(row["collector"]) == list(MODES)
    described = (Path(__file__).parents[3] / "docs/tail.md").read_text()
    keys = {*found, *found["timer"], *found["burst"], *row, *row["memory"], *row["burst"], *row["collector"]["on"]}
    assert [key for key in sorted(keys) if key not in described] == []
    assert row["memory"]["allocations"] is None
    assert row["memory"]["reason"] == "not asked for"
    assert "not counted: not asked for" in capsys.readouterr().out
    assert main(words) == 2
    assert "exists already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["tail.json"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "not JSON"),
        ("[]", "not a file of tails"),
        ('{"schema": "other"}', "not a file of tails"),
        (json.dumps({"schema": document.SCHEMA, "schema_version": 99}), "version 99 of the layout; this release reads 1"),
    ],
)
def test_foreign_files_are_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "tail.json"
    path.write_text(text)
    with pytest.raises(document.DocumentError, match=complaint):
        document.load(path)
    with pytest.raises(document.DocumentError, match="cannot be read"):
        document.load(tmp_path / "missing.json")


def test_failing_workers_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    session = TailSession(pipeline_rows(catalogue().rows.values()), Launcher("v3", benches=BENCHES), calls=10)
    for code, error, complaint in ((2, WorkerRefused, "^gone$"), (3, WorkerFailed, "tail worker ended with 3\ngone")):
        script = f"import sys; sys.stderr.write('gone'); sys.exit({code})"
        monkeypatch.setattr(TailSession, "command", lambda self, row, mode, script=script: ["/usr/bin/env", "python3", "-c", script])
        with pytest.raises(error, match=complaint):
            session.run()
    assert session.complete_rows == []
