"""Files of every kind that a report takes, small and made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyperf

PARTS = {"inbound_pipeline/quotes_cold": "decode_only/ticker_cold parse_only/quote_cold", "exec_pipeline/over": "atom/a atom/b"}

MEDIANS = {
    "inbound_pipeline/quotes_cold": 5e-6,
    "inbound_pipeline/quotes": 4e-6,
    "decode_only/ticker_cold": 2e-6,
    "parse_only/quote_cold": 2.5e-6,
    "exec_pipeline/over": 1e-6,
    "atom/a": 7e-7,
    "atom/b": 6e-7,
    "inbound_pipeline/book_deltas": 1e-6,
    "inbound_pipeline/book_deltas_d10": 1e-5,
    "inbound_pipeline/book_deltas_d20": 2e-5,
    "inbound_pipeline/book_deltas_d100": 1e-4,
}


def times(path: Path, *, date: str = "2026-01-01 10:00:00", factor: float = 1.0, more: int = 0, **metadata: Any) -> Path:
    """A result with times; ``more`` rows besides those of :data:`MEDIANS`."""
    rows = MEDIANS | {f"atom/a_row_whose_name_is_rather_long_{number}": 1e-7 * (number + 1) for number in range(more)}
    benchmarks = []
    for name, median in rows.items():
        own = {"name": name, "suite": "data", "description": f"what {name} does", "unit": "second", "date": date, "loops": 1}
        own |= {"protocol": "v3", "commit": "0123456789", "dirty": "no", "complete": "yes"} | metadata
        if name in PARTS:
            own["parts"] = PARTS[name]
        values = [median * factor * share for share in (0.99, 1.0, 1.02)]
        benchmarks.append(pyperf.Benchmark([pyperf.Run(values, metadata=own, collect_metadata=False)]))
    pyperf.BenchmarkSuite(benchmarks).dump(str(path), replace=True)
    return path


def counts(path: Path) -> Path:
    """A result with instructions."""
    own = {"name": "atom/a", "suite": "micros", "unit": "integer", "repeats": "yes", "allocations": 3.0, "profile": "count", "loops": 1}
    pyperf.BenchmarkSuite([pyperf.Benchmark([pyperf.Run([1234], metadata=own, collect_metadata=False)])]).dump(str(path), replace=True)
    return path


def tail(path: Path, **changes: Any) -> Path:
    """Tails of one row."""
    figures = {"p50_ns": 4000, "p99_ns": 6000, "p999_ns": 9000, "max_ns": 250_000, "mean_ns": 4100, "calls": 5000, "collections": [7, 0, 0]}
    burst = {"first_ns": 9000, "p50_ns": 4100, "p99_ns": 7000, "p999_ns": 8000, "max_ns": 9000, "rest_p50_ns": 4000, "settled_after": 12}
    row = {"suite": "data", "description": "", "collector": dict.fromkeys(("on", "off", "frozen"), figures), "memory": None, "burst": burst}
    document = {
        "schema": "derive_bench.tail",
        "schema_version": 1,
        "metadata": {},
        "calls": 5000,
        "rows": {"inbound_pipeline/quotes_cold": row},
    }
    path.write_text(json.dumps(document | changes))
    return path


def peers(path: Path) -> Path:
    """Details of a comparison with one library."""
    ours = {"status": "timed", "undone": "", "median": 1e-6, "mad": 1e-8, "values": 9}
    theirs = {"status": "timed", "undone": "", "median": 4e-6, "mad": 1e-8, "values": 9, "ratio": 4.0, "ratio_low": 3.8, "ratio_high": 4.4}
    who = {"dialect": "v3", "about": "a library", "status": "measured", "reason": "", "versions": {}, "python": "3.11"}
    contenders = [who | {"name": "derive_bench", "version": ""}, who | {"name": "other", "version": "1.2"}]
    stage = {"name": "decode/ticker", "summary": "", "reference": None, "results": {"derive_bench": ours, "other": theirs}}
    path.write_text(json.dumps({"schema": 1, "kind": "peers", "run": {}, "contenders": contenders, "stages": [stage]}))
    return path


def latency(count: int = 10_000, slowest: int = 800_000) -> dict[str, Any]:
    """Latencies with a curve."""
    curve = [[0.0, 9000], [50.0, 12_000], [90.0, 20_000], [99.0, 50_000], [99.9, 90_000], [99.999, slowest], [100.0, slowest]]
    figures = {"p50_ns": 12_000, "p90_ns": 20_000, "p99_ns": 50_000, "p99.9_ns": 90_000, "max_ns": slowest, "mean_ns": 14_000}
    return {"count": count, **figures, "curve": curve}


def replay(path: Path, **changes: Any) -> Path:
    """A replay at four times its speed: 250 ms in spans of 100 ms."""
    names = ("undecodable", "publish_id_gaps", "duplicate_trades", "disconnects")
    document = {
        "schema": "derive_bench.replay/1",
        "counts": {"frames": 10_000, "bytes": 5_000_000} | dict(zip(names, (3, 5, 7, 2), strict=True)),
        "events": {"QuoteTick": 9000, "OrderBookDeltas": 997},
        "channels": {
            "orderbook": {"frames": 4000, "bytes": 4_000_000, "latency": latency(4000)},
            "trades": {"frames": 10, "bytes": 9000, "latency": None},
        },
        "overall": latency(),
        "rate": {"speed": 4.0, "elapsed_ns": 250_000_000, "achieved_per_s": 40_000.0, "wanted_per_s": 41_000.0}
        | {"late_frames": 12, "latest_ns": 3_000_000},
        "throughput": {"span_ns": 100_000_000, "frames": [4000, 4000, 2000], "due": [4100, 4000, 1900]},
        "gc": {"collections": 9, "by_generation": [8, 1, 0], "total_ns": 900_000, "p50_ns": 10_000, "p90_ns": 100_000, "p99_ns": 600_000}
        | {"max_ns": 600_000, "curve": [[0.0, 9000], [50.0, 10_000], [75.0, 100_000], [100.0, 600_000]]},
        "digest": {"sha256": "ab" * 32, "events": 9997},
        "warnings": ["fell behind: much"],
    }
    path.write_text(json.dumps(document | changes))
    return path
