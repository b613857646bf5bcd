"""The baseline: what is refused, what is written between the markers, and when it is stale."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyperf
import pytest

from derive_bench.measure import baseline
from derive_bench.measure.baseline import BEGIN, END, PEERS_BEGIN, PEERS_END, WAIVERS, BaselineError, stale
from derive_bench.measure.results import REFERENCE_KEYS, ResultError

DATA = "45d9db"
NAMES = ("inbound_pipeline/quotes", "control/x")
PAGE = f"# Benchmarks\n\nProse before.\n\n{BEGIN}\nold\n{END}\n\nProse after.\n\n{PEERS_BEGIN}\nnone\n{PEERS_END}\n"
RUN = {
    "protocol": "v3",
    "data_hash": DATA,
    "profile": "standard",
    "dirty": "no",
    "complete": "yes",
    "commit": "0123456789abcdef",
    "python": "CPython 3.12.1",
    "lib_msgspec": "0.20.0",
    "cpu_model_name": "A Fast One",
    "cpu_count": 2,
    "aslr": "Full randomization",
    "date": "2026-11-30 12:00:00",
    "suite": "data",
}


def write_run(folder: Path, seconds: float = 2e-6, changes: Mapping[str, str | float] | None = None, names: Sequence[str] = NAMES) -> Path:
    benchmarks = []
    for name in names:
        own = {"control": "control/x"} if name != "control/x" else {}
        metadata = RUN | dict(changes or {}) | own | {"name": name}
        factor = 0.5 if name == "control/x" else 1.0
        runs = [pyperf.Run([seconds * factor * scale], metadata=metadata, collect_metadata=False) for scale in (0.9, 1.0, 1.1)]
        benchmarks.append(pyperf.Benchmark(runs))
    path = folder / "run.json"
    pyperf.BenchmarkSuite(benchmarks).dump(str(path), replace=True)
    return path


def update(run: Path, root: Path, expected: Sequence[str], allowed: Sequence[str]) -> tuple[str, list[str]]:
    return baseline.update(run, root, expected, allowed, data_hash=DATA)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "benches").mkdir()
    (tmp_path / "BENCHMARKS.md").write_text(PAGE)
    return tmp_path


def page(root: Path) -> str:
    return (root / "BENCHMARKS.md").read_text()


def test_tables_go_between_the_markers_and_prose_stays(root: Path) -> None:
    assert update(write_run(root), root, NAMES, ()) == ("BENCHMARKS.md and benches/baseline.json", [])
    text = page(root)
    assert text.startswith(f"# Benchmarks\n\nProse before.\n\n{BEGIN}\n")
    assert text.endswith(f"{END}\n\nProse after.\n\n{PEERS_BEGIN}\nnone\n{PEERS_END}\n")
    assert "old" not in text
    assert "| `inbound_pipeline/quotes` | 2.00 µs | 10.0% | 2.00 | 1.64 µs | 1.22 |" in text
    assert "measured 2026-11-30, commit `0123456789ab`, protocol v3, profile standard" in text
    assert "A Fast One, 2 CPUs" in text
    assert "msgspec 0.20.0" in text
    assert "change |" not in text


def test_the_copy_holds_the_same_for_programs(root: Path) -> None:
    update(write_run(root), root, NAMES, ())
    document = json.loads((root / "benches" / "baseline.json").read_text())
    assert document["schema"] == 1
    assert document["run"]["commit"] == RUN["commit"]
    row = document["rows"]["inbound_pipeline/quotes"]
    assert (row["median"], row["mad"], row["control"], row["previous"]) == (2e-6, 2e-7, "control/x", None)
    assert "hostname" not in document["run"]


def test_a_reference_from_this_machine_is_kept(root: Path) -> None:
    update(write_run(root, changes=dict.fromkeys(REFERENCE_KEYS, 1e-6)), root, NAMES, ())
    assert json.loads((root / "benches" / "baseline.json").read_text())["rows"]["control/x"]["reference"] == [1e-6] * 3
    assert "| 1.00 µs ± 0.0% † | 2 † |" in page(root)
    assert "- † Reference" in page(root)
    assert r"- \* Reference" in page(root)
    assert stale(root, NAMES) == []


def test_cost_over_depth_is_kept(root: Path) -> None:
    names = ["decode_only/orderbook", *(f"decode_only/orderbook_d{depth}" for depth in (10, 20, 100))]
    update(write_run(root, names=names), root, names, ())
    assert "### cost over the depth of the book" in page(root)
    assert "| `decode_only/orderbook` |" in page(root).partition("### cost over the depth")[2]
    assert stale(root, names) == []


def test_second_baseline_shows_the_change_since_the_first(root: Path) -> None:
    update(write_run(root), root, NAMES, ())
    update(write_run(root, 2.5e-6, {"commit": "fedcba9876543210"}), root, NAMES, ())
    assert "| 1.52 | +25.0% |" in page(root)
    assert "previous baseline, since which *change* is told: 2026-11-30, commit `0123456789ab`" in page(root)
    # Everything moved alike: that was the machine.
    assert "control rows, which hold none of our code, moved by +25.0% (+25.0% to +25.0%)" in page(root)
    assert "- beyond that, 0 of 1 rows are more than 10% slower and 0 faster\n" in page(root)
    assert "not the same as then" not in page(root)
    assert stale(root, NAMES) == []


def test_what_moved_beyond_the_controls_is_told(root: Path) -> None:
    names = ("atom/a", "atom/b", "atom/c", "control/x", "control/y", "control/z")
    update(write_run(root, names=names), root, names, ())
    document = json.loads((root / "benches" / "baseline.json").read_text())
    # What the previous baseline had of them: atoms at 2 µs now, controls at 1 or 2 µs.
    then = {"atom/a": 4e-6, "atom/b": 1e-6, "atom/c": 2e-6, "control/x": 1 / 1.02e6, "control/y": 2 / 1.05e6, "control/z": 2 / 0.99e6}
    for name, seconds in then.items():
        document["rows"][name]["median"] = seconds
    (root / "benches" / "baseline.json").write_text(json.dumps(document))
    update(write_run(root, names=names), root, names, ())
    assert "moved by +2.0% (-1.0% to +5.0%)" in page(root)
    assert "beyond that, 1 of 3 rows are more than 10% slower and 1 faster; farthest moved `atom/b`, by +96.1%" in page(root)


def test_no_controls_no_drift(root: Path) -> None:
    names = ("atom/a",)
    for _ in range(2):
        update(write_run(root, names=names), root, names, ())
    assert "| change |" in page(root)
    assert "control rows" not in page(root)


def test_what_is_not_the_same_as_then_is_told(root: Path) -> None:
    update(write_run(root), root, NAMES, ())
    changes: dict[str, str | float] = {"aslr": "No randomization", "lib_msgspec": "0.21.0", "profile": "publish", "load_before": "0.9"}
    update(write_run(root, changes=changes), root, NAMES, ())
    assert "- **not the same as then**: aslr, profile, lib_msgspec; the changes are not those of the code alone" in page(root)
    assert stale(root, NAMES) == []


def test_the_environment_and_its_marks_are_shown(root: Path) -> None:
    found: dict[str, str | float] = {"profile": "publish", "check": "30 pass, 1 fail (smt)", "check_allowed": "smt governor"}
    update(write_run(root, changes=found), root, NAMES, ())
    assert "- environment: 30 pass, 1 fail (smt)\n" in page(root)
    assert "- **‡ published in spite of**: smt, governor\n" in page(root)
    assert "| row | median ‡ |" in page(root)
    assert "- ‡ Published in spite of: smt, governor." in page(root)
    document = json.loads((root / "benches" / "baseline.json").read_text())
    assert (document["run"]["check_allowed"], document["waived"]) == ("smt governor", [])
    assert stale(root, NAMES) == []


def test_a_run_of_an_older_version_says_nothing_of_its_environment(root: Path) -> None:
    update(write_run(root), root, NAMES, ())
    assert "environment:" not in page(root)
    assert "‡" not in page(root)


@pytest.mark.parametrize(
    ("waiver", "changes", "reason"),
    [
        ("dirty", {"dirty": "yes"}, "uncommitted changes"),
        ("dirty", {"dirty": "unknown"}, "uncommitted changes"),
        ("partial", {"complete": "interrupted in round 2 of 8"}, "interrupted in round 2"),
        ("profile", {"profile": "quick"}, "its profile is quick"),
        ("profile", {"profile": "custom"}, "its profile is custom"),
        ("protocol", {"protocol": "v2"}, "its protocol is v2"),
        ("data", {"data_hash": "another"}, "other inputs than those of the project"),
    ],
)
def test_refused_unless_told_otherwise_and_then_marked(root: Path, waiver: str, changes: dict[str, str], reason: str) -> None:
    run = write_run(root, changes=changes)
    others = [name for name in WAIVERS if name != waiver]
    with pytest.raises(BaselineError, match=f"{reason}.*--allow {waiver} takes it"):
        update(run, root, NAMES, others)
    assert page(root) == PAGE
    assert not (root / "benches" / "baseline.json").exists()
    assert update(run, root, NAMES, [waiver])[1] == [waiver]
    assert f"**taken although**: {waiver}" in page(root)


def test_a_run_without_all_rows_is_partial(root: Path) -> None:
    with pytest.raises(BaselineError, match="it lacks 1 rows, atom/new among them; --allow partial"):
        update(write_run(root), root, [*NAMES, "atom/new"], ())


def test_fresh_baseline_is_not_stale(root: Path) -> None:
    update(write_run(root), root, NAMES, ())
    assert stale(root, NAMES) == []


def test_added_and_removed_rows_make_it_stale(root: Path) -> None:
    update(write_run(root), root, NAMES, ())
    assert stale(root, ["inbound_pipeline/quotes", "control/y"]) == ["added since: control/y", "removed or renamed since: control/x"]


def test_a_touched_table_makes_it_stale_but_prose_does_not(root: Path) -> None:
    update(write_run(root), root, NAMES, ())
    (root / "BENCHMARKS.md").write_text(page(root).replace("Prose after", "Other prose"))
    assert stale(root, NAMES) == []
    (root / "BENCHMARKS.md").write_text(page(root).replace("2.00 µs", "1.00 µs"))
    assert stale(root, NAMES) == ["the tables of BENCHMARKS.md are not those of benches/baseline.json"]


def test_no_baseline_yet(root: Path) -> None:
    with pytest.raises(BaselineError, match=r"baseline\.json: cannot be read: No such file.*baseline RUN\.json"):
        stale(root, NAMES)


@pytest.mark.parametrize("content", ["", "[]", '{"schema": 99}'])
def test_a_broken_copy_is_refused(root: Path, content: str) -> None:
    (root / "benches" / "baseline.json").write_text(content)
    with pytest.raises(BaselineError, match=r"baseline\.json: not"):
        update(write_run(root), root, NAMES, ())
    assert page(root) == PAGE


@pytest.mark.parametrize("text", ["no markers", f"{END}\n{BEGIN}", f"{BEGIN}\n{BEGIN}\n{END}"])
def test_a_page_without_the_markers_is_refused(root: Path, text: str) -> None:
    (root / "BENCHMARKS.md").write_text(text)
    with pytest.raises(BaselineError, match="needs the two lines"):
        update(write_run(root), root, NAMES, ())
    assert not (root / "benches" / "baseline.json").exists()


def test_a_run_that_cannot_be_read_is_refused(root: Path) -> None:
    with pytest.raises(ResultError):
        update(root / "missing.json", root, NAMES, ())
