"""Small sessions for tests of the tape, the player and the command."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from derive_bench.replay.records import Frame, Header, Record
from derive_bench.replay.synth import Plan, synthesise
from derive_bench.replay.writer import TapeWriter


@cache
def session(
    frames: int = 600, seed: int = 5, protocol: str = "v3", faults: tuple[tuple[str, int], ...] = ()
) -> tuple[Header, tuple[Record, ...]]:
    header, records = synthesise(Plan(seed=seed, frames=frames, protocol=protocol, faults=dict(faults)))
    return header, tuple(records)


def write(path: Path, header: Header, records: tuple[Record, ...] | list[Record]) -> Path:
    with TapeWriter(path, header) as tape:
        for record in records:
            tape.write(record)
    return path


def raws(records: tuple[Record, ...] | list[Record]) -> list[bytes]:
    return [record.raw for record in records if isinstance(record, Frame) and record.direction == "in"]
