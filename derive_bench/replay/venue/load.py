"""Load: many clients in a process of their own, that take what a venue sends and count it.

``python -m derive_bench.replay.venue.load URL CLIENTS SECONDS CHANNEL…`` connects, subscribes each to all channels, counts for so long
and writes ``{"frames": [per client], "bytes": n, "cut": n}`` to standard output. It is no client to copy: it parses just enough of
WebSocket to count frames, so that the venue is what is measured.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from urllib.parse import urlsplit

__all__ = ["run_load"]


class _Counter(asyncio.Protocol):
    """One client: a handshake, a subscription, then frames."""

    def __init__(self, host: str, path: str, channels: list[str]) -> None:
        self._host, self._path, self._channels = host, path, channels
        self._buffer = bytearray()
        self._skip = 0
        self._open = False
        self.frames = 0
        self.bytes = 0
        self.is_cut = False
        self.stopped = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.Transport):
            raise TypeError("not a stream")
        self.transport = transport
        key = base64.b64encode(os.urandom(16)).decode()
        head = f"GET {self._path} HTTP/1.1\r\nHost: {self._host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        transport.write(f"{head}Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        self.bytes += len(data)
        self._buffer += data
        if not self._open:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            del self._buffer[: end + 4]
            self._open = True
            request = {"id": 1, "method": "subscribe", "params": {"channels": self._channels}}
            self.transport.write(_masked(json.dumps(request).encode()))
        self._count()

    def _count(self) -> None:
        buffer, at, size = self._buffer, 0, len(self._buffer)
        while at + 2 <= size:
            length, head = buffer[at + 1] & 127, 2
            if length >= 126:
                head = 4 if length == 126 else 10
                if at + head > size:
                    break
                length = int.from_bytes(buffer[at + 2 : at + head])
            if at + head + length > size:
                break
            self.frames += 1
            at += head + length
        del buffer[:at]

    def connection_lost(self, _exc: Exception | None) -> None:
        self.is_cut = not self.stopped


def _masked(payload: bytes) -> bytes:
    """A client's text frame with a mask of zeros."""
    length = len(payload)
    if length < 126:
        return bytes((0x81, 0x80 | length)) + bytes(4) + payload
    return bytes((0x81, 0x80 | 126)) + length.to_bytes(2) + bytes(4) + payload


async def run_load(url: str, clients: int, seconds: float, channels: list[str]) -> dict[str, object]:
    """Run so many clients against a venue; see the module's text."""
    parts = urlsplit(url)
    loop = asyncio.get_running_loop()
    counters: list[_Counter] = []
    for _ in range(clients):
        _, counter = await loop.create_connection(
            lambda: _Counter(parts.netloc, parts.path or "/", channels), parts.hostname or "127.0.0.1", parts.port or 80
        )
        counters.append(counter)
    await asyncio.sleep(min(1.0, seconds))
    before = [counter.frames for counter in counters]
    bytes_before = sum(counter.bytes for counter in counters)
    await asyncio.sleep(seconds)
    frames = [counter.frames - first for counter, first in zip(counters, before, strict=True)]
    received = sum(counter.bytes for counter in counters) - bytes_before
    for counter in counters:
        counter.stopped = True
        counter.transport.close()
    return {"frames": frames, "bytes": received, "cut": sum(counter.is_cut for counter in counters)}


if __name__ == "__main__":
    url, clients, seconds, *channels = sys.argv[1:]
    json.dump(asyncio.run(run_load(url, int(clients), float(seconds), channels)), sys.stdout)
