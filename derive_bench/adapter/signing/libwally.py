"""The one place where wallycore, which brings libsecp256k1, is imported.

Its wrapper is made by SWIG 4.3, which crashes the interpreter at exit where deprecation warnings are errors: a type that
SWIG creates as late as that warns, and the failure is not checked (swig issue 3061). So that no user of ``-W error`` or of
pytest's ``filterwarnings = error`` meets that, these warnings are ignored at import and at exit.
"""

from __future__ import annotations

import atexit
import warnings
from typing import Final

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "builtin type", DeprecationWarning)
    from wallycore import (
        EC_FLAG_ECDSA,
        EC_FLAG_RECOVERABLE,
        ec_private_key_verify,
        ec_public_key_decompress,
        ec_public_key_from_private_key,
        ec_sig_from_bytes,
        ec_sig_to_public_key,
    )

__all__ = [
    "SIGN_RECOVERABLE",
    "ec_private_key_verify",
    "ec_public_key_decompress",
    "ec_public_key_from_private_key",
    "ec_sig_from_bytes",
    "ec_sig_to_public_key",
]

atexit.register(warnings.filterwarnings, "ignore", "builtin type swigvarlink", DeprecationWarning)

SIGN_RECOVERABLE: Final[int] = EC_FLAG_ECDSA | EC_FLAG_RECOVERABLE
"""Flags of `ec_sig_from_bytes`: RFC 6979, low s, a header with the recovery id before r and s."""
