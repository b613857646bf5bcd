"""The command `capture`: what it refuses, and what a full disk does."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("aiohttp", reason="aiohttp is not installed: make venv")

from derive_bench.cli import main
from derive_bench.measure.trees import PACKAGE_PARENT
from derive_bench.replay.reader import open_tape
from derive_bench.replay.records import Frame
from tests.replay.capture.fake_venue import GOOD, FakeVenue, running

TEST_KEY = "11" * 32  # a well-known test key
ROOM = 10_000


def outcome(*words: str) -> object:
    """The exit code, whether it is returned or raised."""
    try:
        return main(words)
    except SystemExit as ended:
        return ended.code


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--url", "http://x/ws"], "'http://x/ws' is not a WebSocket's URL, which begins with ws:// or wss:// and a host"),
        (["--url", "ws://me:secret@x/ws"], "a URL with a user name or password would stand on the tape; leave them out"),
        (["--url", "ws://[::1"], "not a URL"),
        (["--login"], "--login needs the private key in the environment variable DERIVE_SESSION_KEY, which is not set"),
        (["--wallet", "0x11"], "--wallet is for --login, which was not given"),
        (["--for", "soon"], "'soon' is no duration; write 90s, 30m, 1h, 1h30m or 2d"),
        (["--for", "0s"], "too short or too long"),
        (["--rotate-size", "5 apples"], "is no size; write 500MB, 2GB or a number of bytes"),
        (["-o", "there.jsonl"], "there.jsonl: exists already; give another name or remove it"),
        (["-o", "there.jsonl", "--rotate-size", "1MB"], "there-0001.jsonl: exists already; give another name or remove it"),
        (["-o", "nowhere/a.jsonl"], "nowhere/a.jsonl: there is no folder nowhere"),
        (["--channels", ","], "--channels: none is named"),
        (["--protocol", "v9"], "invalid choice: 'v9'"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    words: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DERIVE_SESSION_KEY", raising=False)
    for name in ("there.jsonl", "there-0001.jsonl"):
        Path(name).write_text("")
    assert outcome("capture", "--channels", GOOD, "-o", "new.jsonl", *words) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert "Traceback" not in said
    assert not Path("new.jsonl").exists()


def test_a_key_that_is_none_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("DERIVE_SESSION_KEY", TEST_KEY[:-1])
    assert outcome("capture", "--channels", GOOD, "-o", str(tmp_path / "a.jsonl"), "--login") == 2
    assert TEST_KEY[:-1] not in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst"])
def test_a_file_that_can_grow_no_more_ends_it_and_is_readable(tmp_path: Path, name: str) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))

    async def record() -> tuple[int | None, str, FakeVenue]:
        async with running(FakeVenue(burst=6_000)) as venue:
            process = subprocess.Popen(
                [sys.executable, "-m", "derive_bench", "capture", "--channels", GOOD, "--url", venue.url, "-o", str(tmp_path / name)],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=limit,
                env={**os.environ, "PYTHONPATH": str(PACKAGE_PARENT), "PYTHONDONTWRITEBYTECODE": "1"},
            )  # fmt: skip
            _, complaints = await asyncio.to_thread(process.communicate)
            return process.returncode, complaints, venue

    code, complaints, venue = asyncio.run(record())
    assert code == 2
    assert f"{name}: cannot be written: File too large after 10,000 bytes; what was written before is readable" in complaints
    assert "Traceback" not in complaints
    tape = open_tape(tmp_path / name)
    got = [record.raw.decode() for record in tape if isinstance(record, Frame) and record.direction == "in"]
    assert len(got) > 20
    assert got == venue.sent[: len(got)]
    assert tape.truncated is not None
