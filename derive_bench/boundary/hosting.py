"""How a Python process is a server behind any transport, with the command line of `engine/main.rs`.

Contract: `host(words, serve)` takes `pipe | unix PATH | tcp | shm FD CAPACITY SPINS E1 E2 E3 E4`, says on standard output when a client
may come, serves one client and ends, at the latest when standard input does.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from derive_bench.boundary.ring import SharedMemory
from derive_bench.boundary.streams import PipeStream, SocketStream, Stream

__all__ = ["end_with_parent", "host", "say_ready"]


def host(words: Sequence[str], serve: Callable[[Stream], None]) -> None:
    """Serve as the command line says. `ValueError` for one that says nothing."""
    match words:
        case ["pipe"]:
            # Nothing but replies may reach the client: what else is printed goes where complaints go.
            replies = os.dup(1)
            os.dup2(2, 1)
            serve(PipeStream(os.dup(0), replies))
        case ["unix", path]:
            end_with_parent(path)
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(path)
                _serve_one(listener, path, serve)
        case ["tcp"]:
            end_with_parent()
            with socket.create_server(("127.0.0.1", 0)) as listener:
                _serve_one(listener, str(listener.getsockname()[1]), serve)
        case ["shm", *numbers] if len(numbers) == 7:
            end_with_parent()
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
    """End this process when its standard input ends, and remove a socket with its private folder if they are still there."""

    def watch() -> None:
        while os.read(0, 4096):
            pass
        if socket_path is not None:
            path = Path(socket_path)
            path.unlink(missing_ok=True)
            path.parent.rmdir()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
