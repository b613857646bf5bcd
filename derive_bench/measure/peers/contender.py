"""A contender: one library in a process of its own, which answers requests; see ``benches/peers/driver.py`` for what it understands."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import tempfile
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import IO, Any, Self, cast

from derive_bench.measure.trees import PACKAGE_PARENT

__all__ = ["Contender", "ContenderFailed", "Place", "RequestFailed"]

START_SECONDS = 120.0
"""For a library to be imported, on a slow machine with cold disks."""

ANSWER_SECONDS = 60.0

KEPT_ENVIRON = ("PATH", "HOME", "TEMP", "LANG", "SYSTEMROOT")
"""Environment variables a contender gets, besides the locale's. PYTHONPATH is for ours alone: it would mix up environments."""


class ContenderFailed(Exception):
    """A contender did not start, died, hung or answered nonsense; the message says which."""


class RequestFailed(ContenderFailed):
    """One request failed, with the library's own error; the contender goes on."""


class Place:
    """What it takes to start a contender.

    Args:
        python: the interpreter.
        adapter: its module.
        ours: whether it imports this very package, from where it lies.
    """

    def __init__(self, python: Path, adapter: Path, driver: Path, ours: bool = False) -> None:
        self.command = [str(python), "-P", str(driver), str(adapter)]
        self.ours = ours

    def start(self, material: Path) -> Contender:
        """Start it; it gets ready while others do."""
        kept = (*KEPT_ENVIRON, "PYTHONPATH") if self.ours else KEPT_ENVIRON
        environ = {name: value for name, value in os.environ.items() if name in kept or name.startswith("LC_")}
        command = [*self.command, str(material), *(["--path", str(PACKAGE_PARENT)] if self.ours else [])]
        return Contender(command, environ)


class Contender:
    """A running contender. Use it as a context manager; :meth:`ready` waits until it has loaded.

    Attributes:
        abilities: stage -> what it leaves undone.
        versions: of its distributions.
        python: version of its interpreter.
    """

    def __init__(self, command: list[str], environ: dict[str, str]) -> None:
        self.abilities: dict[str, str] = {}
        self.versions: dict[str, str] = {}
        self.python = ""
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 -- closed with the process
        self._pending = b""
        try:
            self._process = subprocess.Popen(
                command,
                env=environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                # A group of its own: Ctrl-C reaches the manager alone, which then ends it.
                process_group=0,
            )
        except OSError as error:
            self._complaints.close()
            raise ContenderFailed(f"{command[0]}: cannot be started: {error.strerror}") from None
        self._requests = cast(IO[bytes], self._process.stdin)
        self._answers = cast(IO[bytes], self._process.stdout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the process, at once."""
        self._process.kill()
        self._process.wait()
        for stream in (self._requests, self._answers, self._complaints):
            # What was never sent cannot be flushed any more.
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def ready(self) -> None:
        """Wait until the library is loaded.

        Raises:
            ContenderFailed
        """
        greeting = self._answer(START_SECONDS)
        self.abilities, self.versions, self.python = greeting["abilities"], greeting["versions"], greeting["python"]

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request and return the answer.

        Raises:
            RequestFailed, ContenderFailed
        """
        try:
            self._requests.write(json.dumps(request).encode() + b"\n")
            self._requests.flush()
        except OSError:
            raise ContenderFailed(self._epitaph()) from None
        return self._answer(ANSWER_SECONDS)

    def _answer(self, seconds: float) -> dict[str, Any]:
        line = self._line(seconds)
        try:
            document = json.loads(line)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise ContenderFailed(f"answered {line[:80]!r}")
        if "error" in document:
            raise RequestFailed(str(document["error"]))
        return document

    def _line(self, seconds: float) -> bytes:
        descriptor = self._answers.fileno()
        deadline = monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while b"\n" not in self._pending:
                if not selector.select(max(0.0, deadline - monotonic())):
                    raise ContenderFailed(f"no answer after {seconds:g} s")
                chunk = os.read(descriptor, 1 << 16)
                if not chunk:
                    raise ContenderFailed(self._epitaph())
                self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def _epitaph(self) -> str:
        code = self._process.wait()
        self._complaints.seek(0)
        last = self._complaints.read().decode(errors="replace").strip().rpartition("\n")[2]
        return f"died with exit code {code}{': ' + last if last else ''}"
