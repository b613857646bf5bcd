"""How a Python process is a server behind any transport, with the command line of `engine/main.rs`.

Contract: `host(words, serve)` takes `pipe | unix PATH | tcp | shm FD CAPACITY SPINS E1 E2 E3 E4`, says on standard output when a client
may come, serves one client and ends, whatever it is doing, when standard input does; behind a pipe, when nobody can read its replies.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from derive_bench.boundary.ring import SharedMemory
from derive_bench.boundary.streams import PipeStream, SocketStream, Stream

__all__ = ["end_with_parent", "host", "say_ready"]


def host(words: Sequence[str], serve: Callable[[Stream], None], prepare: Callable[[], None] = lambda: None) -> None:
    """Serve as the command line says.

    Args:
        words: the command line.
        serve: answers one client until it goes.
        prepare: what takes long and must be done before a client may come.

    Raises:
        ValueError: a command line that says nothing.
    """
    match words:
        case ["pipe"]:
            # Nothing but replies may reach the client: what else is printed goes where complaints go.
            replies = os.dup(1)
            os.dup2(2, 1)
            _end_with_reader(replies)
            prepare()
            serve(PipeStream(os.dup(0), replies))
        case ["unix", path]:
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(path)
                end_with_parent(path)
                prepare()
                _serve_one(listener, path, serve)
        case ["tcp"]:
            end_with_parent()
            prepare()
            with socket.create_server(("127.0.0.1", 0)) as listener:
                _serve_one(listener, str(listener.getsockname()[1]), serve)
        case ["shm", *numbers] if len(numbers) == 7:
            end_with_parent()
            prepare()
            descriptor, capacity, spins, *events = map(int, numbers)
            memory = SharedMemory(descriptor, capacity, events)
            # The watcher of standard input ends this process when the client dies, so the ring needs no lifeline of its own.
            lifeline, _ = os.pipe()
            say_ready("shm")
            serve(memory.stream(serving=True, spins=spins, lifeline=lifeline))
        case _:
            raise ValueError("say pipe, unix PATH, tcp, or shm FD CAPACITY SPINS and four eventfds")


def _serve_one(listener: socket.socket, where: str, serve: Callable[[Stream], None]) -> None:
    listener.listen(1)
    say_ready(where)
    connection, _ = listener.accept()
    listener.close()
    serve(SocketStream(connection))


def say_ready(what: str) -> None:
    """Tell the parent that a client may come, and where."""
    os.write(1, f"ready {what}\n".encode())


def end_with_parent(socket_path: str | None = None) -> None:
    """End this process when its standard input ends, and remove a socket with its private folder if they are still there.

    To be called when the socket is bound: what removes it must not come before it.
    """

    def watch() -> None:
        while os.read(0, 4096):
            pass
        if socket_path is not None:
            # The parent has mostly done it.
            with contextlib.suppress(OSError):
                Path(socket_path).unlink(missing_ok=True)
                Path(socket_path).parent.rmdir()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def _end_with_reader(replies: int) -> None:
    def watch() -> None:
        poller = select.poll()
        poller.register(replies, 0)
        poller.poll()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
