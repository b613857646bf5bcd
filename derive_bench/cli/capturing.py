"""What ``capture`` does once everything has been read: records until it is stopped, and shows how it goes."""

from __future__ import annotations

import asyncio
import signal
import sys
import time

from derive_bench.adapter import Credentials
from derive_bench.cli.options import INTERRUPTED, Refusal
from derive_bench.measure.progress import ProgressLine
from derive_bench.replay.capture.driver import Capture, Plan
from derive_bench.replay.capture.tally import Tally

__all__ = ["capture"]

STATUS_SEC = 0.5
SHOWN_CHANNELS = 3
_NS_PER_MS = 1e6


def capture(plan: Plan, credentials: Credentials | None) -> int:
    """Record until SIGINT (exit code 130), SIGTERM or the end of the time (0)."""
    return asyncio.run(_capture(plan, credentials))


async def _capture(plan: Plan, credentials: Credentials | None) -> int:
    line = ProgressLine(sys.stderr)

    def tell(text: str) -> None:
        line.clear()
        print(f"derive-bench: {text}", file=sys.stderr, flush=True)

    recording = Capture(plan, credentials, tell=tell)
    code = 0

    def stop(outcome: int) -> None:
        nonlocal code
        code = outcome
        recording.stop()

    for number, outcome in ((signal.SIGINT, INTERRUPTED), (signal.SIGTERM, 0)):
        asyncio.get_running_loop().add_signal_handler(number, stop, outcome)
    began = time.monotonic()
    showing = asyncio.create_task(_show(recording, line, began))
    try:
        await recording.run()
    finally:
        showing.cancel()
        line.clear()
    if recording.recorder.has_begun:
        _summarise(recording, time.monotonic() - began)
    if recording.recorder.failure is not None:
        raise Refusal(recording.recorder.failure)
    if not recording.recorder.has_begun:
        raise Refusal(f"nothing was recorded: {plan.url or plan.protocol.ws_url} could not be reached")
    return code


async def _show(recording: Capture, line: ProgressLine, began: float) -> None:
    while True:
        await asyncio.sleep(STATUS_SEC)
        line.show(_status(recording, time.monotonic() - began))


def _status(recording: Capture, seconds: float) -> str:
    """``0:01:10  12,345 frames, 1.2 MB, 0.3 MB written, lag 12 ms, 0 reconnects: orderbook.ETH-PERP.10.10 12,000 …``"""
    tally = recording.tally
    channels = ", ".join(f"{channel} {frames:,}" for channel, frames in tally.channels.most_common(SHOWN_CHANNELS))
    more = len(tally.channels) - SHOWN_CHANNELS
    return f"{_totals(recording, seconds)}: {channels or 'no channel yet'}{f' and {more} more' if more > 0 else ''}"


def _totals(recording: Capture, seconds: float) -> str:
    tally = recording.tally
    minutes, rest = divmod(int(seconds), 60)
    return (
        f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}  {tally.received:,} frames, {_bytes(tally.raw_bytes)}, "
        f"{_bytes(recording.recorder.size)} written, lag {_lag(tally.lag_ns)}, {tally.reconnects} reconnects"
    )


def _summarise(recording: Capture, seconds: float) -> None:
    tally = recording.tally
    for channel, frames in sorted(tally.channels.items()):
        print(f"{frames:>12,}  {channel}")
    print(f"recorded {_totals(recording, seconds).lstrip()}; {_rest(tally)}")
    for path in recording.recorder.paths:
        print(f"written to {path}")


def _rest(tally: Tally) -> str:
    return (
        f"worst lag {_lag(tally.worst_lag_ns)}, {tally.sent:,} frames sent, {tally.undecodable:,} undecodable, "
        f"{len(tally.refused)} channels refused, {tally.failed_attempts} failed attempts to connect"
    )


def _lag(lag_ns: int | None) -> str:
    return "unknown" if lag_ns is None else f"{lag_ns / _NS_PER_MS:,.0f} ms"


def _bytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
