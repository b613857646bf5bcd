"""Topics: which channel a frame is of, told by how it begins.

Contract: `topic_of` returns the channel of a frame in the venue's documented form, with or without `jsonrpc` in front, that ends as one;
None for every other frame, which has to be decoded. It does not look at the payload.

Source: PROTOCOL.md (WebSocket, subscription messages).
"""

from __future__ import annotations

from typing import Final

__all__ = ["topic_of"]

_FORM: Final = b'{"method":"subscription","params":{"channel":"'
_FORM_JSONRPC: Final = b'{"jsonrpc":"2.0",' + _FORM[1:]
_END: Final = b"}}"
_KNOWN_MAX: Final = 16_384

_known: Final[dict[bytes, str]] = {}


def topic_of(frame: bytes) -> str | None:
    """Return the channel, or None."""
    if frame.startswith(_FORM):
        begin = len(_FORM)
    elif frame.startswith(_FORM_JSONRPC):
        begin = len(_FORM_JSONRPC)
    else:
        return None
    name = frame[begin : frame.find(b'"', begin)]
    topic = _known.get(name)
    if topic is None:
        topic = _learn(name)
    return topic if frame.endswith(_END) else None


def _learn(name: bytes) -> str | None:
    if b"\\" in name or not name.isascii():
        return None
    if len(_known) >= _KNOWN_MAX:
        _known.clear()
    return _known.setdefault(name, name.decode("ascii"))
