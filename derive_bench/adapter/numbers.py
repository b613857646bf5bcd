"""Number texts to exact numbers.

Contract: a legal number is the text of a finite JSON number of at most 40 significant digits and an exponent within
+-60 (the project's rule for what the venue may send). `exact` gives its value, `scaled` its value in units of
10**-precision, rounded half-even. Anything else is a `DecodeError` with the path the caller gives. Nothing here depends
on the thread's decimal context.
"""

from __future__ import annotations

import re
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from typing import Final

import msgspec

from derive_bench.adapter.errors import DecodeError

__all__ = ["EXACT_LIMIT", "MAX_DIGITS", "MAX_EXPONENT", "WIDE", "exact", "from_scaled", "plain", "scaled"]

MAX_DIGITS: Final = 40
MAX_EXPONENT: Final = 60

EXACT_LIMIT: Final = 1 << 52
"""Below this a double's neighbours are at most half a unit apart: an integral double is the half-even rounding."""

WIDE: Final = Context(prec=400, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
"""Wide enough for 40 digits at any legal exponent and precision; never the thread's context, which rounds at 28."""

_MAX_PLACES: Final = 36
_LEGAL: Final = re.compile(r"-?((?:0|[1-9][0-9]*)(?:\.[0-9]+)?)(?:[eE]([+-]?[0-9]+))?").fullmatch
_TAILS: Final = tuple(f"e{places}" for places in range(_MAX_PLACES + 1))
_integral = msgspec.json.Decoder(int, strict=False).decode


def exact(text: str, path: str = "$") -> Decimal:
    """Return the exact value of a legal number text, with the scale it was written in.

    Raises `DecodeError` with `path` when the text is not a legal number.
    """
    match = _LEGAL(text)
    if match is None:
        raise DecodeError(f"not a number: {_shown(text)}", path)
    if len(text) > MAX_DIGITS or match[2] is not None:
        _check_size(match[1], match[2], path)
    return Decimal(text)


def scaled(text: str, precision: int, path: str = "$") -> int:
    """Return the value of a legal number text in units of 10**-precision, rounded half-even.

    `precision` is a number of decimal places, 0 to 36. Raises `DecodeError` with `path` for an illegal text.
    """
    if len(text) <= MAX_DIGITS:
        # The leading minus makes JSON refuse the white space that it would skip before a number; texts with an
        # exponent, a sign or too many places fail here and take the exact way below.
        try:
            value = _integral(f"-{text}{_TAILS[precision]}")
        except (msgspec.MsgspecError, UnicodeError):
            pass
        else:
            if value > -EXACT_LIMIT:
                return -value
    return int(exact(text, path).scaleb(precision, WIDE).to_integral_value(ROUND_HALF_EVEN, WIDE))


def from_scaled(raw: int, precision: int) -> Decimal:
    """Return `raw` units of 10**-precision as an exact decimal of that scale."""
    return Decimal(raw).scaleb(-precision, WIDE)


def plain(value: Decimal) -> str:
    """Return a finite decimal as plain text (`1000`, never `1E+3`), every digit kept."""
    return f"{value:f}"


def _check_size(mantissa: str, exponent: str | None, path: str) -> None:
    digits = len(mantissa.replace(".", "").lstrip("0"))
    if digits > MAX_DIGITS:
        raise DecodeError(f"a number of {digits} significant digits, at most {MAX_DIGITS} are taken", path)
    magnitude = (exponent or "").lstrip("+-").lstrip("0")
    if len(magnitude) > 2 or int(magnitude or "0") > MAX_EXPONENT:
        raise DecodeError(f"an exponent of {magnitude[:12]}, at most +-{MAX_EXPONENT} is taken", path)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 48 else text[:45] + "...")
