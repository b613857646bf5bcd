"""Both engines over every transport: the same answers, and refusals instead of memory, whatever comes."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from derive_bench.boundary import kernel
from derive_bench.boundary.engines import TRANSPORTS, Client, EngineFailed, open_engine, spawn_once
from derive_bench.boundary.frames import MAX_BODY, EngineRefused, Opcode, outcomes, request
from derive_bench.boundary.gate import compare
from derive_bench.boundary.server import compile_kernel, serve
from derive_bench.boundary.streams import PeerGone, SocketStream
from derive_bench.boundary.workload import Workload
from tests.boundary.engines import children, engine_command, memory

ENGINES = ("rust", "python")
SERVED = [*(("rust", transport) for transport in TRANSPORTS), ("python", "unix"), ("python", "pipe"), ("python", "shm")]
WORK = Workload(900, 8)


class Served(NamedTuple):
    """An engine's client and process."""

    client: Client
    pid: int


@pytest.fixture(scope="module", params=SERVED, ids="-".join)
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    engine, transport = request.param
    command, others = engine_command(engine), children(os.getpid())
    with open_engine(command, transport) as opened:
        (pid,) = children(os.getpid()) - others
        yield Served(opened, pid)


@pytest.fixture
def client(served: Served) -> Client:
    return served.client


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


@contextlib.contextmanager
def python_engine() -> Iterator[Client]:
    """The Python server in a thread of this process, where a mistake of its own is a test's failure."""
    ours, its = socket.socketpair()
    with ours, its:

        def run() -> None:
            serve(SocketStream(its))
            its.close()

        thread = threading.Thread(target=run)
        thread.start()
        yield Client(SocketStream(ours))
        ours.close()
        thread.join(10)
        assert not thread.is_alive()


def unbelievable_engine(engine: str) -> contextlib.AbstractContextManager[Client]:
    return python_engine() if engine == "python" else open_engine(engine_command(engine), "unix")


@pytest.mark.parametrize("length", [0, MAX_BODY + 1, 0xFFFFFFFF])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_length_beyond_the_limit_ends_the_connection(engine: str, length: int) -> None:
    with unbelievable_engine(engine) as client:
        client.stream.send([struct.pack("<I", length)])
        assert bytes(client.stream.receive_body()).startswith(b"\x01body_len")
        with pytest.raises(PeerGone):
            client.stream.receive_body()


@pytest.mark.parametrize("engine", ENGINES)
def test_bytes_at_random_end_in_an_error_or_the_end(engine: str) -> None:
    fuzz = random.Random(8)
    for _ in range(40):
        with unbelievable_engine(engine) as client:
            data = fuzz.randbytes(fuzz.randrange(1, 200))
            with contextlib.suppress(PeerGone):
                client.stream.send([data if fuzz.random() < 0.5 else frame(data)[: fuzz.randrange(4 + len(data))]])


def test_a_short_body_is_told() -> None:
    ours, its = socket.socketpair()
    with ours, its:
        ours.sendall(frame(GOOD)[:-1])
        ours.shutdown(socket.SHUT_WR)
        serve(SocketStream(its))
        its.close()
        assert bytes(SocketStream(ours).receive_body()).startswith(b"\x01short body: ")


GOOD = head(0, 4, 1, struct.pack("<4d", 1, 2, 3, 4) + GOOD_WINDOWS)
FUZZED_FRAMES = 10_500


def fuzzed(fuzz: random.Random) -> bytes:
    """A good or bad body with some bytes and some bits changed, perhaps cut short."""
    body = bytearray(fuzz.choice([GOOD, b"\x01abc", *REFUSED.values()]))
    for _ in range(fuzz.randrange(4)):
        body[fuzz.randrange(len(body))] = fuzz.randrange(256)
    for _ in range(fuzz.randrange(3)):
        body[fuzz.randrange(len(body))] ^= 1 << fuzz.randrange(8)
    return bytes(body[: fuzz.randrange(1, len(body) + 1)])


def test_fuzzed_frames_are_answered_or_refused(served: Served) -> None:
    fuzz = random.Random(5)
    client, refused = served.client, 0
    for number in range(FUZZED_FRAMES // len(SERVED)):
        try:
            client.call([frame(fuzzed(fuzz))])
        except EngineRefused as error:
            refused += bool(str(error))
        if number == 200:
            before = memory(served.pid, "VmRSS")
    assert refused > 500
    assert memory(served.pid, "VmRSS") - before < 1 << 20
    assert compare(client.sweep(WORK.closes, WORK.windows), kernel.sweep(WORK.closes, WORK.windows)) == ""


def test_lines_that_would_take_all_memory_are_refused() -> None:
    with python_engine() as client, pytest.raises(EngineRefused, match="would take 83886080000 bytes, and 67108864 is the limit"):
        client.open(np.tile(np.array([3, 6, 2, 1, 1, 1 << 20], dtype=np.int64), (5000, 1)))


def test_bars_that_are_fed_do_not_mix_with_bars_that_are_loaded(client: Client) -> None:
    expected = kernel.sweep(WORK.closes, WORK.windows)
    client.load(WORK.closes)
    client.open(WORK.windows)
    client.bar(float(WORK.closes[0]))
    assert compare(client.run(WORK.windows), expected) == ""


def test_no_request_has_the_kernel_compiled_once_more() -> None:
    compile_kernel()
    compiled = [len(function.signatures) for function in (kernel._sweep, kernel._stream_step)]
    with python_engine() as client:
        client.load(WORK.closes)
        client.run(WORK.windows[:1])
        client.sweep(WORK.closes, WORK.windows)
        client.sweep(WORK.closes[:2], WORK.windows[:1])
        client.open(WORK.windows[:1])
        client.bar(1.0)
    assert [len(function.signatures) for function in (kernel._sweep, kernel._stream_step)] == compiled


def test_an_engine_for_one_request() -> None:
    payload = spawn_once(engine_command("rust"), request(Opcode.SWEEP, WORK.closes, WORK.windows))
    assert compare(outcomes(payload), kernel.sweep(WORK.closes, WORK.windows)) == ""


def test_an_engine_that_is_not_there_says_so() -> None:
    with pytest.raises(EngineFailed, match="cannot be started: No such file"), open_engine(["/no/such/engine"], "pipe"):
        pass
    with (
        pytest.raises(EngineFailed, match="ended before it was ready"),
        open_engine([sys.executable, "-c", "raise SystemExit('no')"], "tcp"),
    ):
        pass


def test_a_request_beyond_the_limit_is_not_sent() -> None:
    with pytest.raises(ValueError, match="above the limit"):
        request(Opcode.SWEEP, np.ones(MAX_BODY // 8 + 1))
