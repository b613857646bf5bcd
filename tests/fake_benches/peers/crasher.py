"""A peer that does not load."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benches.peers.driver import Offers

NAME = "crasher"
VERSION = "1.0"
DIALECT = "v3"
REQUIREMENTS: tuple[str, ...] = ()
PACKAGES: tuple[str, ...] = ()
ABOUT = "a fake"
LACKS = {"auth": "no headers"}


def offer(can: Offers, material: dict[str, Any]) -> None:
    import_module("not_installed_anywhere")
