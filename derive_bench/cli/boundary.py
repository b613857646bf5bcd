"""``boundary``: what it costs to put a kernel, or the hot path, behind a process; and what that means for a call of one's own."""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from derive_bench.cli.environment import prepare
from derive_bench.cli.options import INTERRUPTED, PROFILE_NAMES, PUBLISH, Parser, Refusal, positive

if TYPE_CHECKING:
    from derive_bench.boundary.echo import Fit
    from derive_bench.boundary.parts import Study
    from derive_bench.boundary.session import Case, Plan, Session
    from derive_bench.boundary.workload import Workload

__all__ = ["run"]

PART_NAMES = ("kernel", "architecture", "echo", "codec", "wall")
"""Names of ``derive_bench.boundary.parts.PARTS``, which is slow to import."""

BOUNDARY_PROFILES = tuple(name for name in PROFILE_NAMES if name != PUBLISH)

TICKER, FRAMES = "ETH-PERP", 1_024
"""What crosses the wall: so many tickers of this instrument, every number new."""

LIBRARIES = ("numba", "numpy", "msgspec", "orjson", "pyarrow", "protobuf", "pyzmq", "grpcio", "coincurve", "wallycore", "pyperf")
"""What the figures depend on, where it is installed."""

SMALLEST_BARS = 1_000
"""The longest lines need 400 bars before they exist."""


def run(words: Sequence[str]) -> int:
    """``boundary [PART …]`` measures, ``boundary advise`` answers for one's own call; 1 if a variant computes something else."""
    if words[:1] == ["advise"]:
        return _advise(words[1:])
    parser = Parser(
        prog="python -m derive_bench boundary",
        description="Measure what crossing a process boundary costs: kernels on both sides of it, ways to cross, and what crosses.",
        epilog="examples:\n  python -m derive_bench boundary --profile quick\n"
        "  python -m derive_bench boundary echo --filter 'echo/shm_*' -o echo.json\n"
        "  python -m derive_bench boundary advise --help       what it means for a call of your own\n\n"
        f"parts: {' '.join(PART_NAMES)} (default: all)\n"
        "exit codes: 1 if a variant computes something else than the sweep in process, but for those that reorder additions by design",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"any of: {' '.join(PART_NAMES)}")
    parser.add_argument("--filter", action="append", default=[], metavar="GLOB", help="only rows whose name matches; repeatable")
    parser.add_argument("--profile", choices=BOUNDARY_PROFILES, default="standard", help="how much is measured (default: standard)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write FILE, a pyperf JSON file, and its details beside it")
    parser.add_argument("--bars", type=positive, metavar="N", help=f"of the sweep, {SMALLEST_BARS} at least (default: by profile)")
    parser.add_argument("--combinations", type=positive, metavar="N", help="of the sweep (default: by profile)")
    parser.add_argument("--seed", type=int, default=7, metavar="N", help="of the bars (default: 7)")
    args = parser.parse_args(words)
    if unknown := [part for part in args.parts if part not in PART_NAMES]:
        raise Refusal(f"no part {unknown[0]!r}; there are: {' '.join(PART_NAMES)}")
    if args.bars is not None and args.bars < SMALLEST_BARS:
        parser.error(f"--bars {args.bars}: the longest lines need more; give {SMALLEST_BARS} at least")
    _need_libraries()

    from derive_bench.boundary.parts import cases
    from derive_bench.boundary.session import PLANS
    from derive_bench.measure.results import OutputError, check_output, details_path

    sizes = {name: value for name in ("bars", "combinations") if (value := getattr(args, name)) is not None}
    plan = replace(PLANS[args.profile], **sizes)
    study = _study(plan, args.seed)
    chosen = [case for case in cases(args.parts, study) if not args.filter or any(fnmatchcase(case.name, glob) for glob in args.filter)]
    if not chosen:
        raise Refusal(f"no row matches {' or '.join(args.filter)}")
    try:
        if args.output:
            check_output(args.output)
            check_output(details_path(args.output))
        return _measure(args, words, chosen, plan, study.work)
    except OutputError as error:
        raise Refusal(str(error)) from error


def _study(plan: Plan, seed: int) -> Study:
    from derive_bench.boundary.parts import Study
    from derive_bench.boundary.wall import DeriveLoad
    from derive_bench.boundary.workload import Workload
    from derive_bench.measure.inputs import Inputs

    inputs = Inputs("v3")
    record = next(record for record in inputs.instruments if record["instrument_name"] == TICKER)
    return Study(Workload(plan.bars, plan.combinations, seed), DeriveLoad(inputs.frames_cold("ticker", FRAMES), record))


def _need_libraries() -> None:
    try:
        import numba  # noqa: F401 -- asked for before anything is begun
    except ImportError as error:
        raise Refusal(f"the boundary needs {error.name}; install it with: pip install 'derive_bench[boundary]'") from error


def _measure(args: argparse.Namespace, words: Sequence[str], chosen: list[Case], plan: Plan, work: Workload) -> int:
    from derive_bench.boundary.architectures import expected
    from derive_bench.boundary.gate import fingerprint
    from derive_bench.cli import boundary_report as report
    from derive_bench.measure import environment
    from derive_bench.measure.results import save, save_details
    from derive_bench.measure.runner import PROFILES

    verdict = prepare(PROFILES[args.profile], words).verdict
    metadata = environment.describe(protocol="none", profile=args.profile, data_hash=_data_hash(work), hash_seed=None, libraries=LIBRARIES)
    metadata |= verdict.metadata() | {"suites": report.KIND, "filters": " ".join(args.filter) or "none", "rustc": _rustc()}
    print(f"{verdict.headline}\n", flush=True)
    result = fingerprint(expected(work))
    print(f"{work.combinations} combinations over {work.bars} bars: {result}\n", flush=True)

    session, interrupted = _session(chosen, plan)
    metadata["complete"] = f"interrupted in round {session.rounds_done + 1} of {plan.rounds}" if interrupted else "yes"
    counted, uncounted = ({}, "") if interrupted or args.profile == "quick" else _instructions(session)
    document = report.details(session, metadata, work, result, counted, uncounted)
    measured = report.benchmarks(session, metadata)
    for table in report.tables(document):
        print(f"{table.text()}\n")
    print("\n".join(report.notes(document)))
    if args.output and measured:
        save(measured, args.output)
        save_details(document, args.output)
        print(f"\nwritten to {args.output} and its details beside it")
    if interrupted:
        print(f"derive-bench: interrupted; {f'kept in {args.output}' if args.output and measured else 'nothing kept'}", file=sys.stderr)
        return INTERRUPTED
    if wrong := [name for name, found in session.measured.items() if found.wrong and not found.case.reorders]:
        print(f"derive-bench: not what the sweep in process computes: {', '.join(wrong)}", file=sys.stderr)
        return 1
    return 0


def _rustc() -> str:
    from derive_bench.boundary.builds import BuildUnavailable, compiler

    try:
        return compiler()
    except BuildUnavailable:
        return "none"


def _data_hash(work: Workload) -> str:
    return hashlib.sha256(work.closes.tobytes() + work.windows.tobytes()).hexdigest()


def _session(chosen: list[Case], plan: Plan) -> tuple[Session, bool]:
    from derive_bench.boundary.session import Session
    from derive_bench.measure.progress import ProgressLine
    from derive_bench.measure.runner import Progress

    line = ProgressLine(sys.stderr)
    begin = monotonic()

    def tell(row: str, done: int, total: int) -> None:
        left = (monotonic() - begin) / done * (total - done) if done else None
        line(Progress(row, done, total, done // len(chosen) + 1, plan.rounds, left))

    session = Session(chosen, plan)
    interrupted = False
    try:
        session.run(tell)
    except KeyboardInterrupt:
        interrupted = True
    line.clear()
    return session, interrupted


def _instructions(session: Session) -> tuple[dict[str, float], str]:
    """Instructions of the Rust builds that were timed, by row, and why some were not counted."""
    from derive_bench.boundary.builds import BUILDS
    from derive_bench.boundary.instructions import instructions
    from derive_bench.boundary.session import Missing

    counted: dict[str, float] = {}
    why = ""
    for name in BUILDS:
        row = session.measured.get(f"kernel/{name}")
        if row is not None and row.calls:
            print(f"counting the instructions of {name}", file=sys.stderr, flush=True)
            try:
                counted[row.case.name] = instructions(name)
            except Missing as error:
                why = f"{name}: {error}"
            except KeyboardInterrupt:
                return counted, f"{name}: interrupted"
    return counted, why


def _advise(words: Sequence[str]) -> int:
    parser = Parser(
        prog="python -m derive_bench boundary advise",
        description="Say what each transport would take of a call of your own, from measurements on this machine.",
        epilog="examples:\n  python -m derive_bench boundary advise --compute-us 50 --bytes 400\n"
        "  python -m derive_bench boundary advise --compute-us 50 --bytes 400 --from boundary.json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--compute-us", type=_above_zero, required=True, metavar="X", help="what one call computes, in µs")
    parser.add_argument("--bytes", type=_size, required=True, metavar="N", help="what goes over and comes back, in bytes each way")
    parser.add_argument(
        "--from", type=Path, dest="source", metavar="FILE", help="a result of boundary echo (default: measure now, quickly)"
    )
    args = parser.parse_args(words)
    _need_libraries()

    from derive_bench.boundary.breakeven import advise
    from derive_bench.cli import boundary_report as report
    from derive_bench.measure.results import ResultError

    try:
        lines = report.lines_of(report.load_details(args.source)) if args.source else _quick_lines()
    except ResultError as error:
        raise Refusal(str(error)) from error
    if not lines:
        raise Refusal(f"{args.source}: has no echo rows; measure them: python -m derive_bench boundary echo -o FILE")
    print(report.advice_table(advise(args.compute_us * 1000, args.bytes, lines)).text())
    print("\nG: computing over crossing; the boundary takes 1 / (1 + G) of the call.")
    return 0


def _quick_lines() -> dict[str, Fit]:
    from derive_bench.boundary.parts import cases
    from derive_bench.boundary.session import PLANS
    from derive_bench.cli import boundary_report as report

    plan = PLANS["quick"]
    session, interrupted = _session(cases(["echo"], _study(plan, 0)), plan)
    if interrupted:
        raise KeyboardInterrupt
    return report.fit_lines(session)


def _above_zero(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e12:
        raise argparse.ArgumentTypeError(f"{text} is not a time")
    return value


def _size(text: str) -> int:
    value = int(text)
    if not 0 <= value < 1 << 40:
        raise argparse.ArgumentTypeError(f"{text} is not a number of bytes")
    return value
