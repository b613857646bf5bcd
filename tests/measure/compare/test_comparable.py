"""Comparable: each difference is a reason of its own, and files that are not ours say so."""

from __future__ import annotations

import pytest

from derive_bench.measure.compare.comparable import obstacles

from .made import METADATA, result

RUNS = {"group/a": [[1e-6] * 4] * 5}


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("data_hash", "other input data"), ("python", "other interpreter"), ("aslr", "other ASLR"), ("profile", "other profile"),
        ("protocol", "other protocol"), ("hostname", "other host"), ("cpu_model_name", "other CPU"), ("hash_seed", "other hash seed"),
        ("lib_orjson", "other version of orjson"),
    ],
)  # fmt: skip
def test_each_difference_is_a_reason(key: str, reason: str) -> None:
    assert obstacles(result(RUNS), result(RUNS)) == []
    (found,) = obstacles(result(RUNS), result(RUNS, **{key: "else"}))
    assert found.startswith(f"{reason}: {METADATA[key]}")
    assert found.endswith("else")


@pytest.mark.parametrize("key", ["hostname", "cpu_model_name"])
def test_counts_may_come_from_another_host(key: str) -> None:
    assert obstacles(result(RUNS, unit="integer"), result(RUNS, unit="integer", **{key: "else"})) == []
    assert obstacles(result(RUNS, unit="integer"), result(RUNS, unit="integer", python="else")) != []


def test_times_and_counts_are_two_things() -> None:
    (reason,) = obstacles(result(RUNS), result(RUNS, unit="integer"))
    assert "instruction counts" in reason


def test_peers_are_no_run() -> None:
    assert "compares libraries" in obstacles(result(RUNS, suites="peers"), result(RUNS, suites="peers"))[0]
