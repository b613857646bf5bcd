"""``selftest``: plant known slowdowns, and see whether the instrument finds them and puts them in the right place."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from time import monotonic

from derive_bench.cli.environment import prepare
from derive_bench.cli.options import INTERRUPTED, Parser, Refusal, positive
from derive_bench.measure.catalogue import Catalogue
from derive_bench.measure.inputs import Inputs

__all__ = ["run"]

PROTOCOL = "v3"
TRIALS = 64


def run(words: Sequence[str]) -> int:
    """``selftest``: print how much was found and rightly placed."""
    parser = Parser(
        prog="python -m derive_bench selftest",
        description="Plant known slowdowns in the adapter, measure it interleaved with the adapter as it is, and count what is found.",
        epilog="examples:\n  python -m derive_bench selftest                          a quarter of an hour\n"
        "  python -m derive_bench selftest --trials 12 -o selftest.json\n"
        "  python -m derive_bench baseline selftest.json            keep the table in BENCHMARKS.md",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--trials", type=positive, default=TRIALS, metavar="N", help=f"how many, kinds mixed (default: {TRIALS})")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write each trial's outcome as JSON; an existing file is refused")
    args = parser.parse_args(words)

    from derive_bench.measure import environment
    from derive_bench.measure.progress import ProgressLine
    from derive_bench.measure.results import OutputError, check_output, save_document
    from derive_bench.measure.runner import PROFILES, Progress, WorkerFailed, WorkerRefused
    from derive_bench.measure.selftest import figures
    from derive_bench.measure.selftest.session import SelfTest
    from derive_bench.measure.selftest.trials import plan

    try:
        if args.output:
            check_output(args.output)
    except OutputError as error:
        raise Refusal(str(error)) from error
    found = prepare(PROFILES["standard"], words).verdict
    metadata = environment.describe(protocol=PROTOCOL, profile="selftest", data_hash=Inputs(PROTOCOL).data_hash(), hash_seed=None)
    metadata |= found.metadata() | {"suites": figures.KIND, "date": f"{datetime.now().astimezone():%Y-%m-%d}"}
    print(f"{found.headline}\n", flush=True)

    line, begin = ProgressLine(sys.stderr), monotonic()

    def tell(number: int, total: int, row: str) -> None:
        left = (monotonic() - begin) / number * (total - number) if number else None
        line(Progress(row, number, total, number + 1, total, left))

    test = SelfTest(plan(args.trials), Catalogue.load(PROTOCOL, None).rows, metadata)
    interrupted = False
    try:
        test.measure(tell)
    except KeyboardInterrupt:
        interrupted = True
    except (WorkerFailed, WorkerRefused) as error:
        raise Refusal(str(error)) from error
    finally:
        line.clear()
    metadata |= {"seconds": round(monotonic() - begin), "complete": "interrupted" if interrupted else "yes"}
    document = figures.document(test.outcomes, metadata)
    if test.outcomes:
        print(f"{figures.table(document).text()}\n")
        print("\n".join(figures.notes(document)))
        print(f"\n{len(test.outcomes)} trials in {monotonic() - begin:.0f} s")
    if args.output and test.outcomes:
        save_document(document, args.output)
        print(f"written to {args.output}")
    if interrupted:
        print(f"derive-bench: interrupted after {len(test.outcomes)} of {len(test.trials)} trials", file=sys.stderr)
        return INTERRUPTED
    return 0
