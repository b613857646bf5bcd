"""What a report reads of the JSON that ``replay --json`` writes, checked field by field; docs/replay.md has its schema.

Times are ns, rates frames per second. Fields that no chart or table shows are not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from derive_bench.measure.results import ResultError

__all__ = ["REPLAY_PREFIX", "Latency", "Pauses", "Rate", "Replay", "Throughput", "read_replay"]

REPLAY_PREFIX = "derive_bench.replay/"
REPLAY_VERSION = "1"

MOST = 2**62

Count = Annotated[int, msgspec.Meta(ge=0, le=MOST)]
Positive = Annotated[int, msgspec.Meta(gt=0, le=MOST)]
PerSecond = Annotated[float, msgspec.Meta(ge=0, le=float(MOST))]
Curve = Annotated[tuple[tuple[Annotated[float, msgspec.Meta(ge=0, le=100)], Count], ...], msgspec.Meta(min_length=1)]
"""Percentiles, in per cent, each with the time that so many are not above, ns."""


class Latency(msgspec.Struct, frozen=True):
    """Latencies of one channel, or of all."""

    count: Positive
    p50_ns: Count
    p90_ns: Count
    p99_ns: Count
    p999_ns: Count = msgspec.field(name="p99.9_ns")
    max_ns: Count
    mean_ns: Count
    curve: Curve


class Channel(msgspec.Struct, frozen=True):
    """What came on one kind of channel; no latency if none was taken."""

    frames: Count
    bytes: Count
    latency: Latency | None


class Rate(msgspec.Struct, frozen=True):
    """How fast the session went through; nothing was wanted at full speed."""

    speed: Annotated[float, msgspec.Meta(gt=0)] | Literal["max"]
    elapsed_ns: Count
    achieved_per_s: PerSecond | None
    wanted_per_s: PerSecond | None
    late_frames: Count
    latest_ns: Count


class Throughput(msgspec.Struct, frozen=True):
    """Frames done, and those that were due, in each span of the run; none were due at full speed."""

    span_ns: Positive
    frames: tuple[Count, ...]
    due: tuple[Count, ...] | None = None

    def __post_init__(self) -> None:
        if self.due is not None and len(self.due) != len(self.frames):
            raise ValueError("`due` and `frames` differ in length")


class Pauses(msgspec.Struct, frozen=True):
    """Runs of the garbage collector; no percentiles without any."""

    collections: Count
    by_generation: tuple[Count, Count, Count]
    total_ns: Count
    p50_ns: Count | None = None
    p90_ns: Count | None = None
    p99_ns: Count | None = None
    max_ns: Count | None = None
    curve: Curve = ()

    def __post_init__(self) -> None:
        if self.curve and not self.collections:
            raise ValueError("a `curve` without `collections`")


class Digest(msgspec.Struct, frozen=True):
    """The event digest: 64 hex digits."""

    sha256: str
    events: Count


class Replay(msgspec.Struct, frozen=True):
    """One replay."""

    counts: Mapping[str, Count]
    events: Mapping[str, Count]
    channels: Mapping[str, Channel]
    overall: Latency | None
    rate: Rate
    throughput: Throughput
    gc: Pauses
    digest: Digest
    warnings: tuple[str, ...]
    source: str = ""

    def __post_init__(self) -> None:
        for name in ("frames", "bytes", "undecodable", "publish_id_gaps", "disconnects"):
            if name not in self.counts:
                raise ValueError(f"Object missing required field `counts.{name}`")
        begun = self.throughput.span_ns * (len(self.throughput.frames) - 1)
        if begun > self.rate.elapsed_ns:
            raise ValueError("`throughput.frames` has more spans than `rate.elapsed_ns` has time for")


def read_replay(path: Path, source: str, document: Mapping[str, Any]) -> Replay:
    """Check a document whose schema begins with :data:`REPLAY_PREFIX`.

    Args:
        source: what the report calls it.

    Raises:
        ResultError: the file and the field that is missing or wrong.
    """
    version = str(document.get("schema")).removeprefix(REPLAY_PREFIX)
    if version != REPLAY_VERSION:
        raise ResultError(f"{path}: a replay of schema version {version}; this report reads {REPLAY_VERSION}")
    try:
        return msgspec.convert({**document, "source": source}, Replay)
    except msgspec.ValidationError as error:
        raise ResultError(f"{path}: not a whole replay: {error}; write it anew with `python -m derive_bench replay … --json`") from None
