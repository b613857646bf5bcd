"""The public names: complete, importable from both packages, and loaded only when asked for."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import derive_bench
from derive_bench import adapter


@pytest.mark.parametrize("module", list(adapter.PUBLIC))
def test_every_public_name_of_a_module_is_listed(module: str) -> None:
    defined = import_module(f"derive_bench.adapter.{module}").__all__
    assert sorted(adapter.PUBLIC[module]) == sorted(defined)


NAMES = [name for names in adapter.PUBLIC.values() for name in names]


def test_no_name_stands_in_two_modules() -> None:
    assert len(set(NAMES)) == len(NAMES)


def test_names_come_from_both_packages() -> None:
    for name in NAMES:
        assert getattr(derive_bench, name) is getattr(adapter, name)
    assert set(NAMES) <= set(dir(derive_bench)) & set(dir(adapter))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = derive_bench.nonsense  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import derive_bench", ("msgspec", "orjson", "wallycore", "pyperf", "argparse")),
        ("from derive_bench import decode, parse_quote", ("wallycore", "tiny_keccak", "uuid_utils", "pyperf")),
    ],
)
def test_nothing_is_loaded_before_it_is_used(statement: str, absent: tuple[str, ...]) -> None:
    program = f"{statement}\nimport sys\nprint(*[name for name in {absent!r} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert loaded.split() == []
