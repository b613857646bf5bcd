"""Explanations: the deepest part that has changed is blamed, what no part explains is called so, and noise is not accused."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pyperf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive_bench.measure.compare.compare import compare
from derive_bench.measure.compare.loading import SESSION, Measured, measured
from derive_bench.measure.localise import show
from derive_bench.measure.localise.explain import UNEXPLAINED, Explanation, explain

PARTS = {
    "pipe/whole": "part/front part/back",
    "part/front": "atom/hash atom/hash atom/text",
    "part/back": "",
    "atom/hash": "",
    "atom/text": "",
    "control/one": "",
    "control/two": "",
    "control/three": "",
}
ATOMS = {"atom/hash": 300.0, "atom/text": 200.0, "part/back": 900.0}
OWN = {"part/front": 100.0, "pipe/whole": 60.0}
"""ns in no part."""


def costs(extra: Mapping[str, float]) -> dict[str, float]:
    """ns of every row, with something added to an atom or to what is in no part."""
    found = {name: ns + extra.get(name, 0.0) for name, ns in ATOMS.items()}
    found["part/front"] = 2 * found["atom/hash"] + found["atom/text"] + OWN["part/front"] + extra.get("part/front", 0.0)
    found["pipe/whole"] = found["part/front"] + found["part/back"] + OWN["pipe/whole"] + extra.get("pipe/whole", 0.0)
    return found | {name: 500.0 for name in PARTS if name.startswith("control/")}


def results(extra: Mapping[str, float], seed: int, noise: float = 0.01, drift: float = 1.0, leave_out: str = "") -> Measured:
    """Ten rounds; each is one draw of the machine for all rows and one for each."""
    made = random.Random(seed)
    benchmarks = []
    moods = [made.gauss(1, 0.03) * drift for _ in range(10)]
    for name, ns in costs(extra).items():
        if name == leave_out:
            continue
        metadata = {"name": name, "suite": "made", "unit": "second", SESSION: "one", "loops": 1} | (
            {"parts": PARTS[name]} if PARTS[name] else {}
        )
        runs = []
        for mood in moods:
            level = ns * 1e-9 * mood * (1 + abs(made.gauss(0, noise)))
            runs.append(pyperf.Run([level, level * 1.02, level * 1.1], metadata=metadata, collect_metadata=False))
        benchmarks.append(pyperf.Benchmark(runs))
    return measured(benchmarks, str(seed))


def explained(extra: Mapping[str, float], seed: int = 1, **head: float | str) -> list[Explanation]:
    base, slowed = results({}, seed), results(extra, seed + 1, **head)  # type: ignore[arg-type]
    return explain(slowed, compare(base, slowed, gate=0.06))


@pytest.mark.parametrize(
    ("extra", "culprits"),
    [
        ({"part/back": 250.0}, {"part/back"}),
        ({"atom/text": 250.0}, {"atom/text"}),
        ({"atom/hash": 125.0}, {"atom/hash"}),
        ({"part/front": 250.0}, {"part/front"}),
        ({"pipe/whole": 250.0}, {UNEXPLAINED}),
        ({"part/back": 150.0, "atom/text": 150.0}, {"part/back", "atom/text"}),
        ({"part/back": 150.0, "pipe/whole": 200.0}, {"part/back", UNEXPLAINED}),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_blame_falls_on_the_deepest_part_that_has_changed(extra: Mapping[str, float], culprits: set[str], seed: int) -> None:
    (found,) = explained(extra, 10 * seed)
    assert found.row.name == "pipe/whole"
    assert set(found.culprits) == culprits


def test_the_tree_adds_up() -> None:
    (found,) = explained({"atom/hash": 125.0})
    front = next(part for part in found.row.parts if part.name == "part/front")
    hashes = next(part for part in front.parts if part.name == "atom/hash")
    assert hashes.times == 2
    assert hashes.change * 1e9 == pytest.approx(250, rel=0.2)
    assert found.row.share == 1
    made_up = sum(part.change for part in found.row.parts if part.changed)
    assert found.row.rest == pytest.approx(found.row.change - made_up)


def test_a_drift_of_the_machine_is_no_change() -> None:
    assert explained({}, drift=1.2) == []
    (found,) = explained({"part/back": 300.0}, drift=1.2)
    assert found.culprits == ("part/back",)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_identical_code_is_not_explained(seed: int) -> None:
    assert explained({}, seed) == []


def test_a_part_that_was_not_measured_is_named() -> None:
    base, slowed = (results(extra, seed, leave_out="part/back") for extra, seed in (({}, 1), ({"part/back": 400.0}, 2)))
    (found,) = explain(slowed, compare(base, slowed, gate=0.06))
    assert found.missing == ("part/back",)
    assert found.culprits == (UNEXPLAINED,)


def test_a_row_that_calls_itself_its_part_is_explained_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PARTS, "part/back", "part/back")
    (found,) = explained({"part/back": 300.0})
    assert found.culprits == ("part/back",)


def test_words_name_the_culprit_and_the_rest() -> None:
    told = show.text(explained({"atom/text": 250.0}))
    first, *lines = told.splitlines()
    assert first.startswith("pipe/whole is slower by +")
    assert first.endswith(": atom/text")
    (blamed,) = [line for line in lines if line.endswith("<- here")]
    assert blamed.strip().startswith("atom/text")
    assert "atom/hash × 2" in told
    assert "rest, in no part" in told
    assert "<- unexplained" in show.text(explained({"pipe/whole": 300.0}))
    (document,) = show.document(explained({"atom/text": 250.0}))
    assert (document["row"]["name"], document["culprits"]) == ("pipe/whole", ["atom/text"])
