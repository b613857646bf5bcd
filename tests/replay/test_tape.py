"""Reader and writer: round trips in every compression, cuts at every byte, damage, a full disk, memory."""

from __future__ import annotations

import errno
import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive_bench.measure.trees import PACKAGE_PARENT
from derive_bench.replay import reader
from derive_bench.replay.lines import FileLines, Lines
from derive_bench.replay.reader import open_tape
from derive_bench.replay.records import Connect, Disconnect, Frame, Header, Record, TapeError, encode_header
from derive_bench.replay.rotation import RotatingWriter, numbered
from derive_bench.replay.writer import TapeWriter
from tests.replay.tapes import session, write

ENDINGS = ("", ".gz", ".zst")
HEADER = Header(protocol="v3", start_ns=5, tool="test", instruments=[{"instrument_name": "A"}])
RECORDS: list[Record] = [
    Connect(1, "1", "wss://a"),
    Frame(2, b'{"a":"b\\"\xc3\xa9\n\\u0000"}'),
    Frame(3, b"\xff\x00", "out", "2", binary=True),
    Frame(4, b"text", "in", "1", binary=True),
    Frame(5, b"", "in", "1"),
    Disconnect(6, "1", "bye"),
]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_tape_comes_back_as_it_was_written(tmp_path: Path, ending: str) -> None:
    tape = open_tape(write(tmp_path / f"a.jsonl{ending}", HEADER, RECORDS))
    assert tape.header == HEADER
    assert list(tape) == RECORDS
    assert list(tape) == RECORDS, "a second time"
    assert (tape.truncated, tape.faults, tape.fault_count) == (None, [], 0)


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_was_flushed_is_there_although_the_process_dies(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.jsonl{ending}"
    writer = TapeWriter(path, HEADER)
    for count, record in enumerate(RECORDS, 1):
        writer.write(record)
        writer.flush(sync=True)
        tape = open_tape(path)
        assert list(tape) == RECORDS[:count]
        assert tape.truncated
    writer.abandon()
    assert list(open_tape(path)) == RECORDS


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_tape_cut_at_any_byte_gives_its_whole_records_and_says_so(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.jsonl{ending}"
    with TapeWriter(path, HEADER) as writer:
        for record in RECORDS:
            writer.write(record)
            writer.flush()
    data, most = path.read_bytes(), 0
    last_newline = len(data) - 1 if not ending else len(data)
    for size in range(last_newline):
        cut = tmp_path / "cut"
        cut.write_bytes(data[:size])
        tape = open_tape(cut)
        records = list(tape)
        assert records == RECORDS[: len(records)]
        assert len(records) >= most
        assert tape.truncated, f"cut at byte {size} of {len(data)}"
        assert tape.fault_count == 0
        most = len(records)
    assert most == len(RECORDS)


@given(st.data())
@settings(max_examples=60)
def test_a_real_session_cut_anywhere_inside_blocks_is_a_beginning_of_it(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    ending = data.draw(st.sampled_from(ENDINGS))
    folder = tmp_path_factory.getbasetemp()
    header, records = session()
    whole = folder / f"whole.jsonl{ending}"
    if not whole.exists():
        write(whole, header, records)
    content = whole.read_bytes()
    cut = folder / f"cut.jsonl{ending}"
    cut.write_bytes(content[: data.draw(st.integers(0, len(content) - 2))])
    tape = open_tape(cut)
    assert list(tape) == list(records[: len(list(tape))])
    assert tape.truncated


@pytest.mark.parametrize("ending", ENDINGS[1:])
def test_damage_in_the_middle_of_a_stream_ends_it_and_is_told(tmp_path: Path, ending: str) -> None:
    header, records = session()
    path = write(tmp_path / f"a.jsonl{ending}", header, records)
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 40] = bytes(40)
    path.write_bytes(data)
    tape = open_tape(path)
    read = list(tape)
    assert len(read) < len(records)
    assert tape.truncated
    assert "damaged" in tape.truncated


def test_broken_lines_in_the_middle_are_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", HEADER, RECORDS)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2:2] = [b"garbage\n", b'{"t":1}\n', b"\n"]
    path.write_bytes(b"".join(lines))
    tape = open_tape(path)
    assert list(tape) == RECORDS
    assert [fault.line for fault in tape.faults][:3] == [3, 4, 5]
    assert tape.fault_count == 4, "three lines, and a wrong number of records in the end line"


def test_a_missing_line_is_told_by_the_end_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", HEADER, RECORDS)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2] + lines[3:]))
    tape = open_tape(path)
    assert len(list(tape)) == len(RECORDS) - 1
    assert "6 records" in tape.faults[0].reason


def test_frames_behind_an_end_line_are_not_a_whole_tape(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", HEADER, RECORDS)
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[2])
    tape = open_tape(path)
    assert len(list(tape)) == len(RECORDS) + 1
    assert tape.truncated


@pytest.mark.parametrize("ending", ENDINGS)
def test_tapes_one_behind_the_other_are_read_as_one(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"a{ending}", HEADER, RECORDS)
    path.write_bytes(path.read_bytes() * 2)
    tape = open_tape(path)
    assert list(tape) == RECORDS * 2
    assert tape.truncated is None
    assert tape.fault_count == 0


def test_a_frame_of_megabytes_is_a_record(tmp_path: Path) -> None:
    long = Frame(1, b"x" * 5_000_000)
    assert list(open_tape(write(tmp_path / "a.gz", HEADER, [long]))) == [long]


@pytest.mark.parametrize("ending", ENDINGS[:2])
def test_a_line_beyond_all_measure_is_left_out_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr(reader, "Lines", lambda pieces: Lines(pieces, longest=1_000))
    monkeypatch.setattr(reader, "FileLines", lambda file: FileLines(file, longest=1_000))
    path = write(tmp_path / f"a.jsonl{ending}", HEADER, [RECORDS[0], Frame(1, b"x" * 200_000), *RECORDS[1:]])
    tape = open_tape(path)
    assert list(tape) == RECORDS
    assert "more than" in tape.faults[-1].reason
    lines = [b"x" * 2_000, b"no record", b'{"end":7}']
    content = b"\n".join([encode_header(HEADER).rstrip(), *lines])
    path.write_bytes(gzip.compress(content) if ending else content)
    tape = open_tape(path)
    assert list(tape) == []
    assert sorted(fault.line for fault in tape.faults) == [2, 3, 4]
    (end,) = [fault for fault in tape.faults if "the end line tells of 7 records" in fault.reason]
    assert end.line == 4


@given(st.lists(st.binary(max_size=30)), st.integers(1, 17))
@settings(max_examples=80)
def test_lines_do_not_depend_on_where_pieces_end(lines: list[bytes], size: int) -> None:
    lines = [line.replace(b"\n", b"").replace(b"\r", b"") for line in lines]
    for newline in (b"\n", b"\r\n"):
        text = newline.join(lines)
        found = Lines([text[start : start + size] for start in range(0, len(text), size)])
        assert [*found, found.rest] == (lines or [b""])
        assert found.number == max(len(lines) - 1, 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"hello world\n", "not a tape"), (b'{"tape":99}\n', "update derive_bench"), (b"PK\x03\x04zip", "not a tape")],
)
def test_what_is_no_tape_is_refused_in_a_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(TapeError, match=message) as caught:
        open_tape(path)
    assert str(path) in str(caught.value)


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(TapeError, match="cannot be read"):
            open_tape(path)
    with pytest.raises(TapeError, match="cannot be made"):
        TapeWriter(tmp_path / "no" / "a", HEADER)


def test_an_existing_file_is_never_touched(tmp_path: Path) -> None:
    path = write(tmp_path / "a", HEADER, RECORDS)
    before = path.read_bytes()
    with pytest.raises(TapeError, match="exists already"):
        TapeWriter(path, HEADER)
    assert path.read_bytes() == before


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_is_an_error_and_a_readable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    room = 40_000
    real = os.write

    def write_partly(file: int, data: bytes) -> int:
        nonlocal room
        if room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = real(file, data[:room])
        room -= written
        return written

    header, records = session()
    path = tmp_path / f"a.jsonl{ending}"
    writer = TapeWriter(path, header)
    monkeypatch.setattr(os, "write", write_partly)

    def write_all() -> None:
        for record in records * 20:
            writer.write(record)
            writer.flush()

    with pytest.raises(TapeError, match="No space left on device"):
        write_all()
    with pytest.raises(TapeError, match="after a failure"):
        writer.write(records[0])
    writer.close()
    tape = open_tape(path)
    read = list(tape)
    assert len(read) > 20
    assert read == list((records * 20)[: len(read)])
    assert tape.truncated


@pytest.mark.parametrize("limits", [{"max_bytes": 30_000}, {"max_ns": 50_000_000}])
def test_rotation_keeps_every_record_once_in_tapes_that_stand_alone(tmp_path: Path, limits: dict[str, int]) -> None:
    header, records = session()
    with RotatingWriter(tmp_path / "day.jsonl.gz", header, **limits) as writer:
        for record in records:
            writer.write(record)
            writer.flush()
    assert len(writer.paths) > 2
    assert writer.paths[0].name == "day-0001.jsonl.gz"
    read: list[Record] = []
    for number, path in enumerate(writer.paths):
        tape = open_tape(path)
        mine = list(tape)
        assert tape.truncated is None
        assert tape.header.instruments == header.instruments
        if number:
            assert isinstance(mine[0], Connect), "connections that are open are told anew"
            mine = mine[2:] if isinstance(mine[1], Connect) else mine[1:]
        read += mine
    assert read == list(records)


@pytest.mark.parametrize(
    ("name", "second"),
    [("day.jsonl.gz", "day-0002.jsonl.gz"), ("day", "day-0002"), (".hidden", ".hidden-0002"), ("a.b.zst", "a-0002.b.zst")],
)
def test_numbered_names_keep_their_endings(name: str, second: str) -> None:
    assert numbered(Path("folder") / name, 2) == Path("folder") / second


def test_reading_takes_the_same_memory_whatever_the_length(tmp_path: Path) -> None:
    header, records = session()
    path = tmp_path / "a.jsonl.zst"
    with TapeWriter(path, header) as writer:
        for _ in range(200):
            for record in records:
                writer.write(record)
    code = (
        "import resource, sys\nfrom derive_bench.replay.reader import open_tape\n"
        "tape = open_tape(sys.argv[1])\nstream = iter(tape)\nnext(stream)\n"
        "limit = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize() + 64_000_000\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\nprint(sum(1 for _ in stream) + 1)\n"
    )
    assert path.stat().st_size < 64_000_000 < 200 * sum(len(record.raw) for record in records if isinstance(record, Frame))
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False, cwd=PACKAGE_PARENT)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 200 * len(records)


def test_a_killed_writer_leaves_all_but_the_last_moment(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom derive_bench.replay import Frame, Header, TapeWriter\n"
        "writer = TapeWriter(sys.argv[1], Header())\nnumber = 0\n"
        "while True:\n number += 1\n writer.write(Frame(number, b'x' * 500))\n writer.flush()\n print(number, flush=True)\n"
    )
    path = tmp_path / "a.jsonl.zst"
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, cwd=PACKAGE_PARENT)
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= 50:
            break
    process.kill()
    seen = [int(line) for line in process.stdout.read().splitlines() if line]
    process.wait()
    process.stdout.close()
    tape = open_tape(path)
    assert [record.time_ns for record in tape][: max([50, *seen])] == list(range(1, max([50, *seen]) + 1))
    assert tape.truncated
