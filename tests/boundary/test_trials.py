"""Trials of one's own payload, the public names, and the programs of docs/boundary.md as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba", reason="numba is not installed: make venv")

import derive_bench.boundary as boundary
from derive_bench.boundary import codec_cost, round_trips
from derive_bench.boundary.codecs import ARRAY_CODECS, Codec
from derive_bench.measure.trees import PACKAGE_PARENT, checkout_root


def test_every_public_name_is_there() -> None:
    for name in boundary.__all__:
        assert getattr(boundary, name) is not None
    assert set(boundary.__all__) <= set(dir(boundary))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        boundary.nothing  # noqa: B018 -- asking is the test


def test_a_payload_goes_and_comes_back() -> None:
    found = round_trips(b"payload" * 100, "unix", engine="python", seconds=0.02)
    assert found.transport == "unix"
    assert found.calls >= 1
    assert 0 < found.p50_ns <= found.p99_ns <= found.p999_ns


def test_a_transport_that_there_is_not_is_told() -> None:
    with pytest.raises(KeyError, match="pigeon"):
        round_trips(b"", "pigeon", engine="python")


def test_a_codec_is_told_in_time_and_bytes() -> None:
    found = codec_cost(ARRAY_CODECS["raw"], np.arange(100.0), seconds=0.01)
    assert (found.codec, found.size) == ("raw", 800)
    assert found.encode_ns > 0
    assert found.decode_ns > 0


def test_a_codec_that_loses_something_is_refused() -> None:
    def prepare() -> tuple[Callable[[Any], bytes], Callable[[Any], Any], Callable[[Any, Any], bool]]:
        return (lambda value: b"x"), (lambda data: None), (lambda value, decoded: value == decoded)

    with pytest.raises(ValueError, match="lossy: decoding does not give the value back"):
        codec_cost(Codec("lossy", "nothing", prepare), [1.0])


SOONER = """
from derive_bench.boundary import trials
timed = trials._timed
trials._timed = lambda call, seconds: timed(call, seconds / 50)
"""


@pytest.mark.skipif(checkout_root() is None, reason="not a checkout")
def test_the_programs_of_the_page_run() -> None:
    page = (PACKAGE_PARENT / "docs/boundary.md").read_text(encoding="utf-8")
    first, second = re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    for program, line in ((first, r"^Advice\(transport='pipe'|^unix no rustc here"), (second, r"^b'any payload of yours'$")):
        done = subprocess.run(
            [sys.executable, "-c", SOONER + program], cwd=PACKAGE_PARENT, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        assert re.search(line, done.stdout, flags=re.MULTILINE), done.stdout
