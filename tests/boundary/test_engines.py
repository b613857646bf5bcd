"""Both engines over every transport: the same answers, refusals instead of memory, and nothing left of them."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import struct
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from derive_bench.boundary import kernel
from derive_bench.boundary.engines import TRANSPORTS, Client, EngineFailed, open_engine, spawn_once
from derive_bench.boundary.frames import MAX_BODY, EngineRefused, Opcode, outcomes, request
from derive_bench.boundary.gate import compare
from derive_bench.boundary.streams import PeerGone
from derive_bench.boundary.workload import Workload
from tests.boundary.engines import engine_command

ENGINES = ("rust", "python")
WORK = Workload(900, 8)


@pytest.fixture(scope="module", params=[(engine, transport) for engine in ENGINES for transport in TRANSPORTS], ids="-".join)
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    engine, transport = request.param
    with open_engine(engine_command(engine), transport) as opened:
        yield opened


def test_every_request_is_answered_as_in_process(client: Client) -> None:
    expected = kernel.sweep(WORK.closes, WORK.windows)
    assert compare(client.sweep(WORK.closes, WORK.windows), expected) == ""
    client.load(WORK.closes)
    for at in range(0, 8, 3):
        assert compare(client.run(WORK.windows[at : at + 3]), (expected[0][at : at + 3], expected[1][at : at + 3])) == ""
    client.open(WORK.windows)
    for close in WORK.closes:
        found = client.bar(float(close))
    assert compare(found, expected) == ""
    assert compare(client.sweep(WORK.closes, WORK.windows[:0]), (expected[0][:0], expected[1][:0])) == ""


@pytest.mark.parametrize("size", [0, 1, 4096, 262_144, 1_000_003])
def test_an_echo_brings_the_bytes_back(client: Client, size: int) -> None:
    payload = random.Random(size).randbytes(size)
    assert bytes(client.echo(payload)) == payload


def frame(body: bytes) -> bytes:
    return struct.pack("<I", len(body)) + body


def head(opcode: int, bars: int, combinations: int, rest: bytes = b"") -> bytes:
    return struct.pack("<BII", opcode, bars, combinations) + rest


def six(*windows: int) -> bytes:
    return struct.pack("<6q", *windows)


GOOD_WINDOWS = six(3, 6, 2, 1, 1, 3)

REFUSED = {
    "unknown opcode": head(9, 0, 0),
    "short head": b"\x00\x01",
    "counts that do not fit": head(0, 3, 0, bytes(16)),
    "absurd counts": head(0, 0xFFFFFFFF, 0xFFFFFFFF),
    "counts that overflow": head(0, 0x20000000, 0, b""),
    "a NaN among the closes": head(0, 2, 0, struct.pack("<2d", 1.0, float("nan"))),
    "an infinite close": head(0, 1, 0, struct.pack("<d", float("inf"))),
    "a close of zero": head(0, 1, 0, struct.pack("<d", 0.0)),
    "a window of zero": head(3, 0, 1, six(0, 6, 2, 1, 1, 3)),
    "a negative window": head(3, 0, 1, six(3, 6, -2, 1, 1, 3)),
    "NaN for windows": head(3, 0, 1, struct.pack("<6d", *[float("nan")] * 6)),
    "half longer than full": head(3, 0, 1, six(7, 6, 2, 1, 1, 3)),
    "third longer than period": head(3, 0, 1, six(3, 6, 2, 4, 1, 3)),
    "bars for a run": head(3, 1, 1, struct.pack("<d", 1.0) + GOOD_WINDOWS),
    "two bars for one": head(5, 2, 0, struct.pack("<2d", 1.0, 1.0)),
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_a_bad_frame_is_refused_and_the_connection_goes_on(client: Client, body: bytes) -> None:
    with pytest.raises(EngineRefused, match=r"\w"):
        client.call([frame(body)])
    assert bytes(client.echo(b"still there")) == b"still there"


@pytest.mark.parametrize("length", [0, MAX_BODY + 1, 0xFFFFFFFF])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_length_beyond_the_limit_ends_the_connection(engine: str, length: int) -> None:
    with open_engine(engine_command(engine), "unix") as client:
        client.stream.send([struct.pack("<I", length)])
        assert bytes(client.stream.receive_body()).startswith(b"\x01body_len")
        with pytest.raises(PeerGone):
            client.stream.receive_body()


@pytest.mark.parametrize("engine", ENGINES)
def test_fuzzed_frames_are_answered_or_refused(engine: str) -> None:
    fuzz = random.Random(5)
    seeds = [head(0, 4, 1, struct.pack("<4d", 1, 2, 3, 4) + GOOD_WINDOWS), b"\x01abc", *REFUSED.values()]
    with open_engine(engine_command(engine), "unix") as client:
        for _ in range(3000):
            body = bytearray(fuzz.choice(seeds))
            for _ in range(fuzz.randrange(4)):
                body[fuzz.randrange(len(body))] = fuzz.randrange(256)
            with contextlib.suppress(EngineRefused):
                client.call([frame(bytes(body[: fuzz.randrange(1, len(body) + 1)]))])
        assert bytes(client.echo(b"x")) == b"x"


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_for_one_request(engine: str) -> None:
    payload = spawn_once(engine_command(engine), request(Opcode.SWEEP, WORK.closes, WORK.windows))
    assert compare(outcomes(payload), kernel.sweep(WORK.closes, WORK.windows)) == ""


def test_an_engine_that_is_not_there_says_so() -> None:
    with pytest.raises(EngineFailed, match="cannot be started: No such file"), open_engine(["/no/such/engine"], "pipe"):
        pass
    with (
        pytest.raises(EngineFailed, match="ended before it was ready"),
        open_engine([sys.executable, "-c", "raise SystemExit('no')"], "tcp"),
    ):
        pass


def children(parent: int) -> set[int]:
    """Processes whose parent this is, read without starting one."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            pid, _, rest = stat.read_text().partition(" ")
            if int(rest.rpartition(")")[2].split()[1]) == parent:
                found.add(int(pid))
    return found


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_killed_engine_is_noticed(engine: str, transport: str) -> None:
    command, before = engine_command(engine), children(os.getpid())

    def kill_and_call() -> None:
        with open_engine(command, transport, spins=50) as client:
            client.echo(b"x")
            for pid in children(os.getpid()) - before:
                os.kill(pid, signal.SIGKILL)
            client.echo(bytes(1_000_000))

    with pytest.raises(EngineFailed, match="gone"):
        kill_and_call()
    assert children(os.getpid()) == before


def alive(pid: int) -> bool:
    """Whether a process still runs; one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


PARENT = """
import os, sys, time
from derive_bench.boundary.engines import open_engine
with open_engine({command!r}, {transport!r}) as client:
    client.echo(b"x")
    print("here", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize(
    ("engine", "transport"), [*(("rust", transport) for transport in TRANSPORTS), ("python", "unix"), ("python", "shm")]
)
def test_an_engine_dies_with_its_parent(engine: str, transport: str, tmp_path: Path) -> None:
    code = textwrap.dedent(PARENT.format(command=engine_command(engine), transport=transport))
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"here\n"
        (engine_pid,) = children(parent.pid)
        parent.kill()
    deadline = time.monotonic() + 20
    while alive(engine_pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(engine_pid)
    assert list(tmp_path.iterdir()) == []


def test_the_sweep_engine_holds_three_times_the_data_at_most() -> None:
    engine = engine_command("rust")
    bars = 2_000_000
    closes = Workload(bars, 1).closes
    # 2 MiB for the program itself and its stacks.
    limit = 3 * closes.nbytes + (2 << 20)
    others = children(os.getpid())
    with open_engine(engine, "unix") as client:
        (pid,) = children(os.getpid()) - others
        before = _peak(pid)
        client.sweep(closes, Workload(10, 3).windows)
        assert _peak(pid) - before < limit


def _peak(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) * 1024


def test_a_request_beyond_the_limit_is_not_sent() -> None:
    with pytest.raises(ValueError, match="above the limit"):
        request(Opcode.SWEEP, np.ones(MAX_BODY // 8 + 1))
