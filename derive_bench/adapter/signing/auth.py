"""Proofs of a session's key: REST headers and the params of ``public/login``.

Each is an EIP-191 signature over the time in milliseconds as a decimal string. It authorises no trade.

Source: PROTOCOL.md, session login.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from derive_bench.adapter.errors import SigningError
from derive_bench.adapter.signing.abi import address_word
from derive_bench.adapter.signing.eip191 import eip191_digest

if TYPE_CHECKING:
    from derive_bench.adapter.protocol import Protocol
    from derive_bench.adapter.signing.signer import Signer

__all__ = ["login_params", "rest_auth_headers"]


def rest_auth_headers(signer: Signer, protocol: Protocol, wallet: str, timestamp_ms: int) -> dict[str, str]:
    """Return the three headers of an authenticated REST request.

    `wallet` is the owner's address (in v2 that of its smart-contract wallet), `timestamp_ms` the current UTC time.
    Raises `SigningError` for an address that is none or a negative time.
    """
    text = _timestamp(timestamp_ms)
    address_word(wallet, "wallet")
    return {
        protocol.header_wallet: wallet,
        protocol.header_timestamp: text,
        protocol.header_signature: signer.sign_hex(eip191_digest(text)),
    }


def login_params(signer: Signer, protocol: Protocol, wallet: str, timestamp_ms: int) -> dict[str, Any]:
    """Return the params of ``public/login`` on the WebSocket; arguments and errors as in `rest_auth_headers`."""
    text = _timestamp(timestamp_ms)
    address_word(wallet, "wallet")
    return {
        "wallet": wallet,
        "timestamp": text if protocol.login_timestamp_is_text else timestamp_ms,
        "signature": signer.sign_hex(eip191_digest(text)),
    }


def _timestamp(timestamp_ms: int) -> str:
    if type(timestamp_ms) is not int or timestamp_ms < 0:
        raise SigningError(f"timestamp: {timestamp_ms!r} is no UTC time in integer milliseconds")
    return str(timestamp_ms)
