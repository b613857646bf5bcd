"""The catalogue: finding suites, choosing rows, and the links between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from derive_bench.measure.catalogue import Catalogue, SelectionError, load_suite, suite_names
from derive_bench.measure.rows import RowError

FAKE = Path(__file__).resolve().parents[1] / "fake_benches"


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return Catalogue.load("v3", FAKE)


def test_suites_are_the_files_the_default_ones_first(tmp_path: Path) -> None:
    for name in ("aaa", "signing", "data", "_helper"):
        (tmp_path / f"{name}.py").touch()
    assert suite_names(tmp_path) == ["data", "signing", "aaa"]


def test_everything_is_chosen_by_default_in_written_order(catalogue: Catalogue) -> None:
    assert [row.name for row in catalogue.select()] == [
        "decode_only/ticker",
        "decode_only/ticker_cold",
        "inbound_pipeline/quotes",
        "inbound_pipeline/quotes_cold",
        "parse_only/ticker_quote",
        "dispatch/consumed",
        "control/json_loads_ticker",
    ]


def test_controls_come_along_from_other_suites(catalogue: Catalogue) -> None:
    assert "control/json_loads_ticker" in [row.name for row in catalogue.select(["data"])]
    assert [row.name for row in catalogue.select(["signing"])] == ["control/json_loads_ticker"]


def test_filters_are_taken_at_their_word(catalogue: Catalogue) -> None:
    chosen = catalogue.select(filters=["parse_only/*", "*quotes"])
    assert [row.name for row in chosen] == ["inbound_pipeline/quotes", "parse_only/ticker_quote"]


def test_each_filter_must_match(catalogue: Catalogue) -> None:
    with pytest.raises(SelectionError, match=r"no row matches 'nothing\*'"):
        catalogue.select(filters=["*", "nothing*"])


def test_unknown_suite_is_told_what_there_is(catalogue: Catalogue) -> None:
    with pytest.raises(SelectionError, match="no suite 'dta'; there are: data signing"):
        catalogue.select(["dta"])
    with pytest.raises(SelectionError, match="no suite 'dta'; there are: data signing"):
        load_suite("dta", FAKE)


def test_cold_rows_are_linked_with_cold_rows_where_there_are_any(catalogue: Catalogue) -> None:
    cold = catalogue.rows["inbound_pipeline/quotes_cold"]
    assert cold.parts == ("decode_only/ticker_cold", "parse_only/ticker_quote")
    assert cold.control == "control/json_loads_ticker"
    assert catalogue.rows["inbound_pipeline/quotes"].parts == ("decode_only/ticker", "parse_only/ticker_quote")


def test_protocol_decides_which_rows_there_are(catalogue: Catalogue) -> None:
    assert "atom/v2_only" not in catalogue.rows
    assert "atom/v2_only" in Catalogue.load("v2-testnet", FAKE).rows


def test_a_row_of_two_suites_is_an_error() -> None:
    with pytest.raises(RowError, match="'data' and in 'data'"):
        Catalogue.of([load_suite("data", FAKE), load_suite("data", FAKE)], "v3")


@pytest.mark.parametrize("text", ["", "from derive_bench.measure.rows import Suite\nsuite = Suite('other', '')\n"])
def test_a_file_must_hold_its_suite(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(RowError, match=r'must hold suite = Suite\("mine"'):
        load_suite("mine", tmp_path)


def test_every_suite_of_the_project_loads_and_names_rows_that_exist() -> None:
    for protocol in ("v3", "v2"):
        catalogue = Catalogue.load(protocol)
        for row in catalogue.rows.values():
            assert row.summary, row.name
            for other in (*row.parts, *([row.control] if row.control else [])):
                assert other in catalogue.rows, f"{row.name} names {other}"
