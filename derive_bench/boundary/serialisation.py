"""The serialisation tax: encoding and decoding, each codec on the same array and the same quotes.

Contract: `encoding` and `decoding` open a `Timed` for one codec and one value; nothing is timed that does not come back as it was.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from derive_bench.boundary.architectures import Opening
from derive_bench.boundary.codecs import Codec, Doubles
from derive_bench.boundary.feeder import Adapter
from derive_bench.boundary.session import Timed
from derive_bench.boundary.wall import DeriveLoad

__all__ = ["decoding", "doubles", "encoding", "quotes"]

Value = Callable[[], Any]


@cache
def doubles(count: int) -> Doubles:
    """Doubles with all their digits, since text is as long as its digits."""
    return np.random.default_rng(count).standard_normal(count)


def quotes(load: DeriveLoad, count: int) -> Value:
    """Decoded quotes, made once and when asked for."""

    @cache
    def made() -> Any:
        adapter = Adapter(load.setup())
        return adapter.quotes(adapter.next_frames(count))

    return made


def encoding(codec: Codec, value: Value) -> Opening:
    """A value to bytes."""

    @contextlib.contextmanager
    def opened() -> Iterator[Timed]:
        encode, decode, same = codec.prepare()
        given = value()
        yield Timed(lambda: encode(given), lambda data: _wrong(same(given, decode(data))), size=len(encode(given)))

    return opened


def decoding(codec: Codec, value: Value) -> Opening:
    """Bytes to what the receiver works with."""

    @contextlib.contextmanager
    def opened() -> Iterator[Timed]:
        encode, decode, same = codec.prepare()
        given = value()
        data = encode(given)
        yield Timed(lambda: decode(data), lambda found: _wrong(same(given, found)), size=len(data))

    return opened


def _wrong(same: bool) -> str:
    return "" if same else "what comes back is not what was sent"
