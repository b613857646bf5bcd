"""Engines that are killed, whose client is killed, or that are given much: a clear error, and nothing is left of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from derive_bench.boundary.engines import TRANSPORTS, EngineFailed, open_engine
from derive_bench.boundary.workload import Workload
from tests.boundary.engines import alive, children, engine_command, memory

ENGINES = [*(("rust", transport) for transport in TRANSPORTS), *(("hosted", transport) for transport in TRANSPORTS), ("python", "shm")]
PATIENCE = 20.0


@pytest.mark.parametrize(("engine", "transport"), ENGINES)
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


PARENT = """
import sys, time
import numpy as np
from derive_bench.boundary.engines import open_engine
with open_engine({command!r}, {transport!r}) as client:
    client.echo(b"x")
    print("here", flush=True)
    {then}
"""

IDLE, BUSY = "time.sleep(60)", "client.sweep(np.ones(200_000), np.full((50, 6), 50_000, dtype=np.int64))"
"""A client that asks for nothing, and one whose request takes the engine a minute."""


def kill_its_parent(engine: str, transport: str, then: str, folder: Path) -> None:
    code = PARENT.format(command=engine_command(engine), transport=transport, then=then)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(folder)}) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"here\n"
        (engine_pid,) = children(parent.pid)
        if then == BUSY:
            begin = _processor_ticks(engine_pid)
            while _processor_ticks(engine_pid) < begin + 5:
                time.sleep(0.01)
        parent.kill()
    deadline = time.monotonic() + PATIENCE
    while alive(engine_pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(engine_pid)
    assert list(folder.iterdir()) == []


def _processor_ticks(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])


@pytest.mark.parametrize(("engine", "transport"), [*ENGINES[:4], ("hosted", "unix"), ("hosted", "pipe")])
def test_an_engine_dies_with_its_parent(engine: str, transport: str, tmp_path: Path) -> None:
    kill_its_parent(engine, transport, IDLE, tmp_path)


@pytest.mark.parametrize(("engine", "transport"), [("rust", "pipe"), ("rust", "unix"), ("python", "pipe")])
def test_an_engine_dies_with_its_parent_in_the_middle_of_work(engine: str, transport: str, tmp_path: Path) -> None:
    kill_its_parent(engine, transport, BUSY, tmp_path)


@pytest.mark.parametrize("engine", ["rust", "hosted"])
def test_an_engine_whose_parent_died_before_it_listened_removes_its_socket(engine: str, tmp_path: Path) -> None:
    folder = tmp_path / "private"
    folder.mkdir()
    words = [*engine_command(engine), "unix", str(folder / "engine")]
    subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=PATIENCE, check=True)
    assert not folder.exists()


@pytest.mark.parametrize("engine", ["rust", "python"])
def test_a_sweep_takes_three_times_the_data_at_most(engine: str) -> None:
    command, others = engine_command(engine), children(os.getpid())
    bars = 700_000
    with open_engine(command, "unix") as client:
        (pid,) = children(os.getpid()) - others
        # What the code itself takes is in use after a first one.
        client.sweep(np.ones(1000), Workload(10, 80).windows)
        before = memory(pid, "VmHWM")
        closes, windows = Workload(bars, 1).closes, np.full((80, 6), 1, dtype=np.int64)
        client.sweep(closes, windows[:5])
        assert memory(pid, "VmHWM") - before < 3 * (closes.nbytes + windows.nbytes) + (64 << 10)


@pytest.mark.parametrize("transport", ["unix", "pipe"])
def test_an_engine_keeps_to_its_processors_and_needs_no_programs(transport: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    command, ours, others = engine_command("hosted"), os.sched_getaffinity(0), children(os.getpid())
    monkeypatch.setenv("PATH", str(tmp_path))
    with open_engine(command, transport, cpus={max(ours)}) as client:
        (pid,) = children(os.getpid()) - others
        assert bytes(client.echo(b"x")) == b"x"
        assert {max(ours)} == set().union(*(os.sched_getaffinity(int(task.name)) for task in Path(f"/proc/{pid}/task").iterdir()))
    assert os.sched_getaffinity(0) == ours
