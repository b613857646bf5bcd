"""A peer whose signatures are its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benches.peers.driver import Offers

NAME = "forger"
VERSION = "1.0"
DIALECT = "v3"
REQUIREMENTS: tuple[str, ...] = ()
PACKAGES: tuple[str, ...] = ()
ABOUT = "a fake"
LACKS = {"auth": "no headers"}


def offer(can: Offers, material: dict[str, Any]) -> None:
    can("decode/number", int, facts=lambda value: {"value": value}, undone="")
    can("sign/thing", lambda text: "0x" + text.rjust(64, "0"), facts=lambda signature: {"signature": signature}, undone="")
