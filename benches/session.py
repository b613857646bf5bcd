"""Session: what a frame costs in the midst of a day, and what a replay adds to it.

Covered: a made-up session of 120,000 frames (books of 10 and 20 levels a side, tickers, trades, orders, fills, replies), played in its
order through the full path: decode, parse with the instrument's precisions, dispatch where it is private. `session/market_data` and
`session/private` are its two connections. Requests of ours count as frames; registering their orders is what they cost. What a replay adds
stands apart: reading the file, recording latencies, the event digest. The control parses the very frames of `session/mixed` into dicts.
Left out: the socket, and what a client does with the events.

The session is made once and kept in the user's cache; `sessions/mixed.jsonl` (or `mixed_v2.jsonl`) under `--data` takes its place.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from derive_bench.measure.rows import Suite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from derive_bench.measure.inputs import Inputs
    from derive_bench.replay.reader import Tape

suite = Suite("session", "a session of 100,000 frames and more, frame by frame, and what replaying it adds")

SEED: Final = 20_261_001
DIGESTED: Final = 20_000
"""Frames whose events the digest row holds in memory."""

PARTS: Final = {"market_data": ("1",), "private": ("2",), "mixed": ("1", "2")}


def _tape(inputs: Inputs) -> Tape:
    from derive_bench.replay.reader import open_tape
    from derive_bench.replay.synth import cached
    from derive_bench.replay.synth.plan import Plan

    own = inputs.data_dir / "sessions" / f"mixed{'_v2' if inputs.dialect == 'v2' else ''}.jsonl"
    return open_tape(own if own.exists() else cached.cached_session(Plan(seed=SEED, frames=cached.FRAMES, protocol=inputs.dialect)))


def _calls(inputs: Inputs, connections: tuple[str, ...]) -> list[Callable[[], Any]]:
    """Return one call for each frame, in order, behind one that begins anew."""
    from derive_bench.replay.known import resolve
    from derive_bench.replay.pipeline import Pipeline
    from derive_bench.replay.records import Frame

    tape = _tape(inputs)
    pipeline = Pipeline(resolve([tape]).registry)
    calls: list[Callable[[], Any]] = [pipeline.restart]
    for record in tape:
        if isinstance(record, Frame) and record.connection in connections:
            if record.direction == "in":
                calls.append(partial(pipeline.receive, record.raw, record.time_ns, record.connection))
            else:
                calls.append(partial(pipeline.sent, record.raw, record.connection))
    return calls


def _received(inputs: Inputs) -> list[bytes]:
    from derive_bench.replay.records import Frame

    return [record.raw for record in _tape(inputs) if isinstance(record, Frame)]


def _part(connections: tuple[str, ...]) -> Callable[[Inputs], dict[str, Any]]:
    return lambda inputs: {"calls": lambda: _calls(inputs, connections)}


for part, connections in PARTS.items():
    suite.row(
        f"session/{part}",
        "x()",
        each="calls",
        summary=f"a frame of the {part.replace('_', ' ')} session -> events",
        control="control/orjson_loads_session" if part == "mixed" else None,
    )(_part(connections))


@suite.row(
    "session/reading",
    "next(records)",
    summary="a record of the session's file, uncompressed, off the page cache",
    control="control/orjson_loads_session",
)
def _(inputs: Inputs) -> dict[str, Any]:
    tape = _tape(inputs)

    def endless() -> Iterator[Any]:
        while True:
            yield from tape

    return {"records": endless()}


@suite.row(
    "session/digest",
    "update(x)",
    each="events",
    summary="the events of a frame into the event digest",
    control="control/orjson_loads_session",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.replay.digest import EventDigest

    def events() -> list[Any]:
        made = [call() for call in _calls(inputs, PARTS["mixed"])[: DIGESTED + 1]]
        return [tuple(of_frame or ()) for of_frame in made]

    return {"update": EventDigest().update, "events": events}


@suite.row(
    "session/latency",
    "begin = clock()\nend = clock()\nnote('orderbook', x)",
    each="latencies",
    summary="two looks at the clock and a latency into its histogram",
    control="control/orjson_loads_session",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from time import perf_counter_ns

    from derive_bench.replay.latency import Latencies
    from derive_bench.replay.synth.dice import Dice

    dice = Dice(SEED)
    spread = [3_000 + dice.below(4_000) + dice.small(20_000) for _ in range(100_000)]
    return {"clock": perf_counter_ns, "note": Latencies().note, "latencies": spread}


@suite.row("control/orjson_loads_session", "loads(x)", each="frames", summary="orjson.loads of the session's frames")
def _(inputs: Inputs) -> dict[str, Any]:
    import orjson

    return {"loads": orjson.loads, "frames": lambda: _received(inputs)}
