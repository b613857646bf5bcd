"""Made-up sessions that are made once: kept in the user's cache, under a name that changes with plan and maker.

Contract: `cached_session(plan)` returns the path of the plan's tape; it is made when it is not there, under a temporary name first, so
that processes which make it at once do not meet. `FRAMES` is the length of the session that the rows of the benchmark play.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

import msgspec

from derive_bench.cache import cache_folder
from derive_bench.replay.records import TapeError
from derive_bench.replay.synth.plan import Plan
from derive_bench.replay.synth.session import synthesise
from derive_bench.replay.writer import TapeWriter

__all__ = ["cached_session"]

FRAMES = 120_000
"""Frames of the benchmark's session, of which more than 100,000 are market data."""

_KEY_DIGITS: Final = 16


def cached_session(plan: Plan) -> Path:
    """Return the path of a plan's tape, made if it is not there. Raises `TapeError` where it cannot be."""
    folder = cache_folder("sessions")
    path = folder / f"{_key(plan)}.jsonl"
    if path.exists():
        return path
    unfinished = folder / f".{os.getpid()}.{path.name}"
    header, records = synthesise(plan)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TapeWriter(unfinished, header) as tape:
            for record in records:
                tape.write(record)
        unfinished.rename(path)
    except OSError as error:
        raise TapeError(f"{folder}: the session cannot be kept: {error.strerror or error}") from None
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def _key(plan: Plan) -> str:
    digest = hashlib.sha256(msgspec.json.encode(plan.as_info()))
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:_KEY_DIGITS]
