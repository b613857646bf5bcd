"""Trade actions, signed: `sign_trade_action` for one, `ActionSigner` for a stream of them.

Both are pure and unguarded: a value is refused with `SigningError` only when its ABI word cannot hold it. `guards` has
the venue's limits, to be checked first. Both give the same signature for the same action.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from derive_bench.adapter.signing.abi import address_word, encode_trade, explain_trade, uint_word
from derive_bench.adapter.signing.eip712 import DIGEST_PREFIX, action_digest, action_hash
from derive_bench.adapter.signing.keccak import keccak256

if TYPE_CHECKING:
    from derive_bench.adapter.protocol import Protocol
    from derive_bench.adapter.signing.signer import Signer

__all__ = ["ActionSigner", "TradeAction", "sign_trade_action"]

_BOOL_WORDS: Final = (bytes(32), (1).to_bytes(32))


class TradeAction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a trade signature covers. `limit_price`, `amount` and `max_fee` are in wei (value * 10^18)."""

    subaccount_id: int
    nonce: int
    module: str
    """Address of the Trade module, ``Protocol.trade_module``."""
    asset_address: str
    sub_id: int
    limit_price: int
    amount: int
    max_fee: int
    recipient_id: int
    is_bid: bool
    expiry_sec: int
    """UTC second at which the signature expires."""
    owner: str
    """Address of the wallet."""
    signer: str
    """Address of the key that signs."""


def sign_trade_action(signer: Signer, protocol: Protocol, action: TradeAction) -> str:
    """Return the signature of `action` as ``0x`` and 130 hex digits.

    Raises `SigningError` for a value that fits no ABI word and for an address that is none.
    """
    data = encode_trade(
        action.asset_address,
        action.sub_id,
        action.limit_price,
        action.amount,
        action.max_fee,
        action.recipient_id,
        action.is_bid,
    )
    struct_hash = action_hash(
        protocol.action_typehash,
        action.subaccount_id,
        action.nonce,
        action.module,
        data,
        action.expiry_sec,
        action.owner,
        action.signer,
    )
    return signer.sign_hex(action_digest(protocol.domain_separator, struct_hash))


class ActionSigner:
    """Signs the trades of one subaccount, with every word that does not change between them made beforehand.

    `owner` is the wallet's address. The recipient of a trade is the subaccount itself.
    """

    __slots__ = ("_after_nonce", "_ask_tail", "_before_nonce", "_bid_tail", "_prefix", "_sign_hex", "_tail")

    def __init__(self, signer: Signer, protocol: Protocol, owner: str, subaccount_id: int) -> None:
        subaccount_word = uint_word(subaccount_id, "subaccount_id")
        self._sign_hex = signer.sign_hex
        self._bid_tail = subaccount_word + _BOOL_WORDS[True]
        self._ask_tail = subaccount_word + _BOOL_WORDS[False]
        self._before_nonce = protocol.action_typehash + subaccount_word
        self._after_nonce = address_word(protocol.trade_module, "module")
        self._tail = address_word(owner, "owner") + address_word(signer.address, "signer")
        self._prefix = DIGEST_PREFIX + protocol.domain_separator

    def sign_trade(
        self,
        instrument_words: bytes,
        limit_price: int,
        amount: int,
        max_fee: int,
        is_bid: bool,
        nonce: int,
        expiry_sec: int,
    ) -> str:
        """Return the signature of a trade as ``0x`` and 130 hex digits.

        `instrument_words` come from `trade_words`, once for each instrument; prices, amounts and fees are in wei.
        Raises `SigningError` for a value that fits no ABI word.
        """
        try:
            data = b"".join(
                (
                    instrument_words,
                    limit_price.to_bytes(32, signed=True),
                    amount.to_bytes(32, signed=True),
                    max_fee.to_bytes(32),
                    self._bid_tail if is_bid else self._ask_tail,
                )
            )
            struct = b"".join(
                (
                    self._before_nonce,
                    nonce.to_bytes(32),
                    self._after_nonce,
                    keccak256(data),
                    expiry_sec.to_bytes(32),
                    self._tail,
                )
            )
        except (OverflowError, AttributeError):
            explain_trade(limit_price, amount, max_fee)
            uint_word(nonce, "nonce")
            uint_word(expiry_sec, "expiry_sec")
            raise
        return self._sign_hex(keccak256(self._prefix + keccak256(struct)))
