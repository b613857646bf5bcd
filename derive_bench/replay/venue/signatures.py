"""Who signed: the address of the key behind a signature, recovered from it and the digest.

A signature is 65 bytes ``r || s || v`` in hex, with or without ``0x``, v 27 or 28 and s in the lower half of the group order: what
wallets make. The upper half would be a second signature for the same digest, so it is refused, as contracts do.
"""

from __future__ import annotations

import re
from typing import Final

from derive_bench.adapter.signing.libwally import ec_sig_to_public_key
from derive_bench.adapter.signing.signer import public_key_address

__all__ = ["recover_address"]

_SIGNATURE: Final = re.compile("(?:0[xX])?([0-9a-fA-F]{130})", re.ASCII)
_HALF_ORDER: Final = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
_HEADER_OFFSET: Final = 4
"""libwally puts 31 + recovery id first, for a compressed key, where Ethereum puts 27 + recovery id last."""


def recover_address(digest: bytes, signature: str) -> str | None:
    """Return the signer's address, ``0x`` and 40 lower-case digits; None where `signature` is not one of this digest's.

    Any well-formed signature is some key's: compare the address with the one you expect.
    """
    match = _SIGNATURE.fullmatch(signature)
    if match is None:
        return None
    raw = bytes.fromhex(match[1])
    if raw[64] not in (27, 28) or int.from_bytes(raw[32:64]) > _HALF_ORDER:
        return None
    try:
        key = ec_sig_to_public_key(digest, bytes((raw[64] + _HEADER_OFFSET,)) + raw[:64])
    except ValueError:
        return None
    return public_key_address(key)
