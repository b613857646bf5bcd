"""The server: one venue on one port, WebSocket and HTTP.

Contract: :meth:`VenueServer.start` listens and says on which port; :meth:`VenueServer.stop` says goodbye to everybody. Nothing a client
does ends it or holds up the others: messages and bodies are limited in size, requests in time, connections in number, and what waits
for a client in bytes. A page that a browser loaded from elsewhere may not use it: its `Origin` is refused.

WebSockets are taken on any path. HTTP takes JSON-RPC by POST on ``/``, ``/v3`` and the WebSocket paths, and the REST form, a POST of bare
params on ``/public/…`` and ``/private/…`` with or without ``/v3`` before it, GET with a query for public ones. Errors come with status
200 and the JSON-RPC error, as clients expect; other statuses are for what is no request at all.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from aiohttp import WSMsgType, web

from derive_bench.replay.venue.api import Api
from derive_bench.replay.venue.outbox import Frame, Outbox
from derive_bench.replay.venue.pump import Pump
from derive_bench.replay.venue.refusals import Refused
from derive_bench.replay.venue.rpc import Answer
from derive_bench.replay.venue.sockets import SocketWire
from derive_bench.replay.venue.tape import Item
from derive_bench.replay.venue.venue import Peer, Venue

__all__ = ["Limits", "VenueServer"]

_log: Final = logging.getLogger(__name__)
_JSON: Final = "application/json"
_HOUSEKEEPING_SEC: Final = 0.25
_HEAD_TIMEOUT_SEC: Final = 15.0
"""For a request's head to arrive whole, and for a connection without one."""
_BODY_TIMEOUT_SEC: Final = 10.0
_LINGER_SEC: Final = 1.0
"""How long the rest of a body is waited for after its request was answered."""
_UNANSWERED_SEC: Final = 60.0
"""How long an HTTP request that is not to be answered is held."""
_PATIENCE_SEC: Final = 5.0
"""How long a client may take nothing while a tape is played as fast as it is taken."""
_FAIR: Final = 32
"""Requests of one client answered in one go."""
_TICK_SEC: Final = 0.001
_TICK_PER_CLIENT_SEC: Final = 0.00004
_SPARE_CONNECTIONS: Final = 64
_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a client may.

    Attributes:
        clients: WebSocket connections at once.
        message_bytes: of a request, over WebSocket or HTTP.
        queue_bytes: that may wait for a client before it is cut off.
        heartbeat_sec: between pings; a client that answers none is cut off.
        heartbeat_text: whether the text `ping` is sent as well.
        private_first: whether private notifications go before the reply to the request they are from.
    """

    clients: int = 1_000
    message_bytes: int = 1 << 20
    queue_bytes: int = 8 << 20
    heartbeat_sec: float = 180.0
    heartbeat_text: bool = False
    private_first: bool = False


class VenueServer:
    """See the module's text.

    Args:
        venue: whom it serves.
        open_tape: gives the items to be played, from the beginning.
        speed: see `Pump`.
        start_after: begin to play when this many subscriptions have been made; 0 at once, None when `venue/start` says so.
        cut_as_recorded: whether all clients are disconnected where the tape says that its own connection was.
    """

    def __init__(
        self,
        venue: Venue,
        open_tape: Callable[[], Iterator[Item]],
        limits: Limits,
        *,
        speed: float | None = 1.0,
        loop: bool = False,
        start_after: int | None = 1,
        cut_as_recorded: bool = False,
    ) -> None:
        self.venue = venue
        self.open_tape = open_tape
        self._api = Api(venue)
        self._limits = limits
        self._start_after = start_after
        self._cut_as_recorded = cut_as_recorded
        self._dirty: dict[Outbox, None] = {}
        self._crowd: dict[Outbox, tuple[int, float]] = {}
        self._sockets: set[web.WebSocketResponse] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self.pump = Pump(
            open_tape,
            self._play,
            self._flush,
            self._crowded,
            speed=speed,
            loop=loop,
            tick_sec=lambda: _TICK_SEC + _TICK_PER_CLIENT_SEC * len(venue.peers),
        )
        venue.control = self.pump

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port. Raises `OSError`."""
        loop = asyncio.get_running_loop()
        self._web = web.Server(
            self._handle,
            access_log=None,
            keepalive_timeout=_HEAD_TIMEOUT_SEC,
            lingering_time=_LINGER_SEC,
            request_factory=self._request,
        )
        self._server = await loop.create_server(self._accept, host, port, backlog=1024)
        self._tasks = [loop.create_task(each) for each in (self._keep_house(), self._send_heartbeats(), self._run_tape())]
        if self._start_after == 0:
            self.pump.start()
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def stop(self) -> None:
        """Close all connections and stop listening."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._server.close()
        await self._say_goodbye()
        await self._web.shutdown(timeout=1.0)
        await self._server.wait_closed()

    # -- the tape ----------------------------------------------------------------------------------------------------

    async def _run_tape(self) -> None:
        try:
            await self.pump.run()
        except Exception:
            _log.exception("the tape cannot be played further")
            self.pump.finished.set()

    def _play(self, item: Item) -> None:
        if item.frame is None:
            if self._cut_as_recorded:
                self._flush()
                for peer in list(self.venue.peers.values()):
                    if peer.outbox is not None:
                        peer.outbox.cut()
            return
        self._send(self.venue.play(item.topic, item.frame, item.received_ns))

    def _send(self, notifications: Iterable[tuple[Iterable[Peer], str, Frame]]) -> None:
        dirty = self._dirty
        for peers, topic, frame in notifications:
            for peer in peers:
                box = peer.outbox
                if box is not None:
                    box.notify(topic, frame)
                    dirty[box] = None

    def _publish(self) -> None:
        self._send(self.venue.updates())
        self._flush()

    def _flush(self) -> None:
        if self._dirty:
            dirty, self._dirty = self._dirty, {}
            for box in dirty:
                box.flush()

    def _crowded(self) -> bool:
        """Whether somebody has enough to take; who takes nothing of it for long is cut off, so that the others can go on."""
        enough, now = self._limits.queue_bytes // 4, time.monotonic()
        crowded: dict[Outbox, tuple[int, float]] = {}
        for peer in list(self.venue.peers.values()):
            box = peer.outbox
            if box is not None and not box.closed and box.behind > enough:
                behind, since = self._crowd.get(box, (box.behind, now))
                crowded[box] = (behind, since) if box.behind >= behind else (box.behind, now)
                if now - since > _PATIENCE_SEC:
                    box.cut_slow()
        self._crowd = crowded
        return bool(crowded)

    # -- connections -------------------------------------------------------------------------------------------------

    def _accept(self) -> asyncio.Protocol:
        if len(self._web.connections) >= self._limits.clients + _SPARE_CONNECTIONS:
            return _Refusing()
        return self._web()

    def _request(self, message: Any, payload: Any, protocol: Any, writer: Any, task: asyncio.Task[None]) -> web.BaseRequest:
        limit = self._limits.message_bytes
        return web.BaseRequest(message, payload, protocol, writer, task, asyncio.get_running_loop(), client_max_size=limit)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if _is_foreign(request.headers):
            return web.Response(status=403, text="This venue is not for pages of other sites\n")
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await self._serve_socket(request)
        return await self._serve_http(request)

    async def _serve_socket(self, request: web.BaseRequest) -> web.StreamResponse:
        if len(self.venue.peers) >= self._limits.clients:
            error = Refused(-32100, f"{self._limits.clients} clients are connected, as many as may be").document()
            return web.Response(status=429, body=_encode({"id": None, "error": error}), content_type=_JSON)
        socket = web.WebSocketResponse(
            heartbeat=self._limits.heartbeat_sec,
            max_msg_size=self._limits.message_bytes,
            compress=False,
            decode_text=False,
            timeout=2.0,
        )
        try:
            await socket.prepare(request)
        except web.HTTPException:
            return web.Response(status=400, text="No WebSocket handshake\n")
        transport = request.transport
        if transport is None:
            return socket
        wire = SocketWire(transport, asyncio.get_running_loop())
        peer = Peer(is_local=_is_local(request))
        peer.outbox = Outbox(wire, self.venue.faults, peer.number, self._limits.queue_bytes)
        self.venue.peers[peer.number] = peer
        self._sockets.add(socket)
        try:
            await self._listen(socket, peer, peer.outbox)
        finally:
            self._sockets.discard(socket)
            self.venue.gone(peer)
            self._publish()
        return socket

    async def _listen(self, socket: web.WebSocketResponse, peer: Peer, box: Outbox) -> None:
        taken = 0
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                self._take(peer, box, message.data)
            elif message.type is WSMsgType.BINARY:
                error = Refused(-32600, "Binary frames are not taken: send text").document()
                box.reply(_encode({"id": None, "error": error}))
            if box.closed:
                return
            taken += 1
            if taken % _FAIR == 0:
                await asyncio.sleep(0)

    def _take(self, peer: Peer, box: Outbox, data: bytes) -> None:
        text = data.strip()
        if text == b"ping":
            box.reply(b"pong")
            return
        if text == b"pong":
            return
        before = len(self.venue.subscribers.topics_of(peer))
        answer = self._api.dispatcher.answer(peer, data)
        if self._limits.private_first:
            self._publish()
        _send_answer(box, answer)
        self._publish()
        if len(self.venue.subscribers.topics_of(peer)) > before:
            self._maybe_start()

    def _maybe_start(self) -> None:
        wanted = self._start_after
        if wanted and sum(len(self.venue.subscribers.topics_of(peer)) for peer in self.venue.peers.values()) >= wanted:
            self._start_after = None
            self.pump.start()

    # -- HTTP --------------------------------------------------------------------------------------------------------

    async def _serve_http(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path.removeprefix("/v3").strip("/")
        is_rest = path.startswith(("public/", "private/", "venue/"))
        if request.method != "POST" and not (request.method == "GET" and path.startswith("public/")):
            return web.Response(status=405, text="POST JSON-RPC here, or open a WebSocket\n", headers={"Allow": "POST"})
        try:
            async with asyncio.timeout(_BODY_TIMEOUT_SEC):
                body = (
                    await request.read()
                    if request.method == "POST"
                    else _encode({name: _value(text) for name, text in request.query.items()})
                )
        except TimeoutError:
            return web.Response(status=408, text="The body did not arrive\n")
        except web.HTTPRequestEntityTooLarge:
            return web.Response(status=413, text=f"At most {self._limits.message_bytes} bytes are taken\n")
        peer = Peer(is_local=_is_local(request))
        answer = self._api.over_http(peer, path if is_rest else None, body, request.headers)
        self._publish()
        return await _as_response(request, answer)

    # -- housekeeping ------------------------------------------------------------------------------------------------

    async def _keep_house(self) -> None:
        while True:
            await asyncio.sleep(_HOUSEKEEPING_SEC)
            if self.venue.engine.expire():
                self._publish()

    async def _send_heartbeats(self) -> None:
        while self._limits.heartbeat_text:
            await asyncio.sleep(self._limits.heartbeat_sec)
            for peer in self.venue.peers.values():
                if peer.outbox is not None:
                    peer.outbox.reply(b"ping")

    async def _say_goodbye(self) -> None:
        await asyncio.gather(*(socket.close(code=1001) for socket in list(self._sockets)), return_exceptions=True)


class _Refusing(asyncio.Protocol):
    """Takes a connection that is one too many, and drops it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


def _send_answer(box: Outbox, answer: Answer) -> None:
    kind = None if answer.rule is None else answer.rule.kind
    if kind == "no_reply":
        return
    if kind == "cut_reply":
        box.cut()
    elif kind == "late_reply" and answer.rule is not None:
        asyncio.get_running_loop().call_later(answer.rule.ms / 1000, box.reply, answer.payload)
    else:
        box.reply(answer.payload)


async def _as_response(request: web.BaseRequest, answer: Answer) -> web.StreamResponse:
    kind = None if answer.rule is None else answer.rule.kind
    if answer.rule is not None and kind == "late_reply":
        await asyncio.sleep(answer.rule.ms / 1000)
    if kind == "no_reply":
        await asyncio.sleep(_UNANSWERED_SEC)
    if kind in ("no_reply", "cut_reply") and request.transport is not None:
        request.transport.abort()
    return web.Response(body=answer.payload, content_type=_JSON)


def _value(text: str) -> str | int | bool:
    """A query's value as the JSON it stands for."""
    return int(text) if text.isdecimal() else {"true": True, "false": False}.get(text, text)


def _is_local(request: web.BaseRequest) -> bool:
    try:
        return ipaddress.ip_address(request.remote or "").is_loopback
    except ValueError:
        return False


def _is_foreign(headers: Mapping[str, str]) -> bool:
    """Whether a browser asks on behalf of a page that is not this machine's."""
    origin = headers.get("Origin")
    if origin is None:
        return False
    host = urlsplit(origin).hostname or ""
    try:
        return not (host == "localhost" or ipaddress.ip_address(host).is_loopback)
    except ValueError:
        return True
