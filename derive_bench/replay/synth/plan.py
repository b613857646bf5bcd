"""The plan of a made-up session: everything that can be set, with the defaults.

Contract: a `Plan` holds integers and texts only and is checked when made; `PlanRefused` says which setting is wrong and what it may
be. Two equal plans give the same session.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final

from derive_bench.adapter.errors import CallerError
from derive_bench.adapter.protocol import PROTOCOLS
from derive_bench.replay.synth.book import LEVELS
from derive_bench.replay.synth.faults import FAULT_KINDS
from derive_bench.replay.synth.instruments import INSTRUMENTS

__all__ = ["BOOK_DEPTHS", "KINDS", "Plan", "PlanRefused"]

KINDS: Final = ("book", "ticker", "trade", "private")
"""What frames are of; `private` is orders, our trades and the replies to requests."""

BOOK_DEPTHS: Final = (1, 10, 20, 100)

START_NS: Final = 1_790_871_600_000_000_000
"""When a session begins: 2026-10-01T16:20:00Z, whatever the clock says."""


class PlanRefused(CallerError):
    """A setting that no session can be made from."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a session is like.

    Attributes:
        seed, frames: the chance, and how many frames are received.
        protocol: a name of `adapter.protocol.PROTOCOLS`.
        instruments: how many, from the first of `INSTRUMENTS`.
        mix: how many frames of each of `KINDS`, in proportion.
        depths: levels of the instruments' books, in turn.
        change: of a thousand levels, those that differ from one snapshot to the next.
        rate: frames received in a second, on average.
        faults: how many of each of `FAULT_KINDS`.
    """

    seed: int = 1
    frames: int = 100_000
    protocol: str = "v3"
    instruments: int = len(INSTRUMENTS)
    mix: dict[str, int] = field(default_factory=lambda: {"book": 48, "ticker": 32, "trade": 10, "private": 10})
    depths: tuple[int, ...] = (10, 20, 10, 10, 10, 20)
    change: int = 200
    rate: int = 2_000
    faults: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _require(self.seed >= 0, f"seed: must not be negative, not {self.seed}")
        _require(1 <= self.frames <= 10**10, f"frames: must be 1 to 10**10, not {self.frames}")
        _require(self.protocol in PROTOCOLS, f"protocol: {self.protocol!r} is none of {', '.join(PROTOCOLS)}")
        _require(1 <= self.instruments <= len(INSTRUMENTS), f"instruments: must be 1 to {len(INSTRUMENTS)}, not {self.instruments}")
        unknown = sorted(set(self.mix) - set(KINDS))
        _require(not unknown, f"mix: {', '.join(unknown)} is none of {', '.join(KINDS)}")
        fits = all(0 <= share <= 1_000_000 for share in self.mix.values()) and any(self.mix.values())
        _require(fits, f"mix: needs a number above 0 and none below, not {self.mix}")
        fits = bool(self.depths) and all(depth in BOOK_DEPTHS and depth <= LEVELS for depth in self.depths)
        _require(fits, f"depths: must be of {', '.join(map(str, BOOK_DEPTHS))}, not {self.depths}")
        _require(0 <= self.change <= 1000, f"change: must be 0 to 1000 thousandths, not {self.change}")
        _require(1 <= self.rate <= 1_000_000, f"rate: must be 1 to 1,000,000 frames a second, not {self.rate}")
        unknown = sorted(set(self.faults) - set(FAULT_KINDS))
        _require(not unknown, f"faults: {', '.join(unknown)} is none of {', '.join(FAULT_KINDS)}")
        _require(all(count >= 0 for count in self.faults.values()), "faults: a number must not be negative")

    def as_info(self) -> dict[str, Any]:
        """Return the plan as it stands in a tape's header."""
        return asdict(self)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise PlanRefused(message)
