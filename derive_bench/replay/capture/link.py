"""Link: one WebSocket connection that hands over each message in the moment it arrives.

Contract: `open_link` connects; after `start`, `sink(message, binary, time_ns)` is called for every message, whole and as it came (text
is not checked to be UTF-8), straight from the socket's callback: there is no queue between the socket and the sink in which a message
could be lost or wait; those that came before `start` are handed over by it. `time_ns` is UTC. `sink` must not raise. Control frames
are the library's; compression (permessage-deflate) is offered.

The library is websockets: it knows compression, proxies and TLS, and is well kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.frames import Frame, Opcode

__all__ = ["Link", "LinkError", "open_link"]

Sink: TypeAlias = Callable[[bytes, bool, int], None]

_LONGEST: Final = 1 << 25
"""Bytes of a message; beyond that the connection is ended. Half of what a tape's line may hold."""
_OPEN_SEC: Final = 15.0
_CLOSE_SEC: Final = 3.0
_DATA: Final = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)


class LinkError(Exception):
    """No connection could be made; the message says why."""


class Link(ClientConnection):
    """See the module's text."""

    _sink: Sink | None = None
    _parts: list[bytes]
    _binary = False

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._early: list[tuple[bytes, bool, int]] = []

    def start(self, sink: Sink) -> None:
        """Hand over every message, from the first."""
        for early in self._early:
            sink(*early)
        self._early.clear()
        self._sink = sink

    def process_event(self, event: Any) -> None:
        """Hand a message over when its last fragment is there."""
        if not isinstance(event, Frame) or event.opcode not in _DATA:
            super().process_event(event)
            return
        if event.opcode is not Opcode.CONT:
            self._binary = event.opcode is Opcode.BINARY
            self._parts = []
        self._parts.append(bytes(event.data))
        if not event.fin:
            return
        message = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        if self._sink is None:
            self._early.append((message, self._binary, time.time_ns()))
        else:
            self._sink(message, self._binary, time.time_ns())

    async def deliver(self, frame: bytes) -> bool:
        """Send a text frame: whether the connection still stood."""
        try:
            await self.send(frame.decode())
        except ConnectionClosed:
            return False
        return True

    def how_it_ended(self) -> str:
        """Why the connection is no more."""
        if self.close_code is None:
            return "not ended"
        told = f": {self.close_reason}" if self.close_reason else ""
        return f"closed with {self.close_code}{told}"


async def open_link(url: str) -> Link:
    """Connect to ``ws://`` or ``wss://``. Raises `LinkError`."""
    try:
        return await connect(  # type: ignore[return-value]
            url,
            create_connection=Link,
            max_size=_LONGEST,
            open_timeout=_OPEN_SEC,
            close_timeout=_CLOSE_SEC,
            ping_interval=None,  # the session does this, with frames that are on the tape
            user_agent_header="derive_bench",
        )
    except TimeoutError:
        raise LinkError(f"{url}: no answer within {_OPEN_SEC:.0f} s") from None
    except OSError as error:
        raise LinkError(f"{url}: {error.strerror or error}") from None
    except WebSocketException as error:
        raise LinkError(f"{url}: {error}") from None
