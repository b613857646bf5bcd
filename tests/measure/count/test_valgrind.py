"""Finding valgrind: missing, too old, broken, and right."""

from __future__ import annotations

from pathlib import Path

import pytest

from derive_bench.measure.count.valgrind import Valgrind, ValgrindUnfit, environ


def install(folder: Path, script: str) -> Path:
    program = folder / "valgrind"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


def test_missing_valgrind_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValgrindUnfit, match=r"not on the PATH; install it \(Debian, Ubuntu: apt-get install valgrind"):
        Valgrind.find()


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("echo valgrind-3.14.0", r"is valgrind 3\.14\.0; counting needs 3\.15 or newer"),
        ("echo valgrind-2.99", "counting needs 3.15 or newer"),
        ("echo something else", "says 'something else', not a valgrind's version"),
        ("exit 3", "does not start"),
    ],
)
def test_unfit_valgrind_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, complaint: str) -> None:
    install(tmp_path, script)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(ValgrindUnfit, match=complaint) as refusal:
        Valgrind.find()
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("version", ["3.15.0", "3.19.0", "3.24.0.GIT", "4.0"])
def test_version_is_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    program = install(tmp_path, f"echo valgrind-{version}")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert Valgrind.find() == Valgrind(str(program), version)


def test_environment_is_the_same_whatever_surrounds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("PYTHONHASHSEED", "77")
    monkeypatch.setenv("SOME_SECRET", "x")
    found = environ(Path("/tree"))
    assert found["PYTHONHASHSEED"] == "0"
    assert found["PYTHONPATH"] == "/tree:/elsewhere"
    assert set(found) <= {"PATH", "HOME", "LC_ALL", "PYTHONHASHSEED", "PYTHONPATH"}
