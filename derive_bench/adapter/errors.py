"""The errors of the adapter, in two families: the caller's mistakes and the peer's.

Contract: every error that leaves this package is a `DeriveBenchError`. A `CallerError` says what was asked for, where
it is wrong and what to do; a `PeerError` says what the venue sent and where in the message it stands. No error carries
a private key or a signature's secret.
"""

from __future__ import annotations

__all__ = [
    "CallerError",
    "DecodeError",
    "DeriveBenchError",
    "OrderRefused",
    "PeerError",
    "SigningError",
    "UnknownInstrument",
]


class DeriveBenchError(Exception):
    """Base of every error raised on purpose."""


class CallerError(DeriveBenchError, ValueError):
    """The caller asked for something impossible; nothing was sent or signed."""


class OrderRefused(CallerError):
    """A command was refused before signing. `field` names the offending field (wire name)."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason

    def __reduce__(self) -> tuple[type[OrderRefused], tuple[str, str]]:
        return type(self), (self.field, self.reason)


class SigningError(CallerError):
    """A key, value, expiry or nonce that cannot be signed as asked."""


class UnknownInstrument(CallerError, KeyError):
    """An instrument that the registry does not hold. `name` is the name asked for."""

    def __init__(self, name: str) -> None:
        super().__init__(f"unknown instrument {name!r}: add its record to the registry first")
        self.name = name

    __str__ = Exception.__str__

    def __reduce__(self) -> tuple[type[UnknownInstrument], tuple[str]]:
        return type(self), (self.name,)


class PeerError(DeriveBenchError):
    """The venue sent something that cannot be used."""


class DecodeError(PeerError):
    """A frame, payload or number that is malformed. `path` is a JSON path from the frame's root, `$` where unknown."""

    def __init__(self, reason: str, path: str = "$") -> None:
        super().__init__(f"{reason} - at `{path}`")
        self.reason = reason
        self.path = path

    @classmethod
    def from_msgspec(cls, error: Exception, root: str = "$") -> DecodeError:
        """Take over an error of msgspec's, whose text ends in the path below `root`."""
        reason, _, tail = str(error).partition(" - at `$")
        return cls(reason, root + tail.rstrip("`"))

    def __reduce__(self) -> tuple[type[DecodeError], tuple[str, str]]:
        return type(self), (self.reason, self.path)
