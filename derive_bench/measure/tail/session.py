"""Runs tail workers, one at a time: for each row a process in each mode of the cyclic collector.

Rows of one group and modes take turns, so that a disturbance of the machine falls on all modes alike. Allocations are counted under
callgrind, by :mod:`derive_bench.measure.count`, where valgrind is installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import cycle
from time import monotonic
from typing import Any

from derive_bench.measure.catalogue import SelectionError
from derive_bench.measure.rows import Row
from derive_bench.measure.runner import Launcher, Progress, WorkerFailed, WorkerRefused
from derive_bench.measure.tail.worker import MODES

__all__ = ["CALLS", "TailSession", "pipeline_rows"]

GROUPS = ("inbound_pipeline", "exec_pipeline", "dispatch")
"""The groups of rows that a message or an order passes as a whole."""

CALLS = 20_000
"""Calls of a row in each mode: twenty lie beyond the p99.9."""


def pipeline_rows(rows: Iterable[Row], globs: Sequence[str] = ()) -> list[Row]:
    """The pipeline rows that match one of ``globs``; without any, those that get a new input for each call.

    Raises:
        SelectionError: a glob matches no pipeline row.
    """
    pipeline = [row for row in rows if row.group in GROUPS]
    if not globs:
        return [row for row in pipeline if row.each or row.fresh]
    for glob in globs:
        if not any(fnmatchcase(row.name, glob) for row in pipeline):
            raise SelectionError(f"no pipeline row matches {glob!r}; tails are measured of {', '.join(f'{group}/*' for group in GROUPS)}")
    return [row for row in pipeline if any(fnmatchcase(row.name, glob) for glob in globs)]


@dataclass
class TailSession:
    """One measurement of tails. ``found`` fills up while :meth:`run` goes on and keeps what there is when it is interrupted.

    Attributes:
        calls: timed calls of a row in each mode.
        found: by row and mode, what the worker said.
    """

    rows: Sequence[Row]
    launcher: Launcher
    calls: int = CALLS
    found: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def complete_rows(self) -> list[Row]:
        """The rows measured in all modes."""
        return [row for row in self.rows if len(self.found.get(row.name, ())) == len(MODES)]

    def run(self, report: Callable[[Progress], None] = lambda _: None) -> None:
        """Measure everything, telling ``report`` before each worker.

        Raises:
            WorkerRefused, WorkerFailed
        """
        total, begin, done = len(self.rows) * len(MODES), monotonic(), 0
        for row, first in zip(self.rows, cycle(range(len(MODES))), strict=False):
            for mode in MODES[first:] + MODES[:first]:
                left = (monotonic() - begin) / done * (total - done) if done else None
                report(Progress(row.name, done, total, 1, 1, left))
                self.found.setdefault(row.name, {})[mode] = self._worker(row, mode)
                done += 1

    def command(self, row: Row, mode: str) -> list[str]:
        """The worker's command line: all that it needs to know."""
        command = [sys.executable, "-m", "derive_bench.measure.tail.worker", "--suite-file", row.suite]
        command += ["--protocol", self.launcher.protocol, "--row", row.name, row.fingerprint, "--mode", mode, "--calls", str(self.calls)]
        for option, folder in (("--data", self.launcher.data), ("--benches", self.launcher.benches)):
            if folder is not None:
                command += [option, str(folder.resolve())]
        return command

    def _worker(self, row: Row, mode: str) -> dict[str, Any]:
        try:
            done = subprocess.run(
                self.command(row, mode),
                cwd=self.launcher.root,
                env=self.launcher.environ(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.launcher.timeout,
                # A group of its own: Ctrl-C reaches the manager alone, which then ends the worker.
                process_group=0,
            )
        except subprocess.TimeoutExpired:
            raise WorkerFailed(f"{row.name}: no result after {self.launcher.timeout:g} s") from None
        complaint = done.stderr.decode(errors="replace").strip()
        if done.returncode == 2:
            raise WorkerRefused(complaint.rpartition("\n")[2])
        if done.returncode:
            raise WorkerFailed(f"{row.name}: tail worker ended with {done.returncode}\n{complaint}")
        found: dict[str, Any] = json.loads(done.stdout)
        return found
