"""Replays: percentile curves by channel and by file, frames per second over the run, the collector's pauses, and all counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from derive_bench.measure.report.figures import COLOURS, Chart, axis, plain
from derive_bench.measure.report.files import Material
from derive_bench.measure.report.replays import Latency, Replay
from derive_bench.measure.report.section import Section
from derive_bench.measure.tables import Table, rate_text, seconds_text

__all__ = ["make", "rates"]

OVERALL = "all frames"
TEXT = (
    "In a percentile curve each step to the right on the axis has a tenth as many beyond it (90%, 99%, 99.9%); a line ends at the slowest. "
    "At a given speed, latency counts from when the session had the frame due, waiting included; at full speed, from its turn."
)
TICKS = (1, 2, 5)
"""Marks of a decade of the axis of times that spans few; one that spans many has the first alone."""
FEW_DECADES = 3.5

Points = Sequence[tuple[float, int]]


def make(material: Material) -> Section | None:
    """None without a file of replay."""
    replays = material.replays
    if not replays:
        return None
    charts = [
        *_overall(replays),
        *chain.from_iterable((*_channels(replay), *_throughput(replay)) for replay in replays),
        *_pauses(replays),
    ]
    tables = [_latencies(replays), _rates(replays), _collector(replays), _counts(replays), _events(replays), _digests(replays)]
    told = [line for replay in replays for line in (_sentence(replay), *(f"{replay.source}: {each}" for each in replay.warnings))]
    return Section("replays", "Replays", [TEXT, *told], charts, [table for table in tables if table.rows])


def rates(replay: Replay, frames: Sequence[int]) -> list[float]:
    """Frames per second of each span; the last is as long as the run has left for it."""
    span, last = replay.throughput.span_ns, len(frames) - 1
    left = min(span, replay.rate.elapsed_ns - last * span) or span
    return [count * 1e9 / (left if place == last else span) for place, count in enumerate(frames)]


def _sentence(replay: Replay) -> str:
    counts, rate = replay.counts, replay.rate
    achieved = f"{rate.achieved_per_s:,.0f} frames/s" if rate.achieved_per_s is not None else "no rate"
    wanted = f" of {rate.wanted_per_s:,.0f} wanted" if rate.wanted_per_s is not None else ""
    return (
        f"{replay.source}: {counts['frames']:,} frames, {_speed(replay)}, {achieved}{wanted}; {counts['undecodable']:,} undecodable, "
        f"{counts['publish_id_gaps']:,} gaps, {counts.get('duplicate_trades', 0):,} duplicate trades, {counts['disconnects']:,} "
        f"disconnects; {replay.digest.events:,} events{'' if replay.overall else '; latencies were not taken'}."
    )


def _speed(replay: Replay) -> str:
    return "full speed" if replay.rate.speed == "max" else f"{replay.rate.speed:g} times as fast as it happened"


def _overall(replays: Sequence[Replay]) -> list[Chart]:
    timed = {f"{replay.source}, {_speed(replay)}": replay.overall for replay in replays if replay.overall}
    if len(timed) < 2:
        return []
    lines = [(name, latency.count, latency.curve) for name, latency in timed.items()]
    return [_curves("Latency of all frames, by file", f"Latency percentiles of {len(lines)} replays.", lines, "latency")]


def _channels(replay: Replay) -> list[Chart]:
    timed = [(name, latency) for name, latency in _timed(replay) if latency]
    if not timed:
        return []
    lines = [(f"{name}, {latency.count:,}", latency.count, latency.curve) for name, latency in timed]
    said = f"Latency percentiles of {len(lines) - 1} channels and of all frames; the values are in the table below."
    return [_curves(f"Latency, {replay.source}", said, lines, "latency")]


def _timed(replay: Replay) -> Iterable[tuple[str, Latency | None]]:
    return [(OVERALL, replay.overall), *((name, channel.latency) for name, channel in replay.channels.items())]


def _pauses(replays: Sequence[Replay]) -> list[Chart]:
    lines = [(f"{each.source}, {each.gc.collections:,} runs", each.gc.collections, each.gc.curve) for each in replays if each.gc.curve]
    if not lines:
        return []
    said = f"Percentiles of the garbage collector's pauses in {len(lines)} replays."
    return [_curves("Garbage collection: pauses", said, lines, "pause")]


def _curves(title: str, said: str, lines: Sequence[tuple[str, int, Points]], what: str) -> Chart:
    traces = []
    for number, (name, count, curve) in enumerate(lines):
        xs, ys, told = zip(*_drawn(count, curve), strict=True)
        line = {"color": COLOURS[number % len(COLOURS)], "width": 3 if number == 0 else 1.5}
        line |= {"dash": "solid" if number < len(COLOURS) else "dot"}
        traces.append(
            {"type": "scatter", "mode": "lines", "name": name, "x": xs, "y": ys, "line": line}
            | {"hovertext": [f"{name}<br>{each}" for each in told], "hoverinfo": "text"}
        )
    most = max(count for _, count, _ in lines)
    times = [value for trace in traces for value in trace["y"]]
    return plain(title, said, traces, _percentiles(most), _times(what, min(times), max(times)))


def _drawn(count: int, curve: Points) -> list[tuple[float, float, str]]:
    """Place on the axis, seconds and text of each point; the slowest, at 100%, stands where one of so many is beyond."""
    inner = [(100 / (100 - point), point, value) for point, value in curve if point < 100]
    points = [(place, f"{point:.6g}%", value) for place, point, value in inner if place <= count]
    points.append((count, "slowest", curve[-1][1]))
    return [(place, max(value, 1) * 1e-9, f"{point}: {seconds_text(value * 1e-9)}") for place, point, value in points]


def _percentiles(most: int) -> dict[str, Any]:
    tens = range(1, max(2, math.ceil(math.log10(most)) + 1))
    texts = {2: "50%"} | {10**ten: f"{100 - 100 / 10**ten:.{max(0, ten - 2)}f}%" for ten in tens}
    limits = [0, math.log10(max(most, 10)) + 0.1]
    return axis("percentile", type="log", tickvals=list(texts), ticktext=list(texts.values()), tickangle=0, range=limits)


def _times(what: str, least: float, most: float) -> dict[str, Any]:
    low, high = math.floor(math.log10(least)), math.ceil(math.log10(most))
    steps = TICKS if math.log10(most / least) < FEW_DECADES else TICKS[:1]
    values = [float(f"{step}e{ten}") for ten in range(low, high + 1) for step in steps]
    texts = [seconds_text(value).replace(".00 ", " ").replace(".0 ", " ") for value in values]
    return axis(what, type="log", tickvals=values, ticktext=texts, range=[math.log10(least) - 0.1, math.log10(most) + 0.1])


def _throughput(replay: Replay) -> list[Chart]:
    through = replay.throughput
    if not any(through.frames):
        return []
    traces = []
    if through.due is not None:
        traces.append(_line("wanted", replay, rates(replay, through.due), {"color": COLOURS[1], "width": 4}))
    elif replay.rate.wanted_per_s is not None:
        mean = [replay.rate.wanted_per_s] * len(through.frames)
        traces.append(_line("wanted, mean", replay, mean, {"color": COLOURS[1], "width": 4}))
    traces.append(_line("achieved", replay, rates(replay, through.frames), {"color": COLOURS[0], "width": 1.5}))
    said = f"Frames per second in {len(through.frames)} spans of {seconds_text(through.span_ns * 1e-9)}."
    title = f"Throughput, {replay.source}: spans of {seconds_text(through.span_ns * 1e-9)}"
    y = axis("frames/s", rangemode="tozero", tickformat="~s")
    return [plain(title, said, traces, axis("s since the start", rangemode="tozero"), y)]


def _line(name: str, replay: Replay, values: Sequence[float], line: Mapping[str, Any]) -> dict[str, Any]:
    """Flat over each span."""
    span, elapsed = replay.throughput.span_ns, replay.rate.elapsed_ns
    edges = [round(min(place * span, elapsed) * 1e-9, 6) for place in range(len(values) + 1)]
    common = {"type": "scatter", "mode": "lines", "name": name, "line": {**line, "shape": "hv"}}
    return {**common, "x": edges, "y": [round(each, 1) for each in (*values, values[-1])], "hoverinfo": "x+y+name"}


def _latencies(replays: Sequence[Replay]) -> Table:
    cells = []
    for replay in replays:
        sizes = {name: (channel.frames, channel.bytes) for name, channel in replay.channels.items()}
        sizes[OVERALL] = (replay.counts["frames"], replay.counts["bytes"])
        for name, latency in _timed(replay):
            figures = _figures(latency) if latency else ["–"] * 6
            cells.append([replay.source, name, *(f"{size:,}" for size in sizes[name]), *figures])
    return Table("Latency", ["replay", "channel", "frames", "bytes", "p50", "p90", "p99", "p99.9", "max", "mean"], cells)


def _figures(latency: Latency) -> list[str]:
    values = (latency.p50_ns, latency.p90_ns, latency.p99_ns, latency.p999_ns, latency.max_ns, latency.mean_ns)
    return [_time(value) for value in values]


def _rates(replays: Sequence[Replay]) -> Table:
    cells = []
    for replay in replays:
        rate = replay.rate
        shown = [_rate(rate.achieved_per_s), _rate(rate.wanted_per_s)]
        late = ["–", "–"] if rate.speed == "max" else [f"{rate.late_frames:,}", _time(rate.latest_ns)]
        cells.append([replay.source, _speed(replay), _time(rate.elapsed_ns), *shown, *late])
    return Table("Rate", ["replay", "speed", "lasted", "frames/s", "wanted", "late frames", "latest by"], cells)


def _collector(replays: Sequence[Replay]) -> Table:
    cells = []
    for replay in replays:
        pauses = replay.gc
        share = f"{pauses.total_ns / replay.rate.elapsed_ns:.2%}" if replay.rate.elapsed_ns else "–"
        figures = [_time(value) for value in (pauses.p50_ns, pauses.p90_ns, pauses.p99_ns, pauses.max_ns)]
        generations = " / ".join(f"{runs:,}" for runs in pauses.by_generation)
        cells.append([replay.source, f"{pauses.collections:,}", generations, _time(pauses.total_ns), share, *figures])
    headings = ["replay", "runs", "by generation", "in all", "of the time", "p50", "p90", "p99", "max"]
    return Table("Garbage collection", headings, cells)


def _counts(replays: Sequence[Replay]) -> Table:
    return _by_name("Counts", "count", [(replay.source, replay.counts) for replay in replays])


def _events(replays: Sequence[Replay]) -> Table:
    return _by_name("Events", "type", [(replay.source, replay.events) for replay in replays])


def _by_name(title: str, heading: str, columns: Sequence[tuple[str, Mapping[str, int]]]) -> Table:
    names = dict.fromkeys(name for _, values in columns for name in values)
    cells = [[name.replace("_", " "), *(f"{values[name]:,}" if name in values else "–" for _, values in columns)] for name in names]
    return Table(title, [heading, *(source for source, _ in columns)], cells)


def _digests(replays: Sequence[Replay]) -> Table:
    cells = [[replay.source, f"{replay.digest.events:,}", replay.digest.sha256] for replay in replays]
    return Table("Event digest", ["replay", "events", "SHA-256"], cells)


def _time(ns: int | None) -> str:
    return "–" if ns is None else seconds_text(ns * 1e-9)


def _rate(per_second: float | None) -> str:
    return "–" if per_second is None else rate_text(per_second)
