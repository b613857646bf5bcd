"""``tail``: the pipeline rows call by call."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from derive_bench.cli.environment import prepare
from derive_bench.cli.options import INTERRUPTED, PROTOCOL_NAMES, Parser, Refusal, add_places, positive
from derive_bench.measure.catalogue import Catalogue
from derive_bench.measure.inputs import Inputs

if TYPE_CHECKING:
    from derive_bench.measure.rows import Row

__all__ = ["run"]


def run(words: Sequence[str]) -> int:
    """``tail [ROW …]``: the pipeline rows call by call."""
    parser = Parser(
        prog="python -m derive_bench tail",
        description="Time every call of the pipeline rows, with the cyclic collector on, off and frozen, and after a pause.",
        epilog="examples:\n  python -m derive_bench tail -o tail.json\n"
        "  python -m derive_bench tail 'exec_pipeline/submit_*_cold' --calls 5000",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help="names or globs (default: all pipeline rows with a new input for each call)")
    parser.add_argument("--calls", type=positive, metavar="N", help="calls of a row in each mode (default: 20000)")
    parser.add_argument("--no-allocations", action="store_true", help="do not count allocations under valgrind, which takes minutes")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write a JSON file; an existing one is refused")
    parser.add_argument("--protocol", choices=PROTOCOL_NAMES, default="v3", help="dialect and its inputs (default: v3)")
    add_places(parser)
    args = parser.parse_args(words)

    from derive_bench.measure.results import OutputError, check_output
    from derive_bench.measure.runner import WorkerFailed, WorkerRefused
    from derive_bench.measure.tail.session import pipeline_rows

    rows = pipeline_rows(Catalogue.load(args.protocol, args.benches).rows.values(), args.rows)
    try:
        if args.output:
            check_output(args.output)
        return _measure(args, words, rows, Inputs(args.protocol, args.data))
    except (OutputError, WorkerFailed, WorkerRefused) as error:
        raise Refusal(str(error)) from error


def _measure(args: argparse.Namespace, words: Sequence[str], rows: Sequence[Row], inputs: Inputs) -> int:
    from derive_bench.measure import environment
    from derive_bench.measure.progress import ProgressLine
    from derive_bench.measure.runner import PROFILES, Launcher
    from derive_bench.measure.tail import document
    from derive_bench.measure.tail.session import CALLS, TailSession

    metadata = environment.describe(protocol=args.protocol, profile="tail", data_hash=inputs.data_hash(), hash_seed=None)
    verdict = prepare(PROFILES["standard"], words).verdict
    metadata |= verdict.metadata()
    print(f"{verdict.headline}\n", flush=True)
    session = TailSession(rows, Launcher(args.protocol, args.data, args.benches), args.calls or CALLS)
    line = ProgressLine(sys.stderr)
    allocations: dict[str, float] = {}
    reason: str | None = "not asked for"
    interrupted = False
    try:
        session.run(line)
        if not args.no_allocations:
            allocations, reason = _allocations(args, rows, line)
    except KeyboardInterrupt:
        interrupted, reason = True, "interrupted"
    finally:
        line.clear()

    whole = session.complete_rows
    metadata["complete"] = f"interrupted with {len(whole)} of {len(rows)} rows measured" if interrupted else "yes"
    if whole:
        found = document.of(whole, session.found, metadata, session.calls, allocations, reason)
        if args.output:
            document.save(found, args.output)
        _print(found, reason)
    if interrupted:
        kept = f"kept in {args.output}" if args.output and whole else "nothing kept"
        print(f"derive-bench: {metadata['complete']}; {kept}", file=sys.stderr)
        return INTERRUPTED
    if args.output:
        print(f"\nwritten to {args.output}")
    return 0


def _allocations(args: argparse.Namespace, rows: Sequence[Row], line: Any) -> tuple[dict[str, float], str | None]:
    """By row, or why there are none."""
    from derive_bench.measure.count.session import Counter, CountSession
    from derive_bench.measure.count.valgrind import Valgrind, ValgrindUnfit

    try:
        valgrind = Valgrind.find()
    except ValgrindUnfit as error:
        return {}, str(error)
    counting = CountSession(rows, Counter(valgrind, args.protocol, args.data, args.benches), processes=1)
    counting.run(line)
    return {name: float(benchmark.get_metadata()["allocations"]) for name, benchmark in counting.benchmarks().items()}, None


def _print(found: dict[str, Any], reason: str | None) -> None:
    from derive_bench.measure.tail.document import tables

    print("\n\n".join(table.text() for table in tables(found)))
    timer = found["timer"]
    print(
        f"\nEach figure contains the timer: {timer['overhead_ns']:.0f} ns, {timer['overhead_p999_ns']:.0f} ns at p99.9. collections: of "
        "generations 0, 1 and 2. "
        "preempted: how often the kernel took the CPU away, which costs a call milliseconds.\n"
        "peak bytes: the most alive at once during a call. "
        "allocations: blocks asked of Python's allocator in a call" + (f"; not counted: {reason}" if reason else "") + "."
    )
