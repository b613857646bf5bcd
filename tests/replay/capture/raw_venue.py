"""A WebSocket's server side, byte by byte, for what a library's server does not do."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


class RawPeer:
    """One connection after its handshake."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, opcode: int, payload: bytes = b"") -> None:
        size = bytes([len(payload)]) if len(payload) < 126 else b"\x7e" + struct.pack("!H", len(payload))
        self.writer.write(bytes([0x80 | opcode]) + size + payload)
        await self.writer.drain()

    async def receive(self) -> tuple[int, bytes]:
        first, second = await self.reader.readexactly(2)
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack("!H", await self.reader.readexactly(2))
        mask = await self.reader.readexactly(4)
        payload = await self.reader.readexactly(size)
        return first & 0x0F, bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


@asynccontextmanager
async def raw_venue(converse: Callable[[RawPeer], Awaitable[None]]) -> AsyncIterator[str]:
    """Yield the URL of a server that shakes hands and then calls `converse`."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        (key,) = [line.partition(": ")[2] for line in head.split("\r\n") if line.lower().startswith("sec-websocket-key")]
        accept = base64.b64encode(hashlib.sha1((key + _GUID).encode(), usedforsecurity=False).digest()).decode()
        head = f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        writer.write(head.encode())
        try:
            await converse(RawPeer(reader, writer))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
