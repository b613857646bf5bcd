"""Redaction: a login without its proof, for the tape.

A login's signature is a credential for as long as the venue takes its timestamp: whoever has it can log in, read private data and cancel
orders. So a tape gets the frame with another text in its place; everything else of it stays. Other frames stay byte for byte.
"""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["REDACTED", "redact"]

REDACTED: Final = "redacted"
_LOGIN: Final = b"public/login"


def redact(frame: bytes) -> bytes:
    """Return a frame that the session sends, as it is recorded."""
    if _LOGIN not in frame:
        return frame
    request = msgspec.json.decode(frame)
    if request.get("method") != _LOGIN.decode():
        return frame
    return msgspec.json.encode({**request, "params": {**request["params"], "signature": REDACTED}})
