"""Links: every message that came is handed over, and how it ended is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

pytest.importorskip("aiohttp", reason="aiohttp is not installed: make venv")

from derive_bench.replay.capture.link import Link, LinkError, open_link
from tests.replay.capture.raw_venue import CLOSE, PING, PONG, TEXT, RawPeer, raw_venue

MANY = 5_000


def converse(peer: Callable[[RawPeer], Awaitable[None]], client: Callable[[Link, list[bytes]], Awaitable[None]]) -> tuple[list[bytes], str]:
    got: list[bytes] = []

    async def main() -> str:
        async with raw_venue(peer) as url, asyncio.timeout(20):
            link = await open_link(url)
            link.start(lambda message, binary, time_ns: got.append(message))
            await client(link, got)
            await link.wait_closed()
            return link.how_it_ended()

    return got, asyncio.run(main())


async def until_the_end(link: Link, got: list[bytes]) -> None:
    await link.wait_closed()


def test_what_comes_after_we_said_close_is_handed_over() -> None:
    async def peer(raw: RawPeer) -> None:
        await raw.send(TEXT, b"before")
        assert (await raw.receive())[0] == CLOSE
        for number in range(MANY):
            await raw.send(TEXT, b"%d" % number)
        await raw.send(PING, b"still there?")
        await raw.send(TEXT, b"last")
        await raw.send(CLOSE, b"\x03\xe8bye")

    async def client(link: Link, got: list[bytes]) -> None:
        while not got:
            await asyncio.sleep(0.001)
        await link.close()

    got, ended = converse(peer, client)
    assert got == [b"before", *(b"%d" % number for number in range(MANY)), b"last"]
    assert ended == "closed with 1000: bye"


def test_what_comes_before_a_broken_connection_is_handed_over() -> None:
    async def peer(raw: RawPeer) -> None:
        for number in range(MANY):
            await raw.send(TEXT, b"%d" % number)

    got, ended = converse(peer, until_the_end)
    assert got == [b"%d" % number for number in range(MANY)]
    assert ended == "closed with 1006"


def test_a_close_is_answered_and_a_ping_too() -> None:
    heard: list[tuple[int, bytes]] = []

    async def peer(raw: RawPeer) -> None:
        await raw.send(PING, b"x")
        heard.append(await raw.receive())
        await raw.send(CLOSE)
        heard.append(await raw.receive())

    _, ended = converse(peer, until_the_end)
    assert heard == [(PONG, b"x"), (CLOSE, b"\x03\xe8")]
    assert ended == "closed with 1005"


def test_a_frame_that_breaks_the_protocol_ends_it_and_loses_nothing_before() -> None:
    async def peer(raw: RawPeer) -> None:
        await raw.send(TEXT, b"good")
        raw.writer.write(b"\xf1\x00")
        await raw.receive()

    got, ended = converse(peer, until_the_end)
    assert got == [b"good"]
    assert ended.startswith("closed with 1002")


def test_a_venue_that_does_not_say_close_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("derive_bench.replay.capture.link._CLOSE_SEC", 0.1)

    async def peer(raw: RawPeer) -> None:
        await raw.receive()
        await raw.reader.read()

    async def client(link: Link, got: list[bytes]) -> None:
        await link.close()

    assert converse(peer, client) == ([], "closed with 1006")


def test_a_frame_cannot_be_delivered_to_a_connection_that_is_no_more() -> None:
    async def peer(raw: RawPeer) -> None:
        await raw.send(CLOSE)
        await raw.receive()

    async def client(link: Link, got: list[bytes]) -> None:
        await link.wait_closed()
        assert not await link.deliver(b"too late")

    converse(peer, client)


@pytest.mark.parametrize("url", ["ws://127.0.0.1:9/ws", "ws://no.such.host.invalid/ws"])
def test_no_connection_is_a_clear_error(url: str) -> None:
    async def main() -> None:
        await open_link(url)

    with pytest.raises(LinkError, match=url):
        asyncio.run(main())


def test_a_server_that_is_no_websocket_is_a_clear_error() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            await open_link(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/ws")

    with pytest.raises(LinkError, match="HTTP 404 instead of a WebSocket"):
        asyncio.run(main())
