"""Hostile nesting is an error of ours, also where a library has raised the recursion limit of the whole process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from derive_bench.adapter.errors import DecodeError
from derive_bench.adapter.lenient import LONG, check_nesting

PROGRAM = """
import sys, threading
sys.setrecursionlimit(100_000)
from derive_bench import DecodeError, decode, decode_candles, decode_instruments

SLIM = b'{"method":"subscription","params":{"channel":"ticker_slim.ETH-PERP.100","data":'
errors = []

def run():
    for hostile in (b"[" * 100_000, SLIM + b'{"a":' * 300_000, SLIM + b"[" * 16_000, b"[" * 16_384, b'{"a":' * 3_000, b'{"x":[' * 500_000):
        for read in (decode, decode_candles, decode_instruments):
            try:
                read(hostile)
            except DecodeError as error:
                errors.append(error)

run()
thread = threading.Thread(target=run)
thread.start()
thread.join()
print(len(errors))
"""


def test_no_nesting_ends_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "36"), done.stderr


def nested(depth: int) -> bytes:
    return b'{"a":[' * (depth // 2) + b"]}" * (depth // 2)


@pytest.mark.parametrize("data", [b"[" + b"[1,2]," * 100_000 + b"[]]", nested(64), b'"' + b"[" * 1_000 + b'"' + b" " * LONG])
def test_wide_or_moderately_deep_json_passes(data: bytes) -> None:
    check_nesting(data)


@pytest.mark.parametrize("data", [b"[" * 2_000, b"{" * 2_000, b"[]" * 10_000 + b"[" * 2_000, nested(4_000), nested(200_000)])
def test_deep_json_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError, match="nested too deeply"):
        check_nesting(data)
