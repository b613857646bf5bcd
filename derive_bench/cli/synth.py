"""``synth``: write a made-up session."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from derive_bench.cli.options import INTERRUPTED, PROTOCOL_NAMES, Parser, Refusal, not_negative, positive

__all__ = ["run"]

_SHOWN_EVERY = 20_000


def run(words: Sequence[str]) -> int:
    """``synth``: write a made-up session."""
    parser = Parser(
        prog="python -m derive_bench synth",
        description="Write a made-up session: books that evolve, tickers, trades, orders, fills. One seed, the same bytes everywhere.",
        epilog="examples:\n  python -m derive_bench synth --seed 7 --frames 100000 -o day.jsonl.zst\n"
        "  python -m derive_bench synth --frames 5000 --mix book=80,ticker=20 --depths 100 -o books.jsonl\n"
        "  python -m derive_bench synth --frames 5000 --fault gaps=5 --fault malformed=3 -o faulty.jsonl.gz\n\n"
        "faults: duplicates, reorders, gaps, regressions, unknown_fields, unknown_topics, malformed; see docs/capture-format.md",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="a new file; .gz and .zst compress it")
    parser.add_argument("--seed", type=not_negative, default=1, metavar="N", help="the session's chance (default: 1)")
    parser.add_argument("--frames", type=positive, default=100_000, metavar="N", help="frames received (default: 100000)")
    parser.add_argument("--protocol", choices=PROTOCOL_NAMES, default="v3", help="dialect (default: v3)")
    parser.add_argument("--instruments", type=positive, metavar="N", help="how many (default: all six)")
    parser.add_argument(
        "--mix", type=_numbers, metavar="KIND=N,…", help="proportions of book, ticker, trade, private (default: 48, 32, 10, 10)"
    )
    parser.add_argument(
        "--depths", type=_depths, metavar="N,…", help="levels a side of the instruments' books, in turn (default: 10,20,10,10,10,20)"
    )
    parser.add_argument("--change", type=_permille, metavar="SHARE", help="share of levels that change between snapshots (default: 0.2)")
    parser.add_argument("--rate", type=positive, metavar="N", help="frames received in a second, on average (default: 2000)")
    parser.add_argument(
        "--fault", action="append", default=[], type=_numbers, metavar="KIND=N", help="that many faults of a kind; repeatable"
    )
    parser.add_argument("--json", action="store_true", help="print the plan and the statistics as JSON")
    args = parser.parse_args(words)

    from derive_bench.replay.records import TapeError
    from derive_bench.replay.synth import FaultsLeft, Plan, PlanRefused

    settings = {key: value for key in ("instruments", "mix", "depths", "change", "rate") if (value := getattr(args, key)) is not None}
    faults = {kind: number for fault in args.fault for kind, number in fault.items()}
    try:
        plan = Plan(seed=args.seed, frames=args.frames, protocol=args.protocol, faults=faults, **settings)
        figures = _write(plan, args.output)
    except (PlanRefused, FaultsLeft, TapeError) as error:
        raise Refusal(str(error)) from error
    except KeyboardInterrupt:
        print("derive-bench: interrupted; nothing written", file=sys.stderr)
        return INTERRUPTED
    if args.json:
        print(json.dumps({"plan": plan.as_info(), "statistics": figures, "file": str(args.output)}, indent=2))
    else:
        print(_text(figures, faults, args.output))
    return 0


def _write(plan: Any, output: Path) -> dict[str, Any]:
    """Write the session under a temporary name, then give it its own; return its statistics."""
    from derive_bench.measure.progress import ProgressLine
    from derive_bench.replay.records import TapeError
    from derive_bench.replay.synth import Statistics, synthesise
    from derive_bench.replay.writer import TapeWriter

    if output.exists():
        raise TapeError(f"{output}: exists already; give another name or remove it")
    unfinished = output.with_name(f".{os.getpid()}.{output.name}")
    line = ProgressLine(sys.stderr)
    statistics = Statistics()
    header, records = synthesise(plan)
    try:
        with TapeWriter(unfinished, header) as tape:
            for number, record in enumerate(records):
                tape.write(record)
                statistics.add(record)
                if number % _SHOWN_EVERY == 0:
                    line.show(f"{statistics.frames:,} of {plan.frames:,} frames")
        unfinished.rename(output)
    except TapeError as error:
        raise TapeError(str(error).replace(str(unfinished), str(output))) from None
    finally:
        line.clear()
        unfinished.unlink(missing_ok=True)
    return statistics.as_dict()


def _text(figures: dict[str, Any], faults: dict[str, int], output: Path) -> str:
    lines = [f"{'':16} {'frames':>10} {'bytes':>14} {'smallest':>9} {'mean':>7} {'largest':>8}"]
    for kind, sizes in figures["kinds"].items():
        lines.append(
            f"{kind:16} {sizes['frames']:>10,} {sizes['bytes']:>14,} {sizes['smallest']:>9,} {sizes['mean']:>7,} {sizes['largest']:>8,}"
        )
    lines += [
        "",
        f"{figures['frames']:,} frames received and {figures['requests']:,} sent in {figures['duration_ns'] / 1e9:,.1f} s, "
        f"{figures['connects']} connects, {figures['disconnects']} disconnects",
        f"levels that change from one snapshot to the next: {figures['levels_changed']:.1%}",
        f"faults: {', '.join(f'{number} {kind}' for kind, number in faults.items() if number) or 'none'}",
        f"written to {output}",
    ]
    return "\n".join(lines)


def _numbers(text: str) -> dict[str, int]:
    numbers = {}
    for part in text.split(","):
        name, _, number = part.partition("=")
        if not number.isascii() or not number.isdigit():
            raise argparse.ArgumentTypeError(f"{part!r} is not of the form KIND=N")
        numbers[name.strip()] = int(number)
    return numbers


def _depths(text: str) -> tuple[int, ...]:
    if not all(part.isascii() and part.isdigit() for part in text.split(",")):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers")
    return tuple(map(int, text.split(",")))


def _permille(text: str) -> int:
    share = float(text)
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share from 0 to 1")
    return round(share * 1000)
