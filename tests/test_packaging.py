"""The wheel: it carries both data trees, and the command runs from it with no checkout around."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from derive_bench.measure.trees import PACKAGE_PARENT, checkout_root

pytestmark = pytest.mark.skipif(checkout_root() is None, reason="not a checkout")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("build", reason="build is not installed: make venv")
    pytest.importorskip("hatchling", reason="hatchling is not installed: make venv")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(PACKAGE_PARENT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.whl")
    return path


def test_wheel_carries_code_rows_inputs_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"derive_bench"}
    assert {"derive_bench/py.typed", "derive_bench/adapter/__init__.py", "derive_bench/benches/data.py"} <= set(names)
    for tree, ending in (("benches", "**/*.py"), ("test_data", "**/*")):
        files = {f"derive_bench/{path.relative_to(PACKAGE_PARENT)}" for path in (PACKAGE_PARENT / tree).glob(ending) if path.is_file()}
        assert files <= set(names), f"{tree}/ is not whole"
    assert not [name for name in names if "__pycache__" in name or "/tests/" in name]


def test_unpacked_wheel_runs_without_a_checkout(wheel: Path, tmp_path: Path) -> None:
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    elsewhere.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    code = (
        f"import sys; sys.path.insert(0, {str(site)!r}); from derive_bench import cli; print(cli.__file__, file=sys.stderr); "
        "sys.exit(cli.main(sys.argv[1:]))"
    )
    options = ["data", "--filter", "decode_only/ticker", "-p", "1", "-n", "1", "--min-time", "0.0005", "-o", "run.json"]
    # -P: the folder the test runs in, a checkout, must not be on the path.
    done = subprocess.run([sys.executable, "-P", "-c", code, *options], cwd=elsewhere, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert str(site) in done.stderr
    assert "commit unknown" in done.stdout
    assert (elsewhere / "run.json").exists()
    environ = os.environ | {"XDG_CACHE_HOME": str(elsewhere / "cache")}
    command = [sys.executable, "-P", "-c", code, "peers"]
    done = subprocess.run(command, cwd=elsewhere, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("derive-py, derive-client, derive_action_signing, ccxt; run: python -m derive_bench peers --install\n")


def test_every_dependency_has_its_reason() -> None:
    lines = (PACKAGE_PARENT / "pyproject.toml").read_text().splitlines()
    project = tomllib.loads("\n".join(lines))["project"]
    for requirement in [*project["dependencies"], *project["optional-dependencies"]["dev"]]:
        assert any(line.strip().startswith(f'"{requirement}"') and "# " in line for line in lines), requirement
