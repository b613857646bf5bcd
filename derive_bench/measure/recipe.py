"""The recipe of a profile: which CPU, which memory layout and which hash seed workers get, and the same process without ASLR.

Profiles that are not ``fixed`` leave all three to chance, so that medians over processes are averages. ``publish`` fixes them: workers are
pinned to one CPU, start under ``setarch -R`` and have one hash seed, so that runs repeat; what is repeated is then one layout of many.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence

from derive_bench.measure.checks import aslr
from derive_bench.measure.checks.cpu import isolated_cpus, usable_cpus
from derive_bench.measure.checks.plan import Plan
from derive_bench.measure.checks.system import System, Unread, cpu_list
from derive_bench.measure.runner import Profile

__all__ = ["FIXED_HASH_SEED", "AffinityUnreadable", "AslrRefused", "make_plan", "rerun_without_aslr"]

FIXED_HASH_SEED = "0"

RERUN = "DERIVE_BENCH_RERUN"
"""Set for the process that is to run without ASLR, so that one which has it all the same is not started over and over."""

TELL = "print(open('/proc/self/personality').read())"


class AffinityUnreadable(ValueError):
    """``--affinity`` is no list of CPUs."""


class AslrRefused(Exception):
    """This process cannot be run without ASLR; the message says why and what to do."""


def make_plan(profile: Profile, *, affinity: str | None, hash_seed: str | None = None, system: System | None = None) -> Plan:
    """How a run is made under a profile.

    Args:
        affinity: CPUs in the kernel's notation. None: the isolated ones, if there are any; else, if the profile is fixed, the last of
            those this process may use, since the first serves most interrupts; else all of them.
        hash_seed: what workers inherit; a fixed profile has its own.

    Raises:
        AffinityUnreadable
    """
    cpus, pinned = _cpus(affinity, profile, system or System())
    return Plan(
        cpus=cpus,
        pinned=pinned,
        fixed=profile.fixed,
        hash_seed=FIXED_HASH_SEED if profile.fixed else hash_seed,
        warmups=profile.warmups,
        warmup_pass=profile.warmup_pass,
    )


def _cpus(affinity: str | None, profile: Profile, system: System) -> tuple[tuple[int, ...], bool]:
    if affinity is not None:
        try:
            chosen = cpu_list(affinity, "--affinity")
        except Unread as error:
            raise AffinityUnreadable(str(error)) from None
        if not chosen:
            raise AffinityUnreadable("--affinity: names no CPU")
        return chosen, True
    try:
        isolated = isolated_cpus(system)
    except Unread:
        isolated = ()
    allowed = usable_cpus(system)
    if profile.fixed:
        return tuple((isolated or allowed)[-1:]), True
    return (isolated, True) if isolated else (allowed, False)


def rerun_without_aslr(words: Sequence[str]) -> None:
    """Replace this process by the same command under ``setarch -R``; returns only if it has no ASLR already.

    Args:
        words: of the command line, without the program and the verb.

    Raises:
        AslrRefused
    """
    if aslr.recorded(System()) == aslr.OFF:
        return
    setarch = shutil.which("setarch")
    if setarch is None:
        raise AslrRefused("there is no setarch: apt install util-linux")
    if RERUN in os.environ:
        raise AslrRefused("setarch -R ran, and left ASLR on")
    given = sys.argv[1:]
    if list(words) not in (given, given[1:]):
        raise AslrRefused("a program called the command and cannot be replaced: start the program under setarch -R")
    # Older versions of setarch insist on an architecture.
    command = [setarch, platform.machine(), "-R", sys.executable]
    if not _switches_off(command):
        raise AslrRefused("setarch -R ran, and left ASLR on")
    sys.stdout.flush()
    os.environ[RERUN] = "1"
    os.execv(setarch, [*command, *sys.orig_argv[1:]])


def _switches_off(command: Sequence[str]) -> bool:
    """Whether an interpreter started so has no ASLR.

    Raises:
        AslrRefused: it does not start.
    """
    try:
        told = subprocess.run([*command, "-c", TELL], capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        reason = str(getattr(error, "stderr", None) or error).strip().rpartition("\n")[2]
        raise AslrRefused(f"setarch -R fails ({reason}); in a container: --security-opt seccomp=unconfined") from None
    try:
        return aslr.exempt(told.strip())
    except Unread:
        return False
