"""Exact arithmetic of prices and amounts: integers in units of 1e-18, the venue's own scale, and their texts."""

from __future__ import annotations

from typing import Final

from derive_bench.adapter.numbers import from_scaled, plain, scaled

__all__ = ["UNIT", "product", "text_of", "to_units"]

PLACES: Final = 18
UNIT: Final = 10**PLACES
"""One, in units."""


def to_units(text: str, path: str = "$") -> int:
    """The value of a number's text in units. Raises `DecodeError` for one that is none."""
    return scaled(text, PLACES, path)


def text_of(units: int) -> str:
    """The plain decimal text of a value, without zeros at its end: `1000`, never `1E+3`."""
    text = plain(from_scaled(units, PLACES))
    return text.rstrip("0").rstrip(".") if "." in text else text


def product(left: int, right: int) -> int:
    """`left` times `right`, rounded half-even to a unit."""
    whole, rest = divmod(left * right, UNIT)
    return whole + (2 * rest > UNIT or (2 * rest == UNIT and whole & 1))
