"""Event logs: what is written is what was made, and the first difference is the first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from derive_bench.replay import Session, TapeError
from derive_bench.replay.eventlog import Comparison, Difference, event_log
from derive_bench.replay.records import Frame
from tests.replay.tapes import session, write


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    return write(tmp_path / "tape.jsonl", *session(400))


def log(tape: Path, path: Path) -> Path:
    events = event_log(path)
    played = Session.open(tape)
    for step in played.steps():
        events.add(played.counts.frames, step.frame.time_ns, step.events)
    events.finish()
    return path


def compare(tape: Path, path: Path) -> Difference | None:
    played = Session.open(tape)
    with Comparison(path) as comparison:
        for step in played.steps():
            comparison.add(played.counts.frames, step.frame.time_ns, step.events)
        return comparison.finish()


@pytest.mark.parametrize("name", ["e.jsonl", "e.jsonl.gz", "e.jsonl.zst"])
def test_a_replay_is_the_same_as_its_own_log(tmp_path: Path, tape: Path, name: str) -> None:
    assert compare(tape, log(tape, tmp_path / name)) is None


def test_a_line_holds_every_field(tmp_path: Path, tape: Path) -> None:
    lines: list[dict[str, Any]] = [json.loads(line) for line in log(tape, tmp_path / "e.jsonl").read_text().splitlines()]
    names = [type(event).__name__ for event in Session.open(tape)]
    assert [line["type"] for line in lines] == names
    book = next(line for line in lines if line["type"] == "OrderBookDeltas")
    assert book["fields"]["deltas"][0] == ["CLEAR", "NO_ORDER_SIDE", 0, 0, 0, 32]
    assert book["fields"]["header"]["ts_init"] == book["time_ns"]
    filled = next(line for line in lines if line["type"] == "OrderFilled")
    assert filled["fields"]["event_id"] is None
    assert {"last_px_text", "commission_text", "liquidity_side"} <= set(filled["fields"])


def test_a_parquet_file_holds_the_same(tmp_path: Path, tape: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: pip install 'derive_bench[parquet]'")
    table = parquet.read_table(log(tape, tmp_path / "e.parquet")).to_pylist()
    lines = [json.loads(line) for line in log(tape, tmp_path / "e.jsonl").read_text().splitlines()]
    assert [{**row, "fields": json.loads(row["fields"])} for row in table] == lines


def test_the_first_difference_is_shown_with_what_came_before(tmp_path: Path, tape: Path) -> None:
    path = log(tape, tmp_path / "e.jsonl")
    header, records = session(400)
    place = next(
        place for place, record in enumerate(records) if place > 300 and isinstance(record, Frame) and b'"trade_price":"' in record.raw
    )
    record = records[place]
    assert isinstance(record, Frame)
    changed = Frame(record.time_ns, record.raw.replace(b'"trade_price":"', b'"trade_price":"1'), record.direction, record.connection)
    other = write(tmp_path / "other.jsonl", header, [*records[:place], changed, *records[place + 1 :]])
    difference = compare(other, path)
    assert difference is not None
    assert len(difference.before) == 3
    assert difference.before == path.read_text().splitlines()[difference.number - 4 : difference.number - 1]
    assert any("price" in field or "px" in field for field in difference.fields)


@pytest.mark.parametrize("kept", [1, 50])
def test_a_log_that_ends_early_or_goes_on_differs(tmp_path: Path, tape: Path, kept: int) -> None:
    lines = log(tape, tmp_path / "e.jsonl").read_bytes().splitlines(keepends=True)
    short, long = tmp_path / "short", tmp_path / "long"
    short.write_bytes(b"".join(lines[:kept]))
    long.write_bytes(b"".join([*lines, b'{"more":1}\n']))
    difference = compare(tape, short)
    assert difference is not None
    assert (difference.number, difference.logged) == (kept + 1, "")
    difference = compare(tape, long)
    assert difference is not None
    assert (difference.number, difference.replayed) == (len(lines) + 1, "")


def test_nothing_half_written_stays(tmp_path: Path) -> None:
    events = event_log(tmp_path / "e.jsonl")
    events.discard()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TapeError, match="cannot be made"):
        event_log(tmp_path / "no" / "e.jsonl")
    (tmp_path / "e.jsonl").touch()
    with pytest.raises(TapeError, match="exists already"):
        event_log(tmp_path / "e.jsonl")
    with pytest.raises(TapeError, match="cannot be read"):
        Comparison(tmp_path / "none")
