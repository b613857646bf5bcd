"""What a session is made with: its settings, and who logs in.

Contract: values only. Settings that cannot work raise `CallerError` when they are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import asdict

from derive_bench.adapter.errors import CallerError
from derive_bench.adapter.session.limits import SECOND_NS, RateLimits

if TYPE_CHECKING:
    from derive_bench.adapter.protocol import Protocol
    from derive_bench.adapter.signing import Signer

__all__ = ["Credentials", "SessionSettings"]

_NS_PER_MS: Final = 1_000_000


class SessionSettings(Struct, frozen=True, kw_only=True):
    """How a session behaves; times in ns."""

    limits: RateLimits = RateLimits()
    timeout_ns: int = 10 * SECOND_NS
    """How long a request waits to be sent, and again for its answer, where it says nothing else."""
    ping_after_ns: int = 15 * SECOND_NS
    """After so long without a frame from the peer, the text ``ping`` is sent."""
    silence_ns: int = 30 * SECOND_NS
    """After so long without a frame, the connection is dead."""
    login_every_ns: int | None = 3_600 * SECOND_NS
    """A login is renewed after so long; the venue names no lifetime, and every connection begins with a login of its own. None: never."""
    backoff_base_ns: int = SECOND_NS // 2
    backoff_ceiling_ns: int = 60 * SECOND_NS
    stable_ns: int = 60 * SECOND_NS
    """A connection that lasted so long starts the backoff anew; a venue that accepts and drops is not hammered."""
    drain_ns: int = 5 * SECOND_NS
    """How long an orderly close waits for answers."""
    max_queued: int = 1_024
    """The caller's requests that may wait to be sent."""
    channels_per_request: int = 100

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if isinstance(value, int) and value < 1:
                raise CallerError(f"SessionSettings.{name}: {value} is not positive")
        if self.silence_ns <= self.ping_after_ns:
            raise CallerError("SessionSettings.silence_ns: must be longer than ping_after_ns, or no ping is ever answered in time")


class Credentials:
    """Who logs in: the key of the owner, or a session key, and the owner's wallet (in v2 its smart-contract wallet)."""

    __slots__ = ("_signer", "wallet")

    def __init__(self, signer: Signer, wallet: str | None = None) -> None:
        from derive_bench.adapter.signing import address_word

        self._signer = signer
        self.wallet = signer.address if wallet is None else wallet
        address_word(self.wallet, "wallet")

    def login_params(self, protocol: Protocol, utc_ns: int) -> dict[str, Any]:
        """The params of ``public/login`` at a UTC time."""
        # Not at the top: who only reads market data does not load the signing libraries.
        from derive_bench.adapter.signing import login_params

        return login_params(self._signer, protocol, self.wallet, utc_ns // _NS_PER_MS)

    def __repr__(self) -> str:
        return f"Credentials({self.wallet}, signed by {self._signer.address})"
