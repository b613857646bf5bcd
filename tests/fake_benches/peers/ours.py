"""Ours, of which the peers are copies with something changed."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benches.peers.driver import Offers

NAME = "derive_bench"
PACKAGES = ("pip", "not-installed-anywhere")
ABOUT = "ours"
LACKS: dict[str, str] = {}


def sign(text: Any) -> str:
    return "0x" + hashlib.sha256(str(text).encode()).hexdigest()


def offer(can: Offers, material: dict[str, Any]) -> None:
    can("decode/number", json.loads, facts=lambda value: {"value": str(value), "name": "Abc", "levels": [[str(value), "1.50"]]}, undone="")
    can("sign/thing", sign, facts=lambda signature: {"signature": signature}, undone="no key")
    can("auth/now", lambda time: (time, sign(time)), facts=lambda pair: {"time": pair[0], "signature": pair[1]}, undone="")
