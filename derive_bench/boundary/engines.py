"""Engines to talk to: started, connected, and gone when they are no longer needed, however that comes about.

Contract: `open_engine(command, transport)` starts `command` behind a transport and yields a `Client`. An engine never outlives this
process: it ends when its standard input does. Sockets lie in a private temporary folder (mode 0700) that is gone as soon as the client
is connected; TCP engines listen on 127.0.0.1 for that one client; shared memory has no name at all.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Final

import numpy as np

from derive_bench.boundary.frames import ERROR, Bytes, EngineRefused, Opcode, Outcomes, echo, outcomes, request
from derive_bench.boundary.ring import SharedMemory
from derive_bench.boundary.streams import PeerGone, PipeStream, SocketStream, Stream
from derive_bench.boundary.workload import Closes, Windows

__all__ = ["SPINS", "TRANSPORTS", "Client", "Engine", "EngineFailed", "open_engine", "spawn_once", "start"]

TRANSPORTS: Final = ("unix", "tcp", "pipe", "shm")

SPINS: Final = 2_000
"""Looks of a ring's reader before it sleeps: some 0.2 ms in Python, a few µs in Rust."""

_PATIENCE: Final = 10.0
"""Seconds to wait for an engine to connect, and for one to end by itself."""


class EngineFailed(RuntimeError):
    """An engine did not start or died; the message ends with what it wrote to standard error."""


@dataclass(frozen=True)
class Client:
    """One connection to an engine; for one thread."""

    stream: Stream

    def call(self, parts: Sequence[Bytes]) -> memoryview:
        """Send a request and return the reply's payload. Raises `EngineRefused`, `PeerGone`."""
        self.stream.send(parts)
        body = self.stream.receive_body()
        if body[0] == ERROR:
            raise EngineRefused(bytes(body[1:]).decode(errors="replace"))
        return body[1:]

    def echo(self, payload: Bytes) -> memoryview:
        """Send bytes and get them back."""
        return self.call(echo(payload))

    def sweep(self, closes: Closes, windows: Windows) -> Outcomes:
        """Run combinations over bars that are sent along."""
        return outcomes(self.call(request(Opcode.SWEEP, closes, windows)))

    def load(self, closes: Closes) -> None:
        """Leave bars with the engine."""
        self.call(request(Opcode.LOAD, closes))

    def run(self, windows: Windows) -> Outcomes:
        """Run combinations over the bars that were left there."""
        return outcomes(self.call(request(Opcode.RUN, windows=windows)))

    def open(self, windows: Windows) -> None:
        """Begin combinations that are fed bar by bar."""
        self.call(request(Opcode.OPEN, windows=windows))

    def bar(self, close: float) -> Outcomes:
        """Feed one bar; returns the outcomes so far."""
        return outcomes(self.call(request(Opcode.BAR, np.array([close]))))

    def compute_ns(self) -> int:
        """What the engine has spent computing since this was last asked, in ns."""
        return int.from_bytes(self.call(request(Opcode.CLOCK)), "little")


@contextlib.contextmanager
def open_engine(command: Sequence[str], transport: str, *, spins: int = SPINS, cpus: Collection[int] | None = None) -> Iterator[Client]:
    """Start an engine and connect to it.

    Args:
        command: the engine's program and leading arguments, without those that choose a transport.
        transport: one of `TRANSPORTS`.
        spins: for shared memory, looks before sleeping, on both sides.
        cpus: the processors that the engine may run on; by default those of this process.

    Raises:
        EngineFailed: it did not start or never listened, or it died while the client was in use.
    """
    try:
        with contextlib.ExitStack() as stack:
            yield Client(_CONNECT[transport](partial(start, command, stack, cpus), spins, stack))
    except PeerGone as error:
        raise EngineFailed(f"the engine behind {transport} is gone: {error}") from error


def spawn_once(command: Sequence[str], parts: Sequence[Bytes]) -> memoryview:
    """Start an engine for one request over its standard input; return the reply's payload when it has ended.

    Raises:
        EngineFailed, EngineRefused
    """
    with contextlib.ExitStack() as stack:
        try:
            return Client(_pipe(partial(start, command, stack, None), 0, stack)).call(parts)
        except PeerGone as error:
            raise EngineFailed(f"{command[0]} gave no reply") from error


@dataclass(frozen=True)
class Engine:
    """A running engine; both descriptors belong to whoever has it.

    Attributes:
        requests: the writing end of its standard input. It lives as long as this is open.
        replies: the reading end of its standard output, hung up when it ends.
    """

    process: subprocess.Popen[bytes]
    complaints: IO[bytes]
    requests: int
    replies: int

    def ready(self) -> str:
        """Wait for the line that says that it listens, and where."""
        line = b""
        while not line.endswith(b"\n"):
            byte = os.read(self.replies, 1)
            if not byte:
                raise EngineFailed(f"the engine ended before it was ready{self.last_words()}")
            line += byte
        return line.decode(errors="replace").strip().partition(" ")[2]

    def last_words(self) -> str:
        """What it wrote to standard error last, with a colon in front, or nothing."""
        self.complaints.seek(0)
        lines = self.complaints.read().decode(errors="replace").strip().splitlines()
        return f": {lines[-1]}" if lines else ""

    def end(self) -> None:
        """Let it end, and wait until it has."""
        for descriptor in (self.requests, self.replies):
            os.close(descriptor)
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start(
    command: Sequence[str], stack: contextlib.ExitStack, cpus: Collection[int] | None, words: Sequence[str], descriptors: Sequence[int] = ()
) -> Engine:
    """Start an engine, which is ended when ``stack`` closes.

    Args:
        command: the program and its leading arguments.
        cpus: the processors that it may run on; by default those of this process.
        words: its further arguments.
        descriptors: that it inherits.

    Raises:
        EngineFailed: it cannot be started.
    """
    complaints = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 -- the stack closes it
    its_requests, requests = os.pipe()
    replies, its_replies = os.pipe()
    try:
        with _inherited(cpus):
            process = subprocess.Popen(
                [*command, *words], stdin=its_requests, stdout=its_replies, stderr=complaints, pass_fds=descriptors, process_group=0
            )
    except OSError as error:
        os.close(requests)
        os.close(replies)
        raise EngineFailed(f"{command[0]} cannot be started: {error.strerror}") from error
    finally:
        os.close(its_requests)
        os.close(its_replies)
    engine = Engine(process, complaints, requests, replies)
    stack.callback(engine.end)
    return engine


@contextlib.contextmanager
def _inherited(cpus: Collection[int] | None) -> Iterator[None]:
    """Keep to some processors while a process is started: it has them before it begins, and so has every thread it makes."""
    if cpus is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


_Start = Callable[..., Engine]


def _pipe(begin: _Start, _: int, stack: contextlib.ExitStack) -> Stream:
    engine = begin(["pipe"])
    stream = PipeStream(os.dup(engine.replies), os.dup(engine.requests))
    stack.callback(stream.close)
    return stream


def _unix(begin: _Start, _: int, stack: contextlib.ExitStack) -> Stream:
    with tempfile.TemporaryDirectory(prefix="derive_bench_", ignore_cleanup_errors=True) as folder:
        path = str(Path(folder) / "engine")
        begin(["unix", path]).ready()
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
    stream = SocketStream(connection)
    stack.callback(stream.close)
    return stream


def _tcp(begin: _Start, _: int, stack: contextlib.ExitStack) -> Stream:
    port = int(begin(["tcp"]).ready())
    stream = SocketStream(socket.create_connection(("127.0.0.1", port)))
    stack.callback(stream.close)
    return stream


def _shm(begin: _Start, spins: int, stack: contextlib.ExitStack) -> Stream:
    memory = SharedMemory.create()
    stack.callback(memory.close)
    numbers = [memory.descriptor, memory.capacity, spins, *memory.events]
    engine = begin(["shm", *map(str, numbers)], (memory.descriptor, *memory.events))
    engine.ready()
    stream = memory.stream(serving=False, spins=spins, lifeline=engine.replies)
    stack.callback(stream.close)
    return stream


_CONNECT = {"unix": _unix, "tcp": _tcp, "pipe": _pipe, "shm": _shm}
