"""Trials: transports and codecs on a payload of one's own.

Contract: `round_trips` sends bytes to an engine and back until `seconds` are over and gives percentiles; `codec_cost` encodes and decodes a
value likewise and gives medians. Whether what came back is what was sent is checked before anything is timed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from derive_bench.boundary.architectures import engine_command
from derive_bench.boundary.codecs import Codec
from derive_bench.boundary.engines import open_engine
from derive_bench.boundary.frames import Bytes
from derive_bench.boundary.ring import Unsupported
from derive_bench.boundary.session import Missing, Timed, call_times, warm_up

__all__ = ["CodecCost", "RoundTrips", "codec_cost", "round_trips"]

_WARMUPS: Final = 0.2


@dataclass(frozen=True)
class RoundTrips:
    """Round trips over one transport: how many, and percentiles in ns."""

    transport: str
    calls: int
    p50_ns: float
    p99_ns: float
    p999_ns: float


@dataclass(frozen=True)
class CodecCost:
    """One codec: median ns to encode and to decode, and bytes on the wire."""

    codec: str
    encode_ns: float
    decode_ns: float
    size: int


def round_trips(payload: Bytes, transport: str = "unix", *, engine: str = "rust", seconds: float = 0.25) -> RoundTrips:
    """Send `payload` to an engine and back, over and over.

    Args:
        transport: one of `TRANSPORTS`.
        engine: `rust`, or `python` for a server in Python.

    Raises:
        Missing: the engine or the transport cannot be had here; the message says what to do.
        EngineFailed, EngineRefused: it died, or it does not take such a payload.
        ValueError: other bytes came back.
    """
    try:
        with open_engine(engine_command(engine), transport) as client:
            if client.echo(payload) != payload:
                raise ValueError(f"{transport}: other bytes came back")
            times = _timed(lambda: client.echo(payload), seconds)
    except Unsupported as error:
        raise Missing(str(error)) from error
    return RoundTrips(transport, len(times), *(float(percentile) for percentile in np.percentile(times, (50, 99, 99.9))))


def codec_cost(codec: Codec, value: Any, *, seconds: float = 0.1) -> CodecCost:
    """Take `value` through a codec: an array of doubles for `ARRAY_CODECS`, a list of quotes for `EVENT_CODECS`.

    Raises:
        Missing: a library is missing; the message says which.
        ValueError: decoding does not give the value back.
    """
    encode, decode, same = codec.prepare()
    encoded = encode(value)
    if not same(value, decode(encoded)):
        raise ValueError(f"{codec.name}: decoding does not give the value back")
    encoding, decoding = _timed(lambda: encode(value), seconds), _timed(lambda: decode(encoded), seconds)
    return CodecCost(codec.name, float(np.median(encoding)), float(np.median(decoding)), memoryview(encoded).nbytes)


def _timed(call: Callable[[], object], seconds: float) -> npt.NDArray[np.int64]:
    timed = Timed(call)
    warm_up(timed, seconds * _WARMUPS)
    return call_times(timed, seconds)
