"""Captured, served, captured again: the same frames, in both dialects."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("aiohttp", reason="aiohttp is not installed: make venv")

from derive_bench.adapter import PROTOCOLS, Credentials, Signer, Subscription, decode
from derive_bench.measure.trees import PACKAGE_PARENT
from derive_bench.replay.capture.driver import Capture, Plan
from derive_bench.replay.reader import open_tape
from derive_bench.replay.records import Connect, Frame

TEST_KEY = "11" * 32  # a well-known test key
WALLET = "0x1111111111111111111111111111111111111111"
SYNTH = ("synth", "--seed", "3", "--frames", "1500")


def published(path: Path) -> list[bytes]:
    """What the venue published, in order; its answers have ids and times of their own."""
    return [
        record.raw
        for record in open_tape(path)
        if isinstance(record, Frame) and record.direction == "in" and b'"id":' not in record.raw[:20]
    ]


def channels_of(path: Path) -> tuple[str, ...]:
    messages = [decode(raw) for raw in published(path)]
    return tuple(sorted({message.topic for message in messages if isinstance(message, Subscription)}))


def record(tape: Path, to: Path, protocol: str, channels: tuple[str, ...], expected: int) -> None:
    """Serve one tape as fast as it can be taken, and capture from that."""
    signer = Signer(TEST_KEY)
    words = ["serve", str(tape), "--port", "0", "--speed", "max", "--start", str(len(channels)), "--protocol", protocol]
    words += ["--session-key", f"{signer.address}@{WALLET}"]
    command = [sys.executable, "-m", "derive_bench", *words]
    with subprocess.Popen(command, cwd=PACKAGE_PARENT, stdout=subprocess.PIPE, text=True) as venue:
        assert venue.stdout is not None
        url = venue.stdout.readline().split()[-3]

        async def main() -> None:
            plan = Plan(protocol=PROTOCOLS[protocol], channels=channels, path=to, url=url)
            recording = Capture(plan, Credentials(signer, WALLET))
            running = asyncio.create_task(recording.run())
            async with asyncio.timeout(15):
                while sum(recording.tally.channels.values()) < expected:
                    await asyncio.sleep(0.01)
            recording.stop()
            await running

        try:
            asyncio.run(main())
        finally:
            venue.terminate()


@pytest.mark.parametrize("protocol", ["v3", "v2"])
def test_a_capture_of_a_served_capture_is_the_same(tmp_path: Path, protocol: str) -> None:
    made = tmp_path / "made.jsonl"
    subprocess.run(
        [sys.executable, "-m", "derive_bench", *SYNTH, "--protocol", protocol, "-o", str(made)],
        cwd=PACKAGE_PARENT,
        check=True,
        capture_output=True,
    )
    frames, channels = published(made), channels_of(made)
    first, second = tmp_path / "first.jsonl.gz", tmp_path / "second.jsonl.zst"
    record(made, first, protocol, channels, len(frames))
    record(first, second, protocol, channels, len(frames))
    assert len(frames) > 1_000
    assert published(first) == frames
    assert published(second) == frames
    for path in (first, second):
        tape = open_tape(path)
        assert tape.header.protocol == protocol
        assert sum(isinstance(record, Connect) for record in tape) == 1
        assert tape.truncated is None
        assert {found["instrument_name"] for found in tape.header.instruments} >= {"ETH-PERP"}
