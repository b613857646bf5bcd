"""What a run says about itself: read from the system where it can be read, ``unknown`` where not."""

from __future__ import annotations

import subprocess
from pathlib import Path

from derive_bench.measure.checks.system import System
from derive_bench.measure.environment import Metadata, complete, describe, revision


def description(root: Path, *, hash_seed: str | None = None) -> Metadata:
    return describe(protocol="v3", profile="quick", data_hash="abc", hash_seed=hash_seed, system=System(root))


def write(system: Path, name: str, text: str) -> None:
    path = system / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_values_come_from_the_system(tmp_path: Path) -> None:
    write(tmp_path, "proc/cpuinfo", "processor : 0\nmodel name : A Fast One\n")
    write(tmp_path, "proc/sys/kernel/randomize_va_space", "2\n")
    write(tmp_path, "proc/self/personality", "00040000\n")
    write(tmp_path, "proc/loadavg", "1.25 0.80 0.60 1/200 4242\n")
    write(tmp_path, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n")
    found = description(tmp_path)
    assert found["cpu_model_name"] == "A Fast One"
    assert found["aslr"] == "No randomization"
    assert found["load_before"] == "1.25"
    assert found["governor"] == "performance"


def test_what_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    found = description(tmp_path)
    assert [found[key] for key in ("aslr", "load_before", "governor")] == ["unknown"] * 3


def test_libraries_and_the_run_are_named(tmp_path: Path) -> None:
    found = description(tmp_path)
    assert (found["protocol"], found["profile"], found["data_hash"]) == ("v3", "quick", "abc")
    assert {"lib_pyperf", "lib_msgspec", "lib_coincurve"} <= found.keys()
    assert str(found["python"]).startswith("CPython 3.")
    assert all(value != "" for value in found.values()), "pyperf refuses empty values"


def test_hash_seed_is_that_of_the_workers(tmp_path: Path) -> None:
    assert description(tmp_path)["hash_seed"] == "random per process"
    assert description(tmp_path, hash_seed="7")["hash_seed"] == "7"


def test_what_workers_found_counts() -> None:
    assert complete({"aslr": "a", "suite": "data"}, {"aslr": "b"}) == {"suite": "data"}


def test_revision_of_a_clean_and_a_dirty_tree(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, capture_output=True)

    git("init")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-m", "one")
    clean = revision(tmp_path)
    assert len(clean.commit) == 40
    assert clean.dirty == "no"
    (tmp_path / "file").write_text("two")
    assert revision(tmp_path) == (clean.commit, "yes")


def test_revision_outside_a_checkout_is_unknown(tmp_path: Path) -> None:
    assert revision(None) == revision(tmp_path / "missing") == ("unknown", "unknown")
