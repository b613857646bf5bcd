"""The core libraries: versions, and whether their compiled part is what is loaded."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ExtensionFileLoader
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import NamedTuple

from derive_bench.measure.checks.finding import Check, Outcome, failed, passed
from derive_bench.measure.checks.plan import Plan
from derive_bench.measure.checks.system import System, Unread

__all__ = ["CHECKS", "CORE", "Library", "judge"]


class Library(NamedTuple):
    """A distribution, the module in which its compiled code lies, and whether to load it here."""

    distribution: str
    compiled: str
    load: bool = True


CORE = (
    Library("msgspec", "msgspec._core"),
    Library("orjson", "orjson.orjson"),
    Library("coincurve", "coincurve._libsecp256k1"),
    # Some processes that have loaded it end with a segmentation fault: what would be loaded is looked at instead.
    Library("wallycore", "_wallycore", load=False),
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
        spec = import_module(library.compiled).__spec__ if library.load else find_spec(library.compiled)
    except ImportError as error:
        return failed(f"{installed}, compiled part does not load: {error}".partition("\n")[0])
    loader = getattr(spec, "loader", None)
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
