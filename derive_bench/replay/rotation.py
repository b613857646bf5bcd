"""Rotation: one recording over several tapes, each a whole one.

Contract: `RotatingWriter` writes as `TapeWriter` does. When the tape at hand is as large or as old as asked for, it is ended
and the next one begins with the same header and a `Connect` for each connection that is open, so that every tape can be read
alone; each record is on exactly one of them. Names are numbered: `day.jsonl.gz` becomes `day-0001.jsonl.gz`, `day-0002.jsonl.gz`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from derive_bench.replay.records import Connect, Disconnect, Header, Record
from derive_bench.replay.writer import TapeWriter

__all__ = ["RotatingWriter", "numbered"]


def numbered(path: Path, number: int) -> Path:
    """Return the name of one tape of a rotated recording; its endings stay in place."""
    stem, dot, endings = path.name.partition(".") if not path.name.startswith(".") else (path.name, "", "")
    return path.with_name(f"{stem}-{number:04}{dot}{endings}")


class RotatingWriter:
    """A `TapeWriter` over numbered files. `max_bytes` is checked against flushed bytes, `max_ns` against the records' times."""

    def __init__(self, path: str | Path, header: Header, *, max_bytes: int | None = None, max_ns: int | None = None) -> None:
        self.header = header
        self.paths: list[Path] = []
        """The tapes so far, the one at hand last."""
        self._path = Path(path)
        self._max_bytes = max_bytes
        self._max_ns = max_ns
        self._earlier = 0
        self._began_ns = header.start_ns
        self._open: dict[str, Connect] = {}
        self._tape = self._next()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The tape at hand."""
        return self._tape.path

    @property
    def size(self) -> int:
        """Bytes of all tapes so far, without what is not yet flushed."""
        return self._earlier + self._tape.size

    def write(self, record: Record) -> None:
        """Add a record, on the next tape if it is due. Raises `TapeError`."""
        if self._is_due(record.time_ns):
            self._tape.close()
            self._earlier += self._tape.size
            self._began_ns = record.time_ns
            self._tape = self._next()
            for connect in self._open.values():
                self._tape.write(msgspec.structs.replace(connect, time_ns=record.time_ns))
        if isinstance(record, Connect):
            self._open[record.connection] = record
        elif isinstance(record, Disconnect):
            self._open.pop(record.connection, None)
        self._tape.write(record)

    def flush(self, *, sync: bool = False) -> None:
        """As `TapeWriter.flush`."""
        self._tape.flush(sync=sync)

    def begin_again(self, header: Header, records: Iterable[Record]) -> None:
        """As `TapeWriter.begin_again`, while the first tape is at hand; later on only the tapes to come get the header."""
        self.header = header
        if len(self.paths) == 1:
            self._tape.begin_again(header, records)

    def close(self) -> None:
        """End the tape at hand."""
        self._tape.close()

    def _is_due(self, time_ns: int) -> bool:
        too_large = self._max_bytes is not None and self._tape.size >= self._max_bytes
        return too_large or (self._max_ns is not None and time_ns - self._began_ns >= self._max_ns)

    def _next(self) -> TapeWriter:
        path = numbered(self._path, len(self.paths) + 1)
        tape = TapeWriter(path, msgspec.structs.replace(self.header, start_ns=self._began_ns))
        self.paths.append(path)
        return tape
