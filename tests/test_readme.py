"""README.md and BENCHMARKS.md: the example runs, and the commands they show are commands that there are."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest

from derive_bench.cli import main
from derive_bench.measure.baseline import BEGIN, END
from derive_bench.measure.trees import PACKAGE_PARENT, checkout_root

pytestmark = pytest.mark.skipif(checkout_root() is None, reason="not a checkout")

PAGES = ("README.md", "BENCHMARKS.md")


def blocks(page: str, language: str) -> list[str]:
    text = (PACKAGE_PARENT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def test_the_example_runs() -> None:
    examples = blocks("README.md", "python")
    assert examples
    for example in examples:
        done = subprocess.run([sys.executable, "-c", example], cwd=PACKAGE_PARENT, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("ETH-PERP.DERIVE "), done.stdout


@pytest.mark.parametrize("page", PAGES)
def test_commands_are_understood(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line for block in blocks(page, "") for line in block.splitlines() if line.startswith("python -m derive_bench")]
    assert lines
    for line in lines:
        words = shlex.split(line, comments=True)[3:]
        # Parsed to the end, then refused or answered: --help comes last.
        with pytest.raises(SystemExit) as ended:
            main([*words, "--help"])
        assert ended.value.code == 0, line
        capsys.readouterr()


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_exist(page: str) -> None:
    makefile = (PACKAGE_PARENT / "Makefile").read_text(encoding="utf-8")
    text = (PACKAGE_PARENT / page).read_text(encoding="utf-8")
    commands = "\n".join(blocks(page, ""))
    targets = {*re.findall(r"^make ([a-z]+)", commands, flags=re.MULTILINE), *re.findall(r"`make ([a-z]+)`", text)}
    assert targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_the_baseline_has_its_place() -> None:
    text = (PACKAGE_PARENT / "BENCHMARKS.md").read_text(encoding="utf-8")
    assert (text.count(BEGIN), text.count(END)) == (1, 1)
