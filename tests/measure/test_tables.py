"""Tables: numbers as text, columns, ratios and shares."""

from __future__ import annotations

from dataclasses import replace

import pytest

from derive_bench.measure.checks.verdict import MARK
from derive_bench.measure.reference import Figure
from derive_bench.measure.results import Result, Results
from derive_bench.measure.tables import Table, depth_table, group_tables, notes, rate_text, seconds_text, share_table


def result(name: str, median: float, *, parts: tuple[str, ...] = (), control: str | None = None) -> Result:
    return Result(name, "data", "", median, median / 50, values=10, processes=2, parts=parts, control=control)


RESULTS = Results(
    {},
    {
        row.name: row
        for row in (
            result("inbound_pipeline/quotes", 3.28e-6, parts=("decode_only/ticker", "parse_only/ticker_quote"), control="control/x"),
            result("control/x", 1.64e-6),
            result("inbound_pipeline/bars", 1e-6, parts=("decode_only/candles", "parse_only/bar")),
            result("decode_only/ticker", 2e-6),
            result("parse_only/ticker_quote", 1e-6),
        )
    },
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (4.154e-10, "0.42 ns"),
        (41.54e-9, "41.5 ns"),
        (99.96e-9, "100 ns"),
        (999.4e-9, "999 ns"),
        (999.6e-9, "1.00 µs"),
        (9.996e-6, "10.0 µs"),
        (25.64e-3, "25.6 ms"),
        (3.0, "3.00 s"),
        (4000.0, "4000 s"),
    ],
)
def test_three_digits_and_a_unit(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(("rate", "text"), [(2.5, "2.50"), (24_100, "24.1 k"), (24_100_000, "24.1 M"), (2e9, "2.00 G")])
def test_rates(rate: float, text: str) -> None:
    assert rate_text(rate) == text


def test_one_table_per_group_in_order_of_appearance() -> None:
    tables = group_tables(RESULTS)
    assert [table.title for table in tables] == ["inbound_pipeline", "control", "decode_only", "parse_only"]
    assert [len(table.rows) for table in tables] == [2, 1, 1, 1]


def test_a_row_with_control_and_reference() -> None:
    cells = dict(zip(group_tables(RESULTS)[0].headings, group_tables(RESULTS)[0].rows[0], strict=True))
    assert cells == {
        "row": "inbound_pipeline/quotes",
        "median": "3.28 µs",
        "±": "2.0%",
        "per second": "305 k",
        "× control": "2.00",
        "reference*": "1.64 µs",
        "ratio*": "2",
    }


def test_cells_are_empty_where_there_is_nothing_to_say() -> None:
    assert list(group_tables(RESULTS)[1].rows[0][-3:]) == ["", "", ""]


def test_figures_of_this_machine_are_marked_and_so_are_the_others() -> None:
    quotes = replace(RESULTS.rows["inbound_pipeline/quotes"], reference=Figure(1e-6, 0.98e-6, 1.02e-6))
    bars = RESULTS.rows["inbound_pipeline/bars"]
    results = Results({}, {row.name: row for row in (quotes, bars)})
    (table,) = group_tables(results)
    assert table.headings[-2:] == ["reference", "ratio"]
    assert table.rows[0][-2:] == ["1.00 µs ± 2.0% †", "3.28 †"]
    assert table.rows[1][-2:] == ["670 ns *", "1.49 *"]
    assert [note[0] for note in notes(results)] == ["±", "†", "*", "×"]
    assert not [note for note in notes(RESULTS) if note.startswith("†")]


def test_cost_over_depth_where_all_depths_were_measured() -> None:
    names = {
        1: "decode_only/orderbook",
        10: "decode_only/orderbook_d10",
        20: "decode_only/orderbook_d20",
        100: "decode_only/orderbook_d100",
    }
    results = Results({}, {name: result(name, 500e-9 + 160e-9 * depth) for depth, name in names.items()})
    table = depth_table(results)
    assert table is not None
    assert [list(row) for row in table.rows] == [["decode_only/orderbook", "500 ns", "0.00 ns", "160 ns", "0.00 ns", "1.00000", "0.0%"]]
    assert any(note.startswith("fixed and per level") for note in notes(results))
    assert depth_table(RESULTS) is None


def test_share_of_decode_and_parse_where_both_were_measured() -> None:
    table = share_table(RESULTS)
    assert table is not None
    assert table.rows == [["inbound_pipeline/quotes", "3.28 µs", "2.00 µs", "1.00 µs", "91%"]]


def test_no_share_table_without_inbound_rows() -> None:
    assert share_table(Results({}, {"a/b": result("a/b", 1.0)})) is None


def test_text_is_aligned_and_markdown_is_a_table() -> None:
    table = Table("atom", ["row", "median"], [["atom/a", "1.00 ns"], ["atom/longer", "10.0 ns"]])
    assert table.text().splitlines() == ["atom", "  row           median", "  atom/a       1.00 ns", "  atom/longer  10.0 ns"]
    assert table.markdown().splitlines()[2:] == [
        "| row | median |",
        "| --- | ---: |",
        "| `atom/a` | 1.00 ns |",
        "| `atom/longer` | 10.0 ns |",
    ]


def test_what_was_published_in_spite_of_a_finding_is_marked_everywhere() -> None:
    names = {1: "decode_only/orderbook"} | {depth: f"decode_only/orderbook_d{depth}" for depth in (10, 20, 100)}
    rows = dict(RESULTS.rows) | {name: result(name, 500e-9 + 160e-9 * depth) for depth, name in names.items()}
    marked = Results({"check_allowed": "governor smt"}, rows)
    tables = [*group_tables(marked), share_table(marked), depth_table(marked)]
    assert all(table and f"{MARK}" in table.headings[1] for table in tables)
    assert notes(marked)[0] == f"{MARK} Published in spite of: governor, smt."
    plain = Results({"check_allowed": "none"}, rows)
    assert MARK not in "".join(table.markdown() for table in [*group_tables(plain), share_table(plain), depth_table(plain)] if table)
    assert MARK not in "".join(notes(plain))


def test_columns_that_are_left_out_or_say_nothing() -> None:
    table = Table("t", ["row", "a", "b", "c"], [["x", "1", "", "3"], ["y", "", "", "4"]])
    assert table.without("c") == Table("t", ("row", "a"), [("x", "1"), ("y", "")])
    assert table.without().headings == ("row", "a", "c")


def test_a_run_that_was_slowed_down_says_so() -> None:
    assert "slowed down DURING THE RUN (throttling, thermal)" in notes(Results({"check_meanwhile": "throttling thermal"}, RESULTS.rows))[0]
    assert "DURING" not in "".join(notes(Results({"check_meanwhile": "none"}, RESULTS.rows)))
