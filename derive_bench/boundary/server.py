"""The same server as the Rust engine, in Python with the numba kernel: a process boundary without a language boundary.

Contract: `python -m derive_bench.boundary.server` with the words that `hosting` takes behaves as `engine/main.rs` says.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable

import numpy as np

from derive_bench.boundary import kernel
from derive_bench.boundary.frames import HEAD, MAX_BODY, OK, Bytes, Opcode, Outcomes, refusal, reply
from derive_bench.boundary.hosting import host
from derive_bench.boundary.streams import CutShort, PeerGone, Stream
from derive_bench.boundary.workload import Closes, Windows

__all__ = ["Session", "serve"]

MAX_WINDOW = 1 << 20
"""The longest window, in bars."""


class Refused(ValueError):
    """A request that was read and is not done; the message goes to the client."""


class Session:
    """What one client has loaded, and the answers to its requests."""

    def __init__(self) -> None:
        self._closes: Closes = np.empty(0)
        self._stream = kernel.Stream(np.empty((0, 6), dtype=np.int64))
        self._spent_ns = 0

    def answer(self, body: memoryview) -> list[Bytes]:
        """Return the reply's parts for one request's body."""
        try:
            if body[0] == Opcode.ECHO:
                return reply(OK, body[1:])
            return reply(OK, *self._work(*_read(body)))
        except Refused as error:
            return refusal(error)

    def _work(self, opcode: Opcode, closes: Closes, windows: Windows) -> list[Bytes]:
        match opcode, len(closes), len(windows):
            case Opcode.SWEEP, _, _:
                return self._timed(lambda: kernel.sweep(closes, windows))
            case Opcode.LOAD, _, 0:
                self._closes = closes
                return []
            case Opcode.RUN, 0, _:
                return self._timed(lambda: kernel.sweep(self._closes, windows))
            case Opcode.OPEN, 0, _:
                if (needed := kernel.Stream.size(windows)) > MAX_BODY:
                    raise Refused(f"the lines of these combinations would take {needed} bytes, and {MAX_BODY} is the limit")
                self._stream = kernel.Stream(windows)
                return []
            case Opcode.BAR, 1, 0:
                return self._timed(lambda: self._stream.step(closes[0]))
            case Opcode.CLOCK, 0, 0:
                spent, self._spent_ns = self._spent_ns, 0
                return [spent.to_bytes(8, "little")]
            case _, bars, combinations:
                raise Refused(f"opcode {opcode} does not take {bars} bars with {combinations} combinations")

    def _timed(self, compute: Callable[[], Outcomes]) -> list[Bytes]:
        begin = time.perf_counter_ns()
        found = compute()
        self._spent_ns += time.perf_counter_ns() - begin
        return [values.data.cast("B") for values in found]


def _read(body: memoryview) -> tuple[Opcode, Closes, Windows]:
    if len(body) < HEAD.size:
        raise Refused(f"body_len {len(body)} is shorter than the {HEAD.size} bytes of a head")
    code, bars, combinations = HEAD.unpack_from(body)
    if code not in Opcode._value2member_map_:
        raise Refused(f"unknown opcode {code}")
    if HEAD.size + 8 * bars + 48 * combinations != len(body):
        raise Refused(f"{bars} bars and {combinations} combinations do not make a body of {len(body)} bytes")
    # Views, where the machine's numbers are those of the wire: a second copy of the bars is never held. But a small body cannot be
    # written to, and for such arrays the kernel would be compiled once more, in the middle of a request.
    closes = np.require(np.frombuffer(body, "<f8", bars, HEAD.size), np.float64, "W")
    windows = np.require(np.frombuffer(body, "<i8", 6 * combinations, HEAD.size + 8 * bars), np.int64, "W").reshape(-1, 6)
    # The extremes of what holds a NaN are NaN, and take no memory to find.
    if len(closes) and not 0 < closes.min() <= closes.max() < math.inf:
        bad = int(np.argmin(np.isfinite(closes) & (closes > 0)))
        raise Refused(f"close {bad} is {closes[bad]}, not a positive number")
    if len(windows) and (windows.min() < 1 or windows.max() > MAX_WINDOW):
        raise Refused(f"a window is not in 1..={MAX_WINDOW}")
    half, full, _, third, mid, period = windows.T
    if (half > full).any() or (third > period).any() or (mid > period).any():
        raise Refused("half is at most full, third and mid at most period")
    return Opcode(code), closes, windows


def serve(stream: Stream) -> None:
    """Answer one client until it goes."""
    session = Session()
    with contextlib.suppress(PeerGone):
        try:
            while True:
                stream.send(session.answer(stream.receive_body()))
        except (ValueError, CutShort) as error:
            # Nothing after it can be believed.
            stream.send(refusal(error))


def compile_kernel() -> None:
    """Compile the kernel, or load it from the cache."""
    kernel.sweep(np.ones(8), np.ones((1, 6), dtype=np.int64))
    kernel.Stream(np.ones((1, 6), dtype=np.int64)).step(1.0)


if __name__ == "__main__":
    host(sys.argv[1:], serve, compile_kernel)
