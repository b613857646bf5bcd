"""ASLR: the system's setting, and what holds for this process and the workers it starts.

Off, every process has the same memory layout: runs repeat, and are those of one layout. On, each process has its own, and a median
over processes is an average over layouts. Neither is wrong; the two must not be compared. ``publish`` wants it off, all other
profiles as the system has it.
"""

from __future__ import annotations

from derive_bench.measure.checks.finding import Check, Outcome, failed, passed, warned
from derive_bench.measure.checks.plan import Plan
from derive_bench.measure.checks.system import System, Unread, number

__all__ = ["CHECKS", "OFF", "exempt", "policy", "recorded"]

OFF = "No randomization"

SETTINGS = {0: OFF, 1: "Conservative randomization", 2: "Full randomization"}
"""Values of ``randomize_va_space``, in pyperf's words."""

PERSONALITY = "proc/self/personality"

ADDR_NO_RANDOMIZE = 0x0040000
"""Flag of personality(2) that ``setarch -R`` sets and children inherit."""


def policy(system: System) -> str:
    """What holds for this process and its children: one of the words of :data:`SETTINGS`.

    Raises:
        Unread
    """
    return OFF if exempt(system.text(PERSONALITY)) else _setting(system)


def recorded(system: System) -> str:
    """The same as a result records it: ``unknown`` where it cannot be read."""
    try:
        return policy(system)
    except Unread:
        return "unknown"


def exempt(personality: str) -> bool:
    """Whether a personality, as ``/proc/self/personality`` has it, is without ASLR.

    Raises:
        Unread: it is no hexadecimal number.
    """
    try:
        return bool(int(personality, 16) & ADDR_NO_RANDOMIZE)
    except ValueError:
        raise Unread(f"/{PERSONALITY}: {personality[:40]!r} is not a hexadecimal number") from None


def _setting(system: System) -> str:
    name = "proc/sys/kernel/randomize_va_space"
    value = number(system.text(name), f"/{name}")
    if value not in SETTINGS:
        raise Unread(f"/{name}: {value} is none of 0, 1, 2")
    return SETTINGS[value]


def _read_system(system: System, plan: Plan) -> Outcome:
    setting = _setting(system)
    if setting == SETTINGS[2] or plan.fixed:
        return passed(setting)
    return failed(setting)


def _read_process(system: System, plan: Plan) -> Outcome:
    found = policy(system)
    if plan.fixed:
        return passed(found) if found == OFF else failed(found, "setarch -R python -m derive_bench --profile publish")
    if found == OFF:
        return warned(f"{found}: one layout for all processes", "sudo sysctl kernel.randomize_va_space=2  # and no setarch -R")
    return passed(found)


CHECKS = (
    Check(
        "aslr_system",
        "half a setting averages over some layouts only, and is comparable with nothing",
        "sudo sysctl kernel.randomize_va_space=2",
        _read_system,
    ),
    Check(
        "aslr",
        "the memory layout moves short rows by percents: off, runs repeat; on, they average over layouts",
        "setarch -R python -m derive_bench",
        _read_process,
    ),
)
