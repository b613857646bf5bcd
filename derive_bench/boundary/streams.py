"""Byte streams between two processes, seen from either end: sockets, pipes and shared memory.

Contract: a `Stream` sends the parts of a frame and fills a buffer with what comes. `PeerGone` when the other end is no longer there.
What a frame means is the business of `frames`; a stream only moves bytes.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import Protocol

from derive_bench.boundary.frames import LENGTH, MAX_BODY, Bytes

__all__ = ["CutShort", "PeerGone", "PipeStream", "SocketStream", "Stream", "receive_body"]

_PARTS_AT_ONCE = 16
_BEFORE_BODY = 7
"""Numbers follow a reply's status, 1 byte, or a request's head, 9 bytes."""


class PeerGone(ConnectionError):
    """The other process closed its end or died."""


class CutShort(PeerGone):
    """The other process went in the middle of a frame."""


class Stream(Protocol):
    """One connection's bytes, both ways."""

    def send(self, parts: Sequence[Bytes]) -> None:
        """Send all parts, in order. Raises `PeerGone`."""

    def receive_into(self, buffer: memoryview) -> None:
        """Fill `buffer`. Raises `PeerGone`."""

    def close(self) -> None:
        """Let go of the connection; more than once is no error."""


class SocketStream:
    """A connected socket, Unix or TCP."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        if connection.family == socket.AF_INET:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, parts: Sequence[Bytes]) -> None:
        """Send all parts with as few system calls as the kernel lets them take."""
        try:
            sent = self._socket.sendmsg(parts)
            for part in parts:
                if sent < len(part):
                    self._socket.sendall(memoryview(part)[sent:])
                sent = max(sent - len(part), 0)
        except (BrokenPipeError, ConnectionError) as error:
            raise PeerGone("the other process has closed the connection") from error

    def receive_into(self, buffer: memoryview) -> None:
        """Fill `buffer` from the socket."""
        while buffer:
            try:
                count = self._socket.recv_into(buffer)
            except ConnectionError as error:
                raise PeerGone("the other process has reset the connection") from error
            if not count:
                raise PeerGone("the other process has closed the connection")
            buffer = buffer[count:]

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class PipeStream:
    """Two file descriptors, one to read from and one to write to; the stream owns both."""

    def __init__(self, readable: int, writable: int) -> None:
        self._readable, self._writable = readable, writable

    def send(self, parts: Sequence[Bytes]) -> None:
        """Write all parts."""
        left = [memoryview(part) for part in parts if part]
        try:
            while left:
                written = os.writev(self._writable, left[:_PARTS_AT_ONCE])
                while left and written >= len(left[0]):
                    written -= len(left.pop(0))
                if written:
                    left[0] = left[0][written:]
        except BrokenPipeError as error:
            raise PeerGone("the other process has closed the pipe") from error

    def receive_into(self, buffer: memoryview) -> None:
        """Fill `buffer` from the pipe."""
        while buffer:
            count = os.readv(self._readable, [buffer])
            if not count:
                raise PeerGone("the other process has closed the pipe")
            buffer = buffer[count:]

    def close(self) -> None:
        """Close both descriptors."""
        for descriptor in (self._readable, self._writable):
            if descriptor >= 0:
                os.close(descriptor)
        self._readable = self._writable = -1


def receive_body(stream: Stream) -> memoryview:
    """Receive one frame's body; what follows its first byte, and its head, lies aligned for eight-byte numbers.

    Raises:
        PeerGone: between two frames, or `CutShort`.
        ValueError: a length that cannot be believed.
    """
    head = bytearray(LENGTH.size)
    stream.receive_into(memoryview(head))
    (length,) = LENGTH.unpack(head)
    if not 0 < length <= MAX_BODY:
        raise ValueError(f"body_len {length} is not in 1..={MAX_BODY}")
    body = memoryview(bytearray(_BEFORE_BODY + length))[_BEFORE_BODY:]
    try:
        stream.receive_into(body)
    except PeerGone as error:
        raise CutShort(f"short body: the connection ended before the {length} bytes of a frame") from error
    return body
