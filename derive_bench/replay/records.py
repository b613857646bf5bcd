"""Records: what stands on a tape, and how each is written as one line of JSON.

Contract: a tape is a `Header`, then `Frame`, `Connect` and `Disconnect` records in the order they happened, then an end line
with their number, which a tape that was cut off has not. `encode_*` give the line of each, newline included; `decode_record` is
the way back and `decode(encode(record)) == record` for every record. Times are integer ns since the epoch. A frame is kept byte
for byte: as text where it is a text message in UTF-8, else as base64. The schema is in docs/capture-format.md.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any, Final, Literal

import msgspec
import orjson
from msgspec import Struct

from derive_bench.adapter.errors import DeriveBenchError

__all__ = [
    "FORMAT",
    "Connect",
    "Direction",
    "Disconnect",
    "End",
    "Frame",
    "Header",
    "NotARecord",
    "Record",
    "TapeError",
    "decode_record",
    "encode_end",
    "encode_header",
    "encode_record",
]

FORMAT: Final = 1
"""Version of the format; a reader refuses a later one."""

Direction = Literal["in", "out"]
"""`in`: the venue sent it; `out`: we did."""


class TapeError(DeriveBenchError):
    """A tape cannot be opened, read as what it is, or written; the message names the file, what is wrong and what to do."""


class NotARecord(DeriveBenchError, ValueError):
    """A line that is no record; the message says why."""


class Frame(Struct, gc=False, frozen=True):
    """One WebSocket message. `binary`: it came as a binary message, or is not UTF-8."""

    time_ns: int
    raw: bytes
    direction: Direction = "in"
    connection: str = "1"
    binary: bool = False


class Connect(Struct, frozen=True):
    """A connection was made; `url` is empty where it is not known."""

    time_ns: int
    connection: str = "1"
    url: str = ""


class Disconnect(Struct, frozen=True):
    """A connection ended."""

    time_ns: int
    connection: str = "1"
    reason: str = ""


Record = Frame | Connect | Disconnect


class Header(Struct, kw_only=True):
    """The first line. `protocol` is a name of `adapter.protocol.PROTOCOLS`, None where a foreign file does not tell.

    `instruments` are the venue's own records (`public/get_instrument`), with tick and lot sizes; empty where not known.
    `info` is free: what made the tape says there how.
    """

    protocol: str | None = None
    start_ns: int = 0
    tool: str = ""
    instruments: list[dict[str, Any]] = []
    info: dict[str, Any] = {}
    format: int = FORMAT


class End(Struct, frozen=True):
    """The last line: how many records came before it."""

    records: int


class _HeaderLine(Struct):
    tape: int
    protocol: str | None = None
    start: int = 0
    tool: str = ""
    instruments: list[dict[str, Any]] = []
    info: dict[str, Any] = {}


def encode_header(header: Header) -> bytes:
    """Return a header's line."""
    line = {
        "tape": header.format,
        "protocol": header.protocol,
        "start": header.start_ns,
        "tool": header.tool,
        "instruments": header.instruments,
        "info": header.info,
    }
    return msgspec.json.encode(line) + b"\n"


def encode_record(record: Record) -> bytes:
    """Return a record's line. Raises `TapeError` for a text that is not Unicode or a time that does not fit 64 bits."""
    if isinstance(record, Frame):
        line: dict[str, Any] = {"t": record.time_ns, "dir": record.direction, "conn": record.connection}
        try:
            line["frame"] = str(record.raw, "ascii" if record.raw.isascii() else "utf-8")
        except UnicodeDecodeError:
            line["base64"] = b64encode(record.raw).decode("ascii")
        if record.binary and "frame" in line:
            line["base64"] = b64encode(line.pop("frame").encode()).decode("ascii")
    elif isinstance(record, Connect):
        line = {"t": record.time_ns, "conn": record.connection, "connect": record.url}
    else:
        line = {"t": record.time_ns, "conn": record.connection, "disconnect": record.reason}
    try:
        return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError as error:
        raise TapeError(f"cannot be written as a record: {error}") from None


def encode_end(records: int) -> bytes:
    """Return the line that ends a tape of so many records."""
    return b'{"end":%d}\n' % records


def decode_record(line: bytes) -> Record | Header | End:
    """Return what a line holds. Raises `NotARecord`."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise NotARecord(f"not JSON: {error}") from None
    if type(fields) is not dict:
        raise NotARecord(f"a JSON {type(fields).__name__} instead of an object")
    if "tape" in fields:
        return _header(line)
    if "end" in fields:
        if type(fields["end"]) is not int:
            raise NotARecord("`end` is not a number of records")
        return End(fields["end"])
    time_ns, connection = fields.get("t"), fields.get("conn")
    if type(time_ns) is not int or type(connection) is not str:
        raise NotARecord("`t` must be integer ns and `conn` a text")
    if "frame" in fields or "base64" in fields:
        return _frame(fields, time_ns, connection)
    for key, kind in (("connect", Connect), ("disconnect", Disconnect)):
        if key in fields:
            if type(fields[key]) is not str:
                raise NotARecord(f"`{key}` is not a text")
            return kind(time_ns, connection, fields[key])
    raise NotARecord("neither a frame, a connect nor a disconnect")


def _frame(fields: dict[str, Any], time_ns: int, connection: str) -> Frame:
    direction = fields.get("dir")
    if direction not in ("in", "out"):
        raise NotARecord("`dir` is neither `in` nor `out`")
    binary = "base64" in fields
    text = fields["base64" if binary else "frame"]
    if type(text) is not str:
        raise NotARecord("the frame is not a text")
    try:
        raw = b64decode(text, validate=True) if binary else text.encode()
    except ValueError as error:
        raise NotARecord(f"`base64`: {error}") from None
    return Frame(time_ns, raw, direction, connection, binary)


def _header(line: bytes) -> Header:
    try:
        fields = msgspec.json.decode(line, type=_HeaderLine)
    except msgspec.MsgspecError as error:
        raise NotARecord(f"a header that cannot be read: {error}") from None
    if fields.tape > FORMAT:
        raise TapeError(f"format {fields.tape} is later than {FORMAT}, the last one known here; update derive_bench")
    return Header(
        protocol=fields.protocol,
        start_ns=fields.start,
        tool=fields.tool,
        instruments=fields.instruments,
        info=fields.info,
        format=fields.tape,
    )
