"""Link: one WebSocket connection that hands over each message as it comes.

Contract: `open_link` connects; after `start`, `sink(message, binary, time_ns)` is called for every message, whole and as it came (text
is not checked to be UTF-8), in order, up to the venue's own close frame, also those that come after we have said that we close. `time_ns`
is UTC. Messages wait in the library for one turn of the loop at most, and the socket waits for them: none is lost. `sink` must not
raise. Control frames are the library's; compression (permessage-deflate) is offered.

The library is aiohttp: it parses frames in C, knows compression, proxies and TLS, and is well kept; `serve` stands on it too.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
import time
from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

from aiohttp import ClientError, ClientResponse, ClientSession, ClientWebSocketResponse, WSMsgType, WSServerHandshakeError

__all__ = ["Link", "LinkError", "open_link"]

Sink: TypeAlias = Callable[[bytes, bool, int], None]

_LONGEST: Final = 1 << 25
"""Bytes of a message; beyond that the connection is ended. Half of what a tape's line may hold."""
_OPEN_SEC: Final = 15.0
_CLOSE_SEC: Final = 3.0
_WINDOW_BITS: Final = 15
_CLOSE: Final = struct.pack("!H", 1000)
_NO_CODE_GIVEN: Final = 1005
_NOT_CLOSED: Final = 1006
"""Never on the wire: a close frame without a code, and a connection that ended without one. Source: RFC 6455, 7.4.1."""


class LinkError(Exception):
    """No connection could be made; the message says why."""


class _Socket(ClientWebSocketResponse[Any]):
    """Knows its response: the library leaves it open, with a ResourceWarning, where the peer resets the connection."""

    def __init__(self, reader: Any, writer: Any, protocol: str | None, response: ClientResponse, *args: Any, **options: Any) -> None:
        super().__init__(reader, writer, protocol, response, *args, **options)
        self.response = response


class Link:
    """See the module's text."""

    def __init__(self, client: ClientSession, socket: _Socket) -> None:
        self._client = client
        self._socket = socket
        self._reading: asyncio.Task[None] | None = None
        self._code: int | None = None
        self._reason = ""
        self._said_close = False

    def start(self, sink: Sink) -> None:
        """Hand over every message, from the first."""
        self._reading = asyncio.create_task(self._read(sink))

    async def wait_closed(self) -> None:
        """Return when the connection is no more, and the sink has all that came."""
        if self._reading is not None:
            await asyncio.wait((self._reading,))

    async def deliver(self, frame: bytes) -> bool:
        """Send a text frame: whether the connection still stood."""
        try:
            await self._socket.send_str(frame.decode())
        except (ClientError, ConnectionError):
            return False
        return True

    async def close(self) -> None:
        """Close in order: the venue has `_CLOSE_SEC` to say so too, and to send what it still has."""
        try:
            async with asyncio.timeout(_CLOSE_SEC):
                await self._control(WSMsgType.CLOSE, _CLOSE)
                await self.wait_closed()
        except TimeoutError:
            await self.abort()

    async def abort(self) -> None:
        """End it now."""
        if self._reading is not None:
            self._reading.cancel()
            await self.wait_closed()
        await self._end()

    def how_it_ended(self) -> str:
        """Why the connection is no more."""
        if self._code is None:
            return f"closed with {_NOT_CLOSED}"
        return f"closed with {self._code}{f': {self._reason}' if self._reason else ''}"

    async def _read(self, sink: Sink) -> None:
        try:
            while True:
                message = await self._socket.receive()
                kind = message.type
                if kind is WSMsgType.TEXT:
                    sink(message.data, False, time.time_ns())
                elif kind is WSMsgType.BINARY:
                    sink(message.data, True, time.time_ns())
                elif kind is WSMsgType.PING:
                    await self._control(WSMsgType.PONG, message.data)
                elif kind is not WSMsgType.PONG:
                    break
            if kind is WSMsgType.CLOSE:
                self._code, self._reason = message.data or _NO_CODE_GIVEN, message.extra or ""
                await self._control(WSMsgType.CLOSE, _CLOSE)
            elif kind is WSMsgType.ERROR:
                self._code, self._reason = self._socket.close_code, str(message.data)
        finally:
            await self._end()

    async def _end(self) -> None:
        self._socket.response.close()
        await self._client.close()

    async def _control(self, kind: WSMsgType, payload: bytes) -> None:
        if kind is WSMsgType.CLOSE and self._said_close:
            return
        self._said_close |= kind is WSMsgType.CLOSE
        with contextlib.suppress(ClientError, ConnectionError):
            await self._socket.send_frame(payload, kind)


async def open_link(url: str) -> Link:
    """Connect to ``ws://`` or ``wss://``. Raises `LinkError`."""
    client = ClientSession(headers={"User-Agent": "derive_bench"}, trust_env=True, ws_response_class=_Socket)
    try:
        async with asyncio.timeout(_OPEN_SEC):
            socket = await client.ws_connect(
                url,
                max_msg_size=_LONGEST,
                compress=_WINDOW_BITS,
                decode_text=False,
                autoclose=False,
                autoping=False,
            )
    except BaseException as error:
        await client.close()
        if isinstance(error, TimeoutError):
            raise LinkError(f"{url}: no answer within {_OPEN_SEC:.0f} s") from None
        if isinstance(error, WSServerHandshakeError):
            raise LinkError(f"{url}: HTTP {error.status} instead of a WebSocket: {error.message}") from None
        if isinstance(error, OSError):
            raise LinkError(f"{url}: {error.strerror or error}") from None
        if isinstance(error, ClientError):
            raise LinkError(f"{url}: {error}") from None
        raise
    return Link(client, cast(_Socket, socket))
