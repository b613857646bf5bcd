"""Codecs: one array of doubles, and one batch of decoded quotes, through what people send such things with.

Contract: `ARRAY_CODECS[name]` and `EVENT_CODECS[name]` are `Codec`s: `encode(value)` gives the bytes that would go over the wire,
`decode(bytes)` what the receiver works with, `same(value, decoded)` whether nothing was lost. `holds` says what the receiver has in its
hands, since an array of records is not a list of objects. A library that is an extra raises `Missing` when its codec is asked for.

Every codec is the way its users write it: packed where the format has a packed form, encoders and decoders made once.
"""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import orjson

from derive_bench.adapter.model import QuoteTick
from derive_bench.boundary.frames import Bytes
from derive_bench.boundary.session import Missing

__all__ = ["ARRAY_CODECS", "EVENT_CODECS", "RECORD", "Codec", "Doubles"]

Doubles = npt.NDArray[np.float64]
Quotes = Sequence[QuoteTick]

FIELDS: Final = QuoteTick.__struct_fields__
RECORD: Final = np.dtype([(name, "S24" if name == "instrument_id" else "u1" if name.endswith("precision") else "<i8") for name in FIELDS])
"""A quote as a packed record of 74 bytes: the instrument id in 24 bytes, precisions in one each, everything else in eight."""


@dataclass(frozen=True)
class Codec:
    """One way to make bytes of a value and a value of bytes.

    Attributes:
        holds: what the receiver has.
        prepare: makes (encode, decode, same); imports what it needs. Raises `Missing`.
    """

    name: str
    holds: str
    prepare: Callable[[], tuple[Callable[[Any], Bytes], Callable[[Bytes], Any], Callable[[Any, Any], bool]]]


Made = tuple[Callable[[Any], Bytes], Callable[[Bytes], Any], Callable[[Any, Any], bool]]


def _equal(value: Doubles, decoded: Any) -> bool:
    return bool(np.array_equal(value, decoded))


def _array_raw() -> Made:
    return (lambda value: value.tobytes()), (lambda data: np.frombuffer(data, "<f8")), _equal


def _array_struct() -> Made:
    def encode(value: Doubles) -> bytes:
        return struct.pack(f"<{len(value)}d", *value.tolist())

    def decode(data: Bytes) -> Doubles:
        return np.array(struct.unpack(f"<{len(data) // 8}d", data))

    return encode, decode, _equal


def _array_pickle() -> Made:
    # Out of band the buffers follow the pickle, with their length in front of them.
    def encode(value: Doubles) -> bytes:
        buffers: list[pickle.PickleBuffer] = []
        head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        return b"".join([len(head).to_bytes(8, "little"), head, *(buffer.raw() for buffer in buffers)])

    def decode(data: Bytes) -> Doubles:
        view = memoryview(data)
        start = 8 + int.from_bytes(view[:8], "little")
        # Both sides are ours: a pickle from elsewhere could run anything.
        found: Doubles = pickle.loads(view[8:start], buffers=[view[start:]])
        return found

    return encode, decode, _equal


def _array_msgpack() -> Made:
    encoder, decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(list[float])
    return (lambda value: encoder.encode(value.tolist())), (lambda data: np.array(decoder.decode(data))), _equal


def _array_arrow() -> Made:
    arrow = _arrow()

    def encode(value: Doubles) -> Bytes:
        return _stream_of(arrow, arrow.record_batch([arrow.array(value)], names=["v"]))

    def decode(data: Bytes) -> Any:
        return arrow.ipc.open_stream(data).read_next_batch().column(0).to_numpy()

    return encode, decode, _equal


def _array_orjson() -> Made:
    return (lambda value: orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)), (lambda data: np.array(orjson.loads(data))), _equal


def _array_json() -> Made:
    return (lambda value: json.dumps(value.tolist()).encode()), (lambda data: np.array(json.loads(bytes(data)))), _equal


def _array_protobuf() -> Made:
    kind = _messages()["Doubles"]

    def encode(value: Doubles) -> bytes:
        encoded: bytes = kind(v=value.tolist()).SerializeToString()
        return encoded

    return encode, (lambda data: np.array(kind.FromString(bytes(data)).v)), _equal


def _quote_row(quote: QuoteTick) -> tuple[Any, ...]:
    return (
        quote.instrument_id.encode(),
        quote.bid_price_raw,
        quote.ask_price_raw,
        quote.bid_size_raw,
        quote.ask_size_raw,
        quote.price_precision,
        quote.size_precision,
        quote.ts_event,
        quote.ts_init,
    )


def _rows_equal(quotes: Quotes, decoded: Any) -> bool:
    return bool([_quote_row(quote) for quote in quotes] == decoded.tolist())


def _objects_equal(quotes: Quotes, decoded: Any) -> bool:
    return bool(list(quotes) == decoded)


def _events_raw() -> Made:
    def encode(quotes: Quotes) -> bytes:
        return np.array([_quote_row(quote) for quote in quotes], dtype=RECORD).tobytes()

    return encode, (lambda data: np.frombuffer(data, RECORD)), _rows_equal


def _events_struct() -> Made:
    layout = struct.Struct("<24sqqqqBBqq")

    def encode(quotes: Quotes) -> bytes:
        return b"".join([layout.pack(*_quote_row(quote)) for quote in quotes])

    def decode(data: Bytes) -> list[QuoteTick]:
        return [QuoteTick(name.rstrip(b"\0").decode(), *rest) for name, *rest in layout.iter_unpack(data)]

    return encode, decode, _objects_equal


def _events_pickle() -> Made:
    # There are no buffers in a list of objects, so out of band makes no difference.
    return (lambda quotes: pickle.dumps(quotes, protocol=5)), (lambda data: pickle.loads(data)), _objects_equal


def _events_msgpack() -> Made:
    encoder, decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(list[QuoteTick])
    return encoder.encode, decoder.decode, _objects_equal


def _events_msgspec_json() -> Made:
    encoder, decoder = msgspec.json.Encoder(), msgspec.json.Decoder(list[QuoteTick])
    return encoder.encode, decoder.decode, _objects_equal


def _events_arrow() -> Made:
    arrow = _arrow()
    kinds = [
        arrow.string() if name == "instrument_id" else arrow.uint8() if name.endswith("precision") else arrow.int64() for name in FIELDS
    ]
    schema = arrow.schema(list(zip(FIELDS, kinds, strict=True)))

    def encode(quotes: Quotes) -> Bytes:
        columns = [arrow.array([getattr(quote, name) for quote in quotes], kind) for name, kind in zip(FIELDS, kinds, strict=True)]
        return _stream_of(arrow, arrow.record_batch(columns, schema=schema))

    def same(quotes: Quotes, decoded: Any) -> bool:
        return bool(msgspec.to_builtins(list(quotes)) == decoded.to_pylist())

    return encode, (lambda data: arrow.ipc.open_stream(data).read_next_batch()), same


def _events_orjson() -> Made:
    def encode(quotes: Quotes) -> bytes:
        return orjson.dumps(msgspec.to_builtins(quotes))

    return encode, (lambda data: msgspec.convert(orjson.loads(data), list[QuoteTick])), _objects_equal


def _events_json() -> Made:
    def encode(quotes: Quotes) -> bytes:
        return json.dumps(msgspec.to_builtins(quotes)).encode()

    return encode, (lambda data: msgspec.convert(json.loads(bytes(data)), list[QuoteTick])), _objects_equal


def _events_protobuf() -> Made:
    batch, one = _messages()["Quotes"], _messages()["Quote"]

    def encode(quotes: Quotes) -> bytes:
        made = batch(quotes=[one(**{name: getattr(quote, name) for name in FIELDS}) for quote in quotes])
        encoded: bytes = made.SerializeToString()
        return encoded

    def same(quotes: Quotes, decoded: Any) -> bool:
        return list(quotes) == [QuoteTick(*(getattr(each, name) for name in FIELDS)) for each in decoded.quotes]

    return encode, (lambda data: batch.FromString(bytes(data))), same


@cache
def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError as error:
        raise Missing("Arrow is not installed: pip install 'derive_bench[codecs]'") from error
    return pyarrow


def _stream_of(arrow: Any, batch: Any) -> Bytes:
    sink = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return memoryview(sink.getvalue())


@cache
def _messages() -> dict[str, Any]:
    """Message classes from a schema built here: protobuf's compiler is not needed."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as error:
        raise Missing("protobuf is not installed: pip install 'derive_bench[codecs]'") from error
    described = descriptor_pb2.FileDescriptorProto(name="boundary.proto", package="boundary", syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto
    doubles = described.message_type.add(name="Doubles")
    doubles.field.add(name="v", number=1, type=kinds.TYPE_DOUBLE, label=kinds.LABEL_REPEATED)
    quote = described.message_type.add(name="Quote")
    for number, name in enumerate(FIELDS, 1):
        kind = kinds.TYPE_STRING if name == "instrument_id" else kinds.TYPE_INT64
        quote.field.add(name=name, number=number, type=kind, label=kinds.LABEL_OPTIONAL)
    quotes = described.message_type.add(name="Quotes")
    quotes.field.add(name="quotes", number=1, type=kinds.TYPE_MESSAGE, type_name=".boundary.Quote", label=kinds.LABEL_REPEATED)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(described)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"boundary.{name}")) for name in ("Doubles", "Quote", "Quotes")
    }


ARRAY_CODECS: Final = {
    codec.name: codec
    for codec in (
        Codec("raw", "an array over the bytes", _array_raw),
        Codec("struct", "an array", _array_struct),
        Codec("pickle5", "an array over the bytes", _array_pickle),
        Codec("msgpack", "an array", _array_msgpack),
        Codec("arrow", "an array over the bytes", _array_arrow),
        Codec("orjson", "an array", _array_orjson),
        Codec("json", "an array", _array_json),
        Codec("protobuf", "an array", _array_protobuf),
    )
}

EVENT_CODECS: Final = {
    codec.name: codec
    for codec in (
        Codec("raw", "an array of records over the bytes", _events_raw),
        Codec("struct", "objects", _events_struct),
        Codec("pickle5", "objects", _events_pickle),
        Codec("msgpack", "objects", _events_msgpack),
        Codec("arrow", "columns over the bytes", _events_arrow),
        Codec("msgspec_json", "objects", _events_msgspec_json),
        Codec("orjson", "objects", _events_orjson),
        Codec("json", "objects", _events_json),
        Codec("protobuf", "messages", _events_protobuf),
    )
}
