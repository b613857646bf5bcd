"""A check and what it finds.

A check reads and answers with an :class:`Outcome`; :meth:`Check.find` makes the :class:`Finding` of it, and of an
:class:`system.Unread` raised on the way a finding of state ``unknown``: a value that was not read is never a pass.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from derive_bench.measure.checks.plan import Plan
from derive_bench.measure.checks.system import System, Unread

__all__ = ["Check", "Finding", "Outcome", "State", "failed", "passed", "warned"]


class State(StrEnum):
    """What a check came to."""

    PASS = "pass"  # noqa: S105 -- no password
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"


class Outcome(NamedTuple):
    """State, the value found in words, and the command that mends it (empty: the check's own)."""

    state: State
    value: str
    mend: str = ""


def passed(value: str) -> Outcome:
    """As it should be."""
    return Outcome(State.PASS, value)


def warned(value: str, mend: str = "") -> Outcome:
    """Tolerable; publishing does not stop at it."""
    return Outcome(State.WARN, value, mend)


def failed(value: str, mend: str = "") -> Outcome:
    """Numbers suffer from it; publishing stops at it."""
    return Outcome(State.FAIL, value, mend)


class Finding(NamedTuple):
    """What a check found.

    Attributes:
        name: as ``--allow`` takes it.
        value: what was read, or why nothing was.
        why: why it matters.
        mend: the command that mends it; empty where there is nothing to mend.
    """

    name: str
    state: State
    value: str
    why: str
    mend: str


class Check(NamedTuple):
    """One thing to look at.

    Attributes:
        why: why it matters, in one sentence.
        mend: what mends it where the outcome says nothing else.
        read: looks; may raise Unread.
    """

    name: str
    why: str
    mend: str
    read: Callable[[System, Plan], Outcome]

    def find(self, system: System, plan: Plan) -> Finding:
        """Look."""
        try:
            state, value, mend = self.read(system, plan)
        except Unread as reason:
            state, value, mend = State.UNKNOWN, str(reason), ""
        # Whatever a file held: one line that a terminal can show.
        value = " ".join("".join(character if character.isprintable() else " " for character in value).split())
        return Finding(self.name, state, value, self.why, "" if state is State.PASS else mend or self.mend)
