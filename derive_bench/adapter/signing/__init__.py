"""Signing: from an order's numbers to the signature on the wire, by small steps that can be used alone.

``wei`` scales values, ``guards`` checks the venue's limits, ``abi`` and ``eip712`` hash, ``signer`` signs, ``actions``
joins these for trades, ``auth`` proves a session's key, ``nonce`` hands out nonces. ``presign`` does a signature's
costly part beforehand, for those who read its terms.
"""

from __future__ import annotations

from derive_bench.adapter.signing.abi import address_word, encode_trade, trade_words
from derive_bench.adapter.signing.actions import ActionSigner, TradeAction, sign_trade_action
from derive_bench.adapter.signing.auth import login_params, rest_auth_headers
from derive_bench.adapter.signing.eip191 import eip191_digest
from derive_bench.adapter.signing.eip712 import action_digest, action_hash, domain_separator
from derive_bench.adapter.signing.guards import ActionGuard, guard_action
from derive_bench.adapter.signing.keccak import keccak256
from derive_bench.adapter.signing.nonce import NonceBook, NonceSource
from derive_bench.adapter.signing.presign import PresignPool
from derive_bench.adapter.signing.signer import Signer
from derive_bench.adapter.signing.wei import to_wei, wei_converter

__all__ = [
    "ActionGuard",
    "ActionSigner",
    "NonceBook",
    "NonceSource",
    "PresignPool",
    "Signer",
    "TradeAction",
    "action_digest",
    "action_hash",
    "address_word",
    "domain_separator",
    "eip191_digest",
    "encode_trade",
    "guard_action",
    "keccak256",
    "login_params",
    "rest_auth_headers",
    "sign_trade_action",
    "to_wei",
    "trade_words",
    "wei_converter",
]
