"""Codecs: what goes in comes out, for any values, and a codec that loses something is noticed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive_bench.adapter.model import QuoteTick
from derive_bench.boundary import codecs
from derive_bench.boundary.codecs import ARRAY_CODECS, EVENT_CODECS, RECORD
from derive_bench.boundary.session import Missing

INT64 = st.integers(-(2**63), 2**63 - 1)
QUOTES = st.builds(
    QuoteTick,
    st.text("ABCXYZ-.0123456789", min_size=1, max_size=24),
    *[INT64] * 4,
    st.integers(0, 255),
    st.integers(0, 255),
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**63 - 1),
)


@pytest.mark.parametrize("name", ARRAY_CODECS)
@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=50))
def test_an_array_comes_back(name: str, values: list[float]) -> None:
    encode, decode, same = ARRAY_CODECS[name].prepare()
    value = np.array(values, dtype=float)
    decoded = decode(memoryview(encode(value)))
    assert same(value, decoded)
    assert decoded.dtype == np.float64


@pytest.mark.parametrize("name", EVENT_CODECS)
@settings(max_examples=20, deadline=None)
@given(st.lists(QUOTES, min_size=1, max_size=8))
def test_quotes_come_back(name: str, quotes: list[QuoteTick]) -> None:
    encode, decode, same = EVENT_CODECS[name].prepare()
    assert same(quotes, decode(memoryview(encode(quotes))))


@pytest.mark.parametrize("name", EVENT_CODECS)
def test_a_lost_digit_is_noticed(name: str) -> None:
    encode, decode, same = EVENT_CODECS[name].prepare()
    one, other = (QuoteTick("ETH-PERP.DERIVE", raw, 2, 3, 4, 2, 3, 5, 6) for raw in (1, 10))
    assert not same([one], decode(encode([other])))


@pytest.mark.parametrize("name", ARRAY_CODECS)
def test_a_lost_bit_is_noticed(name: str) -> None:
    encode, decode, same = ARRAY_CODECS[name].prepare()
    assert not same(np.array([1.0]), decode(encode(np.array([math.nextafter(1.0, 2.0)]))))


def test_a_record_is_as_long_as_it_says() -> None:
    assert RECORD.itemsize == 74


@pytest.mark.parametrize(("codec", "library"), [("arrow", "pyarrow"), ("protobuf", "google.protobuf")])
def test_a_library_that_is_missing_is_named(codec: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    codecs._arrow.cache_clear()
    codecs._messages.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, library, None)
    for codec_of in (ARRAY_CODECS, EVENT_CODECS):
        with pytest.raises(Missing, match=r"pip install 'derive_bench\[codecs\]'"):
            codec_of[codec].prepare()
