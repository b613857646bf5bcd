"""Files of others' making: told by their content, whole up to where they are cut, with their disconnects."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from derive_bench.replay.foreign import line_reader, recognise
from derive_bench.replay.reader import open_tape
from derive_bench.replay.records import Disconnect, Record
from tests.replay.tapes import raws, session

MESSAGES = [b'{"a":1}', b'{"method":"subscription","params":{"channel":"x","data":[]}}', b'{"b":"\xc3\xa9"}']
TARDIS = b"".join(b"2026-10-01T15:40:00.%d%06dZ %s\n" % (number, number, message) for number, message in enumerate(MESSAGES))
COLLECTOR = b"".join(b"%d %s\n" % (1_790_000_000_000_000_000 + number, message) for number, message in enumerate(MESSAGES))
BARE = b"".join(message + b"\n" for message in MESSAGES)
PACKED = {"": lambda data: data, ".gz": gzip.compress, ".zst": zstandard.compress}


def read(tmp_path: Path, content: bytes, name: str = "file") -> tuple[str, list[Record], str | None]:
    path = tmp_path / name
    path.write_bytes(content)
    tape = open_tape(path)
    return tape.kind, list(tape), tape.truncated


@pytest.mark.parametrize("ending", PACKED)
@pytest.mark.parametrize(("kind", "content"), [("tardis", TARDIS), ("collector", COLLECTOR), ("bare", BARE)])
def test_each_kind_is_told_by_its_content(tmp_path: Path, kind: str, content: bytes, ending: str) -> None:
    found, records, truncated = read(tmp_path, PACKED[ending](content), "any-name")
    assert found == kind
    assert raws(records) == MESSAGES
    assert truncated is None


def test_times_of_tardis_have_nine_digits(tmp_path: Path) -> None:
    _, records, _ = read(tmp_path, b'2020-03-01T00:00:00.1234567Z {"a":1}\n2020-03-01T00:00:01Z {"a":2}\n')
    assert [record.time_ns for record in records] == [1_583_020_800_123_456_700, 1_583_020_801_000_000_000]


@given(st.integers(0, 7 * 10**9), st.integers(0, 999_999_999))
def test_a_time_is_exact(second: int, ns: int) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
    record = line_reader("tardis")(f"{moment:%Y-%m-%dT%H:%M:%S}.{ns:09}Z {{}}".encode())
    assert record is not None
    assert record.time_ns == second * 10**9 + ns


def test_an_empty_line_of_tardis_is_a_disconnect_once(tmp_path: Path) -> None:
    lines = TARDIS.splitlines(keepends=True)
    _, records, _ = read(tmp_path, b"\n" + lines[0] + b"\n\n" + b"".join(lines[1:]) + b"\n")
    kinds = ["x" if isinstance(record, Disconnect) else "f" for record in records]
    assert "".join(kinds) == "fxffx"
    assert records[1].time_ns == records[0].time_ns


@pytest.mark.parametrize("content", [TARDIS, COLLECTOR, BARE])
def test_a_file_cut_anywhere_gives_its_whole_frames(tmp_path: Path, content: bytes) -> None:
    first_whole = len(content.splitlines()[0])
    for size in range(first_whole, len(content)):
        _, records, truncated = read(tmp_path, content[:size])
        whole = content[:size].count(b"\n") + (content[size : size + 1] == b"\n")
        assert raws(records) == MESSAGES[:whole], size
        at_boundary = content[:size].endswith(b"\n") or content[size : size + 1] == b"\n"
        assert (truncated is None) == at_boundary, size


def test_a_line_without_its_time_is_counted_and_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(COLLECTOR + b"no time\n" + COLLECTOR)
    tape = open_tape(path)
    assert raws(list(tape)) == MESSAGES * 2
    assert [(fault.line, tape.fault_count) for fault in tape.faults] == [(4, 1)]


@pytest.mark.parametrize("line", [b"hello", b"2026-13-45 {}", b"12 {}", b"<html>"])
def test_what_is_none_of_them_is_not_recognised(line: bytes) -> None:
    assert recognise(line) is None


def test_a_session_told_by_others_is_the_same_frames(tmp_path: Path) -> None:
    _, records = session()
    frames = raws(records)
    content = b"".join(b"%d %s\n" % (1_790_000_000_000_000_000 + number, raw) for number, raw in enumerate(frames))
    assert raws(read(tmp_path, content)[1]) == frames
