"""``report``: results as one HTML file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from derive_bench.cli.options import Parser, Refusal, add_reference

__all__ = ["run"]


def run(words: Sequence[str]) -> int:
    """``report RUN.json [RUN2.json …] -o FILE``."""
    parser = Parser(
        prog="python -m derive_bench report",
        description="Results as one HTML file that opens offline. Of several runs the latest is shown in full, all of them as a history.",
        epilog="examples:\n  python -m derive_bench report run.json -o report.html\n"
        "  python -m derive_bench report monday.json tuesday.json peers.json tails.json counts.json -o report.html\n"
        "  python -m derive_bench replay day.jsonl.zst --json day.json && python -m derive_bench report day.json -o day.html",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="results of runs, of count, peers, tail and replay (--json), in any order"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the page; one that is there is replaced")
    add_reference(parser)
    args = parser.parse_args(words)

    # Slow to import.
    from derive_bench.measure.report import files, page
    from derive_bench.measure.results import OutputError, ResultError

    try:
        page.require_plotly()
        if any(args.output.resolve() == given.resolve() for given in args.files):
            raise OutputError(f"{args.output}: is one of the results; name another file for the page")
        page.write(files.load(args.files, args.reference), args.output)
    except (page.PlotlyMissing, OutputError, ResultError) as error:
        raise Refusal(str(error)) from error
    print(f"written to {args.output}")
    return 0
