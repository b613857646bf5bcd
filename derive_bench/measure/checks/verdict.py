"""The verdict on the environment: what every check found, in one line, as a table, and as metadata of a result.

Metadata of each result, all strings: :data:`SUMMARY` the line; :data:`FAILED`, :data:`UNKNOWN` and :data:`WARNED` names of findings,
separated by blanks, or ``none``; :data:`ALLOWED` the names that ``publish`` was told to overlook, which is the mark that the
numbers carry (:func:`marks`); for each finding ``found_NAME``, its state and value; and, after the run, :data:`MEANWHILE`, names of
the counters that went on counting in it, or ``none``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from derive_bench.measure.checks import aslr, cgroup, cpu, interpreter, libraries, load, machine, memory, power, timers
from derive_bench.measure.checks.finding import Check, Finding, State
from derive_bench.measure.checks.plan import Plan
from derive_bench.measure.checks.system import System

__all__ = [
    "ALLOWED",
    "CHECKS",
    "FAILED",
    "MARK",
    "MEANWHILE",
    "NAMES",
    "SUMMARY",
    "UNKNOWN",
    "WARNED",
    "Verdict",
    "marks",
    "meanwhile",
    "verdict",
]

SUMMARY = "check"
FAILED = "check_failed"
UNKNOWN = "check_unknown"
WARNED = "check_warned"
ALLOWED = "check_allowed"
MEANWHILE = "check_meanwhile"

NONE = "none"

MARK = "‡"
"""What stands at numbers that were published in spite of a finding."""

MODULES = (cpu, machine, aslr, load, cgroup, memory, timers, power, interpreter, libraries)
CHECKS: tuple[Check, ...] = tuple(check for module in MODULES for check in module.CHECKS)
NAMES = tuple(check.name for check in CHECKS)
"""Names of all findings, in the order of the table."""

COUNTERS = ("throttling", "thermal")
"""Checks that count what slowed the machine down; a run in which they go on counting was slowed down."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What all checks found.

    Attributes:
        allowed: names of findings that are overlooked on demand.
    """

    findings: tuple[Finding, ...]
    allowed: tuple[str, ...] = ()

    def named(self, state: State) -> list[str]:
        """Names of the findings of a state."""
        return [finding.name for finding in self.findings if finding.state is state]

    def blocking(self, *, unknown: bool) -> list[Finding]:
        """What is not as it must be and was not allowed: failures and, if ``unknown``, what was not read."""
        states = {State.FAIL, State.UNKNOWN} if unknown else {State.FAIL}
        return [finding for finding in self.findings if finding.state in states and finding.name not in self.allowed]

    @property
    def marks(self) -> list[str]:
        """Names that were allowed and needed it: failed or unknown."""
        needed = {*self.named(State.FAIL), *self.named(State.UNKNOWN)}
        return [name for name in NAMES if name in needed and name in self.allowed]

    @property
    def summary(self) -> str:
        """``21 pass, 2 warn (load, swap), 1 fail (smt), 5 unknown (governor, …)``, on one line."""
        parts = []
        for state in State:
            names = self.named(state)
            told = f" ({', '.join(names)})" if names and state is not State.PASS else ""
            parts.append(f"{len(names)} {state}{told}")
        return ", ".join(parts)

    @property
    def headline(self) -> str:
        """What a command prints before anything else: the summary, and what the numbers are marked with."""
        marked = f"\n{MARK} published in spite of: {', '.join(self.marks)}" if self.marks else ""
        return f"environment: {self.summary}{marked}"

    def metadata(self) -> dict[str, str]:
        """What a result says of it; see the module's text."""
        listed = {FAILED: self.named(State.FAIL), UNKNOWN: self.named(State.UNKNOWN), WARNED: self.named(State.WARN), ALLOWED: self.marks}
        return {
            SUMMARY: self.summary,
            **{key: " ".join(names) or NONE for key, names in listed.items()},
            **{f"found_{finding.name}": f"{finding.state}: {finding.value}" for finding in self.findings},
        }


def verdict(plan: Plan | None = None, *, allowed: Collection[str] = (), system: System | None = None) -> Verdict:
    """Run every check; takes about a quarter of a second, in which other processes are watched.

    Args:
        plan: how the run is made; by default on all CPUs that this process may use, as the profile ``standard`` does it.
        system: where ``proc`` and ``sys`` lie (default: this machine's). What is known of this process alone, such as its
            interpreter, is so whatever the system.
    """
    root = system or System()
    how = plan or Plan(cpus=cpu.usable_cpus(root))
    return Verdict(tuple(check.find(root, how) for check in CHECKS), tuple(allowed))


def meanwhile(before: Verdict, plan: Plan, *, system: System | None = None) -> dict[str, str]:
    """Metadata on what slowed the machine down since a verdict: look at the counters again."""
    then = {finding.name: finding for finding in before.findings}
    now = [check.find(system or System(), plan) for check in CHECKS if check.name in COUNTERS]
    names = [finding.name for finding in now if finding.state is State.FAIL and finding.value != then[finding.name].value]
    return {MEANWHILE: " ".join(names) or NONE}


def marks(metadata: Mapping[str, object]) -> tuple[str, ...]:
    """The names that a result was published in spite of; none if it carries no mark."""
    text = str(metadata.get(ALLOWED, NONE))
    return () if text == NONE else tuple(text.split())
