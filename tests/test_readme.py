"""README.md, BENCHMARKS.md and docs/: the example runs, the commands they show are commands that there are, and links lead somewhere."""

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

FRONT = ("README.md", "BENCHMARKS.md")
PAGES = (*FRONT, *(f"docs/{path.name}" for path in sorted((PACKAGE_PARENT / "docs").glob("*.md"))))


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


def commands(page: str) -> list[str]:
    """Command lines of a page, without what a shell would do with them."""
    text = (PACKAGE_PARENT / page).read_text(encoding="utf-8")
    shown = [
        *re.findall(r"^```[a-z]*\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL),
        *re.findall(r"(?:^    .*\n)+", text, flags=re.MULTILINE),
    ]
    lines = [line.strip().removeprefix("$ ") for block in shown for line in block.splitlines()]
    return [re.split(r"\s[|>&]", line)[0] for line in lines if line.startswith("python -m derive_bench")]


@pytest.mark.parametrize("page", PAGES)
def test_commands_are_understood(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = commands(page)
    assert lines or page == "docs/session.md"
    for line in lines:
        words = shlex.split(line, comments=True)[3:]
        # Parsed to the end, then refused or answered: --help comes last.
        with pytest.raises(SystemExit) as ended:
            main([*words, "--help"])
        assert ended.value.code == 0, line
        capsys.readouterr()


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (PACKAGE_PARENT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert (PACKAGE_PARENT / page).parent.joinpath(target).exists(), target


@pytest.mark.parametrize("page", FRONT)
def test_make_targets_exist(page: str) -> None:
    makefile = (PACKAGE_PARENT / "Makefile").read_text(encoding="utf-8")
    text = (PACKAGE_PARENT / page).read_text(encoding="utf-8")
    shown = "\n".join(blocks(page, ""))
    targets = {*re.findall(r"^make ([a-z]+)", shown, flags=re.MULTILINE), *re.findall(r"`make ([a-z]+)`", text)}
    assert targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_the_baseline_has_its_place() -> None:
    text = (PACKAGE_PARENT / "BENCHMARKS.md").read_text(encoding="utf-8")
    assert (text.count(BEGIN), text.count(END)) == (1, 1)
