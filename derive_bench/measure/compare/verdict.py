"""What a comparison says: a verdict per row, the drift of the machine, and what could not be compared."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Change", "Comparison", "Drift", "Verdict"]


class Verdict(StrEnum):
    """What became of a row."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    NOISY = "noisy"


@dataclass(frozen=True, slots=True)
class Change:
    """One row in both results.

    Attributes:
        base, head: the median round's fastest value, in seconds, or the median of instructions: as measured, nothing is divided out.
        ratio: head over base with the drift of the machine divided out; 1.1 is ten percent slower.
        margin: half of the 95 % interval of the ratio, as a share: 0.02 is ± 2 %.
        p: of the test for a change, corrected for the number of rows of our code (Holm); 1 where there is no repetition.
        control: whether the row measures the machine and not our code; it is never gated.
        reason: why the row is noisy; empty otherwise.
        regression: slower, beyond the gate, and no control.
    """

    name: str
    base: float
    head: float
    ratio: float
    margin: float
    p: float
    verdict: Verdict
    control: bool = False
    reason: str = ""
    regression: bool = False


@dataclass(frozen=True, slots=True)
class Drift:
    """How the machine itself changed from base to head, by rows that run none of our code.

    Attributes:
        ratio: median of the controls' ratios, head over base; 1 where there is no control.
        spread: 1.4826 times the median absolute deviation of their logarithms: how far a single control strays.
        controls: how many there are.
        disagree: whether they stray from each other farther than their own spread explains; every margin is widened by it.
    """

    ratio: float = 1.0
    spread: float = 0.0
    controls: int = 0
    disagree: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two results, compared.

    Attributes:
        base, head: what the two are called: files or revisions.
        unit: ``second``, or ``integer`` for instructions.
        rounds: of base and head; in each round a row is measured by a process of its own.
        paired: whether the two were measured interleaved, so that round is compared with round.
        threshold: the smallest change with a verdict, as a share; gate: the smallest slowdown that fails.
        added, removed: rows of one result only; redefined: rows that now time another statement. None of them has a verdict.
        marks: what was overlooked on demand (``--force``, ``--allow``), and what else a reader must know.
    """

    base: str
    head: str
    unit: str
    rounds: tuple[int, int]
    paired: bool
    threshold: float
    gate: float
    drift: Drift
    changes: tuple[Change, ...]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    redefined: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()

    @property
    def regressions(self) -> tuple[Change, ...]:
        """What fails the gate, the worst first."""
        return tuple(sorted((change for change in self.changes if change.regression), key=lambda change: -change.ratio))

    def having(self, verdict: Verdict) -> tuple[Change, ...]:
        """Rows of our code with this verdict."""
        return tuple(change for change in self.changes if change.verdict is verdict and not change.control)
