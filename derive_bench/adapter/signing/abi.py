"""The ABI words of a trade action: integers and addresses as 32 big-endian bytes.

Only the static types that Derive's actions are made of are here (address, uint256, int256, bool), since each is one
word and a trade is the seven of them joined. A number that does not fit its word, and a text that is not an address,
raise `SigningError`. The narrower ranges of v3 are the guards' business.

Source: Solidity's ABI specification; PROTOCOL.md, signing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NoReturn

from derive_bench.adapter.errors import SigningError

__all__ = ["address_word", "encode_trade", "int_word", "trade_words", "uint_word"]

_ADDRESS: Final = re.compile("0[xX][0-9a-fA-F]{40}", re.ASCII)

# A bool is an integer to Python, and `True` to a price: words are made of integers only.
_BID_TAIL: Final = (1).to_bytes(32)
_ASK_TAIL: Final = bytes(32)


def uint_word(value: int, field: str) -> bytes:
    """Return `value` as a uint256 word. Raises `SigningError` naming `field` outside [0, 2^256 - 1]."""
    try:
        return value.to_bytes(32)
    except (OverflowError, AttributeError):
        refuse_integer(field, value, signed=False)


def int_word(value: int, field: str) -> bytes:
    """Return `value` as an int256 word. Raises `SigningError` naming `field` outside [-2^255, 2^255 - 1]."""
    try:
        return value.to_bytes(32, signed=True)
    except (OverflowError, AttributeError):
        refuse_integer(field, value, signed=True)


def refuse_integer(field: str, value: object, *, signed: bool) -> NoReturn:
    """Raise the `SigningError` for a `value` that makes no word."""
    if not isinstance(value, int):
        raise SigningError(f"{field}: {value!r} is a {type(value).__name__}; an integer is needed") from None
    limits = "int256: -2^255 to 2^255 - 1" if signed else "uint256: 0 to 2^256 - 1"
    raise SigningError(f"{field}: {shown(value)} is outside {limits}") from None


def shown(value: int) -> str:
    """Return an integer for a message: in full up to 100 digits, else its size (Python refuses to print huge ones)."""
    bits = value.bit_length()
    return str(value) if bits <= 332 else f"an integer of {bits} bits"


# Bounded: the addresses in use are the account's, the module's and one for each asset.
@lru_cache(maxsize=1024)
def address_word(address: str, field: str = "address") -> bytes:
    """Return an address (``0x`` and 40 hex digits in any case) as a word. Raises `SigningError` naming `field`."""
    if not isinstance(address, str) or _ADDRESS.fullmatch(address) is None:
        raise SigningError(f"{field}: {address!r} is not an address: 0x and 40 hex digits are needed")
    return bytes(12) + bytes.fromhex(address[2:])


def trade_words(asset_address: str, sub_id: int) -> bytes:
    """Return the two words (64 bytes) of a trade that depend on the instrument only, to be made once for each."""
    return address_word(asset_address, "asset_address") + uint_word(sub_id, "sub_id")


def encode_trade(
    asset_address: str,
    sub_id: int,
    limit_price: int,
    amount: int,
    max_fee: int,
    recipient_id: int,
    is_bid: bool,
) -> bytes:
    """Return the data of a trade action: 7 words, 224 bytes.

    `limit_price`, `amount` and `max_fee` are in wei (value * 10^18). Pure and unguarded but for what a word can hold,
    else `SigningError`.
    """
    try:
        return b"".join(
            (
                address_word(asset_address, "asset_address"),
                sub_id.to_bytes(32),
                limit_price.to_bytes(32, signed=True),
                amount.to_bytes(32, signed=True),
                max_fee.to_bytes(32),
                recipient_id.to_bytes(32),
                _BID_TAIL if is_bid else _ASK_TAIL,
            )
        )
    except (OverflowError, AttributeError):
        explain_trade(limit_price, amount, max_fee)
        uint_word(sub_id, "sub_id")
        uint_word(recipient_id, "recipient_id")
        raise


def explain_trade(limit_price: int, amount: int, max_fee: int) -> None:
    """Raise the `SigningError` for the first of the values that makes no word, if one does not."""
    int_word(limit_price, "limit_price")
    int_word(amount, "amount")
    uint_word(max_fee, "max_fee")
