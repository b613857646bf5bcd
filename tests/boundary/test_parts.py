"""Every case of every part, small: opened, checked against what it must give, and timed once."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from derive_bench.boundary import wall
from derive_bench.boundary.feeder import Adapter
from derive_bench.boundary.parts import PARTS, Study, cases
from derive_bench.boundary.session import Plan, Session
from derive_bench.boundary.wall import DeriveLoad
from derive_bench.boundary.workload import Workload
from derive_bench.measure.inputs import Inputs
from tests.boundary.engines import engine_command

PLAN = Plan(rounds=1, seconds=1e-6, bars=1000, combinations=2)

CROSSINGS = ("wall/*_1_latency", "wall/msgpack_unix_1_stream", "wall/raw_shm_1_stream", "wall/order_plain*", "wall/order_presigned_shm")
"""One event at a time stands for the other batches, two streams for those of the other forms."""


@pytest.fixture(scope="module")
def study() -> Study:
    inputs = Inputs("v3")
    record = next(record for record in inputs.instruments if record["instrument_name"] == "ETH-PERP")
    return Study(Workload(PLAN.bars, PLAN.combinations), DeriveLoad(inputs.frames_cold("ticker", 1024)[:32], record))


def test_names_are_unique_and_controls_exist(study: Study) -> None:
    every = cases([], study)
    names = [case.name for case in every]
    assert len(set(names)) == len(names)
    assert {case.name.partition("/")[0] for case in every} == set(PARTS)
    assert {case.control for case in every if case.control} <= set(names)


@pytest.mark.parametrize("part", ["codec", "wall", "architecture"])
def test_every_case_gives_what_it_must(part: str, study: Study) -> None:
    engine_command("rust")
    chosen = [case for case in cases([part], study) if "python" not in case.name or "batch" in case.name]
    if part == "wall":
        chosen = [case for case in chosen if any(fnmatchcase(case.name, glob) for glob in CROSSINGS)]
    session = Session(chosen, PLAN)
    session.run()
    assert {name: found.trouble for name, found in session.measured.items() if found.trouble} == {}
    assert all(found.calls for found in session.measured.values())


def test_other_quotes_are_noticed(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    # Here alone: the adapter across the wall is another process.
    monkeypatch.setattr(Adapter, "next_frames", lambda _, count: list(study.load.frames[1 : count + 1]))
    for opening in (wall.latency, wall.throughput):
        with opening(study.load, "msgpack", "unix", 3)() as timed:
            assert timed.check is not None
            assert timed.check(timed.call()) == "other quotes than without a wall"
