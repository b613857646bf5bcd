"""Results: labels, the file and how it is written, and what is read back."""

from __future__ import annotations

import json
from pathlib import Path

import pyperf
import pytest

from derive_bench.measure.catalogue import Catalogue
from derive_bench.measure.reference import Figure
from derive_bench.measure.results import OutputError, ResultError, Results, check_output, details_path, label, save, save_details

FAKE = Path(__file__).resolve().parents[1] / "fake_benches"
HERE = Figure(1.6e-6, 1.5e-6, 1.7e-6)


def benchmark(name: str, *values: float, **metadata: str | int) -> pyperf.Benchmark:
    return pyperf.Benchmark([pyperf.Run([value], metadata={"name": name} | metadata, collect_metadata=False) for value in values])


def labelled() -> list[pyperf.Benchmark]:
    rows = Catalogue.load("v3", FAKE).select()
    measured = {row.name: benchmark(row.name, 1e-6, 3e-6, 2e-6, 9e-6, load_avg_1min=1) for row in rows[:4]}
    return label(rows, measured, {"protocol": "v3", "load_avg_1min": 5}, {"inbound_pipeline/quotes": HERE})


def test_labels_repeat_what_a_reader_needs() -> None:
    metadata = labelled()[2].get_metadata()
    assert metadata["name"] == "inbound_pipeline/quotes"
    assert metadata["suite"] == "data"
    assert metadata["description"] == "frame -> text"
    assert metadata["statement"] == "parse(decode(x))"
    assert metadata["parts"] == "decode_only/ticker parse_only/ticker_quote"
    assert metadata["control"] == "control/json_loads_ticker"
    assert metadata["protocol"] == "v3"
    assert metadata["load_avg_1min"] == 1, "what the worker found is not overwritten"


def test_results_come_back_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    save(labelled(), path)
    results = Results.load(path)
    assert list(results.rows) == [
        "decode_only/ticker",
        "decode_only/ticker_cold",
        "inbound_pipeline/quotes",
        "inbound_pipeline/quotes_cold",
    ]
    row = results.rows["inbound_pipeline/quotes"]
    assert row.median == pytest.approx(2.5e-6)
    assert row.mad == pytest.approx(1e-6)
    assert (row.values, row.processes, row.suite, row.group) == (4, 4, "data", "inbound_pipeline")
    assert row.parts == ("decode_only/ticker", "parse_only/ticker_quote")
    assert (row.reference, results.rows["decode_only/ticker"].reference) == (HERE, None)
    assert results.metadata["protocol"] == "v3"
    assert list(tmp_path.iterdir()) == [path]


def test_compressed_files_work(tmp_path: Path) -> None:
    path = tmp_path / "run.json.gz"
    save(labelled(), path)
    assert path.read_bytes()[:2] == b"\x1f\x8b"
    assert len(Results.load(path).rows) == 4


def test_total_is_none_if_a_part_was_not_measured() -> None:
    results = Results.of(labelled())
    assert results.total(["decode_only/ticker", "decode_only/ticker_cold"]) == pytest.approx(5e-6)
    assert results.total(["decode_only/ticker", "parse_only/ticker_quote"]) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "not a pyperf result file"), (b"{}", "not a pyperf result file"), (b'{"version": "1.0", "bench', "not a pyperf result file")],
)
def test_other_files_are_refused_clearly(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(content)
    with pytest.raises(ResultError, match=message):
        Results.load(path)


def test_missing_file_is_refused_clearly(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="cannot be read: No such file"):
        Results.load(tmp_path / "run.json")


def test_a_file_of_another_program_is_refused(tmp_path: Path) -> None:
    pyperf.BenchmarkSuite([benchmark("nbody", 0.1)]).dump(str(tmp_path / "run.json"))
    with pytest.raises(ResultError, match="nbody: was not measured by derive_bench"):
        Results.load(tmp_path / "run.json")


def test_output_is_checked_before_and_nothing_is_left(tmp_path: Path) -> None:
    check_output(tmp_path / "run.json")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OutputError, match="cannot be written: No such file"):
        check_output(tmp_path / "missing" / "run.json")
    (tmp_path / "run.json").touch()
    with pytest.raises(OutputError, match="exists already"):
        check_output(tmp_path / "run.json")


def test_a_failing_write_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "run.json").mkdir()
    with pytest.raises(OutputError, match="cannot be written"):
        save(labelled(), tmp_path / "run.json")
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_details_lie_beside_the_result(tmp_path: Path) -> None:
    assert details_path(tmp_path / "run.json") == details_path(tmp_path / "run.json.gz") == tmp_path / "run.details.json"
    save_details({"schema": 1, "mark": "×"}, tmp_path / "run.json")
    assert json.loads((tmp_path / "run.details.json").read_bytes()) == {"schema": 1, "mark": "×"}
    assert [path.name for path in tmp_path.iterdir()] == ["run.details.json"]
    with pytest.raises(OutputError, match=r"run\.details\.json: cannot be written"):
        save_details({}, tmp_path / "missing" / "run.json")
