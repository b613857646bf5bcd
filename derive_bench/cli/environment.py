"""What measuring commands do before they measure: a plan, the verdict on the environment, and the refusals of ``publish``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from derive_bench.cli.options import Refusal

if TYPE_CHECKING:
    from derive_bench.measure.checks.plan import Plan
    from derive_bench.measure.checks.system import System
    from derive_bench.measure.checks.verdict import Verdict
    from derive_bench.measure.runner import Profile

__all__ = ["Prepared", "add_environment", "prepare", "refuse_blocked"]


class Prepared(NamedTuple):
    """How the run is made, and what was found."""

    plan: Plan
    verdict: Verdict

    @property
    def affinity(self) -> str | None:
        """The CPUs workers are pinned to, as pyperf's ``--affinity`` takes them; None if they are not."""
        return ",".join(map(str, self.plan.cpus)) if self.plan.pinned else None


def add_environment(parser: argparse._ActionsContainer) -> None:
    """``--affinity`` and ``--allow``."""
    parser.add_argument("--affinity", metavar="CPUS", help="pin workers to these CPUs (default: isolated ones, if any; publish: the last)")
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="NAME",
        help="publish in spite of this finding of check, marked; repeatable",
    )


def prepare(
    profile: Profile,
    words: Sequence[str],
    *,
    affinity: str | None = None,
    allow: Sequence[str] = (),
    hash_seed: str | None = None,
    system: System | None = None,
) -> Prepared:
    """The plan and the verdict; for a fixed profile, in a process without ASLR, for which this one may be replaced.

    Args:
        words: the command line, without program and verb.
        hash_seed: PYTHONHASHSEED that workers inherit.

    Raises:
        Refusal: a name or CPU that is none, or ASLR that cannot be switched off.
    """
    from derive_bench.measure import recipe
    from derive_bench.measure.checks.verdict import NAMES, verdict

    if unknown := [name for name in allow if name not in NAMES]:
        raise Refusal(f"--allow {unknown[0]}: no finding of check; those are {', '.join(NAMES)}")
    try:
        plan = recipe.make_plan(profile, affinity=affinity, hash_seed=hash_seed, system=system)
        # Another system's files are looked at, not run on.
        if profile.fixed and system is None:
            recipe.rerun_without_aslr(words)
    except recipe.AffinityUnreadable as error:
        raise Refusal(str(error)) from error
    except recipe.AslrRefused as error:
        if "aslr" not in allow:
            raise Refusal(f"ASLR cannot be switched off: {error}; or --allow aslr, with marked numbers") from error
    return Prepared(plan, verdict(plan, allowed=allow, system=system))


def refuse_blocked(verdict: Verdict) -> None:
    """Refuse to publish where a finding failed or is unknown and was not allowed.

    Raises:
        Refusal
    """
    if blocking := verdict.blocking(unknown=True):
        told = "; ".join(f"{finding.name} ({finding.state}: {finding.value})" for finding in blocking)
        options = " ".join(f"--allow {finding.name}" for finding in blocking)
        raise Refusal(f"not fit to publish: {told}. Mend it (python -m derive_bench check --profile publish says how) or add {options}")
