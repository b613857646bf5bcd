"""The command: parses, calls, prints.

``python -m derive_bench [SUITE …] [options]`` measures suites; the first word may instead be a verb (:data:`VERBS`). Results go to
standard output, progress and complaints to standard error.

Exit codes: 0 done; 1 a verdict went against it; 2 wrong usage or a refusal, one line on standard error; 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from derive_bench.measure.catalogue import DEFAULT_SUITES, Catalogue, SelectionError
from derive_bench.measure.inputs import DataError, Inputs
from derive_bench.measure.reference import Figure, ReferenceUnreadable, read_criterion
from derive_bench.measure.rows import Row, RowError
from derive_bench.measure.trees import TreeMissing, checkout_root

__all__ = ["DATA_VARIABLE", "VERBS", "main"]

DATA_VARIABLE = "DERIVE_BENCH_DATA"
"""Environment variable for the default of ``--data``."""

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""

PROTOCOL_NAMES = ("v3", "v3-testnet", "v2", "v2-testnet")
"""``--protocol``; the names of ``derive_bench.adapter.protocol.PROTOCOLS``, which the harness does not import."""

PROFILE_NAMES = ("quick", "standard", "rigorous")

EPILOG = """\
examples:
  python -m derive_bench --profile quick              all four suites, about a minute
  python -m derive_bench data signing -o run.json     two suites, results kept in a pyperf file
  python -m derive_bench --filter 'inbound_pipeline/*' --filter 'control/orjson_*'
  python -m derive_bench --data my_captures data      the same rows on your own frames
  python -m pyperf compare_to before.json after.json  two runs, row by row

verbs, instead of suites:
  list       what can be measured        python -m derive_bench list --help
  peers      ours beside other libraries python -m derive_bench peers --help
  baseline   keep a run in BENCHMARKS.md python -m derive_bench baseline --help
"""


class Refusal(Exception):
    """What was asked for cannot be done; one line for standard error, exit code 2."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"derive-bench: {message}; see {self.prog} --help\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with ``argv`` (default: the process's own) and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    verb = VERBS.get(words[0]) if words else None
    try:
        return verb(words[1:]) if verb else run_suites(words)
    except (Refusal, SelectionError, RowError, DataError, TreeMissing, ReferenceUnreadable) as error:
        print(f"derive-bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("derive-bench: interrupted before anything was measured", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone (``… | head``): nothing to say, and nothing to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def run_suites(words: Sequence[str]) -> int:
    """``[SUITE …]``: measure."""
    parser = _Parser(
        prog="python -m derive_bench",
        description="Measure the hot path of a Derive exchange adapter, stage by stage.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_selection(parser)
    parser.add_argument("--profile", choices=PROFILE_NAMES, default="standard", help="how much is measured (default: standard)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write a pyperf JSON file; an existing one is refused")
    _add_reference(parser)
    workers = parser.add_argument_group("pyperf's own options, given through")
    workers.add_argument("-p", "--processes", type=_positive, metavar="N", help="worker processes per row")
    workers.add_argument("-n", "--values", type=_positive, metavar="N", help="values per process")
    workers.add_argument("-w", "--warmups", type=_not_negative, metavar="N", help="values set aside before them")
    workers.add_argument("-l", "--loops", type=_not_negative, default=0, metavar="N", help="loops per value (default: calibrated)")
    workers.add_argument("--min-time", type=_seconds, metavar="SECONDS", help="shortest duration of a value")
    workers.add_argument("--affinity", metavar="CPUS", help="pin workers to these CPUs (default: isolated ones, if any)")
    workers.add_argument("--inherit-environ", metavar="NAMES", default="", help="variables workers get, separated by commas")
    workers.add_argument("--copy-env", action="store_true", help="workers get the whole environment")
    workers.add_argument("--timeout", type=_seconds, default=600.0, metavar="SECONDS", help="for one worker (default: 600)")
    workers.add_argument("--hook", action="append", default=[], metavar="NAME", help="a pyperf hook; repeatable")
    args = parser.parse_args(words)

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
        return _measure(args, rows, inputs, here)
    except (OutputError, WorkerFailed, WorkerRefused) as error:
        raise Refusal(str(error)) from error


def _measure(args: argparse.Namespace, rows: Sequence[Row], inputs: Inputs, here: Mapping[str, Figure]) -> int:
    from derive_bench.measure import environment
    from derive_bench.measure.progress import ProgressLine
    from derive_bench.measure.results import Results, label, save
    from derive_bench.measure.runner import PROFILES, Launcher, Session

    chosen = {key: getattr(args, key) for key in ("processes", "values", "warmups", "min_time") if getattr(args, key) is not None}
    profile = replace(PROFILES[args.profile], **chosen)
    name = args.profile if profile == PROFILES[args.profile] and not args.loops else "custom"
    inherited = tuple(filter(None, args.inherit_environ.split(",")))
    options = [f"--hook={hook}" for hook in args.hook]
    if args.affinity:
        options.append(f"--affinity={args.affinity}")
    launcher = Launcher(
        protocol=args.protocol,
        data=args.data,
        benches=args.benches,
        options=tuple(options),
        inherit_environ=None if args.copy_env else inherited,
        timeout=args.timeout,
    )
    metadata = environment.describe(
        protocol=args.protocol,
        profile=name,
        data_hash=inputs.data_hash(),
        hash_seed_inherited=args.copy_env or "PYTHONHASHSEED" in inherited,
    )
    metadata["suites"] = " ".join(sorted({row.suite for row in rows}))
    metadata["filters"] = " ".join(args.filter) or "none"
    metadata["rows_per_process"] = profile.rows_per_process
    print(_headline(metadata, len(rows), profile.processes), flush=True)

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


def list_rows(words: Sequence[str]) -> int:
    """``list``: every row, what it measures, its parts and its control."""
    parser = _Parser(prog="python -m derive_bench list", description="Print every row: what it measures, its parts, its control.")
    _add_selection(parser)
    args = parser.parse_args(words)
    catalogue = Catalogue.load(args.protocol, args.benches)
    chosen = {row.name for row in catalogue.select(args.suites, args.filter)}
    width = max(map(len, chosen))
    for suite in catalogue.suites:
        rows = [row for row in catalogue.rows.values() if row.suite == suite.name and row.name in chosen]
        if rows:
            print(f"{suite.name}: {suite.summary}")
        for row in rows:
            print(f"  {row.name:<{width}}  {row.summary}{_relations(row)}")
    return 0


def _relations(row: Row) -> str:
    relations = [" + ".join(row.parts)] if row.parts else []
    if row.control:
        relations.append(f"against {row.control}")
    return f" [{'; '.join(relations)}]" if relations else ""


def keep_baseline(words: Sequence[str]) -> int:
    """``baseline RUN.json`` or ``baseline --check``."""
    from derive_bench.measure import baseline
    from derive_bench.measure.results import ResultError

    parser = _Parser(
        prog="python -m derive_bench baseline",
        description="Make a run the baseline: the tables of BENCHMARKS.md and benches/baseline.json; a run of peers: their table alone.",
        epilog="examples:\n  python -m derive_bench -o run.json && python -m derive_bench baseline run.json\n"
        "  python -m derive_bench peers -o peers.json && python -m derive_bench baseline peers.json\n"
        "  python -m derive_bench baseline --check    exit code 1 if rows were added, removed or renamed since",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", nargs="?", type=Path, metavar="RUN.json", help="a result of all four suites, or of peers")
    parser.add_argument("--check", action="store_true", help="write nothing; say whether the baseline fits the code")
    parser.add_argument("--allow", action="append", default=[], choices=baseline.WAIVERS, help="take a run in spite of it; repeatable")
    parser.add_argument("--root", type=Path, default=checkout_root(), metavar="DIR", help="the checkout (default: where the package lies)")
    args = parser.parse_args(words)
    if args.check == bool(args.run):
        parser.error("give either RUN.json or --check")
    if args.root is None:
        raise Refusal("the baseline belongs to a source checkout, and this is an installed package; give --root DIR")
    benches = args.root / "benches"
    expected = [row.name for row in Catalogue.load("v3", benches).select()]
    try:
        if args.check:
            found = baseline.stale(args.root, expected)
            print("\n".join(found) or "the baseline fits the code")
            return 1 if found else 0
        kept, waived = baseline.update(args.run, args.root, expected, args.allow)
    except (baseline.BaselineError, ResultError) as error:
        raise Refusal(str(error)) from error
    print(f"{kept} now hold{'s' if kept == baseline.PAGE else ''} {args.run}{', although: ' + ', '.join(waived) if waived else ''}")
    return 0


def compare_peers(words: Sequence[str]) -> int:
    """``peers``: measure ours beside other libraries, each in an environment of its own."""
    parser = _Parser(
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
    parser.add_argument("--profile", choices=PROFILE_NAMES, default="standard", help="how much is measured (default: standard)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write FILE, a pyperf JSON file, and its details beside it")
    _add_reference(parser)
    _add_places(parser)
    args = parser.parse_args(words)

    from derive_bench.measure.peers import command
    from derive_bench.measure.progress import ProgressLine
    from derive_bench.measure.results import OutputError

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


def _add_selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"any of: {' '.join(DEFAULT_SUITES)} (default: all four)")
    parser.add_argument("--filter", action="append", default=[], metavar="GLOB", help="only rows whose name matches; repeatable")
    parser.add_argument("--protocol", choices=PROTOCOL_NAMES, default="v3", help="dialect and its inputs (default: v3)")
    _add_places(parser)


def _add_places(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--benches", type=Path, metavar="DIR", help="folder with row definitions of your own")
    default = os.environ.get(DATA_VARIABLE)
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        default=Path(default) if default else None,
        help=f"folder laid out like test_data/, with your own captures (default: ${DATA_VARIABLE}, or what comes with the project)",
    )


def _add_reference(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reference",
        type=Path,
        metavar="DIR",
        help="target/criterion of a NautilusTrader checkout: its figures from this machine in place of the published ones",
    )


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return value


def _not_negative(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is not a duration")
    return value


VERBS: dict[str, Callable[[Sequence[str]], int]] = {"baseline": keep_baseline, "list": list_rows, "peers": compare_peers}
"""What the first word may be instead of a suite."""
