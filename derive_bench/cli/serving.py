"""What ``serve`` does once everything has been read: runs the venue until it is stopped, or measures it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import time
from typing import Any

from derive_bench.cli.options import INTERRUPTED, Refusal
from derive_bench.replay.venue.server import VenueServer

__all__ = ["measure", "serve"]

STATUS_SEC = 1.0
SHOWN_CHANNELS = 20


def serve(server: VenueServer, host: str, port: int, name: str, *, exit_at_end: bool) -> int:
    """Serve until SIGINT (exit code 130) or SIGTERM (0), or with `exit_at_end` until the tape has been played."""
    return asyncio.run(_serve(server, host, port, name, exit_at_end))


def measure(server: VenueServer, clients: int, seconds: float) -> int:
    """Serve `clients` clients in a process of their own for so long, and print how it went."""
    return asyncio.run(_measure(server, clients, seconds))


def _not_a_clients_fault(record: logging.LogRecord) -> bool:
    """Whether the HTTP library complains of something else than a request that is none, which it has answered."""
    from aiohttp.http_exceptions import HttpProcessingError

    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


async def _serve(server: VenueServer, host: str, port: int, name: str, exit_at_end: bool) -> int:
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def stop(code: int) -> None:
        if not stopped.done():
            stopped.set_result(code)

    logging.getLogger("aiohttp.server").addFilter(_not_a_clients_fault)
    for number, code in ((signal.SIGINT, INTERRUPTED), (signal.SIGTERM, 0)):
        asyncio.get_running_loop().add_signal_handler(number, stop, code)
    bound = await _start(server, host, port)
    shown = f"[{host}]" if ":" in host else host
    path = "/v3" if server.venue.protocol.dialect == "v3" else ""
    print(f"serving {name} on ws://{shown}:{bound}{path}/ws and http://{shown}:{bound}{path}", flush=True)
    waiting = [stopped, asyncio.ensure_future(_show(server))]
    if exit_at_end:
        waiting.append(asyncio.ensure_future(_at_end(server)))
    done, pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for each in pending:
        each.cancel()
    summary = _summary(server)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    await server.stop()
    print(f"served: {summary}", flush=True)
    return done.pop().result()


async def _at_end(server: VenueServer) -> int:
    await server.pump.finished.wait()
    return 0


async def _show(server: VenueServer) -> int:
    """Keep a line on a terminal up to date; elsewhere say nothing."""
    while True:
        await asyncio.sleep(STATUS_SEC)
        if sys.stderr.isatty():
            print(f"\r\x1b[K{_summary(server)}", end="", file=sys.stderr, flush=True)


def _summary(server: VenueServer) -> str:
    state, venue = server.pump.state(), server.venue
    faults = "".join(f", {kind} {count:,}" for kind, count in venue.faults.counts.items())
    behind = f", {state['behind_sec'] * 1000:,.0f} ms behind" if state["behind_sec"] > 0.05 else ""
    slow = f", {venue.slow_cut} slow clients cut off" if venue.slow_cut else ""
    return f"{state['frames_played']:,} frames, {state['state']}{behind}, {len(venue.peers)} clients{slow}{faults}"


async def _start(server: VenueServer, host: str, port: int) -> int:
    try:
        return await server.start(host, port)
    except OSError as error:
        raise Refusal(f"cannot listen on {host}:{port}: {error.strerror or error}") from None


async def _measure(server: VenueServer, clients: int, seconds: float) -> int:
    bound = await _start(server, "127.0.0.1", 0)
    channels = _channels(server)
    url = f"ws://127.0.0.1:{bound}/v3/ws"
    command = ["-m", "derive_bench.replay.venue.load", url, str(clients), str(seconds), *channels]
    began, cpu = time.monotonic(), time.process_time()
    child = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=asyncio.subprocess.PIPE, start_new_session=True)
    try:
        output, _ = await child.communicate()
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()
    busy = (time.process_time() - cpu) / (time.monotonic() - began)
    await server.stop()
    if child.returncode:
        raise Refusal("the measuring clients failed")
    print("\n".join(_report(json.loads(output), server, clients, seconds, busy, len(channels))))
    return 0


def _channels(server: VenueServer) -> list[str]:
    """The first channels of the tape, to be subscribed to."""
    topics: dict[str, None] = {}
    for item, _ in zip(server.open_tape(), range(5_000), strict=False):
        if item.topic is not None and not item.topic[0].isdigit():
            topics[item.topic] = None
    return list(topics)[:SHOWN_CHANNELS]


def _report(result: dict[str, Any], server: VenueServer, clients: int, seconds: float, busy: float, channels: int) -> list[str]:
    frames: list[int] = result["frames"]
    total = sum(frames)
    state = server.pump.state()
    return [
        f"{clients} clients, {channels} channels, {seconds:g} s, {os.cpu_count()} CPUs",
        f"delivered      {total / seconds:,.0f} frames a second, {result['bytes'] / seconds / 1e6:,.1f} MB a second",
        f"each client    {min(frames) / seconds:,.0f} to {max(frames) / seconds:,.0f} frames a second",
        f"the venue      {busy:.0%} of a CPU, at worst {state['worst_behind_sec'] * 1000:,.0f} ms behind the tape",
        f"cut off        {server.venue.slow_cut} slow clients",
    ]
