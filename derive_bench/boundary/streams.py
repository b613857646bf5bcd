"""Byte streams between two processes, seen from either end: sockets, pipes and shared memory.

Contract: a `Stream` sends the parts of a frame and fills a buffer with what comes. `PeerGone` when the other end is no longer there.
What a frame means is the business of `frames`; a stream only moves bytes.
"""

from __future__ import annotations

import os
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from derive_bench.boundary.frames import LENGTH, MAX_BODY, Bytes

__all__ = ["CutShort", "PeerGone", "PipeStream", "SocketStream", "Stream", "body_through"]

_PARTS_AT_ONCE = 16
_AHEAD = 1 << 14
"""Bytes to ask for when a frame begins: less than what its length says goes into its own memory at once."""
_BEFORE_BODY = 7
"""Numbers follow a reply's status, 1 byte, or a request's head, 9 bytes."""
_LENGTH_SIZE = LENGTH.size
_PADDING = bytes(_BEFORE_BODY - _LENGTH_SIZE)
_length_in = LENGTH.unpack_from


class PeerGone(ConnectionError):
    """The other process closed its end or died."""


class CutShort(PeerGone):
    """The other process went in the middle of a frame."""


class Stream(Protocol):
    """One connection's bytes, both ways."""

    def send(self, parts: Sequence[Bytes]) -> None:
        """Send all parts, in order. Raises `PeerGone`."""

    def receive_body(self) -> memoryview:
        """Receive one frame's body; what follows its first byte, and its head, lies aligned for eight-byte numbers.

        Raises:
            PeerGone: between two frames, or `CutShort`.
            ValueError: a length that cannot be believed.
        """

    def close(self) -> None:
        """Let go of the connection; more than once is no error."""


class _ReadingAhead(ABC):
    """Receives what there is in one system call: a small frame takes no more.

    `receive` waits for bytes and returns some, at most so many, none at the end.
    """

    def __init__(self, receive: Callable[[int], bytes]) -> None:
        self._receive = receive
        self._rest = b""

    def receive_body(self) -> memoryview:
        """See `Stream.receive_body`."""
        try:
            data = self._rest or self._receive(_AHEAD)
        except ConnectionError as error:
            raise PeerGone("the other process has reset the connection") from error
        if len(data) >= _LENGTH_SIZE:
            (length,) = _length_in(data)
            if 0 < length == len(data) - _LENGTH_SIZE:
                self._rest = b""
                return memoryview(_PADDING + data)[_BEFORE_BODY:]
        elif not data:
            raise PeerGone("the other process has closed the connection")
        self._rest = data
        return body_through(self._receive_into)

    def _receive_into(self, buffer: memoryview) -> None:
        ready = self._rest[: len(buffer)]
        self._rest = self._rest[len(ready) :]
        buffer[: len(ready)] = ready
        buffer = buffer[len(ready) :]
        while buffer:
            buffer = buffer[self._fill(buffer) :]

    @abstractmethod
    def _fill(self, buffer: memoryview) -> int:
        """Wait for bytes, put what there is into `buffer` and return how many. Raises `PeerGone`."""


class SocketStream(_ReadingAhead):
    """A connected socket, Unix or TCP."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(connection.recv)
        self._socket = connection
        self._send_all = connection.sendall
        if connection.family == socket.AF_INET:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, parts: Sequence[Bytes]) -> None:
        """Send all parts with as few system calls as the kernel lets them take."""
        try:
            if len(parts) == 1:
                self._send_all(parts[0])
                return
            sent = self._socket.sendmsg(parts)
            for part in parts:
                if sent < len(part):
                    self._send_all(memoryview(part)[sent:])
                sent = max(sent - len(part), 0)
        except (BrokenPipeError, ConnectionError) as error:
            raise PeerGone("the other process has closed the connection") from error

    def _fill(self, buffer: memoryview) -> int:
        try:
            count = self._socket.recv_into(buffer)
        except ConnectionError as error:
            raise PeerGone("the other process has reset the connection") from error
        if not count:
            raise PeerGone("the other process has closed the connection")
        return count

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class PipeStream(_ReadingAhead):
    """Two file descriptors, one to read from and one to write to; the stream owns both."""

    def __init__(self, readable: int, writable: int) -> None:
        super().__init__(partial(os.read, readable))
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

    def _fill(self, buffer: memoryview) -> int:
        count = os.readv(self._readable, [buffer])
        if not count:
            raise PeerGone("the other process has closed the pipe")
        return count

    def close(self) -> None:
        """Close both descriptors."""
        for descriptor in (self._readable, self._writable):
            if descriptor >= 0:
                os.close(descriptor)
        self._readable = self._writable = -1


def body_through(receive_into: Callable[[memoryview], None]) -> memoryview:
    """Receive a frame's body through a function that fills a buffer; see `Stream.receive_body`."""
    head = bytearray(LENGTH.size)
    receive_into(memoryview(head))
    (length,) = LENGTH.unpack(head)
    if not 0 < length <= MAX_BODY:
        raise ValueError(f"body_len {length} is not in 1..={MAX_BODY}")
    body = memoryview(bytearray(_BEFORE_BODY + length))[_BEFORE_BODY:]
    try:
        receive_into(body)
    except PeerGone as error:
        raise CutShort(f"short body: the connection ended before the {length} bytes of a frame") from error
    return body
