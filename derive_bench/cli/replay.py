"""``replay``: play sessions through the adapter."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from derive_bench.cli.options import INTERRUPTED, Parser, Refusal, not_negative

if TYPE_CHECKING:
    from derive_bench.replay.eventlog import Comparison, Difference, EventLog
    from derive_bench.replay.player import Session

__all__ = ["run"]

_SHOWN_EVERY: Final = 4_096
_LINE_SHOWN: Final = 400
_FIELDS_SHOWN: Final = 10
_NS_TEXT: Final = re.compile(r"\d{16,19}").fullmatch


def run(words: Sequence[str]) -> int:
    """``replay``: play sessions through the adapter."""
    args = _parser().parse_args(words)
    from derive_bench.replay.eventlog import Comparison, event_log
    from derive_bench.replay.player import BadFrameMet, Session
    from derive_bench.replay.records import TapeError
    from derive_bench.replay.selection import Filter

    wanted = Filter(tuple(args.channel), tuple(args.instrument), tuple(args.connection), args.begin, args.end)
    interrupted = False
    try:
        _check_outputs(args)
        session = Session(
            args.files,
            speed=args.speed,
            wanted=wanted,
            loops=args.loop or None,
            instruments=args.instruments,
            strict=args.strict,
            digest=not args.no_digest,
            latencies=not args.no_latency,
        )
        with ExitStack() as stack:
            log = event_log(args.events) if args.events else None
            if log is not None:
                stack.callback(log.discard)
            comparison = stack.enter_context(Comparison(args.against)) if args.against else None
            try:
                _play(session, log, comparison)
            except KeyboardInterrupt:
                interrupted = True
            if log is not None and not interrupted:
                log.finish()
                stack.pop_all()
            difference = comparison.finish() if comparison is not None and not interrupted else None
        report = session.report()
        if args.hgrm:
            session.latencies.write_hgrm(args.hgrm)
    except (TapeError, BadFrameMet) as error:
        raise Refusal(str(error)) from error
    if args.json:
        _save(args.json, report.data)
    print(json.dumps(report.data) if args.json == Path("-") else report.text())
    if interrupted:
        print(f"derive-bench: interrupted after {session.counts.frames:,} frames", file=sys.stderr)
        return INTERRUPTED
    if comparison is None:
        return 0
    print(_comparison_text(args.against, comparison, difference), file=sys.stderr if args.json == Path("-") else sys.stdout)
    return 0 if difference is None else 1


def _parser() -> Parser:
    parser = Parser(
        prog="python -m derive_bench replay",
        description="Play recorded or made-up sessions through the adapter and say what it made of them, and how fast.",
        epilog="examples:\n  python -m derive_bench replay day.jsonl.zst\n"
        "  python -m derive_bench replay --speed 1 --channel 'orderbook.ETH-*' day.jsonl.zst --hgrm curves\n"
        "  python -m derive_bench replay day.jsonl --events before.jsonl.zst\n"
        "  python -m derive_bench replay day.jsonl --against before.jsonl.zst    where another version first differs\n\n"
        "files: our own tapes, Tardis's raw files, hftbacktest's, or frames one a line; plain, gzip or zstd\n"
        "exit codes: 1 if --against finds a difference, 2 if a file cannot be used or --strict meets a bad frame",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a session; several are merged by time")
    parser.add_argument("--speed", type=_speed, default="max", metavar="max|N", help="as fast as it goes, or N times as it happened")
    parser.add_argument("--loop", type=not_negative, default=1, metavar="N", help="play N times, 0 until Ctrl-C (default: 1)")
    parser.add_argument("--channel", action="append", default=[], metavar="GLOB", help="only channels that match; repeatable")
    parser.add_argument("--instrument", action="append", default=[], metavar="NAME", help="only this instrument; repeatable")
    parser.add_argument("--connection", action="append", default=[], metavar="ID", help="only this connection; repeatable")
    parser.add_argument("--from", dest="begin", type=_time, metavar="TIME", help="received at TIME or later: ISO, UTC, or integer ns")
    parser.add_argument("--to", dest="end", type=_time, metavar="TIME", help="received before TIME")
    parser.add_argument("--instruments", type=Path, metavar="FILE", help="the venue's instrument records, for files that have none")
    parser.add_argument("--strict", action="store_true", help="stop at the first frame that cannot be used")
    parser.add_argument("--events", type=Path, metavar="FILE", help="write the events: JSON lines, or a table if named .parquet")
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare with the events of an earlier replay")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the whole report as JSON; - for standard output")
    parser.add_argument("--hgrm", type=Path, metavar="DIR", help="write the percentile curves for HDR plotters")
    parser.add_argument("--no-digest", action="store_true", help="leave out the event digest")
    parser.add_argument("--no-latency", action="store_true", help="leave out the latencies")
    return parser


def _play(session: Session, log: EventLog | None, comparison: Comparison | None) -> None:
    from derive_bench.measure.progress import ProgressLine

    line = ProgressLine(sys.stderr)
    show = sys.stderr.isatty()
    try:
        for number, step in enumerate(session.steps(), 1):
            frame = session.counts.frames
            if log is not None:
                log.add(frame, step.frame.time_ns, step.events)
            if comparison is not None:
                comparison.add(frame, step.frame.time_ns, step.events)
            if show and number % _SHOWN_EVERY == 0:
                line.show(f"{frame:,} frames, {session.counts.bytes / 1e6:,.0f} MB")
    finally:
        line.clear()


def _check_outputs(args: argparse.Namespace) -> None:
    from derive_bench.replay.records import TapeError

    if args.json and args.json != Path("-") and args.json.exists():
        raise TapeError(f"{args.json}: exists already; give another name or remove it")


def _save(path: Path, data: dict[str, Any]) -> None:
    if path == Path("-"):
        return
    unfinished = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        unfinished.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        unfinished.rename(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise Refusal(f"{path}: cannot be written: {error.strerror}") from None


def _comparison_text(path: Path, comparison: Comparison, difference: Difference | None) -> str:
    if difference is None:
        return f"the same {comparison.events:,} events as in {path}"
    lines = [f"first difference from {path}, at event {difference.number:,}:"]
    lines += [f"    {line[:_LINE_SHOWN]}" for line in difference.before]
    lines += [
        f"  - {difference.logged[:_LINE_SHOWN] or '(no more events)'}",
        f"  + {difference.replayed[:_LINE_SHOWN] or '(no more events)'}",
    ]
    return "\n".join([*lines, *(f"  {field}" for field in difference.fields[:_FIELDS_SHOWN])])


def _speed(text: str) -> Any:
    if text == "max":
        return text
    value = float(text)
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"{text} is neither `max` nor a number above 0")
    return value


def _time(text: str) -> int:
    if _NS_TEXT(text):
        return int(text)
    moment = datetime.fromisoformat(text)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000
