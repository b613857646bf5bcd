"""Echoes through what people deploy: ZeroMQ and gRPC, over the same sockets as ours.

Contract: `messaging_echoes(library, transport, doubles, where)` opens an echo like those of `echo`, through a Python server of that
library. Run as a module, this is the server: `python -m derive_bench.boundary.deployed zeromq|grpc unix PATH | tcp`. gRPC sends the
bytes as they are, without protobuf. Both libraries are extras.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from derive_bench.boundary.architectures import Opening
from derive_bench.boundary.echo import payload_of
from derive_bench.boundary.engines import EngineFailed, start
from derive_bench.boundary.frames import MAX_BODY, Bytes
from derive_bench.boundary.hosting import end_with_parent, say_ready
from derive_bench.boundary.placing import placed
from derive_bench.boundary.session import Missing, Timed

__all__ = ["MESSAGING", "messaging_echoes"]

MESSAGING: Final = ("zeromq", "grpc")

_METHOD: Final = "/derive_bench.Boundary/Echo"
_SIZES: Final = (("grpc.max_receive_message_length", MAX_BODY), ("grpc.max_send_message_length", MAX_BODY))
_PATIENCE: Final = 30

Call = Callable[[Bytes], Bytes]


def messaging_echoes(library: str, transport: str, doubles: int, where: str) -> Opening:
    """A server that sends `doubles` numbers back through `library`, over `unix` or `tcp`."""

    @contextlib.contextmanager
    def opened() -> Iterator[Timed]:
        connect = _zeromq_client if library == "zeromq" else _grpc_client
        payload = payload_of(doubles)
        module = _library(library)
        failures = (module.ZMQError,) if library == "zeromq" else (module.RpcError, module.FutureTimeoutError)
        with contextlib.ExitStack() as stack:
            stack.enter_context(_failing_as_engine(library, failures))
            its = stack.enter_context(placed(where))
            with tempfile.TemporaryDirectory(prefix="derive_bench_", ignore_cleanup_errors=True) as folder:
                words = ["unix", str(Path(folder) / "server")] if transport == "unix" else ["tcp"]
                address = start([sys.executable, "-m", __name__, library], stack, its, words).ready()
                call = connect(module, address, stack)
                # Now it is connected for good, and the socket needs no name any more.
                call(b"")
            yield Timed(lambda: call(payload), lambda found: "" if found == payload else "the echo brings other bytes back")

    return opened


@contextlib.contextmanager
def _failing_as_engine(library: str, failures: tuple[type[Exception], ...]) -> Iterator[None]:
    try:
        yield
    except failures as error:
        raise EngineFailed(f"the {library} server does not answer: {error}") from error


def _library(name: str) -> Any:
    try:
        if name == "zeromq":
            import zmq

            return zmq
        import grpc
    except ImportError as error:
        raise Missing(f"{name} is not installed: pip install 'derive_bench[messaging]'") from error
    return grpc


def _zeromq_client(zmq: Any, address: str, stack: contextlib.ExitStack) -> Call:
    context = stack.enter_context(zmq.Context())
    connection = stack.enter_context(context.socket(zmq.REQ))
    connection.linger = 0
    connection.rcvtimeo = _PATIENCE * 1000
    connection.connect(address)

    def call(payload: Bytes) -> Bytes:
        connection.send(payload)
        received: bytes = connection.recv()
        return received

    return call


def _grpc_client(grpc: Any, address: str, stack: contextlib.ExitStack) -> Call:
    channel = stack.enter_context(grpc.insecure_channel(address, options=_SIZES))
    grpc.channel_ready_future(channel).result(_PATIENCE)
    stack.enter_context(_interrupted_later())
    echo = channel.unary_unary(_METHOD)

    def call(payload: Bytes) -> Bytes:
        received: bytes = echo(bytes(payload), timeout=_PATIENCE)
        return received

    return call


@contextlib.contextmanager
def _interrupted_later() -> Iterator[None]:
    """Keep Ctrl-C until the end: a call of gRPC's that it ends leaves a channel that waits for it for ever when it is closed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            raise KeyboardInterrupt


def _serve_zeromq(words: Sequence[str]) -> None:
    zmq = _library("zeromq")
    connection = zmq.Context().socket(zmq.REP)
    connection.bind(f"ipc://{words[1]}" if words[0] == "unix" else "tcp://127.0.0.1:*")
    _end_with_parent(words)
    say_ready(connection.last_endpoint.decode())
    while True:
        connection.send(connection.recv())


def _serve_grpc(words: Sequence[str]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    grpc = _library("grpc")
    handler = grpc.method_handlers_generic_handler(
        "derive_bench.Boundary", {"Echo": grpc.unary_unary_rpc_method_handler(lambda payload, _: payload)}
    )
    server = grpc.server(ThreadPoolExecutor(1), handlers=[handler], options=_SIZES)
    address = f"unix:{words[1]}" if words[0] == "unix" else "127.0.0.1:0"
    port = server.add_insecure_port(address)
    server.start()
    _end_with_parent(words)
    say_ready(address if words[0] == "unix" else f"127.0.0.1:{port}")
    server.wait_for_termination()


def _end_with_parent(words: Sequence[str]) -> None:
    end_with_parent(words[1] if words[0] == "unix" else None)


if __name__ == "__main__":
    (_serve_zeromq if sys.argv[1] == "zeromq" else _serve_grpc)(sys.argv[2:])
