"""The self-test: its plan covers what it must, its judgement is right on made-up outcomes, and a real trial runs end to end."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from derive_bench.cli import main
from derive_bench.measure import environment
from derive_bench.measure.baseline import SELFTEST_BEGIN, SELFTEST_END, update
from derive_bench.measure.catalogue import Catalogue
from derive_bench.measure.compare.compare import is_control
from derive_bench.measure.compare.verdict import Change, Comparison, Drift, Verdict
from derive_bench.measure.injection import InjectionError, parse
from derive_bench.measure.inputs import Inputs
from derive_bench.measure.localise.explain import UNEXPLAINED, Explanation, Part
from derive_bench.measure.selftest import figures
from derive_bench.measure.selftest.session import ROUNDS, Outcome, SelfTest, affected, judge
from derive_bench.measure.selftest.trials import SHARES, Plant, Trial, plan, rows_of

ROWS = Catalogue.load("v3", None).rows
QUOTES = Trial("inbound_pipeline/quotes", 0.2, (Plant("derive_bench.adapter.inbound:parse_quote", "parse_only/ticker_quote"),))


def test_the_plan_covers_what_it_must() -> None:
    trials = plan()[:64]
    assert len(trials) >= 60
    assert {trial.kind for trial in trials} == {"single", "double", "uncovered", "identical"}
    for share in SHARES[:3]:
        assert len({trial.blamed for trial in trials if trial.kind == "single" and trial.share == share}) >= 10
    assert any(trial.share == SHARES[3] for trial in trials)


@pytest.mark.parametrize("trial", list(dict.fromkeys(plan())), ids=lambda trial: f"{trial.row}-{trial.kind}-{trial.share}")
def test_every_trial_measures_what_it_needs(trial: Trial) -> None:
    names = [row.name for row in rows_of(trial, ROWS)]
    assert len(set(names)) == len(names)
    assert trial.blamed - {UNEXPLAINED} <= set(names)
    slowed = affected(trial, ROWS)
    assert sum(is_control(name) for name in names) >= 3
    assert [name for name in names if name not in slowed and not is_control(name)]
    assert all(parse(each).ns > 0 for each in trial.injections(5000.0))


def test_a_slowdown_is_shared_out() -> None:
    both = Trial("a/b", 0.2, (Plant("m:f", "p/f"), Plant("m:g", "p/g", calls=2)))
    assert both.injections(1000.0) == ["m:f=100.0", "m:g=50.0"]
    assert Trial("a/b", 0.1, (Plant("", UNEXPLAINED),)).injections(1000.0) == ["row:a/b=100.0"]
    assert Trial("a/b", 0.0).injections(1000.0) == []


def change(name: str, verdict: Verdict) -> Change:
    return Change(name, 1e-6, 1.2e-6, 1.2, 0.01, 0.0, verdict)


def verdict(trial: Trial, culprits: tuple[str, ...], **verdicts: Verdict) -> Outcome:
    changes = tuple(change(name, found) for name, found in {trial.row: Verdict.SLOWER, "parse_only/bar": Verdict.SAME, **verdicts}.items())
    comparison = Comparison("a", "b", "second", (10, 10), True, 0.03, 0.06, Drift(), changes)
    blamed = tuple(Part(name, 1, 1.0, 0.1, 1.0, True, True, 1.0, 0.1) for name in culprits)
    explained = Explanation(Part(trial.row, 1, 1.0, 0.1, 1.0, True, UNEXPLAINED in culprits, 0.0, 0.1, blamed), "second")
    return judge(trial, 0.2, comparison, [explained] if culprits else [], affected(trial, ROWS))


def test_only_exactly_the_right_part_is_rightly_placed() -> None:
    right = verdict(QUOTES, ("parse_only/ticker_quote",))
    assert (right.detected, right.placed, right.accused, right.innocent) == (True, True, (), 1)
    assert not verdict(QUOTES, ("decode_only/ticker",)).placed
    assert not verdict(QUOTES, ("parse_only/ticker_quote", "decode_only/ticker")).placed
    assert not verdict(QUOTES, ()).placed
    assert not verdict(QUOTES, ("parse_only/ticker_quote",), **{QUOTES.row: Verdict.NOISY}).detected


def test_a_verdict_on_an_untouched_row_is_a_false_accusation() -> None:
    assert verdict(QUOTES, ("parse_only/ticker_quote",), **{"parse_only/bar": Verdict.FASTER}).accused == ("parse_only/bar",)
    identical = verdict(Trial(QUOTES.row, 0.0), ())
    assert (identical.accused, identical.detected) == ((QUOTES.row,), False)


def outcomes() -> list[Outcome]:
    return [verdict(QUOTES, ("parse_only/ticker_quote",)), verdict(QUOTES, ("decode_only/ticker",)), verdict(Trial(QUOTES.row, 0.0), ())]


def test_figures_count_and_name_what_was_missed() -> None:
    details = json.loads(json.dumps(figures.document(outcomes(), {})))
    assert figures.table(details).rows == [
        ["20% in one part", "2", "20.0%", "2 (100%)", "1 (50%)", "0 of 2"],
        ["nothing: identical runs", "1", "", "", "", "1 of 2"],
    ]
    told = "\n".join(figures.notes(details))
    assert "20% of inbound_pipeline/quotes in parse_only/ticker_quote: blamed decode_only/ticker" in told
    assert "falsely accused: inbound_pipeline/quotes" in told


def test_the_table_goes_between_its_markers(tmp_path: Path) -> None:
    (tmp_path / "BENCHMARKS.md").write_text(f"before\n{SELFTEST_BEGIN}\nold\n{SELFTEST_END}\nafter\n")
    run: dict[str, Any] = environment.describe(protocol="v3", profile="selftest", data_hash="", hash_seed=None) | {
        "cpu_count": 2,
        "platform": "Linux",
        "seconds": 600,
        "date": "2026-12-01",
    }
    file = tmp_path / "selftest.json"
    file.write_text(json.dumps(figures.document(outcomes(), run)))
    assert update(file, tmp_path, [], [], data_hash="") == ("BENCHMARKS.md", [])
    page = (tmp_path / "BENCHMARKS.md").read_text()
    assert page.startswith(f"before\n{SELFTEST_BEGIN}")
    assert page.endswith(f"{SELFTEST_END}\nafter\n")
    assert "| `20% in one part` | 2 |" in page
    assert "old" not in page


def test_a_real_trial_is_found_and_placed() -> None:
    large = replace(QUOTES, share=1.0)
    run = environment.describe(protocol="v3", profile="selftest", data_hash=Inputs("v3").data_hash(), hash_seed=None)
    test = SelfTest([large], ROWS, run, replace(ROUNDS, processes=4, values=3))
    told: list[tuple[int, int, str]] = []
    test.measure(lambda *words: told.append(words))
    (outcome,) = test.outcomes
    assert told[-1] == (0, 1, large.row)
    assert 0.5 < outcome.real_share < 2
    # What was found depends on the machine's quiet; that the slowdown is in the results does not.
    assert outcome.innocent >= 3


@pytest.mark.parametrize("text", ["", "x", "m:f=", "m:f=0", "m:f=-1", "=5", "m:f=nan"])
def test_a_slowdown_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InjectionError, match="needs TARGET=NS"):
        parse(text)


def test_an_existing_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "there.json").touch()
    assert main(["selftest", "-o", str(tmp_path / "there.json")]) == 2
    assert "exists already" in capsys.readouterr().err
