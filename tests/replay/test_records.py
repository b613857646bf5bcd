"""Records: every frame comes back byte for byte, every line fits the published schema, and what is no record is said to be none."""

from __future__ import annotations

import json

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive_bench.measure.trees import PACKAGE_PARENT
from derive_bench.replay.records import (
    FORMAT,
    Connect,
    Disconnect,
    End,
    Frame,
    Header,
    NotARecord,
    Record,
    TapeError,
    decode_record,
    encode_end,
    encode_header,
    encode_record,
)

TIMES = st.integers(0, 2**63 - 1)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
FRAMES = st.builds(
    Frame, TIMES, st.one_of(st.binary(max_size=200), TEXTS.map(str.encode)), st.sampled_from(["in", "out"]), TEXTS, st.booleans()
)
RECORDS = st.one_of(FRAMES, st.builds(Connect, TIMES, TEXTS, TEXTS), st.builds(Disconnect, TIMES, TEXTS, TEXTS))


PAGE = (PACKAGE_PARENT / "docs" / "capture-format.md").read_text(encoding="utf-8")
SCHEMA = jsonschema.Draft202012Validator(json.loads(PAGE.partition("```json\n")[2].partition("```")[0]))


def is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(RECORDS)
def test_a_record_comes_back_as_it_was(record: Record) -> None:
    line = encode_record(record)
    assert line.count(b"\n") == 1
    again = decode_record(line)
    if isinstance(record, Frame) and not is_text(record.raw):
        record = Frame(record.time_ns, record.raw, record.direction, record.connection, binary=True)
    assert again == record


@given(st.lists(RECORDS, max_size=3))
@settings(max_examples=50)
def test_every_line_fits_the_published_schema(records: list[Record]) -> None:
    header = Header(protocol="v3", start_ns=1, tool="t", instruments=[{"instrument_name": "ETH-PERP"}], info={"a": 1})
    lines = [encode_header(header), *map(encode_record, records), encode_end(len(records))]
    for line in lines:
        SCHEMA.validate(json.loads(line))


@pytest.mark.parametrize("line", ['{"t":1}', '{"tape":"x"}', "[]", '{"t":1.5,"dir":"in","conn":"1","frame":"x"}', '{"end":-1}'])
def test_the_schema_refuses_what_is_no_record(line: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        SCHEMA.validate(json.loads(line))


def test_header_and_end_come_back() -> None:
    header = Header(protocol="v2", start_ns=7, tool="x 1", instruments=[{"a": "b"}], info={"k": [1]})
    assert decode_record(encode_header(header)) == header
    assert decode_record(encode_end(12)) == End(12)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"nonsense",
        b"[1]",
        b"{}",
        b'{"t":1,"conn":"1"}',
        b'{"t":"1","conn":"1","dir":"in","frame":"x"}',
        b'{"t":1.0,"conn":"1","dir":"in","frame":"x"}',
        b'{"t":true,"conn":"1","dir":"in","frame":"x"}',
        b'{"t":1,"conn":1,"dir":"in","frame":"x"}',
        b'{"t":1,"conn":"1","dir":"up","frame":"x"}',
        b'{"t":1,"conn":"1","dir":"in","frame":{}}',
        b'{"t":1,"conn":"1","dir":"in","base64":"***"}',
        b'{"t":1,"conn":"1","connect":3}',
        b'{"end":"x"}',
        b'{"tape":"x"}',
    ],
)
def test_what_is_no_record_is_said_to_be_none(line: bytes) -> None:
    with pytest.raises(NotARecord):
        decode_record(line)


def test_a_later_format_is_refused() -> None:
    with pytest.raises(TapeError, match="update derive_bench"):
        decode_record(b'{"tape":%d}' % (FORMAT + 1))


def test_a_time_that_does_not_fit_cannot_be_written() -> None:
    with pytest.raises(TapeError, match="cannot be written"):
        encode_record(Frame(1 << 70, b""))
