"""The EIP-712 hashes of Derive's actions: domain separator, action hash, digest.

Pure functions of their arguments: nothing here knows the time, the venue's limits or a key.

Source: EIP-712; PROTOCOL.md, signing.
"""

from __future__ import annotations

from typing import Final

from derive_bench.adapter.protocol import DOMAIN_TYPE
from derive_bench.adapter.signing.abi import address_word, uint_word
from derive_bench.adapter.signing.keccak import keccak256

__all__ = ["DIGEST_PREFIX", "action_digest", "action_hash", "domain_separator"]

DIGEST_PREFIX: Final = b"\x19\x01"
"""What precedes the domain separator in a digest (EIP-191 version 1)."""


def domain_separator(name: str, version: str, chain_id: int, verifying_contract: str) -> bytes:
    """Return the 32-byte domain separator, by its definition."""
    return keccak256(
        keccak256(DOMAIN_TYPE.encode())
        + keccak256(name.encode())
        + keccak256(version.encode())
        + uint_word(chain_id, "chain_id")
        + address_word(verifying_contract, "verifying_contract")
    )


def action_hash(
    typehash: bytes,
    subaccount_id: int,
    nonce: int,
    module: str,
    data: bytes,
    expiry_sec: int,
    owner: str,
    signer: str,
) -> bytes:
    """Return the 32-byte struct hash of an action with the encoded `data` of any module.

    Addresses are ``0x`` and 40 hex digits. Raises `SigningError` for a value that fits no word.
    """
    return keccak256(
        b"".join(
            (
                typehash,
                uint_word(subaccount_id, "subaccount_id"),
                uint_word(nonce, "nonce"),
                address_word(module, "module"),
                keccak256(data),
                uint_word(expiry_sec, "expiry_sec"),
                address_word(owner, "owner"),
                address_word(signer, "signer"),
            )
        )
    )


def action_digest(domain_separator: bytes, action_hash: bytes) -> bytes:
    """Return the 32-byte digest that is signed."""
    return keccak256(DIGEST_PREFIX + domain_separator + action_hash)
