"""``baseline``: make a run the baseline, or say whether the baseline fits the code."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from derive_bench.cli.options import Parser, Refusal
from derive_bench.measure import baseline
from derive_bench.measure.catalogue import Catalogue
from derive_bench.measure.inputs import Inputs
from derive_bench.measure.results import ResultError, details_path
from derive_bench.measure.trees import checkout_root

__all__ = ["run"]

BOUNDARY = "boundary"
"""The kind of ``derive_bench.cli.boundary_report``, which is slow to import."""


def run(words: Sequence[str]) -> int:
    """``baseline RUN.json`` or ``baseline --check``."""
    parser = Parser(
        prog="python -m derive_bench baseline",
        description="Make a run the baseline: the tables of BENCHMARKS.md and benches/baseline.json; a run of peers, selftest or boundary: "
        "its tables alone.",
        epilog="examples:\n  python -m derive_bench -o run.json && python -m derive_bench baseline run.json\n"
        "  python -m derive_bench peers -o peers.json && python -m derive_bench baseline peers.json\n"
        "  python -m derive_bench boundary -o boundary.json && python -m derive_bench baseline boundary.json\n"
        "  python -m derive_bench baseline --check    exit code 1 if rows were added, removed or renamed since",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "run", nargs="?", type=Path, metavar="RUN.json", help="a result of all four suites, of peers, of selftest, or of boundary"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; say whether the baseline fits the code")
    parser.add_argument("--allow", action="append", default=[], choices=baseline.WAIVERS, help="take a run in spite of it; repeatable")
    parser.add_argument("--root", type=Path, default=checkout_root(), metavar="DIR", help="the checkout (default: where the package lies)")
    args = parser.parse_args(words)
    if args.check == bool(args.run):
        parser.error("give either RUN.json or --check")
    if args.root is None:
        raise Refusal("the baseline belongs to a source checkout, and this is an installed package; give --root DIR")
    try:
        if args.check:
            found = baseline.stale(args.root, _expected(args.root))
            print("\n".join(found) or "the baseline fits the code")
            return 1 if found else 0
        kept, waived = _update(args)
    except (baseline.BaselineError, ResultError) as error:
        raise Refusal(str(error)) from error
    print(f"{kept} now hold{'s' if kept == baseline.PAGE else ''} {args.run}{', although: ' + ', '.join(waived) if waived else ''}")
    return 0


def _expected(root: Path) -> list[str]:
    return [row.name for row in Catalogue.load("v3", root / "benches").select()]


def _update(args: argparse.Namespace) -> tuple[str, list[str]]:
    if _is_of_boundary(args.run):
        from derive_bench.cli import boundary_report

        document = boundary_report.load_details(args.run)
        return baseline.update_boundary(args.run, args.root, boundary_report.tables(document), boundary_report.notes(document), args.allow)
    data_hash = Inputs(baseline.KEPT_PROTOCOL).data_hash()
    return baseline.update(args.run, args.root, _expected(args.root), args.allow, data_hash=data_hash)


def _is_of_boundary(run: Path) -> bool:
    try:
        document = json.loads(details_path(run).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and document.get("kind") == BOUNDARY
