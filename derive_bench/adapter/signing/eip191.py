"""EIP-191 ``personal_sign`` digests, by which a session proves its key.

Source: EIP-191, version 0x45.
"""

from __future__ import annotations

from typing import Final

from derive_bench.adapter.signing.keccak import keccak256

__all__ = ["eip191_digest"]

_PREFIX: Final = b"\x19Ethereum Signed Message:\n"


def eip191_digest(text: str) -> bytes:
    """Return the 32-byte digest of `text`, whose length counts in UTF-8 bytes."""
    message = text.encode()
    return keccak256(b"%b%d%b" % (_PREFIX, len(message), message))
