"""A peer that says other numbers, or fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benches.peers.driver import Offers

NAME = "dropper"
VERSION = "1.0"
DIALECT = "v3"
REQUIREMENTS: tuple[str, ...] = ()
PACKAGES: tuple[str, ...] = ()
ABOUT = "a fake"
LACKS = {"auth": "no headers"}


def offer(can: Offers, material: dict[str, Any]) -> None:
    def fail(text: str) -> Any:
        raise LookupError("the thing is dropped")

    can("decode/number", int, facts=lambda value: {"levels": [[value, "1.51"]]}, undone="")
    can("sign/thing", fail, undone="")
