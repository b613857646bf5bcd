"""Accounts: which wallets there are, who may sign for them, and what each has done.

Contract: a wallet signs for itself; any other key has to be registered for it, with :meth:`Accounts.register`, from flags or at run
time. Unless the venue is *closed*, a wallet that logs in for the first time gets an account, with every subaccount id the venue was
given: each wallet has its own subaccounts under those ids, so that any number of clients can use one id without meeting.

Logging in is EIP-191 over the time in milliseconds; a time further than `login_window_ms` from the venue's clock is refused, so that a
proof cannot be used again later. Addresses are compared without case. Sources: PROTOCOL.md, session login and error codes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from derive_bench.adapter.signing.eip191 import eip191_digest
from derive_bench.replay.venue.refusals import Refused
from derive_bench.replay.venue.signatures import recover_address

__all__ = ["Account", "Accounts", "is_address"]

_ADDRESS: Final = re.compile("0x[0-9a-fA-F]{40}", re.ASCII)
_MILLIS: Final = re.compile("[0-9]{1,19}", re.ASCII)


def is_address(text: str) -> bool:
    """Whether `text` is ``0x`` and 40 hex digits."""
    return _ADDRESS.fullmatch(text) is not None


class Account:
    """One wallet.

    Attributes:
        wallet: as it was first written, for replies.
        subaccounts: ids, ascending.
        keys: when each session key was registered, UTC seconds, by its lower-case address.
        nonces: those used; they may not come again.
    """

    def __init__(self, wallet: str, subaccounts: Iterable[int], created_sec: int) -> None:
        self.wallet = wallet
        self.subaccounts = sorted(subaccounts)
        self.created_sec = created_sec
        self.keys: dict[str, int] = {}
        self.nonces: set[int] = set()
        self.cancel_on_disconnect = False

    def may_sign(self, address: str) -> bool:
        """Whether the key of `address` signs for this wallet."""
        return address.lower() == self.wallet.lower() or address.lower() in self.keys

    def check_subaccount(self, subaccount: int) -> None:
        """Raise `Refused` (14001) unless the wallet has this subaccount."""
        if subaccount not in self.subaccounts:
            raise Refused(14001, f"Subaccount {subaccount} is not one of wallet {self.wallet}: {_listed(self.subaccounts)}")


class Accounts:
    """All accounts of a venue.

    `subaccounts` are the ids a wallet gets that registers itself; `closed` allows none to. `clock_ns` returns UTC ns.
    `login_window_ms` of 0 takes a proof of any time.
    """

    def __init__(
        self, subaccounts: Iterable[int], clock_ns: Callable[[], int], *, closed: bool = False, login_window_ms: int = 600_000
    ) -> None:
        self._subaccounts = tuple(subaccounts)
        self._clock_ns = clock_ns
        self._closed = closed
        self._window_ms = login_window_ms
        self._accounts: dict[str, Account] = {}
        self._keys: dict[str, int] = {}

    def __iter__(self) -> Iterator[Account]:
        return iter(self._accounts.values())

    def open(self, wallet: str, subaccounts: Iterable[int] | None = None) -> Account:
        """The account of a wallet, made if there is none; with `subaccounts`, it has these ids besides."""
        account = self._accounts.get(wallet.lower())
        if account is None:
            account = Account(wallet, self._subaccounts if subaccounts is None else subaccounts, self._clock_ns() // 10**9)
            account.keys.update(self._keys)
            self._accounts[wallet.lower()] = account
        elif subaccounts is not None:
            account.subaccounts = sorted({*account.subaccounts, *subaccounts})
        return account

    def register(self, key: str, wallet: str | None = None) -> None:
        """Let a session key sign for a wallet, or for every wallet, present and future."""
        now_sec = self._clock_ns() // 10**9
        if wallet is not None:
            self.open(wallet).keys.setdefault(key.lower(), now_sec)
            return
        self._keys.setdefault(key.lower(), now_sec)
        for account in self._accounts.values():
            account.keys.setdefault(key.lower(), now_sec)

    def login(self, wallet: str | None, timestamp: str | int | None, signature: str | None) -> Account:
        """The account that a proof opens. Raises `Refused`: 14000, 14014, 14021, 14026."""
        if not wallet:
            raise Refused(14021, "No wallet: give it with the timestamp and the signature")
        text = str(timestamp)
        if not is_address(wallet):
            raise Refused(14000, f"{wallet[:64]!r} is no address")
        if _MILLIS.fullmatch(text) is None:
            raise Refused(14014, "The timestamp is no UTC time in milliseconds")
        distance_ms = abs(int(text) - self._clock_ns() // 10**6)
        if self._window_ms and distance_ms > self._window_ms:
            raise Refused(14014, f"The timestamp is {distance_ms} ms from the venue's clock, at most {self._window_ms} ms are taken")
        signer = recover_address(eip191_digest(text), signature or "")
        if signer is None:
            raise Refused(14014, "The signature is none of the timestamp's")
        account = self._accounts.get(wallet.lower())
        if account is None and self._closed:
            raise Refused(14000, f"Wallet {wallet} has no account here")
        allowed = account.may_sign(signer) if account else signer == wallet.lower() or signer in self._keys
        if not allowed:
            raise Refused(14026, f"{signer} signed, which is neither wallet {wallet} nor a session key registered for it")
        return account or self.open(wallet)


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
