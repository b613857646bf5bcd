"""``ab``: two git revisions, measured interleaved, with a verdict per row and a gate."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from derive_bench.cli.compare import add_gate
from derive_bench.cli.environment import add_environment, prepare, refuse_blocked
from derive_bench.cli.options import INTERRUPTED, PROFILE_NAMES, Parser, Refusal, add_selection, positive
from derive_bench.measure.trees import checkout_root

if TYPE_CHECKING:
    from derive_bench.measure.ab.contender import Contender
    from derive_bench.measure.ab.session import PairedSession
    from derive_bench.measure.ab.worktrees import Revision
    from derive_bench.measure.compare.loading import Measured
    from derive_bench.measure.compare.verdict import Comparison
    from derive_bench.measure.rows import Row

__all__ = ["run"]

DEFAULT = "interleaved"


def run(words: Sequence[str]) -> int:
    """``ab BASE_REV HEAD_REV [SUITE …]``."""
    parser = Parser(
        prog="python -m derive_bench ab",
        description="Measure two git revisions interleaved, and compare them row by row.",
        epilog="examples:\n  python -m derive_bench ab main HEAD data\n"
        "  python -m derive_bench ab HEAD WORKTREE --filter 'inbound_pipeline/quotes*'    what is not committed yet\n"
        "  python -m derive_bench ab main my-branch -o result --fail-above 5%             keeps result.base.json, result.head.json\n\n"
        "Parts and controls of the chosen rows are measured, too. exit codes: 1 if a row is slower by more than --fail-above",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("base", metavar="BASE_REV", help="the older git revision")
    parser.add_argument(
        "head", metavar="HEAD_REV", help="the newer one; WORKTREE is the working tree as it is, uncommitted changes included"
    )
    add_selection(parser)
    parser.add_argument("--profile", choices=(DEFAULT, *PROFILE_NAMES), default=DEFAULT, help=f"how much is measured (default: {DEFAULT})")
    parser.add_argument("-p", "--processes", type=positive, metavar="N", help="rounds: worker processes per row and revision (default: 10)")
    parser.add_argument("-o", "--output", metavar="NAME", help="keep both results: NAME.base.json and NAME.head.json")
    parser.add_argument("--force", action="store_true", help="measure identical revisions, or compare what is not comparable, marked")
    add_gate(parser)
    add_environment(parser)
    args = parser.parse_args(words)
    project = checkout_root()
    if project is None:
        raise Refusal("ab compares revisions of a source checkout, and this is an installed package")

    from derive_bench.measure.ab.contender import TooOld
    from derive_bench.measure.ab.worktrees import RevisionUnknown, Terminated, laid_out, resolve
    from derive_bench.measure.results import OutputError, check_output
    from derive_bench.measure.runner import WorkerFailed, WorkerRefused

    try:
        outputs = _outputs(args.output)
        for path in outputs:
            check_output(path)
        revisions = [resolve(project, args.base), resolve(project, args.head)]
        same = _identical(revisions)
        if same and not args.force:
            print(f"no verdict: {args.base} and {args.head} hold the same files; --force measures them all the same")
            return 0
        with laid_out(project, revisions) as folders:
            return _compare(args, words, revisions, folders, outputs, same)
    except Terminated as end:
        print("derive-bench: terminated", file=sys.stderr)
        return 128 + end.number
    except (OutputError, RevisionUnknown, TooOld, WorkerFailed, WorkerRefused) as error:
        raise Refusal(str(error)) from error


def _outputs(name: str | None) -> list[Path]:
    stem = (name or "").removesuffix(".json")
    return [Path(f"{stem}.{side}.json") for side in ("base", "head")] if stem else []


def _identical(revisions: Sequence[Revision]) -> bool:
    base, head = revisions
    return base.name == head.name or (base.tree == head.tree != "")


def _compare(
    args: argparse.Namespace,
    words: Sequence[str],
    revisions: Sequence[Revision],
    folders: Sequence[Path],
    outputs: Sequence[Path],
    same: bool,
) -> int:
    from derive_bench.measure.ab.contender import ask, choose
    from derive_bench.measure.ab.session import INTERLEAVED, PairedSession
    from derive_bench.measure.compare.comparable import obstacles
    from derive_bench.measure.compare.compare import compare
    from derive_bench.measure.compare.formats import FORMATS
    from derive_bench.measure.localise.explain import explain
    from derive_bench.measure.progress import ProgressLine
    from derive_bench.measure.runner import PROFILES, Launcher

    profile = INTERLEAVED if args.profile == DEFAULT else PROFILES[args.profile]
    if args.processes:
        profile = replace(profile, processes=args.processes)
    plan, found = prepared = prepare(profile, ["ab", *words], affinity=args.affinity, allow=args.allow)
    if profile.fixed:
        refuse_blocked(found)
    options = (f"--affinity={prepared.affinity}",) if prepared.affinity else ()
    launchers = [
        Launcher(protocol=args.protocol, data=args.data, benches=args.benches, root=folder, options=options, hash_seed=plan.hash_seed)
        for folder in folders
    ]
    base, head = (ask(revision.label, launcher) for revision, launcher in zip(revisions, launchers, strict=True))
    marks = ["the two revisions hold the same files: differences are chance"] if same else []
    if base.data_hash != head.data_hash:
        reason = "the two revisions have other input data"
        if not args.force:
            raise Refusal(f"{reason}; give both the same with --data DIR, or --force to compare all the same")
        marks.append(f"forced, although not comparable: {reason}")
    chosen = choose(base, head, args.suites, args.filter)
    rows = _common(*chosen)
    if not rows:
        raise Refusal(f"{base.label} and {head.label} have none of these rows in common")
    print(f"{found.headline}\n{base.label} and {head.label}: {len(rows)} rows, {profile.processes} interleaved rounds", file=sys.stderr)

    session = PairedSession(rows, profile, (base.launcher, head.launcher))
    line = ProgressLine(sys.stderr)
    interrupted = False
    try:
        session.run(line)
    except KeyboardInterrupt:
        interrupted = True
    line.clear()
    measured = _label(session, (base, head), chosen, revisions, found.metadata(), args, interrupted)
    kept = _keep(measured, outputs)
    if interrupted:
        print(f"derive-bench: interrupted in round {session.rounds_done + 1} of {profile.processes}, no verdict; {kept}", file=sys.stderr)
        return INTERRUPTED
    one, other = (_measured(benchmarks, side.label) for benchmarks, side in zip(measured, (base, head), strict=True))
    marks += [f"forced, although not comparable: {reason}" for reason in obstacles(one, other) if args.force]
    comparison = _complete(compare(one, other, args.fail_above, marks), *chosen)
    print(FORMATS[args.format](comparison, explain(other, comparison)))
    if outputs:
        print(kept, file=sys.stderr)
    return 1 if comparison.regressions else 0


def _common(base: Sequence[Row], head: Sequence[Row]) -> list[Row]:
    known = {row.name: row.fingerprint for row in base}
    return [row for row in head if known.get(row.name) == row.fingerprint]


def _complete(comparison: Comparison, base: Sequence[Row], head: Sequence[Row]) -> Comparison:
    """With the rows that were not measured, since one tree alone has them or they are not the same."""
    before, after = ({row.name: row.fingerprint for row in side} for side in (base, head))
    return replace(
        comparison,
        added=tuple(name for name in after if name not in before),
        removed=tuple(name for name in before if name not in after),
        redefined=tuple(name for name in after if name in before and before[name] != after[name]),
    )


def _label(
    session: PairedSession,
    contenders: tuple[Contender, Contender],
    chosen: tuple[list[Row], list[Row]],
    revisions: Sequence[Revision],
    found: dict[str, str],
    args: argparse.Namespace,
    interrupted: bool,
) -> list[list[Any]]:
    from derive_bench.measure import environment
    from derive_bench.measure.ab.worktrees import WORKTREE
    from derive_bench.measure.compare.loading import SESSION
    from derive_bench.measure.results import label

    token = uuid4().hex
    labelled = []
    for side, (contender, rows, revision) in enumerate(zip(contenders, chosen, revisions, strict=True)):
        launcher = contender.launcher
        metadata = environment.describe(
            protocol=args.protocol,
            profile="custom" if args.processes else args.profile,
            data_hash=contender.data_hash,
            hash_seed=launcher.hash_seed,
        )
        metadata |= found
        metadata["commit"] = revision.commit
        metadata["dirty"] = environment.revision(launcher.root).dirty if revision.name == WORKTREE else "no"
        metadata[SESSION] = token
        metadata["suites"] = " ".join(sorted({row.suite for row in rows}))
        metadata["filters"] = " ".join(args.filter) or "none"
        metadata["rows_per_process"] = session.profile.rows_per_process
        metadata["complete"] = f"interrupted in round {session.rounds_done + 1} of {session.profile.processes}" if interrupted else "yes"
        metadata["repeated_runs"] = session.repeated
        labelled.append(label(rows, session.benchmarks(side), metadata, {}))
    return labelled


def _keep(labelled: Sequence[Sequence[Any]], outputs: Sequence[Path]) -> str:
    from derive_bench.measure.results import save

    if not outputs or not all(labelled):
        return "nothing kept"
    for benchmarks, path in zip(labelled, outputs, strict=True):
        save(benchmarks, path)
    return f"written to {outputs[0]} and {outputs[1]}"


def _measured(benchmarks: Sequence[Any], name: str) -> Measured:
    from derive_bench.measure.compare.loading import measured

    return measured(benchmarks, name)
