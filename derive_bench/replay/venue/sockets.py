"""Sockets: an outbox's end of one connection, over an asyncio transport.

Contract: frames are written to the transport as they are, made once for all clients, beside what the HTTP library itself writes there
(pings and closings): both write whole frames only, so they cannot cut through each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["SocketWire"]


class SocketWire:
    """See the module's text."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop

    def write(self, data: bytes) -> None:
        """Hand bytes to the transport; after its end they are nobody's."""
        if not self._transport.is_closing():
            self._transport.write(data)

    def waiting(self) -> int:
        """Bytes that the kernel has not taken yet."""
        return self._transport.get_write_buffer_size()

    def cut(self) -> None:
        """Reset the connection."""
        self._transport.abort()

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call back after a time."""
        self._loop.call_later(seconds, call)
