"""Where the two data trees lie: ``benches/`` (row definitions) and ``test_data/`` (input frames).

In a source checkout or an editable install both stand beside the package, at the top of the repository; in a wheel
they are carried inside the package. :func:`find_tree` finds either, in both, so that nothing else has to know.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["PACKAGE_DIR", "PACKAGE_PARENT", "TreeMissing", "checkout_root", "find_tree"]

PACKAGE_DIR = Path(__file__).resolve().parents[1]
PACKAGE_PARENT = PACKAGE_DIR.parent


class TreeMissing(FileNotFoundError):
    """Neither the installed package nor a checkout around it holds the tree."""


def checkout_root() -> Path | None:
    """The repository's top folder when the package is run from a checkout or an editable install, else None."""
    if (PACKAGE_PARENT / "pyproject.toml").is_file() and (PACKAGE_PARENT / "benches").is_dir():
        return PACKAGE_PARENT
    return None


def find_tree(name: str) -> Path:
    """The folder ``benches`` or ``test_data``.

    Raises:
        TreeMissing: it is nowhere; the message names both places.
    """
    inside, beside = PACKAGE_DIR / name, PACKAGE_PARENT / name
    for place in (inside, beside):
        if place.is_dir():
            return place
    raise TreeMissing(f"no {name}/ folder: looked in {inside} and {beside}; reinstall derive_bench")
