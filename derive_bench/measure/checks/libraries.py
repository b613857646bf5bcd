"""The core libraries: versions, and whether their compiled part is what is loaded."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ExtensionFileLoader
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from derive_bench.measure.checks.finding import Check, Outcome, failed, passed
from derive_bench.measure.checks.plan import Plan
from derive_bench.measure.checks.system import System, Unread

__all__ = ["CHECKS", "CORE", "Library", "judge"]


class Library(NamedTuple):
    """A distribution, and the module in which its compiled code lies."""

    distribution: str
    compiled: str


CORE = (
    Library("msgspec", "msgspec._core"),
    Library("orjson", "orjson.orjson"),
    Library("coincurve", "coincurve._libsecp256k1"),
    Library("wallycore", "_wallycore"),
    Library("tiny-keccak", "tiny_keccak.tiny_keccak"),
    Library("uuid_utils", "uuid_utils._uuid_utils"),
)
"""What the hot path and its controls spend their time in."""


def judge(library: Library) -> Outcome:
    """Load the compiled part and see what it is.

    Raises:
        Unread: it loads and does not say from where.
    """
    try:
        installed = version(library.distribution)
    except PackageNotFoundError:
        return failed("not installed")
    try:
        module = import_module(library.compiled)
    except ImportError as error:
        return failed(f"{installed}, compiled part does not load: {error}".partition("\n")[0])
    loader = getattr(module.__spec__, "loader", None)
    if loader is None:
        raise Unread(f"{installed}: {library.compiled} does not say from where it was loaded")
    return passed(f"{installed}, compiled") if isinstance(loader, ExtensionFileLoader) else failed(f"{installed}, in pure Python")


def _reader(library: Library) -> Callable[[System, Plan], Outcome]:
    return lambda _, __: judge(library)


CHECKS = tuple(
    Check(
        library.distribution.replace("-", "_"),
        "a fallback in pure Python is tens of times slower than what the rows are about",
        f"pip install --force-reinstall --only-binary :all: {library.distribution}",
        _reader(library),
    )
    for library in CORE
)
