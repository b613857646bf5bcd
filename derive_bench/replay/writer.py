"""The writer: records onto a new tape, so that what was flushed survives whatever happens next.

Contract: the file is new (an existing one is refused) and only ever appended to. `write` may keep records in memory; `flush`
hands everything over to the system, and to the disk if asked, after which a reader finds it, in a compressed file too: a process
that dies loses what came after its last `flush`, whose rhythm is the caller's. `close` adds the end line. A full disk, or any other
fault of the file's, is a `TapeError` that names it; the file stays readable up to its last whole record, and the writer takes
nothing more.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from derive_bench.replay.compression import encoder
from derive_bench.replay.records import Header, Record, TapeError, encode_end, encode_header, encode_record

__all__ = ["TapeWriter"]

_BATCH: Final = 1 << 16
"""Bytes of lines gathered before they are compressed and written."""


class TapeWriter:
    """Writes one tape. `.gz` and `.zst` in the name compress it."""

    def __init__(self, path: str | Path, header: Header) -> None:
        self.path = Path(path)
        self.records = 0
        """Records given so far."""
        self.size = 0
        """Bytes of the file so far, without what is not yet flushed."""
        self._encoder = encoder(self.path)
        self._lines: list[bytes] = []
        self._waiting = 0
        self._failed = False
        self._file: int | None = _make(self.path)
        self._add(encode_header(header))
        self.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def write(self, record: Record) -> None:
        """Add a record. Raises `TapeError`; the record may be lost then, earlier flushed ones are not."""
        self._add(encode_record(record))
        self.records += 1

    def flush(self, *, sync: bool = False) -> None:
        """Hand everything over to the system, and with `sync` wait until the disk has it."""
        self._compress()
        self._put(self._encoder.flush())
        if sync and self._file is not None:
            try:
                os.fsync(self._file)
            except OSError as error:
                self._fail(error)

    def begin_again(self, header: Header, records: Iterable[Record]) -> None:
        """Put a tape of this header and these records in the place of what was written so far, in one step, and go on with it.

        A reader of this moment, and one after a crash in it, has either the whole old tape or the whole new one.
        Raises `TapeError`; the old tape stays, and nothing more can be written.
        """
        beginning = self.path.with_name(f".{os.getpid()}-{self.path.name}")
        try:
            fresh = TapeWriter(beginning, header)
            try:
                for record in records:
                    fresh.write(record)
                fresh.flush(sync=True)
                beginning.rename(self.path)
            except BaseException:
                fresh.abandon()
                beginning.unlink(missing_ok=True)
                raise
        except TapeError as error:
            self._failed = True
            raise TapeError(f"{self.path}: cannot be begun again: {error}") from None
        except OSError as error:
            self._fail(error)
        self.abandon()
        self._encoder, self._file = fresh._encoder, fresh._file
        self.records, self.size = fresh.records, fresh.size
        self._lines.clear()
        self._waiting = 0

    def close(self) -> None:
        """Write the end line and close the file; a second call does nothing. A file that failed is just closed."""
        if self._file is None:
            return
        try:
            if not self._failed:
                self._add(encode_end(self.records))
                self._compress()
                self._put(self._encoder.finish())
        finally:
            file, self._file = self._file, None
            os.close(file)

    def abandon(self) -> None:
        """Close the file without an end line, as a process that dies would leave it."""
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)

    def _add(self, line: bytes) -> None:
        if self._file is None or self._failed:
            raise TapeError(f"{self.path}: is closed{' after a failure' if self._failed else ''}; nothing more can be written")
        self._lines.append(line)
        self._waiting += len(line)
        if self._waiting >= _BATCH:
            self._compress()

    def _compress(self) -> None:
        if self._lines:
            data = b"".join(self._lines)
            self._lines.clear()
            self._waiting = 0
            self._put(self._encoder.compress(data))

    def _put(self, data: bytes) -> None:
        if self._file is None or self._failed:
            return
        try:
            while data:
                written = os.write(self._file, data)
                self.size += written
                data = data[written:]
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self._failed = True
        raise TapeError(
            f"{self.path}: cannot be written: {error.strerror} after {self.size:,} bytes; what was written before is readable"
        ) from None


def _make(path: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o644)
    except FileExistsError:
        raise TapeError(f"{path}: exists already; give another name or remove it") from None
    except OSError as error:
        raise TapeError(f"{path}: cannot be made: {error.strerror}") from None
