"""ZeroMQ and gRPC: their servers leave nothing behind, and one that dies is told as ours are."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from derive_bench.boundary import deployed
from derive_bench.boundary.deployed import MESSAGING, messaging_echoes
from derive_bench.boundary.engines import EngineFailed
from tests.boundary.engines import children

LIBRARIES = {"zeromq": "zmq", "grpc": "grpc"}


@pytest.mark.parametrize("library", MESSAGING)
def test_a_server_that_dies_is_told(library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(LIBRARIES[library])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(deployed, "_PATIENCE", 1)
    others = children(os.getpid())

    def kill_and_call() -> None:
        with messaging_echoes(library, "unix", 8, "one_core")() as timed:
            timed.call()
            assert list(tmp_path.iterdir()) == []
            for pid in children(os.getpid()) - others:
                os.kill(pid, signal.SIGKILL)
            timed.call()

    with pytest.raises(EngineFailed, match=f"the {library} server does not answer"):
        kill_and_call()
    assert children(os.getpid()) == others


def test_an_interrupt_is_kept_until_a_call_has_ended() -> None:
    pytest.importorskip("grpc")
    answers: list[Any] = []

    def interrupt_and_call() -> None:
        with messaging_echoes("grpc", "unix", 8, "one_core")() as timed:
            os.kill(os.getpid(), signal.SIGINT)
            answers.append(timed.call())

    with pytest.raises(KeyboardInterrupt):
        interrupt_and_call()
    assert [len(answer) for answer in answers] == [64]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
