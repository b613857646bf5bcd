"""The reader: any supported file as a stream of records.

Contract: `open_tape(path)` looks at the beginning of a file and returns a `Tape`, which can be iterated any number of times, each
time from the start; memory does not grow with the file. Compression and format are told by content, not by name. Nothing in a
file stops the reading of it: a line that is no record is counted in `faults`; when the file ends before it should, its last whole
record is the last one given, and `truncated` says so. Only a file that cannot be opened, or is none of the known kinds, is a
`TapeError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Final, Literal, cast

import orjson
from msgspec import Struct

from derive_bench.replay.compression import Source
from derive_bench.replay.foreign import ForeignKind, is_whole, line_reader, recognise
from derive_bench.replay.lines import LONGEST, FileLines, Lines
from derive_bench.replay.records import End, Frame, Header, NotARecord, Record, TapeError, decode_record

__all__ = ["Fault", "Tape", "open_tape"]

SHOWN_FAULTS: Final = 10
_BUFFER: Final = 1 << 16
_HEADER_START: Final = b'{"tape":'
_UNFINISHED: Final = "no end line: it was cut off, or is still being written"


class Fault(Struct, frozen=True):
    """A line that is no record. `line` counts from 1."""

    line: int
    reason: str


class Tape:
    """A file of records. What stands below the header is about the iteration that was begun last."""

    def __init__(self, path: Path, kind: Literal["tape"] | ForeignKind, header: Header) -> None:
        self.path = path
        self.kind = kind
        """What the file is: `tape` is our own format."""
        self.header = header
        """The header; that of a foreign file has nothing in it."""
        self.truncated: str | None = None
        """Once the iteration is over: how the file was cut off, None when it is whole."""
        self.faults: list[Fault] = []
        """The first lines that are no records."""
        self.fault_count = 0

    def __iter__(self) -> Iterator[Record]:
        self.truncated, self.faults, self.fault_count = None, [], 0
        return self._own() if self.kind == "tape" else self._foreign(self.kind)

    def _own(self) -> Iterator[Record]:
        with _open(self.path) as file:
            source = Source(self.path, file)
            lines = FileLines(file) if source.is_plain() else Lines(source.pieces())
            found, ended, loads = 0, False, orjson.loads
            for index, line in enumerate(lines, 1):
                try:
                    # The usual record, without `decode_record`'s questions; whatever fails here is asked them.
                    fields = loads(line)
                    time_ns, direction = fields["t"], fields["dir"]
                    frame = Frame(time_ns, fields["frame"].encode(), direction, fields["conn"])
                    usual = (direction == "in" or direction == "out") and type(time_ns) is int and type(frame.connection) is str
                except (ValueError, LookupError, TypeError, AttributeError):
                    usual = False
                if usual:
                    found += 1
                    yield frame
                    continue
                number = lines.whole(line, index)
                if number is None:
                    continue
                try:
                    record = decode_record(line)
                except (NotARecord, TapeError) as error:
                    found += 1
                    self._fault(number, str(error))
                    continue
                ended = isinstance(record, End)
                if isinstance(record, (Header, End)):
                    if isinstance(record, End):
                        self._check_end(record, found, number)
                    found = 0
                    continue
                found += 1
                yield record
            last = self._last(lines.rest)
            if isinstance(last, End):
                ended = True
                self._check_end(last, found, lines.rest_number)
                found = 0
            elif last is not None:
                found += 1
                yield last
            self._end(source, lines, ended and found == 0)

    def _foreign(self, kind: ForeignKind) -> Iterator[Record]:
        with _open(self.path) as file:
            source = Source(self.path, file)
            lines = Lines(source.pieces())
            read = line_reader(kind)
            for line in lines:
                try:
                    record = read(line)
                except NotARecord as error:
                    self._fault(lines.number, str(error))
                    continue
                if record is not None:
                    yield record
            cut = False
            if lines.rest:
                try:
                    record = read(lines.rest)
                except NotARecord:
                    record, cut = None, True
                if isinstance(record, Frame) and is_whole(record.raw):
                    yield record
                else:
                    cut = cut or record is not None
            self._end(source, lines, not cut)

    def _last(self, rest: bytes) -> Record | End | None:
        """Return what stands behind the last newline, None where that is no whole record."""
        if not rest:
            return None
        try:
            record = decode_record(rest)
        except NotARecord:
            self.truncated = "the last line is cut off"
            return None
        return None if isinstance(record, Header) else record

    def _end(self, source: Source, lines: Lines | FileLines, ended: bool) -> None:
        for number in lines.too_long:
            self._fault(number, f"a line of more than {LONGEST:,} bytes")
        if source.damage is not None:
            self.truncated = source.damage
        elif not ended and self.truncated is None:
            self.truncated = _UNFINISHED if self.kind == "tape" else "the last line is cut off"

    def _check_end(self, end: End, found: int, line: int) -> None:
        if end.records != found:
            self._fault(line, f"the end line tells of {end.records:,} records, {found:,} came before it")

    def _fault(self, line: int, reason: str) -> None:
        self.fault_count += 1
        if len(self.faults) < SHOWN_FAULTS:
            self.faults.append(Fault(line, reason))


def open_tape(path: str | Path) -> Tape:
    """Return the tape in a file.

    Raises `TapeError`: it cannot be opened, is of a later format, or is none of the known kinds.
    """
    path = Path(path)
    with _open(path) as file:
        source = Source(path, file)
        lines = Lines(source.pieces())
        first = next((line for line in lines if line.strip()), None)
        if first is None:
            first = lines.rest
    if len(first) < len(_HEADER_START) and _HEADER_START.startswith(first):
        return Tape(path, "tape", Header())
    try:
        record = decode_record(first)
    except NotARecord:
        if first.startswith(_HEADER_START):
            return Tape(path, "tape", Header())
    except TapeError as error:
        raise TapeError(f"{path}: {error}") from None
    else:
        return Tape(path, "tape", record if isinstance(record, Header) else Header())
    kind = recognise(first)
    if kind is None:
        raise TapeError(f"{path}: not a tape: neither ours, Tardis's, hftbacktest's nor frames one a line; it begins with {first[:40]!r}")
    return Tape(path, kind, Header())


def _open(path: Path) -> BufferedReader:
    try:
        return cast(BufferedReader, path.open("rb", buffering=_BUFFER))
    except OSError as error:
        raise TapeError(f"{path}: cannot be read: {error.strerror}") from None
