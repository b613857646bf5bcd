"""Values to wei: exact scaling of prices, amounts and fees by 10^18.

A value is scaled by exact decimal arithmetic that knows no context precision; the default context's 28 digits would
round long values silently. One that is not a whole multiple of the protocol's smallest unit (1e-12 in v3, 1e-18 in v2)
or lies outside the protocol's range raises `SigningError` with the field, the value and the limit; nothing is rounded.

Texts are legal JSON numbers (no blanks, no ``+``, no ``_``, no NaN); floats are refused, being seldom what was meant.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal, DecimalException, Inexact, InvalidOperation
from typing import TYPE_CHECKING, Final, NoReturn

from derive_bench.adapter.errors import SigningError
from derive_bench.adapter.signing.abi import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from derive_bench.adapter.protocol import Protocol

__all__ = ["Value", "to_wei", "wei_converter", "wei_limits"]

Value = str | int | Decimal

# 2^256 has 78 digits; a value of more than these either has fractional digits to refuse or is out of range. `Inexact`
# traps, so that a result is exact or an exception. `Overflow` and the like are left untrapped: they are Inexact too.
_EXACT: Final = Context(prec=120, Emax=10_000, Emin=-10_000, traps=[InvalidOperation, Inexact])
_scaleb = _EXACT.scaleb
_to_integral_exact = _EXACT.to_integral_exact

_TEXT: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,6})?")
_MAX_TEXT: Final = 200


def wei_limits(protocol: Protocol, field: str) -> tuple[int, int]:
    """Return the least and the greatest wei of `field`: ``max_fee`` is unsigned, prices and amounts are signed."""
    if field == "max_fee":
        return 0, (1 << protocol.fee_bits) - 1
    edge = 1 << (protocol.price_bits - 1)
    return -edge, edge - 1


def wei_converter(protocol: Protocol, field: str) -> Callable[[Value], int]:
    """Return the conversion of `field`'s values (``limit_price``, ``amount``, ``max_fee``) to wei, to be kept.

    The function returned raises `SigningError` as this module says.
    """
    low, high = wei_limits(protocol, field)
    digits = protocol.max_fraction_digits
    places = Decimal(digits)
    unit: int = 10 ** (protocol.value_scale_decimals - digits)
    scale: int = 10**protocol.value_scale_decimals

    def convert(value: Value) -> int:
        if type(value) is Decimal:
            try:
                wei = int(_to_integral_exact(_scaleb(value, places))) * unit
            except (DecimalException, ValueError, OverflowError):
                _explain(value, field, digits, low, high)
        elif type(value) is int:
            wei = value * scale
        else:
            return convert(_decimal(value, field))
        if low <= wei <= high:
            return wei
        _out_of_range(value, field, low, high)

    return convert


def to_wei(value: Value, protocol: Protocol, field: str) -> int:
    """Return `value` * 10^18, exactly. `wei_converter` is the same, made once for many values."""
    return wei_converter(protocol, field)(value)


def _decimal(value: object, field: str) -> Decimal:
    """Return the exact Decimal of a text or of a Decimal's or int's subclass."""
    if isinstance(value, str):
        if len(value) > _MAX_TEXT or _TEXT.fullmatch(value) is None:
            text = value if len(value) <= _MAX_TEXT else f"{value[:40]}... of {len(value)} characters"
            raise SigningError(f"{field}: {text!r} is not a decimal number")
        return Decimal(value)
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return Decimal(value)
    raise SigningError(f"{field}: {value!r} is a {type(value).__name__}; give a Decimal, an int or a text")


def _explain(value: Decimal, field: str, digits: int, low: int, high: int) -> NoReturn:
    if not value.is_finite():
        raise SigningError(f"{field}: {value} is not a finite number") from None
    if value.adjusted() > 90:
        _out_of_range(value, field, low, high)
    raise SigningError(
        f"{field}: {_short(value)} has more than {digits} fractional digits; the protocol takes multiples of 1e-{digits}"
    ) from None


def _out_of_range(value: Decimal | int, field: str, low: int, high: int) -> NoReturn:
    kind = f"uint{high.bit_length()}" if low == 0 else f"int{high.bit_length() + 1}"
    raise SigningError(f"{field}: {_short(value)} * 10^18 is outside {kind}, {low} to {high}") from None


def _short(value: Decimal | int) -> str:
    if isinstance(value, int):
        return shown(value)
    text = str(value)
    return text if len(text) <= _MAX_TEXT else f"{text[:40]}... of {len(text)} characters"
