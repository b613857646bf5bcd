"""``compare``: what changed between two results, with a verdict per row and a gate."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from derive_bench.cli.options import Parser, Refusal

__all__ = ["add_gate", "run", "share"]

FORMAT_NAMES = ("text", "markdown", "json", "github")


def run(words: Sequence[str]) -> int:
    """``compare BASE.json HEAD.json``."""
    parser = Parser(
        prog="python -m derive_bench compare",
        description="Compare two results row by row: faster, slower, same or noisy.",
        epilog="examples:\n  python -m derive_bench compare before.json after.json\n"
        "  python -m derive_bench compare before.json after.json --fail-above 5% --format markdown > comment.md\n\n"
        "exit codes: 1 if a row is slower by more than --fail-above, 2 if the two are not comparable",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("base", type=Path, metavar="BASE.json", help="the older result")
    parser.add_argument("head", type=Path, metavar="HEAD.json", help="the newer one")
    parser.add_argument("--force", action="store_true", help="compare what is not comparable, marked")
    add_gate(parser)
    args = parser.parse_args(words)

    from derive_bench.measure.compare.comparable import obstacles
    from derive_bench.measure.compare.compare import compare
    from derive_bench.measure.compare.formats import FORMATS
    from derive_bench.measure.compare.loading import load
    from derive_bench.measure.localise.explain import explain
    from derive_bench.measure.results import ResultError

    try:
        base, head = load(args.base), load(args.head)
    except ResultError as error:
        raise Refusal(str(error)) from error
    reasons = obstacles(base, head)
    if base.unit != head.unit or (reasons and not args.force):
        overlook = "" if base.unit != head.unit else "; --force compares all the same"
        raise Refusal(f"{args.base} and {args.head} are not comparable: {'; '.join(reasons)}{overlook}")
    if not base.rounds.keys() & head.rounds.keys():
        raise Refusal(f"{args.base} and {args.head} have no row in common")
    marks = [f"forced, although not comparable: {reason}" for reason in reasons]
    comparison = compare(base, head, args.fail_above, marks)
    print(FORMATS[args.format](comparison, explain(head, comparison)))
    return 1 if comparison.regressions else 0


def add_gate(parser: argparse.ArgumentParser) -> None:
    """``--fail-above`` and ``--format``."""
    parser.add_argument(
        "--fail-above",
        type=share,
        metavar="N%",
        help="exit 1 if a row is slower by more than this (default: 10%% for times, 0.5%% for instruction counts)",
    )
    parser.add_argument("--format", choices=FORMAT_NAMES, default="text", help="default: text")


def share(text: str) -> float:
    """``10%`` as 0.1."""
    number, sign, rest = text.partition("%")
    try:
        value = float(number) / 100
    except ValueError:
        value = -1.0
    if not sign or rest or not 0 < value < 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage such as 10%")
    return value
