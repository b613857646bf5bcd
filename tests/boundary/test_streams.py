"""Streams read ahead: whatever the pieces in which bytes come, the same frames come out, aligned for numbers."""

from __future__ import annotations

import socket
import struct
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from derive_bench.boundary.streams import CutShort, PeerGone, SocketStream


class Pieces:
    """A socket that gives bytes in pieces of its own choosing."""

    family = socket.AF_UNIX

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = [piece for piece in pieces if piece]
        self.calls = 0

    def recv(self, most: int) -> bytes:
        self.calls += 1
        if not self._pieces:
            return b""
        piece = self._pieces.pop(0)
        if len(piece) > most:
            self._pieces.insert(0, piece[most:])
        return piece[:most]

    def recv_into(self, buffer: memoryview) -> int:
        data = self.recv(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def sendall(self, data: bytes) -> None:
        raise AssertionError(data)


def stream_of(pieces: list[bytes]) -> tuple[SocketStream, Pieces]:
    source = Pieces(pieces)
    return SocketStream(cast(Any, source)), source


def frame(body: bytes) -> bytes:
    return struct.pack("<I", len(body)) + body


LONG = st.integers(1, 50_000).map(lambda size: bytes([size % 251]) * size)
BODIES = st.lists(st.one_of(st.binary(min_size=1, max_size=40), LONG), max_size=6)


@given(BODIES, st.lists(st.integers(0, 60_000), max_size=8), st.integers(0, 3))
def test_frames_do_not_depend_on_how_they_come(bodies: list[bytes], cuts: list[int], missing: int) -> None:
    data = b"".join(map(frame, bodies))
    data = data[: max(0, len(data) - missing)]
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    stream, _ = stream_of([data[begin:end] for begin, end in pairwise(edges)])
    whole = bodies if not missing else bodies[:-1]
    for body in whole:
        received = stream.receive_body()
        assert bytes(received) == body
        assert np.frombuffer(received[1:], np.uint8).__array_interface__["data"][0] % 8 == 0
    with pytest.raises(PeerGone):
        stream.receive_body()


def test_a_small_frame_takes_one_system_call() -> None:
    stream, source = stream_of([frame(b"\0small")])
    assert bytes(stream.receive_body()) == b"\0small"
    assert source.calls == 1


@pytest.mark.parametrize("length", [0, (64 << 20) + 1, (1 << 32) - 1])
def test_a_length_that_cannot_be_believed_is_refused_before_anything_is_made_for_it(length: int) -> None:
    stream, _ = stream_of([struct.pack("<I", length)])
    with pytest.raises(ValueError, match=f"body_len {length} is not in"):
        stream.receive_body()


def test_an_end_within_a_frame_is_told_apart_from_one_between_frames() -> None:
    stream, _ = stream_of([frame(b"whole"), frame(b"broken off")[:-1]])
    assert bytes(stream.receive_body()) == b"whole"
    with pytest.raises(CutShort, match="short body: the connection ended before the 10 bytes of a frame"):
        stream.receive_body()
    stream, _ = stream_of([frame(b"whole")])
    stream.receive_body()
    with pytest.raises(PeerGone) as ended:
        stream.receive_body()
    assert not isinstance(ended.value, CutShort)
