"""The command `serve`: what it says, what it refuses, and how it ends."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from derive_bench.cli import main
from derive_bench.measure.trees import PACKAGE_PARENT
from tests.replay.venue.venue_support import write_tape

pytest.importorskip("aiohttp", reason="aiohttp is not installed: make venv")
websockets = pytest.importorskip("websockets", reason="websockets is not installed: make venv")

ADDRESS = "0x1111111111111111111111111111111111111111"


def started(*words: str) -> tuple[subprocess.Popen[str], list[str]]:
    """A serving process, and the words of its first line."""
    command = [sys.executable, "-m", "derive_bench", "serve", *words, "--port", "0"]
    process = subprocess.Popen(command, cwd=PACKAGE_PARENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().split()


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What a serving process said from its second line on, and what it complained of, once it has ended.

    `communicate` would not do: of lines that came together it leaves out what stands in the reader's buffer.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    process.wait(timeout=20)
    return process.stdout.read(), process.stderr.read()


def test_it_serves_a_file_until_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    write_tape(path, seconds=1)
    sent = [json.loads(line)["frame"] for line in path.read_bytes().splitlines()[1:-1]]
    got: list[str] = []
    process, words = started(str(path), "--speed", "max")

    async def listen() -> None:
        async with websockets.connect(words[-3]) as client:
            channels = ["orderbook.ETH-PERP.1.10", "ticker_slim.ETH-PERP.100", "trades.ETH-PERP"]
            await client.send(json.dumps({"id": 1, "method": "subscribe", "params": {"channels": channels}}))
            await client.recv()
            got.extend([await asyncio.wait_for(client.recv(), 10) for _ in sent])

    with process:
        assert words[:3] == ["serving", str(path), "(v3)"]
        assert words[-1] == words[-3].replace("ws://", "http://").removesuffix("/ws")
        asyncio.run(listen())
        assert got == sent, "recorded, served and received again: identical"
        process.send_signal(signal.SIGINT)
        output, complaints = ended(process)
    assert (process.returncode, complaints) == (130, "")
    assert output.startswith(f"served: {len(sent)} frames, finished")


def test_it_serves_a_made_up_session_and_ends_with_it(tmp_path: Path) -> None:
    process, words = started("--synth", "--frames", "50", "--speed", "max", "--start", "0", "--exit-at-end", "--protocol", "v2")
    with process:
        output, complaints = ended(process)
    assert words[:5] == ["serving", "a", "synthesised", "session", "(v2)"]
    assert words[-3].endswith("/ws")
    assert "/v3" not in words[-3]
    assert (process.returncode, complaints) == (0, "")
    assert output.startswith("served: ")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "give either a FILE to play or --synth"),
        (["FILE", "--synth"], "give either a FILE to play or --synth"),
        (["nowhere.jsonl"], "nowhere.jsonl"),
        (["FILE", "--fault", "explode"], "--fault: "),
        (["FILE", "--fault", "drop,every"], "give name=value"),
        (["FILE", "--instruments", "nowhere.json"], "nowhere.json: cannot be read"),
        (["FILE", "--instruments", "FILE"], "not JSON"),
        (["FILE", "--connection", "none"], "nothing in it can be played of connection none"),
        (["FILE", "--port", "TAKEN"], "cannot listen on 127.0.0.1:"),
        (["FILE", "--host", "nowhere.invalid", "--port", "0"], "cannot listen on nowhere.invalid:0"),
    ],
)
def test_what_cannot_be_is_one_line(words: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "session.jsonl"
    write_tape(path, seconds=1)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        places = {"FILE": str(path), "TAKEN": str(taken.getsockname()[1])}
        assert main(["serve", *(places.get(word, word) for word in words)]) == 2
    complaints = capsys.readouterr().err
    assert complaint in complaints
    assert complaints.splitlines()[-1].startswith("derive-bench: ")


@pytest.mark.parametrize(
    "words", [["--port", "70000"], ["--speed", "0"], ["--speed", "fast"], ["--account", "me"], ["--session-key", "0x12"], ["--start", "-1"]]
)
def test_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        main(["serve", "--synth", *words])
    assert error.value.code == 2
    assert words[0] in capsys.readouterr().err


def test_accounts_keys_and_instruments_from_flags(tmp_path: Path) -> None:
    from derive_bench.cli.serve import _build, _parser

    path, instruments = tmp_path / "session.jsonl", tmp_path / "instruments.json"
    write_tape(path, seconds=1)
    instruments.write_text(json.dumps({"id": 1, "result": {"instruments": [{"instrument_name": "ETH-PERP", "tick_size": "0.5"}]}}))
    words = [
        str(path),
        "--instruments",
        str(instruments),
        "--account",
        f"{ADDRESS}:4,3",
        "--session-key",
        f"{ADDRESS}@{ADDRESS}",
    ]
    server, _ = _build(_parser().parse_args([*words, "--closed", "--subaccount", "9", "--min-lifetime", "10", "--fault", "drop,every=2"]))
    venue = server.venue
    (account,) = venue.accounts
    assert (account.subaccounts, list(account.keys)) == ([3, 4], [ADDRESS])
    assert venue.protocol.min_lifetime_sec == 10
    assert str(venue.instruments["ETH-PERP"].tick) == "0.5"
    assert [rule.kind for rule in venue.faults.rules] == ["drop"]


def test_other_machines_are_warned_of(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from derive_bench.cli import serving

    monkeypatch.setattr(serving, "serve", lambda *_, **__: 0)
    assert main(["serve", "--synth", "--frames", "10", "--host", "0.0.0.0"]) == 0
    assert "can be reached from other machines" in capsys.readouterr().err
    assert main(["serve", "--synth", "--frames", "10", "--host", "localhost"]) == 0
    assert capsys.readouterr().err == ""


def test_it_measures_what_it_can_serve(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--synth", "--frames", "1000", "--loop", "--rate", "500", "--measure", "3", "--seconds", "0.5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("3 clients, ")
    assert lines[1].startswith("delivered ")
    assert lines[-1].endswith("0 slow clients")
