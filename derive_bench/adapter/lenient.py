"""The exact way for payloads whose numbers are bare JSON numbers, and the only place that knows of it.

Contract: `decode_payload(type, data, path)` decodes JSON into a message type of `messages`, typed and in one pass where
every number is a string, as the venue sends them. Where that fails, a twin of the type takes the number fields
as raw JSON, so that a bare `0.1000` becomes the text it was, never a binary float. Whatever is wrong is a `DecodeError`
whose path starts at `path`.

`check_nesting` is to be asked before JSON of more than `LONG` bytes is decoded. The JSON library stops at Python's
recursion limit, but libraries raise that limit for the whole process (py_ecc, which eth-account loads, to 100,000), and
then it is the C stack that ends, and the process with it.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import NODEFAULT, Meta, Raw, Struct

from derive_bench.adapter.errors import DecodeError
from derive_bench.adapter.numbers import MAX_DIGITS, exact

__all__ = ["FAULTS", "LONG", "NumberText", "ShortNumberText", "check_nesting", "decode_payload"]

_T = TypeVar("_T")
_Build = Callable[[Any, str], Any]

NumberText = Annotated[str, Meta(extra={"number": True})]
"""A number as text: a JSON string, or a bare JSON number whose text is kept."""

ShortNumberText = Annotated[str, Meta(max_length=MAX_DIGITS, extra={"number": True})]
"""The same, short enough that its length needs no further check; a longer text is checked whole when it is decoded."""

_NUMBER_TEXTS: Final = (NumberText, ShortNumberText)

FAULTS: Final = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""What the JSON library raises for bad input: malformed, mistyped, not UTF-8, nested too deeply."""


LONG: Final = 16_384
"""JSON of up to this many bytes cannot be nested so deeply that the C stack ends."""
_OPENING_MAX: Final = 1_024
_BRACKETS: Final = b"[]{}"
_NO_BRACKETS: Final = bytes(code for code in range(256) if code not in _BRACKETS)
_PASSES: Final = 64


def check_nesting(data: bytes | Raw, path: str = "$") -> None:
    """Raise `DecodeError` for JSON that is nested far deeper than any message."""
    brackets = bytes(data).translate(None, _NO_BRACKETS)
    if len(brackets) <= _OPENING_MAX:
        return
    for _ in range(_PASSES):
        shorter = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if len(shorter) <= _OPENING_MAX:
            return
        if len(shorter) == len(brackets):
            break
        brackets = shorter
    raise DecodeError("nested too deeply, or with thousands of brackets that do not match", path)


def decode_payload(kind: type[_T], data: bytes | Raw, path: str = "$") -> _T:
    """Decode JSON `data` into `kind`, a message type, a list or a mapping of them."""
    value: _T = _decode(kind, data, path)
    return value


def _decode(kind: Any, data: bytes | Raw, path: str) -> Any:
    if len(memoryview(data)) > LONG:
        check_nesting(data, path)
    try:
        return _strict(kind).decode(data)
    except msgspec.ValidationError:
        twin, build = _twin(kind)
    except FAULTS as error:
        raise DecodeError.from_msgspec(error, path) from None
    try:
        loose = msgspec.json.decode(data, type=twin)
    except FAULTS as error:
        raise DecodeError.from_msgspec(error, path) from None
    return build(loose, path)


@functools.cache
def _strict(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


@functools.cache
def _twin(kind: Any) -> tuple[Any, _Build]:
    """Return the twin of a type annotation, and the function that turns the twin's values into the type's."""
    if kind in _NUMBER_TEXTS:
        return Raw, _number_text
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType) and any(argument in _NUMBER_TEXTS for argument in arguments):
        return Raw, _optional(_number_text)
    if origin in (typing.Union, types.UnionType):
        inner = [argument for argument in arguments if isinstance(argument, type) and issubclass(argument, Struct)]
        if len(inner) == 1 and len(arguments) == 2:
            twin, build = _twin(inner[0])
            return twin | None, _optional(build)
    if origin is list:
        twin, build = _twin(arguments[0])
        return list[twin], _each(build)  # type: ignore[valid-type]
    if origin is dict:
        twin, build = _twin(arguments[1])
        return dict[str, twin], _each_value(build)  # type: ignore[valid-type]
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _struct_twin(kind)
    return kind, _as_it_is


def _struct_twin(kind: type[Struct]) -> tuple[Any, _Build]:
    fields: list[tuple[str, Any, Any]] = []
    builders: dict[str, _Build] = {}
    for field in msgspec.structs.fields(kind):
        twin, builders[field.name] = _twin(field.type)
        default = field.default
        if twin is Raw and default is None:
            default = Raw(b"null")
        fields.append((field.name, twin, msgspec.field(name=field.encode_name, default=default)))
    fields.sort(key=lambda entry: entry[2].default is not NODEFAULT)
    loose = msgspec.defstruct(f"Loose{kind.__name__}", fields)

    def build(value: Any, path: str) -> Any:
        return kind(**{name: make(getattr(value, name), f"{path}.{name}") for name, make in builders.items()})

    return loose, build


def _number_text(raw: Raw, path: str) -> str:
    text = bytes(raw).decode()
    if text.startswith('"'):
        text = msgspec.json.decode(text, type=str)
        if len(text) > MAX_DIGITS:
            exact(text, path)
        return text
    if text in ("null", "true", "false") or text[:1] in ("{", "["):
        raise DecodeError("Expected a number or its text", path)
    exact(text, path)
    return text


def _optional(build: _Build) -> _Build:
    def optional(value: Any, path: str) -> Any:
        return None if value is None or (isinstance(value, Raw) and bytes(value) == b"null") else build(value, path)

    return optional


def _each(build: _Build) -> _Build:
    return lambda values, path: [build(value, f"{path}[{index}]") for index, value in enumerate(values)]


def _each_value(build: _Build) -> _Build:
    return lambda values, path: {key: build(value, f"{path}.{key}") for key, value in values.items()}


def _as_it_is(value: Any, _path: str) -> Any:
    return value
