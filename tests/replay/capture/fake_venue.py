"""A venue of a few lines on loopback: answers, publishes numbered frames to whoever has subscribed, and breaks off on request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.server import ServerConnection, serve

INSTRUMENT = {"instrument_name": "ETH-PERP", "instrument_type": "perp", "tick_size": "0.01", "amount_step": "0.001"}
GOOD = "orderbook.ETH-PERP.10.10"


def book(number: int) -> str:
    data = {"instrument_name": "ETH-PERP", "timestamp": 1_700_000_000_000 + number, "publish_id": number, "bids": [], "asks": []}
    return json.dumps({"method": "subscription", "params": {"channel": GOOD, "data": data}})


class FakeVenue:
    """Attributes: requests that came, by connection; text frames that went out; frames published in one go on a subscription."""

    def __init__(self, *, burst: int = 10, cut_after: int | None = None, pause_sec: float = 0.0) -> None:
        self.requests: list[list[dict[str, Any]]] = []
        self.sent: list[str] = []
        self.burst = burst
        self.cut_after = cut_after
        self.pause_sec = pause_sec
        self.published = 0
        self.url = ""

    async def handle(self, connection: ServerConnection) -> None:
        requests: list[dict[str, Any]] = []
        self.requests.append(requests)
        async for message in connection:
            assert isinstance(message, str)
            if message == "ping":
                await self.send(connection, "pong")
                continue
            request = json.loads(message)
            requests.append(request)
            await self.send(connection, json.dumps({"id": request["id"], "result": self.result(request)}))
            if request["method"] == "subscribe":
                await self.publish(connection)

    def result(self, request: dict[str, Any]) -> Any:
        if request["method"] == "public/login":
            return [7]
        if request["method"] == "subscribe":
            status = {channel: "ok" if channel == GOOD else "channel does not exist" for channel in request["params"]["channels"]}
            return {"status": status, "current_subscriptions": [GOOD]}
        return INSTRUMENT

    async def publish(self, connection: ServerConnection) -> None:
        for _ in range(self.burst):
            self.published += 1
            await self.send(connection, book(self.published))
            if self.pause_sec:
                await asyncio.sleep(self.pause_sec)
        if self.cut_after is not None and len(self.requests) <= self.cut_after:
            connection.transport.abort()

    async def send(self, connection: ServerConnection, text: str) -> None:
        self.sent.append(text)
        await connection.send(text)


@asynccontextmanager
async def running(venue: FakeVenue, **options: Any) -> AsyncIterator[FakeVenue]:
    async with serve(venue.handle, "127.0.0.1", 0, **options) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        venue.url = f"ws://127.0.0.1:{port}/ws"
        yield venue
