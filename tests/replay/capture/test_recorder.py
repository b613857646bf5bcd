"""Recorder: on the disk from the first record on, and what fails is told."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from derive_bench.replay.capture.recorder import Recorder
from derive_bench.replay.reader import open_tape
from derive_bench.replay.records import Connect, Frame, Header

BARE = Header(protocol="v3", start_ns=1)
WHOLE = Header(protocol="v3", start_ns=1, instruments=[{"instrument_name": "ETH-PERP"}])


def frame(number: int) -> Frame:
    return Frame(number, b"%d" % number)


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst"])
def test_the_first_records_are_in_the_file_before_the_header_is_complete(tmp_path: Path, name: str) -> None:
    recorder = Recorder(tmp_path / name)
    recorder.begin(BARE)
    recorder.record(Connect(1, "1", "ws://x"))
    recorder.record(frame(2))
    recorder.flush(3)
    early = open_tape(tmp_path / name)
    assert list(early) == [Connect(1, "1", "ws://x"), frame(2)]
    assert early.header.instruments == []
    recorder.complete(WHOLE)
    recorder.record(frame(3))
    recorder.close()
    tape = open_tape(tmp_path / name)
    assert list(tape) == [Connect(1, "1", "ws://x"), frame(2), frame(3)]
    assert tape.header.instruments == WHOLE.instruments
    assert tape.truncated is None
    assert [path.name for path in tmp_path.iterdir()] == [name], "no other file is left"


def test_a_rotated_recording_completes_its_first_tape(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "a.jsonl", max_bytes=600)
    recorder.begin(BARE)
    recorder.record(Connect(1, "1", "ws://x"))
    recorder.complete(WHOLE)
    for number in range(2, 40):
        recorder.record(frame(number))
        recorder.flush(number)
    recorder.close()
    tapes = [open_tape(path) for path in recorder.paths]
    assert len(tapes) > 1
    numbers = [record.time_ns for tape in tapes for record in tape if isinstance(record, Frame)]
    assert numbers == list(range(2, 40))
    assert all(tape.header.instruments == WHOLE.instruments and tape.truncated is None for tape in tapes)


def test_a_disk_that_does_not_keep_the_tape_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(handle: int) -> None:
        raise OSError(5, "Input/output error")

    failures: list[int] = []
    recorder = Recorder(tmp_path / "a.jsonl", failed=lambda: failures.append(1))
    recorder.begin(BARE)
    recorder.complete(WHOLE)
    recorder.record(frame(1))
    monkeypatch.setattr(os, "fsync", fsync)
    until = time.monotonic() + 10
    while recorder.failure is None and time.monotonic() < until:
        recorder.flush(time.time_ns())
        time.sleep(0.005)
    recorder.close()
    assert recorder.failure == f"{tmp_path / 'a.jsonl'}: cannot be kept on the disk: Input/output error"
    assert failures == [1]
    assert list(open_tape(tmp_path / "a.jsonl")) == [frame(1)]


def test_a_tape_that_cannot_be_completed_keeps_its_first_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rename(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    recorder = Recorder(tmp_path / "a.jsonl")
    recorder.begin(BARE)
    recorder.record(frame(1))
    recorder.flush(1)
    monkeypatch.setattr(Path, "rename", rename)
    recorder.complete(WHOLE)
    recorder.record(frame(2))
    recorder.close()
    assert recorder.failure is not None
    assert "No space left on device" in recorder.failure
    assert list(open_tape(tmp_path / "a.jsonl")) == [frame(1)]
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_rotation_that_fails_is_told_and_keeps_the_tapes_before(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "a.jsonl", max_ns=10)
    recorder.begin(BARE)
    recorder.complete(WHOLE)
    recorder.record(frame(2))
    (tmp_path / "a-0002.jsonl").write_text("somebody else's")
    recorder.record(frame(20))
    recorder.record(frame(21))
    recorder.close()
    assert recorder.failure == f"{tmp_path / 'a-0002.jsonl'}: exists already; give another name or remove it"
    first = open_tape(tmp_path / "a-0001.jsonl")
    assert list(first) == [frame(2)]
    assert first.truncated is None
    assert (tmp_path / "a-0002.jsonl").read_text() == "somebody else's"
