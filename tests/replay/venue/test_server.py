"""The server over real sockets on loopback: frames as they are, both forms of HTTP, and clients that behave badly."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from itertools import pairwise
from typing import Any

import pytest

from derive_bench.adapter.signing import rest_auth_headers
from derive_bench.replay.venue import server as server_module
from derive_bench.replay.venue.server import Limits, VenueServer
from derive_bench.replay.venue.tape import Item, playable
from tests.replay.venue.venue_support import NOW_NS, Rig, book, note, trade

aiohttp = pytest.importorskip("aiohttp", reason="aiohttp is not installed: make venv")
websockets = pytest.importorskip("websockets", reason="websockets is not installed: make venv")

TOPIC = "trades.ETH-PERP"
Frames = list[bytes]


def numbered(count: int, size: int = 0) -> Frames:
    return [note(TOPIC, [{"n": number, "pad": "x" * size}]) for number in range(count)]


def tape(frames: Frames, step_ns: int = 1_000_000) -> Callable[[], Iterator[Item]]:
    items = [playable(10**18 + index * step_ns, frame) for index, frame in enumerate(frames)]
    return lambda: (item for item in items if item is not None)


class Running:
    """A server, with the rig of its venue, and what a client does with it."""

    def __init__(self, rig: Rig, server: VenueServer, port: int) -> None:
        self.rig, self.server, self.port = rig, server, port

    def connect(self, path: str = "/v3/ws", **options: Any) -> Any:
        return websockets.connect(f"ws://127.0.0.1:{self.port}{path}", **options)

    async def post(self, path: str, data: bytes, **headers: str) -> tuple[int, bytes]:
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"http://127.0.0.1:{self.port}{path}", data=data, headers={"Connection": "close"} | headers) as reply,
        ):
            return reply.status, await reply.read()


@contextlib.asynccontextmanager
async def running(frames: Frames = (), limits: Limits = Limits(), **options: Any) -> AsyncIterator[Running]:  # type: ignore[assignment]  # noqa: B008
    rig = Rig(login=False)
    rig.venue.gone(rig.peer)
    options = {"speed": None} | options
    server = VenueServer(rig.venue, options.pop("open_tape", tape(list(frames))), limits, **options)
    port = await server.start("127.0.0.1", 0)
    try:
        yield Running(rig, server, port)
    finally:
        await server.stop()


async def call(socket: Any, method: str, params: Any = None, *, skip: Frames | None = None) -> dict[str, Any]:
    await socket.send(json.dumps({"id": 1, "method": method, "params": {} if params is None else params}))
    while True:
        data = await asyncio.wait_for(socket.recv(decode=False), 10)
        message = json.loads(data)
        if "id" in message:
            reply: dict[str, Any] = message
            return reply
        if skip is not None:
            skip.append(data)


async def subscribe(socket: Any, *topics: str) -> None:
    reply = await call(socket, "subscribe", {"channels": list(topics)})
    assert list(reply["result"]["status"].values()) == ["ok"] * len(topics)


async def take(socket: Any, count: int) -> Frames:
    return [await asyncio.wait_for(socket.recv(decode=False), 10) for _ in range(count)]


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 50))


def test_all_clients_get_every_frame_as_it_is() -> None:
    frames = [*numbered(400, 300), b' {"params":{"channel":"trades.ETH-PERP","data":[]},"method":"subscription"}', b'{"cut":', book()]

    async def test() -> None:
        async with running(frames, start_after=6) as it, it.connect() as one, it.connect("/ws") as two, it.connect("/") as three:
            for client in (one, two, three):
                await subscribe(client, TOPIC, "orderbook.ETH-PERP.1.10")
            for client in (one, two, three):
                assert await take(client, len(frames)) == frames
            await it.server.pump.finished.wait()
            status = (await call(one, "venue/status"))["result"]
            assert status["tape"]["frames_played"] == len(frames)
            assert [each["sent"] for each in status["clients"]] == [len(frames)] * 3

    run(test)


def test_a_tape_is_played_at_its_pace_and_begins_when_somebody_listens() -> None:
    async def test() -> None:
        async with running(open_tape=tape(numbered(11), 20_000_000), speed=2.0) as it, it.connect() as client:
            await asyncio.sleep(0.05)
            assert it.server.pump.state()["state"] == "waiting"
            begin = asyncio.get_running_loop().time()
            await subscribe(client, TOPIC)
            assert await take(client, 11) == numbered(11)
            assert asyncio.get_running_loop().time() - begin >= 0.1

    run(test)


def test_a_tape_is_paused_started_and_looped_on_request() -> None:
    async def test() -> None:
        async with running(numbered(3), start_after=None, loop=True, speed=1.0) as it, it.connect() as client:
            await subscribe(client, TOPIC)
            assert (await call(client, "venue/start"))["result"]["state"] == "playing"
            got = await take(client, 8)
            assert got[:7] == [*numbered(3), *numbered(3), *numbered(1)]
            paused = (await call(client, "venue/pause", skip=[]))["result"]
            await asyncio.sleep(0.03)
            later = it.server.pump.state()
            assert (later["state"], later["frames_played"]) == ("paused", paused["frames_played"])
            await call(client, "venue/start")
            await take(client, 3)

    run(test)


def test_orders_are_placed_and_their_frames_follow() -> None:
    async def test() -> None:
        async with running([book()]) as it, it.connect() as client:
            it.rig.now_ns = NOW_NS
            assert (await call(client, "public/login", it.rig.login_params()))["result"] == [1]
            await subscribe(client, "1.orders", "1.trades", "orderbook.ETH-PERP.1.10")
            await take(client, 1)
            order = it.rig.order(limit_price="2900")
            await client.send(json.dumps({"id": 9, "method": "private/order", "params": order}))
            reply, orders, trades = (json.loads(message) for message in await take(client, 3))
            assert (reply["id"], orders["params"]["data"], trades["params"]["data"]) == (
                9,
                [reply["result"]["order"]],
                reply["result"]["trades"],
            )

    run(test)


def test_private_frames_can_go_before_their_reply() -> None:
    async def test() -> None:
        async with running(limits=Limits(private_first=True), start_after=None) as it, it.connect() as client:
            await call(client, "public/login", it.rig.login_params())
            await subscribe(client, "1.orders")
            before: Frames = []
            await call(client, "private/order", it.rig.order(), skip=before)
            assert len(before) == 1

    run(test)


def test_orders_rest_until_the_tape_trades_through_them() -> None:
    async def test() -> None:
        async with running([trade("2000"), trade("900")], start_after=None) as it, it.connect() as client:
            await call(client, "public/login", it.rig.login_params())
            await subscribe(client, "1.trades", "1.orders")
            await call(client, "private/order", it.rig.order())
            await take(client, 1)
            await call(client, "venue/start")
            orders, trades = (json.loads(message)["params"] for message in await take(client, 2))
            assert orders["data"][0]["order_status"] == "filled"
            assert trades["data"][0]["trade_price"] == "1000"

    run(test)


def test_both_forms_of_http() -> None:
    async def test() -> None:
        async with running() as it:
            name = json.dumps({"instrument_name": "ETH-PERP"}).encode()
            for path in ("/public/get_instrument", "/v3/public/get_instrument"):
                status, body = await it.post(path, name)
                assert (status, json.loads(body)["result"]["instrument_name"]) == (200, "ETH-PERP")
            rpc = json.dumps({"id": "a", "method": "public/get_ticker", "params": {"instrument_name": "ETH-PERP"}}).encode()
            for path in ("/", "/v3", "/v3/", "/v3/ws"):
                status, body = await it.post(path, rpc)
                assert (status, json.loads(body)["id"], json.loads(body)["result"]["a"]) == (200, "a", "2874.32")
            headers = rest_auth_headers(it.rig.signer, it.rig.protocol, it.rig.signer.address, NOW_NS // 10**6)
            status, body = await it.post("/v3/private/order", json.dumps(it.rig.order()).encode(), **headers)
            assert (status, json.loads(body)["result"]["order"]["order_status"]) == (200, "open")
            status, body = await it.post("/private/get_open_orders", b'{"subaccount_id":1}', **headers)
            assert len(json.loads(body)["result"]["orders"]) == 1
            refused = [await it.post("/private/get_account", b""), await it.post("/public/none", b"{}"), await it.post("/", b"{")]
            assert [(status, json.loads(body)["error"]["code"]) for status, body in refused] == [(200, 14021), (200, -32601), (200, -32700)]
            status, body = await it.post("/", b'{"id":1,"method":"subscribe","params":{"channels":["trades.ETH-PERP"]}}')
            assert json.loads(body)["error"]["code"] == -32601
            async with aiohttp.ClientSession() as session:
                url = f"http://127.0.0.1:{it.port}"
                async with session.get(f"{url}/public/get_instrument?instrument_name=ETH-PERP") as reply:
                    assert (await reply.json())["result"]["instrument_name"] == "ETH-PERP"
                async with session.get(f"{url}/v3/public/get_all_instruments?instrument_type=perp&expired=false&page_size=1") as reply:
                    assert len((await reply.json())["result"]["instruments"]) == 1
                for path in ("", "/venue/status", "/private/get_account"):
                    async with session.get(url + path) as reply:
                        assert reply.status == 405, "what changes anything is a POST"

    run(test)


def test_a_slow_client_is_cut_off_and_the_others_get_all() -> None:
    frames = numbered(3_000, 5_000)

    async def test() -> None:
        limits = Limits(queue_bytes=1_000_000)
        async with running(frames, limits, start_after=2, speed=20.0) as it, it.connect(max_queue=None) as good:
            reader, writer = await asyncio.open_connection("127.0.0.1", it.port)
            head = "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            writer.write(f"{head}Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode())
            await reader.readuntil(b"\r\n\r\n")
            request = json.dumps({"id": 1, "method": "subscribe", "params": {"channels": [TOPIC]}}).encode()
            writer.write(bytes((0x81, 0x80 | len(request))) + bytes(4) + request)
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            await subscribe(good, TOPIC)
            assert await take(good, len(frames)) == frames
            assert (await call(good, "venue/status"))["result"]["slow_clients_cut"] == 1
            writer.close()

    run(test)


def test_faults_over_a_socket_are_counted_exactly() -> None:
    frames = numbered(600)

    async def test() -> None:
        async with running(frames, start_after=None) as it, it.connect(max_queue=None) as client:
            await subscribe(client, TOPIC)
            for rule in ({"kind": "drop", "every": 7}, {"kind": "duplicate", "every": 5}, {"kind": "malformed", "every": 11}):
                await call(client, "venue/inject", rule)
            await call(client, "venue/start")
            await it.server.pump.finished.wait()
            await client.send("ping")
            got: Frames = []
            while (message := await asyncio.wait_for(client.recv(decode=False), 10)) != b"pong":
                got.append(message)
            counts = (await call(client, "venue/faults"))["result"]["counts"]
            assert len(got) == len(frames) - counts["drop"] + counts["duplicate"]
            bad = [message for message in got if message not in frames]
            assert len(bad) == counts["malformed"] > 20
            order = [frames.index(message) for message in got if message in frames]
            assert len(order) - len(set(order)) == counts["duplicate"] > 20
            assert order == sorted(order)

    run(test)


def test_reordered_frames_over_a_socket_are_counted_exactly() -> None:
    frames = numbered(300)

    async def test() -> None:
        async with running(frames, start_after=None) as it, it.connect(max_queue=None) as client:
            await subscribe(client, TOPIC)
            await call(client, "venue/inject", {"kind": "reorder", "share": 0.2})
            await call(client, "venue/start")
            got = [frames.index(message) for message in await take(client, 299)]
            counts = (await call(client, "venue/faults"))["result"]["counts"]
            assert sum(later < earlier for earlier, later in pairwise(got)) == counts["reorder"] > 20

    run(test)


def test_replies_that_are_late_missing_or_cut() -> None:
    async def test() -> None:
        async with running() as it, it.connect() as control, it.connect() as client:
            await call(control, "venue/inject", {"kind": "no_reply", "times": 1, "method": "public/get_time"})
            await call(control, "venue/inject", {"kind": "late_reply", "times": 1, "ms": 50, "method": "public/get_time"})
            for number in range(3):
                await client.send(json.dumps({"id": number, "method": "public/get_time"}))
            assert [json.loads(message)["id"] for message in await take(client, 2)] == [2, 1]
            await call(control, "venue/inject", {"kind": "cut_reply", "method": "public/get_time"})
            await client.send(json.dumps({"id": 3, "method": "public/get_time"}))
            with pytest.raises(websockets.ConnectionClosedError):
                await asyncio.wait_for(client.recv(), 10)
            counts = (await call(control, "venue/faults"))["result"]["counts"]
            assert (counts["no_reply"], counts["late_reply"], counts["cut_reply"]) == (1, 1, 1)

    run(test)


def test_clients_are_cut_on_request() -> None:
    async def test() -> None:
        async with running() as it, it.connect() as control, it.connect() as client:
            assert (await call(control, "venue/cut"))["result"] == {"cut": 1}
            with pytest.raises(websockets.ConnectionClosedError):
                await asyncio.wait_for(client.recv(), 10)
            assert (await call(control, "venue/faults"))["result"]["counts"]["cut"] == 1

    run(test)


def test_the_tapes_disconnects_are_played_where_asked_for() -> None:
    items = [Item(1, numbered(1)[0], TOPIC), Item(2, None)]

    async def test() -> None:
        for cuts in (False, True):
            async with running(open_tape=lambda: iter(items), cut_as_recorded=cuts) as it, it.connect() as client:
                await subscribe(client, TOPIC)
                assert await take(client, 1) == numbered(1)
                if cuts:
                    with pytest.raises(websockets.ConnectionClosedError):
                        await asyncio.wait_for(client.recv(), 10)
                else:
                    assert "result" in await call(client, "public/get_time")

    run(test)


def test_bad_clients_do_not_take_it_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "_HEAD_TIMEOUT_SEC", 0.8)
    monkeypatch.setattr(server_module, "_BODY_TIMEOUT_SEC", 0.3)
    monkeypatch.setattr(server_module, "_LINGER_SEC", 0.1)

    async def closed(port: int, data: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(data)
        with contextlib.suppress(ConnectionError):
            answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        return answer

    async def test() -> None:
        limits = Limits(message_bytes=10_000, clients=2)
        async with running(limits=limits) as it:
            assert await closed(it.port, b"GET / HT") == b"", "a head that never ends"
            assert b" 408 " in await closed(it.port, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"), (
                "a body that never ends"
            )
            assert b" 400 " in await closed(it.port, b"\x16\x03\x01\x02\x00\x01\r\n\r\n")
            assert b" 400 " in await closed(it.port, b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000 + b"\r\n\r\n")
            assert (await it.post("/", b"[" * 20_000))[0] == 413
            assert (await it.post("/", b"{}", Origin="https://example.com"))[0] == 403
            assert (await it.post("/", b"{}", Origin="http://localhost:3000"))[0] == 200
            async with it.connect() as huge, it.connect() as client:
                with pytest.raises(websockets.InvalidStatus) as refused:
                    await it.connect().__aenter__()
                assert refused.value.response.status_code == 429
                await huge.send("x" * 20_000)
                with pytest.raises(websockets.ConnectionClosedError):
                    await asyncio.wait_for(huge.recv(), 10)
                await client.send(b"\x00\x01")
                await client.send("{" * 9_000)
                await client.send("ping")
                codes = [json.loads(message)["error"]["code"] for message in await take(client, 2)]
                assert codes == [-32600, -32700]
                assert await take(client, 1) == [b"pong"]
                await client.send("pong")
                assert "result" in await call(client, "public/get_time")

    run(test)


def test_heartbeats_in_text() -> None:
    async def test() -> None:
        async with running(limits=Limits(heartbeat_text=True, heartbeat_sec=0.05)) as it, it.connect() as client:
            assert await take(client, 2) == [b"ping", b"ping"]

    run(test)


def test_orders_expire_while_nothing_else_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "_HOUSEKEEPING_SEC", 0.01)

    async def test() -> None:
        async with running() as it, it.connect() as client:
            await call(client, "public/login", it.rig.login_params())
            await subscribe(client, "1.orders")
            await call(client, "private/order", it.rig.order())
            await take(client, 1)
            it.rig.now_ns += 3_600 * 10**9
            (message,) = await take(client, 1)
            assert json.loads(message)["params"]["data"][0]["order_status"] == "expired"

    run(test)


def test_stopping_says_goodbye() -> None:
    async def test() -> None:
        async with running() as it:
            client = await it.connect()
        with pytest.raises(websockets.ConnectionClosedOK):
            await asyncio.wait_for(client.recv(), 10)
        assert client.close_code == 1001
        assert not it.rig.venue.peers

    run(test)
