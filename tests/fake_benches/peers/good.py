"""A peer that agrees, in floats and in capitals without 0x, and takes the time on its own."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benches.peers.driver import Offers

NAME = "good"
VERSION = "1.0"
DIALECT = "v3"
REQUIREMENTS: tuple[str, ...] = ()
PACKAGES: tuple[str, ...] = ()
ABOUT = "a fake"
LACKS: dict[str, str] = {}


def offer(can: Offers, material: dict[str, Any]) -> None:
    def sign(text: Any) -> str:
        return hashlib.sha256(str(text).encode()).hexdigest().upper()

    can("decode/number", float, facts=lambda value: {"value": value, "name": "ABC", "levels": [[value, 1.5]], "more": 1}, undone="floats")
    can("sign/thing", sign, facts=lambda signature: {"signature": signature}, undone="")
    can("auth/now", lambda _: (77, sign(77)), facts=lambda pair: {"time": pair[0], "signature": pair[1]}, undone="")
