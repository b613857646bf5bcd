"""``check``: what the environment is worth, finding by finding, and what mends it."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from derive_bench.cli.environment import add_environment, prepare
from derive_bench.cli.options import PROFILE_NAMES, Parser, Refusal

if TYPE_CHECKING:
    from derive_bench.measure.checks.verdict import Verdict

__all__ = ["run"]

SCHEMA = 1
NARROWEST = 60


def run(words: Sequence[str]) -> int:
    """``check``: print the verdict; 1 if publishing would be refused for a failure, under ``publish`` also for what is unknown."""
    parser = Parser(
        prog="python -m derive_bench check",
        description="Say what the environment is worth: what was found, why it matters, and the command that mends it.",
        epilog="examples:\n  python -m derive_bench check\n"
        "  python -m derive_bench check --profile publish --allow hypervisor --allow governor\n"
        "  python -m derive_bench check --json | jq '.findings[] | select(.state != \"pass\")'\n\n"
        "exit codes: 1 if a finding failed that was not allowed; under --profile publish what is unknown counts as failed",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--profile", choices=PROFILE_NAMES, default="standard", help="judge by this profile (default: standard)")
    add_environment(parser)
    parser.add_argument("--json", action="store_true", help="print the verdict for programs")
    parser.add_argument("--system", type=Path, metavar="DIR", help="read proc and sys under DIR (default: /), to look at another machine's")
    args = parser.parse_args(words)

    from derive_bench.measure.checks.system import System
    from derive_bench.measure.runner import PROFILES

    if args.system and not args.system.is_dir():
        raise Refusal(f"--system {args.system}: no such folder")
    profile = PROFILES[args.profile]
    system = System(args.system) if args.system else None
    found = prepare(profile, words, affinity=args.affinity, allow=args.allow, system=system).verdict
    blocking = found.blocking(unknown=profile.fixed)
    if args.json:
        print(_json(found, args.profile, [finding.name for finding in blocking]))
    else:
        print(_table(found))
        if blocking:
            print(f"\nnot fit for {args.profile if profile.fixed else 'publishing'}: {', '.join(finding.name for finding in blocking)}")
    return 1 if blocking else 0


def _json(found: Verdict, profile: str, blocking: list[str]) -> str:
    document = {
        "schema": SCHEMA,
        "profile": profile,
        "fit": not blocking,
        "blocking": blocking,
        "allowed": found.marks,
        "summary": found.summary,
        "findings": [finding._asdict() for finding in found.findings],
    }
    return json.dumps(document, indent=1, ensure_ascii=False)


def _table(found: Verdict) -> str:
    names = max(len(finding.name) for finding in found.findings)
    indent = " " * (names + 11)
    width = max(NARROWEST, shutil.get_terminal_size((120, 24)).columns - 1) if sys.stdout.isatty() else 10_000
    lines = [f"{found.headline}\n"]
    for finding in found.findings:
        allowed = " (allowed)" if finding.name in found.marks else ""
        first = f"{finding.name:<{names}}  {finding.state:<7}  {finding.value}{allowed}"
        lines.append(textwrap.fill(first, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False))
        if finding.mend:
            lines.append(textwrap.fill(finding.why, width, initial_indent=indent, subsequent_indent=indent))
            # One line, whatever its length: it is to be copied.
            lines.append(f"{indent}$ {finding.mend}")
    return "\n".join(lines)
