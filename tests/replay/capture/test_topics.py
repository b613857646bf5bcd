"""Topics: what is told by a frame's beginning is what decoding says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derive_bench.adapter import Subscription, decode
from derive_bench.replay.capture.topics import topic_of

SPOT = {"timestamp": 1, "feeds": {}}
NAMES = st.one_of(
    st.sampled_from(["spot_feed.ETH", "spot_feed.É", 'spot_feed."', "spot_feed.\\", ""]),
    st.text(min_size=0, max_size=8).map("spot_feed.".__add__),
)


def frame(topic: str, *, jsonrpc: bool, tight: bool = True, ascii_only: bool = False, swapped: bool = False) -> bytes:
    params: dict[str, Any] = {"data": SPOT, "channel": topic} if swapped else {"channel": topic, "data": SPOT}
    message = ({"jsonrpc": "2.0"} if jsonrpc else {}) | {"method": "subscription", "params": params}
    return json.dumps(message, separators=(",", ":") if tight else None, ensure_ascii=ascii_only).encode(errors="replace")


@given(NAMES, st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_a_topic_is_the_decoded_one_or_not_told(topic: str, jsonrpc: bool, tight: bool, ascii_only: bool, swapped: bool) -> None:
    raw = frame(topic, jsonrpc=jsonrpc, tight=tight, ascii_only=ascii_only, swapped=swapped)
    told = topic_of(raw)
    if told is None:
        return
    message = decode(raw)
    assert isinstance(message, Subscription)
    assert message.topic == told


@pytest.mark.parametrize("jsonrpc", [False, True])
def test_the_documented_form_is_told(jsonrpc: bool) -> None:
    assert topic_of(frame("orderbook.ETH-PERP.1.10", jsonrpc=jsonrpc)) == "orderbook.ETH-PERP.1.10"


@given(st.binary(max_size=40), st.integers(0, 60))
def test_other_frames_are_not_told(junk: bytes, length: int) -> None:
    whole = frame("orderbook.ETH-PERP.1.10", jsonrpc=False)
    for raw in (junk, whole[:length], whole + b" ", b'{"id":1,"result":{}}', b"ping"):
        assert topic_of(raw) is None
