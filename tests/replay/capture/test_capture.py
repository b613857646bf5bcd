"""Capturing from a venue on loopback: what is on the tape is what was sent, whatever happens."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from derive_bench.adapter import V3_MAINNET, Credentials, SessionSettings, Signer
from derive_bench.replay.capture.driver import Capture, Plan
from derive_bench.replay.reader import Tape, open_tape
from derive_bench.replay.records import Connect, Disconnect, Frame
from tests.replay.capture.fake_venue import GOOD, INSTRUMENT, FakeVenue, running

MILLI = 1_000_000
QUICK = SessionSettings(backoff_base_ns=MILLI, backoff_ceiling_ns=10 * MILLI)
TEST_KEY = "11" * 32  # a well-known test key


def plan(venue: FakeVenue, path: Path, rotate_bytes: int | None = None) -> Plan:
    return Plan(protocol=V3_MAINNET, channels=(GOOD,), path=path, url=venue.url, rotate_bytes=rotate_bytes)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.002)


async def record(recording: Capture, condition: Callable[[], bool]) -> None:
    running_task = asyncio.create_task(recording.run())
    await until(condition)
    recording.stop()
    await running_task


def frames(tape: Tape, direction: str = "in") -> list[str]:
    return [record.raw.decode() for record in tape if isinstance(record, Frame) and record.direction == direction]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst"])
def test_the_tape_has_every_frame_and_the_instruments(tmp_path: Path, name: str) -> None:
    async def main() -> FakeVenue:
        async with running(FakeVenue(burst=500)) as venue:
            recording = Capture(plan(venue, tmp_path / name))
            await record(recording, lambda: recording.tally.channels[GOOD] == 500)
            return venue

    venue = asyncio.run(main())
    tape = open_tape(tmp_path / name)
    records = list(tape)
    assert tape.truncated is None
    assert isinstance(records[0], Connect)
    assert isinstance(records[-1], Disconnect)
    assert frames(tape) == venue.sent
    assert [json.loads(frame) for frame in frames(tape, "out")] == venue.requests[0]
    assert tape.header.instruments == [INSTRUMENT]
    assert tape.header.protocol == "v3"
    assert [record.time_ns for record in records] == sorted(record.time_ns for record in records)


def test_frames_that_come_with_the_handshake_and_in_pieces_are_whole(tmp_path: Path) -> None:
    class Hasty(FakeVenue):
        async def handle(self, connection: Any) -> None:
            await self.send(connection, "first")
            await connection.send(["in ", "three ", "pieces"])
            await connection.send(b"\xff\x00")
            await super().handle(connection)

    async def main() -> None:
        async with running(Hasty()) as venue:
            recording = Capture(plan(venue, tmp_path / "a.jsonl"))
            await record(recording, lambda: recording.tally.channels[GOOD] == 10)

    asyncio.run(main())
    records = [record for record in open_tape(tmp_path / "a.jsonl") if isinstance(record, Frame) and record.direction == "in"]
    assert [(record.raw, record.binary) for record in records[:3]] == [(b"first", False), (b"in three pieces", False), (b"\xff\x00", True)]


def test_a_lost_connection_is_made_again_and_subscribed_once_each(tmp_path: Path) -> None:
    told: list[str] = []

    async def main() -> FakeVenue:
        async with running(FakeVenue(cut_after=3)) as venue:
            recording = Capture(plan(venue, tmp_path / "a.jsonl"), settings=QUICK, tell=told.append)
            await record(recording, lambda: recording.tally.connections == 4 and recording.tally.channels[GOOD] >= 10)
            assert recording.tally.reconnects == 3
            return venue

    venue = asyncio.run(main())
    for requests in venue.requests:
        assert [request["params"]["channels"] for request in requests if request["method"] == "subscribe"] == [[GOOD]]
    records = list(open_tape(tmp_path / "a.jsonl"))
    assert [record.connection for record in records if isinstance(record, Connect)] == ["1", "2", "3", "4"]
    assert [record.connection for record in records if isinstance(record, Disconnect)] == ["1", "2", "3", "4"]
    assert sum("connecting again" in line for line in told) == 3


def test_a_venue_that_is_not_there_is_tried_again(tmp_path: Path) -> None:
    async def main() -> None:
        recording = Capture(Plan(protocol=V3_MAINNET, channels=(GOOD,), path=tmp_path / "a.jsonl", url="ws://127.0.0.1:9"), settings=QUICK)
        await record(recording, lambda: recording.tally.failed_attempts >= 3)
        assert not recording.recorder.has_begun

    asyncio.run(main())
    assert not (tmp_path / "a.jsonl").exists()


def test_rotation_loses_nothing(tmp_path: Path) -> None:
    async def main() -> tuple[FakeVenue, list[Path]]:
        async with running(FakeVenue(burst=3000)) as venue:
            recording = Capture(plan(venue, tmp_path / "a.jsonl.zst", rotate_bytes=2_000))
            await record(recording, lambda: recording.tally.channels[GOOD] == 3000)
            return venue, recording.recorder.paths

    venue, paths = asyncio.run(main())
    assert len(paths) > 2
    tapes = [open_tape(path) for path in paths]
    assert [frame for tape in tapes for frame in frames(tape)] == venue.sent
    assert all(tape.truncated is None and tape.header.instruments == [INSTRUMENT] for tape in tapes)


def test_a_login_is_on_the_tape_without_its_proof(tmp_path: Path) -> None:
    async def main() -> FakeVenue:
        async with running(FakeVenue()) as venue:
            recording = Capture(plan(venue, tmp_path / "a.jsonl"), Credentials(Signer(TEST_KEY)))
            await record(recording, lambda: recording.tally.channels[GOOD] == 10)
            return venue

    venue = asyncio.run(main())
    (login,) = [request for request in venue.requests[0] if request["method"] == "public/login"]
    content = (tmp_path / "a.jsonl").read_text()
    assert login["params"]["signature"][2:] not in content
    assert TEST_KEY not in content
    assert login["params"]["wallet"] in content


def test_a_failing_tape_ends_the_recording_and_stays_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, room = os.write, 50_000

    def write(file: int, data: bytes) -> int:
        nonlocal room
        if file < 3 or not Path(f"/proc/self/fd/{file}").readlink().is_relative_to(tmp_path):
            return real(file, data)
        if not room:
            raise OSError(28, "No space left on device")
        written = real(file, data[:room])
        room -= written
        return written

    async def main() -> Capture:
        async with running(FakeVenue(burst=1_000)) as venue:
            recording = Capture(plan(venue, tmp_path / "a.jsonl"))
            async with asyncio.timeout(20):
                await recording.run()
            return recording

    monkeypatch.setattr(os, "write", write)
    recording = asyncio.run(main())
    assert recording.recorder.failure is not None
    assert "No space left on device" in recording.recorder.failure
    tape = open_tape(tmp_path / "a.jsonl")
    assert len(list(tape)) > 100
    assert tape.truncated is not None


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def start(venue: FakeVenue, *words: str, key: str | None = None) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])} | ({"DERIVE_SESSION_KEY": key} if key else {})
        process = subprocess.Popen(
            [sys.executable, "-m", "derive_bench", "capture", "--channels", GOOD, "--url", venue.url, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst"])
def test_a_killed_process_loses_a_tenth_of_a_second_at_most(
    tmp_path: Path, command: Callable[..., subprocess.Popen[str]], name: str
) -> None:
    async def main() -> list[str]:
        async with running(FakeVenue(burst=100_000, pause_sec=0.002)) as venue:
            process = command(venue, "-o", str(tmp_path / name))
            await until(lambda: venue.published > 150)
            kept = list(venue.sent)
            await asyncio.sleep(0.1)
            process.kill()
            await asyncio.to_thread(process.wait)
            return kept

    kept = asyncio.run(main())
    tape = open_tape(tmp_path / name)
    got = frames(tape)
    assert got[: len(kept)] == kept
    assert tape.truncated is not None


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_signal_ends_it_in_order(tmp_path: Path, command: Callable[..., subprocess.Popen[str]], number: int, code: int) -> None:
    async def main() -> tuple[FakeVenue, subprocess.Popen[str], str, str]:
        async with running(FakeVenue(burst=300)) as venue:
            process = command(venue, "-o", "a.jsonl.zst", "--login", key=TEST_KEY)
            await until(lambda: venue.published == 300)
            process.send_signal(number)
            out, complaints = await asyncio.to_thread(process.communicate)
            return venue, process, out, complaints

    venue, process, out, complaints = asyncio.run(main())
    assert process.returncode == code, complaints
    tape = open_tape(tmp_path / "a.jsonl.zst")
    assert frames(tape) == venue.sent
    assert tape.truncated is None
    assert f"300  {GOOD}" in out
    assert "written to a.jsonl.zst" in out
    assert TEST_KEY not in out + complaints
    assert "Traceback" not in complaints


def test_it_stops_when_the_time_is_over(tmp_path: Path, command: Callable[..., subprocess.Popen[str]]) -> None:
    async def main() -> int:
        async with running(FakeVenue()) as venue:
            process = command(venue, "-o", "a.jsonl", "--for", "0.5s", "--rotate-every", "1h")
            return await asyncio.to_thread(process.wait)

    assert asyncio.run(main()) == 0
    assert open_tape(tmp_path / "a-0001.jsonl").header.protocol == "v3"
