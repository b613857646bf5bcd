"""``[SUITE …]``: measure."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from derive_bench.cli.environment import add_environment, prepare, refuse_blocked
from derive_bench.cli.options import (
    INTERRUPTED,
    PROFILE_NAMES,
    PUBLISH,
    Parser,
    Refusal,
    add_reference,
    add_selection,
    not_negative,
    positive,
    seconds,
)
from derive_bench.measure.catalogue import Catalogue
from derive_bench.measure.inputs import Inputs
from derive_bench.measure.reference import Figure, read_criterion
from derive_bench.measure.rows import Row

__all__ = ["run"]

EPILOG = """\
examples:
  python -m derive_bench --profile quick              all four suites, about a minute
  python -m derive_bench data signing -o run.json     two suites, results kept in a pyperf file
  python -m derive_bench --filter 'inbound_pipeline/*' --filter 'control/orjson_*'
  python -m derive_bench --data my_captures data      the same rows on your own frames
  python -m derive_bench compare before.json after.json  two runs, a verdict per row

verbs, instead of suites:
  list       what can be measured        python -m derive_bench list --help
  check      what the machine is worth   python -m derive_bench check --help
  count      instructions, not time      python -m derive_bench count --help
  tail       the slowest of many calls   python -m derive_bench tail --help
  compare    two results, and a gate     python -m derive_bench compare --help
  ab         two revisions, interleaved  python -m derive_bench ab --help
  selftest   are verdicts to be trusted  python -m derive_bench selftest --help
  peers      ours beside other libraries python -m derive_bench peers --help
  baseline   keep a run in BENCHMARKS.md python -m derive_bench baseline --help
  report     a page of charts, offline   python -m derive_bench report --help
  boundary   what a process boundary costs  python -m derive_bench boundary --help
  capture    record a live session       python -m derive_bench capture --help
  serve      a local venue for live clients  python -m derive_bench serve --help
  synth      write a made-up session     python -m derive_bench synth --help
  replay     play sessions through the adapter  python -m derive_bench replay --help
"""


def run(words: Sequence[str]) -> int:
    """``[SUITE …]``: measure."""
    parser = Parser(
        prog="python -m derive_bench",
        description="Measure the hot path of a Derive exchange adapter, stage by stage.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_selection(parser)
    parser.add_argument("--profile", choices=PROFILE_NAMES, default="standard", help="how much is measured (default: standard)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write a pyperf JSON file; an existing one is refused")
    add_reference(parser)
    add_environment(parser)
    workers = parser.add_argument_group("pyperf's own options, given through")
    workers.add_argument("-p", "--processes", type=positive, metavar="N", help="worker processes per row")
    workers.add_argument("-n", "--values", type=positive, metavar="N", help="values per process")
    workers.add_argument("-w", "--warmups", type=not_negative, metavar="N", help="values set aside before them")
    workers.add_argument("-l", "--loops", type=not_negative, default=0, metavar="N", help="loops per value (default: calibrated)")
    workers.add_argument("--min-time", type=seconds, metavar="SECONDS", help="shortest duration of a value")
    workers.add_argument("--inherit-environ", metavar="NAMES", default="", help="variables workers get, separated by commas")
    workers.add_argument("--copy-env", action="store_true", help="workers get the whole environment")
    workers.add_argument("--timeout", type=seconds, default=600.0, metavar="SECONDS", help="for one worker (default: 600)")
    workers.add_argument("--hook", action="append", default=[], metavar="NAME", help="a pyperf hook; repeatable")
    args = parser.parse_args(words)

    if args.allow and args.profile != PUBLISH:
        parser.error("--allow goes with --profile publish: no other profile refuses anything")
    rows = Catalogue.load(args.protocol, args.benches).select(args.suites, args.filter)
    inputs = Inputs(args.protocol, args.data)
    if not args.filter:
        inputs.check()

    here = read_criterion(args.reference, [row.name for row in rows]) if args.reference else {}

    # Not needed to refuse a command, and slow to import.
    from derive_bench.measure.results import OutputError, check_output
    from derive_bench.measure.runner import WorkerFailed, WorkerRefused

    try:
        if args.output:
            check_output(args.output)
        return _measure(args, words, rows, inputs, here)
    except (OutputError, WorkerFailed, WorkerRefused) as error:
        raise Refusal(str(error)) from error


def _measure(args: argparse.Namespace, words: Sequence[str], rows: Sequence[Row], inputs: Inputs, here: Mapping[str, Figure]) -> int:
    from derive_bench.measure import environment
    from derive_bench.measure.checks.verdict import meanwhile
    from derive_bench.measure.progress import ProgressLine
    from derive_bench.measure.results import Results, label, save
    from derive_bench.measure.runner import HASH_SEED, PROFILES, Launcher, Session

    chosen = {key: getattr(args, key) for key in ("processes", "values", "warmups", "min_time") if getattr(args, key) is not None}
    profile = replace(PROFILES[args.profile], **chosen)
    name = args.profile if profile == PROFILES[args.profile] and not args.loops else "custom"
    inherited = tuple(filter(None, args.inherit_environ.split(",")))
    options = [f"--hook={hook}" for hook in args.hook]
    inherited_seed = os.environ.get(HASH_SEED) if args.copy_env or HASH_SEED in inherited else None
    plan, found = prepared = prepare(profile, words, affinity=args.affinity, allow=args.allow, hash_seed=inherited_seed or None)
    if profile.fixed:
        refuse_blocked(found)
    if prepared.affinity:
        options.append(f"--affinity={prepared.affinity}")
    launcher = Launcher(
        protocol=args.protocol,
        data=args.data,
        benches=args.benches,
        options=tuple(options),
        inherit_environ=None if args.copy_env else inherited,
        timeout=args.timeout,
        hash_seed=plan.hash_seed,
    )
    metadata = environment.describe(
        protocol=args.protocol,
        profile=name,
        data_hash=inputs.data_hash(),
        hash_seed=plan.hash_seed,
    )
    metadata |= found.metadata() | {"affinity": ",".join(map(str, plan.cpus)), "warmup_pass": "yes" if plan.warmup_pass else "no"}
    metadata["suites"] = " ".join(sorted({row.suite for row in rows}))
    metadata["filters"] = " ".join(args.filter) or "none"
    metadata["rows_per_process"] = profile.rows_per_process
    print(f"{found.headline}\n{_headline(metadata, len(rows), profile.processes)}", flush=True)

    session = Session(rows, profile, launcher, args.loops)
    line = ProgressLine(sys.stderr)
    interrupted = False
    try:
        session.run(line)
    except KeyboardInterrupt:
        interrupted = True
    line.clear()

    metadata["complete"] = f"interrupted in round {session.rounds_done + 1} of {profile.processes}" if interrupted else "yes"
    metadata["repeated_runs"] = session.repeated
    metadata |= meanwhile(found, plan)
    benchmarks = label(rows, session.benchmarks, metadata, here)
    if args.output and benchmarks:
        save(benchmarks, args.output)
    if benchmarks:
        _print_tables(Results.of(benchmarks))
    if interrupted:
        kept = f"kept in {args.output}" if args.output and benchmarks else "nothing kept"
        print(f"derive-bench: interrupted with {len(benchmarks)} of {len(rows)} rows measured; {kept}", file=sys.stderr)
        return INTERRUPTED
    if args.output:
        print(f"\nwritten to {args.output}; read it with: python -m pyperf stats {args.output}")
    return 0


def _headline(metadata: dict[str, Any], rows: int, processes: int) -> str:
    commit = metadata["commit"][:10] + (" (dirty)" if metadata["dirty"] == "yes" else "")
    sharing = metadata["rows_per_process"]
    process = f"{processes} processes each" if sharing == 1 else f"{processes} rounds, up to {sharing} rows in a process"
    return (
        f"derive_bench {metadata['derive_bench_version']}, protocol {metadata['protocol']}, profile {metadata['profile']}: "
        f"{rows} rows, {process}\n"
        f"{metadata['python']}, {metadata['cpu_model_name']}, governor {metadata['governor']}, ASLR {metadata['aslr'].lower()}, "
        f"load {metadata['load_before']}, commit {commit}\n"
    )


def _print_tables(results: Any) -> None:
    from derive_bench.measure.tables import depth_table, group_tables, notes, share_table

    for table in [*group_tables(results), share_table(results), depth_table(results)]:
        if table:
            print(f"{table.text()}\n")
    print("\n".join(notes(results)))
