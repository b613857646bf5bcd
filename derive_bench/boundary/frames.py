"""The protocol between a client and an engine: little-endian frames.

Contract: a request is `[u32 body_len][u8 opcode][u32 n_bars][u32 n_combos][f64 × n_bars][6 × i64 × n_combos]`, an echo
`[u32 body_len][u8 1][bytes]`; a reply is `[u32 body_len][u8 status]` and then, with status 0, `[f64 profits][i64 trades]` or the echoed
bytes, with status 1 a line of text that says what was wrong. `body_len` counts what follows it. `engine/frame.rs` is the other side.

A frame is made in parts, which are sent as they lie in memory: an array is never copied to be sent.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from derive_bench.boundary.workload import Closes, Windows

__all__ = [
    "ERROR",
    "LENGTH",
    "MAX_BODY",
    "OK",
    "Bytes",
    "EngineRefused",
    "Opcode",
    "Outcomes",
    "echo",
    "outcomes",
    "refusal",
    "reply",
    "request",
]

Bytes = bytes | bytearray | memoryview
"""What a part of a frame may be."""

Outcomes = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]
"""Profit in percentage points and closed trades, an element for each combination."""

MAX_BODY: Final = 64 << 20
"""The longest body that either side takes, in bytes."""

LENGTH: Final = struct.Struct("<I")
HEAD: Final = struct.Struct("<BII")
OK: Final = 0
ERROR: Final = 1

_WORTH_JOINING: Final = 4_096
"""Copying less than this into one part costs less than sending two."""

_short_head: Final = struct.Struct("<IB").pack
_LONG_HEAD: Final = struct.Struct("<IBII")
_NO_CLOSES: Final = np.empty(0)
_NO_WINDOWS: Final = np.empty((0, 6), dtype=np.int64)


class Opcode(IntEnum):
    """What a request asks for.

    SWEEP: run combinations over the bars in the same frame. ECHO: send the bytes back. LOAD: keep bars; RUN: combinations over them.
    OPEN: begin combinations without bars; BAR: one more bar for them, answered with their outcomes so far. CLOCK: the ns that the
    engine has spent computing since this was last asked, as a u64.
    """

    SWEEP = 0
    ECHO = 1
    LOAD = 2
    RUN = 3
    OPEN = 4
    BAR = 5
    CLOCK = 6


_ECHO: Final = int(Opcode.ECHO)
"""Packed four times as fast as the enumeration's member."""


class EngineRefused(ValueError):
    """The engine read a request and refused it; the message is the engine's."""


def request(opcode: Opcode, closes: Closes = _NO_CLOSES, windows: Windows = _NO_WINDOWS) -> list[Bytes]:
    """Return the parts of a request for work. `ValueError` when it is longer than `MAX_BODY`."""
    bars = np.ascontiguousarray(closes, dtype="<f8")
    combinations = np.ascontiguousarray(windows, dtype="<i8")
    body = HEAD.size + bars.nbytes + combinations.nbytes
    _check(body)
    head = _LONG_HEAD.pack(body, opcode, len(bars), len(combinations))
    return [head, *(part.data.cast("B") for part in (bars, combinations) if part.size)]


def echo(payload: Bytes) -> list[Bytes]:
    """Return the parts of a request that sends `payload` back. `ValueError` when it is longer than `MAX_BODY`."""
    body = 1 + len(payload)
    if body < _WORTH_JOINING:
        return [_short_head(body, _ECHO) + payload]
    _check(body)
    return [_short_head(body, _ECHO), payload]


def reply(status: int, *payload: Bytes) -> list[Bytes]:
    """Return the parts of a reply."""
    return [_short_head(1 + sum(map(len, payload)), status), *payload]


def refusal(error: Exception) -> list[Bytes]:
    """Return the parts of a reply that says what was wrong."""
    return reply(ERROR, (str(error) or type(error).__name__).encode())


def outcomes(payload: memoryview) -> Outcomes:
    """Read a reply's payload: profits float64 and trades int64, views of the payload's own memory."""
    count, rest = divmod(len(payload), 16)
    if rest:
        raise ValueError(f"a reply of {len(payload)} bytes is not pairs of eight bytes")
    return np.frombuffer(payload, "<f8", count), np.frombuffer(payload, "<i8", count, 8 * count)


def _check(body: int) -> None:
    if body > MAX_BODY:
        raise ValueError(f"a frame of {body} bytes is above the limit of {MAX_BODY}; send fewer bars or combinations in one")
