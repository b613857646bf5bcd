"""A peer of v2, which has other inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benches.peers.driver import Offers

NAME = "legacy"
VERSION = "1.0"
DIALECT = "v2"
REQUIREMENTS: tuple[str, ...] = ()
PACKAGES: tuple[str, ...] = ()
ABOUT = "a fake"
LACKS = {"sign": "it does not sign"}


def offer(can: Offers, material: dict[str, Any]) -> None:
    print("chatter on standard output")
    can("decode/number", int, facts=lambda value: {"value": str(value)}, undone="integers alone")
