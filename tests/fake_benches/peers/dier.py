"""A peer that dies when it is timed."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benches.peers.driver import Offers

NAME = "dier"
VERSION = "1.0"
DIALECT = "v3"
REQUIREMENTS: tuple[str, ...] = ()
PACKAGES: tuple[str, ...] = ()
ABOUT = "a fake"
LACKS = {"auth": "no headers"}


def offer(can: Offers, material: dict[str, Any]) -> None:
    calls = iter(range(20))

    def die(text: str) -> int:
        if next(calls, None) is None:
            sys.stderr.write("segmentation fault, or so\n")
            sys.stderr.flush()
            os._exit(3)
        return int(text)

    can("decode/number", die, facts=lambda value: {"value": value}, undone="")
