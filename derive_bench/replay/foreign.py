"""Foreign tapes: files of others' making, line by line into records.

Contract: `recognise` tells by its first line that is not empty which of these a file is; what is in a line behind its time is the
frame, whatever it is. All frames count as received, on connection `1`.

- `tardis`: `<ISO time> <message>`, up to nine digits of a second; an empty line is a disconnect, at the time before it.
- `collector`: `<ns> <message>`, as hftbacktest's collector writes.
- `bare`: messages alone, one a line; they have no time, which is 0 then.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, Literal

from derive_bench.replay.records import Disconnect, Frame, NotARecord, Record

__all__ = ["ForeignKind", "LineReader", "is_whole", "line_reader", "recognise"]

ForeignKind = Literal["tardis", "collector", "bare"]
LineReader = Callable[[bytes], Record | None]
"""Takes a line, returns its record, or None for one that means nothing. Raises `NotARecord`."""

_ISO: Final = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z? (.*)", re.DOTALL).fullmatch
_NS: Final = re.compile(rb"(\d{16,19}) (.*)", re.DOTALL).fullmatch
_MESSAGE_STARTS: Final = (b"{", b"[")
_PLAIN_TEXTS: Final = (b"ping", b"pong")
_SECOND: Final = 1_000_000_000


def recognise(line: bytes) -> ForeignKind | None:
    """Return what kind of file a line stands in, None when it is none of these."""
    if _ISO(line):
        return "tardis"
    if _NS(line):
        return "collector"
    text = line.strip()
    return "bare" if text.startswith(_MESSAGE_STARTS) or text in _PLAIN_TEXTS else None


def line_reader(kind: ForeignKind) -> LineReader:
    """Return the reader of one file's lines; it remembers the time of the line before."""
    if kind == "tardis":
        return _Tardis()
    return _collector if kind == "collector" else _bare


def is_whole(raw: bytes) -> bool:
    """Whether the last message of a file, after which no line ends, can be one that is not cut off."""
    text = raw.strip()
    if text in _PLAIN_TEXTS:
        return True
    import orjson

    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


class _Tardis:
    def __init__(self) -> None:
        self._time_ns = 0
        self._connected = False
        self._second = b""
        self._second_ns = 0

    def __call__(self, line: bytes) -> Record | None:
        if not line.strip():
            was, self._connected = self._connected, False
            return Disconnect(self._time_ns, reason="empty line") if was else None
        match = _ISO(line)
        if match is None:
            raise NotARecord("no ISO time in front")
        second, fraction, raw = match.groups()
        if second != self._second:
            try:
                moment = datetime.fromisoformat(second.decode()).replace(tzinfo=UTC)
            except ValueError as error:
                raise NotARecord(f"no time: {error}") from None
            self._second, self._second_ns = second, int(moment.timestamp()) * _SECOND
        self._time_ns = self._second_ns + (int(fraction.ljust(9, b"0")) if fraction else 0)
        self._connected = True
        return Frame(self._time_ns, raw)


def _collector(line: bytes) -> Record | None:
    if not line.strip():
        return None
    match = _NS(line)
    if match is None:
        raise NotARecord("no ns time in front")
    return Frame(int(match[1]), match[2])


def _bare(line: bytes) -> Record | None:
    return Frame(0, line) if line.strip() else None
