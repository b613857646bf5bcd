"""`Signer`: a private key, built once, that signs 32-byte digests.

Signatures are recoverable ECDSA over secp256k1 with the deterministic nonce of RFC 6979 and a low s, byte for byte what
eth-account makes: 65 bytes ``r || s || v`` with v = 27 or 28.

The curve work is libsecp256k1's, reached through wallycore, chosen by measurement (rows ``control/ecdsa_sign*``): 0.88 of
coincurve's time a signature, and wheels for CPython 3.11 to 3.14. The tests hold its every output against coincurve's.

The key is kept in a memory view, whose repr shows no content, so that neither a repr, nor a traceback that prints local
variables, nor a pickle or copy (both refused) can show it. It is not protected from code that runs in the same process.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from derive_bench.adapter.errors import SigningError
from derive_bench.adapter.signing.keccak import keccak256
from derive_bench.adapter.signing.libwally import (
    SIGN_RECOVERABLE,
    ec_private_key_verify,
    ec_public_key_decompress,
    ec_public_key_from_private_key,
    ec_sig_from_bytes,
)
from derive_bench.adapter.signing.uncopyable import Uncopyable

if TYPE_CHECKING:
    from derive_bench.adapter.signing.presign import PresignPool

__all__ = ["Signer", "checksum_address", "public_key_address", "signature_hex"]

_HEX_KEY: Final = re.compile("(?:0[xX])?([0-9a-fA-F]{64})", re.ASCII)

# libwally puts 31 + recovery id (a compressed key's header) first, Ethereum 27 + recovery id last. Ids 2 and 3 stand
# for an r beyond the group order, met once in 2^127.
_V_OFFSET: Final = 4
_HEADER_V0: Final = 31


class Signer(Uncopyable):
    """Signs digests with one private key.

    `key` is 32 bytes or 64 hex digits with or without ``0x``; anything else, and a key outside [1, n - 1], raises
    `SigningError` without showing it. With `presign`, signatures come from that pool while it lasts, and are the
    ordinary ones when it is empty: read `presign` before using it. The pool is this signer's for good.
    """

    __slots__ = ("__weakref__", "_pool", "_secret", "address")

    address: str
    """The key's address, with the EIP-55 checksum."""

    def __init__(self, key: str | bytes, *, presign: PresignPool | None = None) -> None:
        secret = _secret(key)
        del key  # a traceback from here on has no frame of ours that holds it
        if secret is None:
            raise SigningError(
                "private key: 32 bytes, or 64 hex digits with or without 0x, of a number from 1 to the group order - 1 are needed"
            )
        self._secret = secret
        self.address = _address(secret)
        self._pool = presign
        if presign is not None:
            presign._bind(secret)  # friends: the pool takes the key from its signer only

    def sign(self, digest: bytes) -> bytes:
        """Return the 65 bytes ``r || s || v`` over a 32-byte digest. Raises `SigningError` for any other length."""
        return bytes.fromhex(self.sign_hex(digest)[2:])

    def sign_hex(self, digest: bytes) -> str:
        """Return the signature as ``0x`` and 130 hex digits. Raises `SigningError` for a digest not of 32 bytes."""
        pool = self._pool
        if pool is not None:
            text = pool._sign_hex(digest)
            if text is not None:
                return text
        try:
            signature = ec_sig_from_bytes(self._secret, digest, SIGN_RECOVERABLE)
        except (TypeError, ValueError):
            raise SigningError(f"digest: 32 bytes are needed, not {_described(digest)}") from None
        return signature_hex(signature)

    def __repr__(self) -> str:
        # A traceback may print a signer whose key was refused.
        return f"Signer({getattr(self, 'address', 'no key')})"


def signature_hex(signature: bytes | bytearray) -> str:
    """Return libwally's 65-byte recoverable signature, ``header || r || s``, as ``0x``, r, s and v in hex."""
    header = signature[0]
    v = "1b" if header == _HEADER_V0 else f"{header - _V_OFFSET:x}"
    return f"0x{signature.hex()[2:]}{v}"


def _secret(key: str | bytes) -> memoryview | None:
    """Return a view of the key's 32 bytes, or None if it is not one."""
    if isinstance(key, str):
        match = _HEX_KEY.fullmatch(key)
        secret = bytearray.fromhex(match[1]) if match else bytearray()
    elif isinstance(key, (bytes, bytearray, memoryview)):
        secret = bytearray(key)
    else:
        secret = bytearray()
    if len(secret) != 32:
        return None
    view = memoryview(secret)
    try:
        ec_private_key_verify(view)
    except ValueError:
        return None
    return view


def _address(secret: memoryview) -> str:
    """Return the address of a key, in EIP-55 mixed case."""
    return checksum_address(public_key_address(ec_public_key_from_private_key(secret)))


def public_key_address(public_key: bytes | bytearray) -> str:
    """Return the address of a compressed public key, its hash's last 20 bytes: ``0x`` and 40 lower-case digits."""
    return f"0x{keccak256(bytes(ec_public_key_decompress(public_key)[1:]))[12:].hex()}"


def checksum_address(address: str) -> str:
    """Return an address, ``0x`` and 40 hex digits of any case, in EIP-55 mixed case."""
    digits = address[2:].lower()
    checksum = keccak256(digits.encode()).hex()
    return "0x" + "".join(d.upper() if c >= "8" else d for d, c in zip(digits, checksum, strict=False))


def _described(digest: object) -> str:
    kind = type(digest).__name__
    return f"{kind} of {len(digest)}" if isinstance(digest, (bytes, bytearray, memoryview, str)) else kind
