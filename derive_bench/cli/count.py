"""``count``: instructions per call of each row, under valgrind's callgrind."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from derive_bench.cli.environment import prepare
from derive_bench.cli.options import INTERRUPTED, Parser, Refusal, add_selection, positive
from derive_bench.measure.catalogue import Catalogue
from derive_bench.measure.inputs import Inputs

if TYPE_CHECKING:
    from derive_bench.measure.count.valgrind import Valgrind
    from derive_bench.measure.rows import Row

__all__ = ["run"]


def run(words: Sequence[str]) -> int:
    """``count [SUITE …]``: instructions per call of each row."""
    parser = Parser(
        prog="python -m derive_bench count",
        description="Count the instructions of a call of each row, under valgrind's callgrind: the same whatever else the machine does.",
        epilog="examples:\n  python -m derive_bench count -o counts.json           all four suites, some minutes\n"
        "  python -m derive_bench count data --filter 'inbound_pipeline/*'\n"
        "  python -m derive_bench compare base.json counts.json\n\n"
        "exit codes: 2 without valgrind, 130 after Ctrl-C (what was counted is kept)",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_selection(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write a pyperf JSON file; an existing one is refused")
    processors = len(os.sched_getaffinity(0))
    parser.add_argument("--jobs", type=positive, default=processors, metavar="N", help=f"processes at a time (default: {processors})")
    args = parser.parse_args(words)

    from derive_bench.measure.count.valgrind import Valgrind, ValgrindUnfit
    from derive_bench.measure.results import OutputError, check_output
    from derive_bench.measure.runner import WorkerFailed, WorkerRefused

    rows = Catalogue.load(args.protocol, args.benches).select(args.suites, args.filter)
    inputs = Inputs(args.protocol, args.data)
    try:
        valgrind = Valgrind.find()
        if args.output:
            check_output(args.output)
        return _count(args, words, rows, inputs, valgrind)
    except (OutputError, ValgrindUnfit, WorkerFailed, WorkerRefused) as error:
        raise Refusal(str(error)) from error


def _count(args: argparse.Namespace, words: Sequence[str], rows: Sequence[Row], inputs: Inputs, valgrind: Valgrind) -> int:
    from derive_bench.measure import environment
    from derive_bench.measure.count import PROFILE, tables
    from derive_bench.measure.count.session import PROCESSES, Counter, CountSession
    from derive_bench.measure.count.valgrind import ASLR, HASH_SEED
    from derive_bench.measure.progress import ProgressLine
    from derive_bench.measure.results import label, save
    from derive_bench.measure.runner import PROFILES

    metadata = environment.describe(protocol=args.protocol, profile=PROFILE, data_hash=inputs.data_hash(), hash_seed=HASH_SEED)
    found = prepare(PROFILES["standard"], words).verdict
    metadata |= found.metadata()
    metadata["valgrind"] = valgrind.version
    metadata["suites"] = " ".join(sorted({row.suite for row in rows}))
    metadata["filters"] = " ".join(args.filter) or "none"
    metadata["aslr"] = ASLR
    print(
        f"{found.headline}\n"
        f"derive_bench {metadata['derive_bench_version']}, protocol {metadata['protocol']}: instructions per call of {len(rows)} rows, "
        f"{PROCESSES} processes alike for each\n{metadata['python']}, valgrind {valgrind.version}, commit {str(metadata['commit'])[:10]}"
        f"{' (dirty)' if metadata['dirty'] == 'yes' else ''}\n",
        flush=True,
    )
    session = CountSession(rows, Counter(valgrind, args.protocol, args.data, args.benches), args.jobs)
    line = ProgressLine(sys.stderr)
    interrupted = False
    try:
        session.run(line)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        line.clear()

    metadata["complete"] = f"interrupted with {len(session.counts)} of {len(rows)} rows counted" if interrupted else "yes"
    benchmarks = label(rows, session.benchmarks(), metadata, {})
    if args.output and benchmarks:
        save(benchmarks, args.output)
    if benchmarks:
        print("\n\n".join(table.text() for table in tables.group_tables(benchmarks)))
        print(f"\n{tables.NOTE}")
    if interrupted:
        kept = f"kept in {args.output}" if args.output and benchmarks else "nothing kept"
        print(f"derive-bench: {metadata['complete']}; {kept}", file=sys.stderr)
        return INTERRUPTED
    if args.output:
        print(f"\nwritten to {args.output}")
    return 0
