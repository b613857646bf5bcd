"""Event logs: the events of a replay in a file, and where two of them first differ.

Contract: a log is JSON lines, one event each, compressed by its name as tapes are: `frame` (from 1), `time_ns` of its receipt, `type`, and
`fields` as the digest hashes them (docs/replay.md); a book's are its header and its `deltas`. Named `.parquet` it is a table with the
same columns, `fields` as JSON text, which needs the library pyarrow. `Comparison` takes events as they come and holds them against a log;
it keeps a few lines before the first difference and reads nothing behind it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, Protocol, Self

import msgspec

from derive_bench.adapter.book import OrderBookDeltas
from derive_bench.replay.compression import Source, encoder
from derive_bench.replay.lines import Lines
from derive_bench.replay.records import TapeError

__all__ = ["Comparison", "Difference", "EventLog", "event_log", "log_lines"]

CONTEXT: Final = 3
_BATCH: Final = 10_000


def _hook(value: Any) -> str | None:
    return str(value) if isinstance(value, Exception) else None


_encode: Final = msgspec.json.Encoder(enc_hook=_hook).encode
_DELTA: Final = ("action", "side", "price_raw", "size_raw", "order_id", "flags")


def fields_of(event: Any) -> Any:
    """Return what is written of an event."""
    if isinstance(event, OrderBookDeltas):
        return {"header": event.header, "deltas": [[getattr(delta, name) for name in _DELTA] for delta in event]}
    return event


def log_lines(frame: int, time_ns: int, events: Sequence[Any]) -> Iterator[bytes]:
    """Yield the line of each event of a frame, without its newline."""
    for event in events:
        yield _encode({"frame": frame, "time_ns": time_ns, "type": type(event).__name__, "fields": fields_of(event)})


class EventLog(Protocol):
    """Where events are written. It writes under a temporary name, which `finish` makes the file's own."""

    def add(self, frame: int, time_ns: int, events: Sequence[Any]) -> None:
        """Write the events of one frame. Raises `TapeError`."""

    def finish(self) -> None:
        """End the file and give it its name."""

    def discard(self) -> None:
        """Remove what was written, if it is not finished."""


def event_log(path: Path) -> EventLog:
    """Return a new log, of the form that its name asks for. Raises `TapeError`."""
    if path.exists():
        raise TapeError(f"{path}: exists already; give another name or remove it")
    return _ParquetLog(path) if path.suffix == ".parquet" else _LineLog(path)


class _LineLog:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._unfinished = path.with_name(f".unfinished.{path.name}")
        self._encoder = encoder(path)
        self._lines: list[bytes] = []
        try:
            self._file: BinaryIO = self._unfinished.open("wb")
        except OSError as error:
            raise TapeError(f"{path}: cannot be made: {error.strerror}") from None

    def add(self, frame: int, time_ns: int, events: Sequence[Any]) -> None:
        self._lines += log_lines(frame, time_ns, events)
        if len(self._lines) >= _BATCH:
            self._write()

    def finish(self) -> None:
        self._write()
        self._put(self._encoder.finish())
        self._file.close()
        self._unfinished.rename(self._path)

    def discard(self) -> None:
        self._file.close()
        self._unfinished.unlink(missing_ok=True)

    def _write(self) -> None:
        if self._lines:
            self._put(self._encoder.compress(b"\n".join(self._lines) + b"\n"))
            self._lines.clear()

    def _put(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise TapeError(f"{self._path}: cannot be written: {error.strerror}") from None


class _ParquetLog:
    def __init__(self, path: Path) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise TapeError(f"{path}: Parquet needs the library pyarrow: pip install 'derive_bench[parquet]'") from None
        self._arrow = pyarrow
        self._path = path
        self._unfinished = path.with_name(f".unfinished.{path.name}")
        self._schema = pyarrow.schema(
            [("frame", pyarrow.int64()), ("time_ns", pyarrow.int64()), ("type", pyarrow.string()), ("fields", pyarrow.string())]
        )
        self._rows: list[dict[str, Any]] = []
        try:
            self._writer = pyarrow.parquet.ParquetWriter(self._unfinished, self._schema, compression="zstd")
        except OSError as error:
            raise TapeError(f"{path}: cannot be made: {error}") from None

    def add(self, frame: int, time_ns: int, events: Sequence[Any]) -> None:
        self._rows += [
            {"frame": frame, "time_ns": time_ns, "type": type(event).__name__, "fields": _encode(fields_of(event)).decode()}
            for event in events
        ]
        if len(self._rows) >= _BATCH:
            self._write()

    def finish(self) -> None:
        self._write()
        self._writer.close()
        self._unfinished.rename(self._path)

    def discard(self) -> None:
        self._writer.close()
        self._unfinished.unlink(missing_ok=True)

    def _write(self) -> None:
        try:
            self._writer.write_table(self._arrow.Table.from_pylist(self._rows, schema=self._schema))
        except OSError as error:
            raise TapeError(f"{self._path}: cannot be written: {error}") from None
        self._rows.clear()


class Difference(msgspec.Struct, frozen=True):
    """Where a replay and a log part. A line is empty where the other side goes on alone."""

    number: int
    before: list[str]
    logged: str
    replayed: str
    fields: list[str]
    """Paths of what differs, such as `$.fields.bid_price_raw`."""


class Comparison:
    """Holds a replay's events against a log of earlier ones."""

    def __init__(self, path: Path) -> None:
        self.difference: Difference | None = None
        self.events = 0
        self._before: deque[str] = deque(maxlen=CONTEXT)
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise TapeError(f"{path}: cannot be read: {error.strerror}") from None
        self._lines = iter(Lines(Source(path, self._file).pieces()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    def add(self, frame: int, time_ns: int, events: Sequence[Any]) -> None:
        """Hold the events of one frame against the log's next lines, unless a difference was found before."""
        if self.difference is None:
            for line in log_lines(frame, time_ns, events):
                self._take(next(self._lines, b""), line)
                if self.difference is not None:
                    return

    def finish(self) -> Difference | None:
        """Return the first difference, once all events were taken: what the log has beyond them is one."""
        if self.difference is None:
            rest = next(self._lines, b"")
            if rest:
                self._take(rest, b"")
        return self.difference

    def _take(self, logged: bytes, replayed: bytes) -> None:
        self.events += 1
        if logged == replayed:
            self._before.append(replayed.decode())
            return
        texts = logged.decode("utf-8", "replace"), replayed.decode("utf-8", "replace")
        self.difference = Difference(self.events, list(self._before), *texts, _differing(*texts))


def _differing(logged: str, replayed: str) -> list[str]:
    try:
        return list(_paths(msgspec.json.decode(logged), msgspec.json.decode(replayed), "$"))
    except msgspec.MsgspecError:
        return []


def _paths(one: Any, other: Any, path: str) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            yield from _paths(one.get(key), other.get(key), f"{path}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, pair in enumerate(zip(one, other, strict=True)):
            yield from _paths(*pair, f"{path}[{place}]")
    elif one != other:
        yield f"{path}: {one!r} in the log, {other!r} now"
