"""``peers``: measure ours beside other libraries, each in an environment of its own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from derive_bench.cli.options import INTERRUPTED, PROFILE_NAMES, PUBLISH, Parser, Refusal, add_places, add_reference
from derive_bench.measure.peers import command
from derive_bench.measure.progress import ProgressLine
from derive_bench.measure.results import OutputError

__all__ = ["run"]

PEERS_PROFILES = tuple(name for name in PROFILE_NAMES if name != PUBLISH)
"""A contender starts as its libraries want: none can be fixed as publishing asks for."""


def run(words: Sequence[str]) -> int:
    """``peers``: measure ours beside other libraries, each in an environment of its own."""
    parser = Parser(
        prog="python -m derive_bench peers",
        description="Measure ours beside other libraries for the same venue: the same inputs, in turn, in one run.",
        epilog="examples:\n  python -m derive_bench peers --install              make their environments in your cache, then measure\n"
        "  python -m derive_bench peers --only ccxt -o peers.json\n"
        "  python -m derive_bench baseline peers.json          keep the table in BENCHMARKS.md\n\n"
        "exit codes: 1 if a library signs something else than ours does, 2 if none is installed",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--install", action="store_true", help="install what is missing first, with pip, at pinned versions")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this library; repeatable (default: all)")
    parser.add_argument("--profile", choices=PEERS_PROFILES, default="standard", help="how much is measured (default: standard)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write FILE, a pyperf JSON file, and its details beside it")
    add_reference(parser)
    add_places(parser)
    args = parser.parse_args(words)

    line = ProgressLine(sys.stderr)
    request = command.Request(args.only, args.install, args.profile, args.output, args.reference, args.benches, args.data)
    try:
        outcome = command.compare(request, line, lambda text: print(text, file=sys.stderr, flush=True))
    except (command.PeersRefused, OutputError) as error:
        line.clear()
        raise Refusal(str(error)) from error
    line.clear()
    print(outcome.text)
    if args.output and outcome.kept:
        print(f"\nwritten to {args.output} and {outcome.details}")
    if outcome.interrupted:
        print(f"derive-bench: interrupted; {f'kept in {args.output}' if outcome.kept else 'nothing kept'}", file=sys.stderr)
        return INTERRUPTED
    if outcome.wrong_signatures:
        print(f"derive-bench: not the signature that ours makes: {', '.join(outcome.wrong_signatures)}", file=sys.stderr)
        return 1
    return 0
