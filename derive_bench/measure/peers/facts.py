"""Facts: whether two libraries say the same, in the words of ``benches/peers/stages.py``."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

__all__ = ["difference"]

SIGNATURE = "signature"


def difference(ours: Any, theirs: Any, signed: bool = False) -> str | None:
    """How a peer's facts differ from ours, in words; None if they agree in all that both say.

    Numbers are compared by value, and as floats where one is a float; signatures byte for byte, with or without 0x; other texts
    without regard to case. A peer's facts that are a text are its error.

    Args:
        signed: the facts must hold a signature.
    """
    if isinstance(theirs, str):
        return theirs
    if not isinstance(theirs, Mapping) or not set(theirs) & set(ours):
        return "it says nothing that could be compared"
    if signed and SIGNATURE not in theirs:
        return "there is no signature"
    for name in theirs:
        if name in ours and (found := _differs(name, ours[name], theirs[name])):
            return found
    return None


def _differs(name: str, ours: Any, theirs: Any) -> str | None:
    if isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            return f"{name}: {len(theirs)} in place of {len(ours)}"
        pairs = zip(ours, theirs, strict=True)
        return next((found for number, pair in enumerate(pairs) if (found := _differs(f"{name}[{number}]", *pair))), None)
    same = _bytes(ours) == _bytes(theirs) if name == SIGNATURE else _equal(ours, theirs)
    return None if same else f"{name}: {_short(theirs)} in place of {_short(ours)}"


def _equal(ours: Any, theirs: Any) -> bool:
    numbers = _number(ours), _number(theirs)
    if None in numbers:
        return str(ours).lower() == str(theirs).lower()
    if isinstance(ours, float) or isinstance(theirs, float):
        return float(numbers[0] or 0) == float(numbers[1] or 0)
    return numbers[0] == numbers[1]


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _bytes(signature: Any) -> bytes | None:
    try:
        return bytes.fromhex(str(signature).removeprefix("0x"))
    except ValueError:
        return None


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 24 else f"{text[:10]}…{text[-8:]}"
