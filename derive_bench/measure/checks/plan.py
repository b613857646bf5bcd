"""The plan: how a run is to be made, as far as checks judge by it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

__all__ = ["Plan", "allowed_cpus"]


def allowed_cpus() -> tuple[int, ...]:
    """CPUs this process may run on; none where the system does not say."""
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()


@dataclass(frozen=True, slots=True)
class Plan:
    """How a run is to be made.

    Attributes:
        cpus: those that workers are pinned to, or may run on.
        pinned: whether they are pinned there.
        fixed: the recipe of ``publish``: one memory layout and one hash seed, instead of a new one for each process.
        hash_seed: of the workers; None: random per process.
        warmups: values set aside in each process.
        warmup_pass: whether a whole pass over the rows is thrown away first.
    """

    cpus: tuple[int, ...] = field(default_factory=allowed_cpus)
    pinned: bool = False
    fixed: bool = False
    hash_seed: str | None = None
    warmups: int = 1
    warmup_pass: bool = False
