"""The report of a replay: everything that was found, as plain numbers and as text.

Contract: `Report.data` is what `--json` writes; docs/replay.md has its schema, `SCHEMA` changes with it. Times are ns, rates per second.
`warnings` says in whole sentences what a reader must know before he trusts the figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from derive_bench.replay.counts import SHOWN, Counts
from derive_bench.replay.digest import EventDigest
from derive_bench.replay.latency import OVERALL, GcPauses, Latencies
from derive_bench.replay.pace import LATE_NS, Pace, Throughput

if TYPE_CHECKING:
    from derive_bench.replay.player import Session

__all__ = ["SCHEMA", "Report", "make_report"]

SCHEMA: Final = "derive_bench.replay/1"

_SHOWN_EXCERPT: Final = 60
_COLUMNS: Final = (("p50", "p50_ns"), ("p90", "p90_ns"), ("p99", "p99_ns"), ("p99.9", "p99.9_ns"), ("max", "max_ns"))


@dataclass(frozen=True, slots=True)
class Report:
    """What a replay found."""

    data: dict[str, Any]

    @property
    def digest(self) -> str:
        """The event digest, 64 hex digits."""
        return str(self.data["digest"]["sha256"])

    @property
    def warnings(self) -> list[str]:
        """What a reader must know."""
        return list(self.data["warnings"])

    def text(self) -> str:
        """Return the report as text for a terminal."""
        return "\n".join([*_channel_lines(self.data), "", *_fact_lines(self.data), *(f"warning: {line}" for line in self.warnings)])


def make_report(
    session: Session, counts: Counts, latencies: Latencies, pace: Pace, throughput: Throughput, pauses: GcPauses, digest: EventDigest
) -> Report:
    """Return the report of a session's replay so far."""
    files = [
        {
            "path": str(tape.path),
            "kind": tape.kind,
            "protocol": tape.header.protocol,
            "truncated": tape.truncated,
            "broken_lines": tape.fault_count,
            "first_broken_lines": [{"line": fault.line, "reason": fault.reason} for fault in tape.faults],
        }
        for tape in session.tapes
    ]
    summaries = latencies.summaries()
    channels = {
        kind: {"frames": channel.frames, "bytes": channel.bytes, "latency": summaries.get(kind)}
        for kind, channel in sorted(counts.channels.items())
    }
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "files": files,
        "instruments": {"given": session.instruments.given, "guessed": session.instruments.guessed},
        "counts": {**counts.as_dict(), **session.dispatch_stats},
        "unknown_topics": dict(counts.unknown_topics.most_common(SHOWN)),
        "unknown_instruments": dict(counts.unknown_instruments.most_common(SHOWN)),
        "undecodable": [
            {"number": bad.number, "time_ns": bad.time_ns, "connection": bad.connection, "reason": bad.reason, "excerpt": bad.excerpt}
            for bad in counts.bad
        ],
        "events": counts.events(),
        "channels": channels,
        "overall": summaries.get(OVERALL),
        "rate": pace.as_dict(counts.frames),
        "throughput": throughput.as_dict(),
        "gc": pauses.summary(),
        "digest": {"sha256": digest.hexdigest(), "events": digest.events, "encoding": 2},
    }
    data["warnings"] = _warnings(data)
    return Report(data)


def _warnings(data: dict[str, Any]) -> list[str]:
    lines = [f"{file['path']}: {file['truncated']}; played up to its last whole record" for file in data["files"] if file["truncated"]]
    lines += [f"{file['path']}: {file['broken_lines']:,} lines are no records" for file in data["files"] if file["broken_lines"]]
    if data["instruments"]["guessed"]:
        names = ", ".join(data["instruments"]["guessed"][:SHOWN])
        lines.append(f"precisions were guessed from the numbers seen for {names}: give the venue's records with --instruments")
    if data["unknown_instruments"]:
        lines.append(f"no instrument record for {', '.join(data['unknown_instruments'])}: their frames made no events; give --instruments")
    rate = data["rate"]
    if rate["behind"]:
        lines.append(
            f"fell behind: {rate['late_frames']:,} frames began more than {LATE_NS / 1e6:g} ms after they were due, "
            f"the latest by {rate['latest_ns'] / 1e6:,.1f} ms; percentiles include the wait"
        )
    return lines


def _channel_lines(data: dict[str, Any]) -> list[str]:
    lines = [f"{'':16} {'frames':>10} {'bytes':>14}" + "".join(f" {title:>9}" for title, _ in _COLUMNS)]
    rows = list(data["channels"].items())
    if data["overall"]:
        counts = data["counts"]
        rows.append((OVERALL, {"frames": counts["frames"], "bytes": counts["bytes"], "latency": data["overall"]}))
    for kind, channel in rows:
        latency = channel["latency"]
        times = "".join(f" {_time(latency[key]):>9}" for _, key in _COLUMNS) if latency else ""
        lines.append(f"{kind:16} {channel['frames']:>10,} {channel['bytes']:>14,}{times}")
    return lines


def _fact_lines(data: dict[str, Any]) -> list[str]:
    counts, rate, pauses = data["counts"], data["rate"], data["gc"]
    achieved = f"{rate['achieved_per_s']:,.0f} frames/s" if rate["achieved_per_s"] else "no frames"
    wanted = f" of {rate['wanted_per_s']:,.0f} wanted, {rate['late_frames']:,} late" if rate["wanted_per_s"] else ""
    lines = [
        f"rate: {achieved}{wanted}, {rate['elapsed_ns'] / 1e9:,.2f} s in all",
        f"events: {', '.join(f'{count:,} {kind}' for kind, count in data['events'].items()) or 'none'}",
        f"frames: {counts['undecodable']:,} undecodable, {counts['unknown_topics']:,} of unknown channels, {counts['sent']:,} sent by us; "
        f"{counts['disconnects']:,} disconnects",
        f"publish_id: {counts['publish_id_gaps']:,} gaps ({counts['publish_ids_missing']:,} missing), "
        f"{counts['publish_id_regressions']:,} regressions",
        f"private: {counts.get('duplicate_trades', 0):,} duplicate trades dropped, {counts['late_private']:,} orders out of order, "
        f"{counts.get('bad_elements', 0):,} bad elements",
        f"garbage collection: {pauses['collections']:,} runs, {_time(pauses['total_ns'])} in all, longest {_time(pauses.get('max_ns', 0))}",
        f"digest: {data['digest']['sha256']} over {data['digest']['events']:,} events",
    ]
    lines += [f"undecodable: frame {bad['number']:,}: {bad['reason']}: {bad['excerpt'][:_SHOWN_EXCERPT]!r}" for bad in data["undecodable"]]
    return lines


def _time(ns: int) -> str:
    for unit, size in (("ns", 1), ("µs", 1_000), ("ms", 1_000_000)):
        if ns < 1_000 * size:
            return f"{ns / size:,.3g} {unit}"
    return f"{ns / 1e9:,.2f} s"
