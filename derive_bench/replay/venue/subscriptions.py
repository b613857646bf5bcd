"""Subscriptions: which channels there are, and who hears which.

Contract: a channel is good if its form is the dialect's, its instrument or currency is one of the venue's, and its numbers are ones
the venue takes; whether the tape has it is another matter. Of forms that nobody knows, those on the tape are good. A private channel
needs a login with that subaccount. :func:`refusal` says what is wrong with a channel, in a word for its `status`.

Source: PROTOCOL.md, WebSocket: topics, `subscribe`, `unsubscribe`; error codes 13000, 14022.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Final, Generic, TypeVar

from derive_bench.adapter.channels import INSTRUMENT_TYPES, Channel, ChannelKind
from derive_bench.adapter.instruments import Instrument
from derive_bench.adapter.protocol import Dialect
from derive_bench.replay.venue.accounts import Account
from derive_bench.replay.venue.refusals import Refused

__all__ = ["ALREADY", "OK", "PRIVATE", "Subscribers", "refusal", "refuse_if_none"]

OK: Final = "ok"
ALREADY: Final = "already subscribed"
PRIVATE: Final = frozenset({ChannelKind.ORDERS, ChannelKind.PRIVATE_TRADES, ChannelKind.BALANCES})

_GROUPS: Final = frozenset({"1", "10", "100"})
_DEPTHS: Final = frozenset({"1", "10", "20", "100"})
_INTERVALS: Final = frozenset({"100", "1000"})
_STAGES: Final = ("Batching", "Executing", "Proving", "Settling", "Settled", "Da")
_STATUSES: Final[Mapping[Dialect, frozenset[str]]] = {
    "v2": frozenset({"pending", "settled", "reverted", "ignored", "timed_out"}),
    "v3": frozenset([*_STAGES, *(f"{stage}Error" for stage in _STAGES)]),
}
_ALL_FEEDS: Final = "ALL"

_UNAUTHORISED: Final = "not authorised: log in with a wallet that has this subaccount"
_UNKNOWN: Final = "channel does not exist"

_S = TypeVar("_S", bound=Hashable)


def refusal(channel: Channel, dialect: Dialect, instruments: Mapping[str, Instrument], account: Account | None) -> str | None:
    """What is wrong with a channel for somebody logged in to `account`; None for a good one."""
    kind = channel.kind
    if kind is ChannelKind.OTHER or (kind is ChannelKind.TICKER and dialect == "v3"):
        return _UNKNOWN
    if channel.instrument_name is not None and channel.instrument_name not in instruments:
        return f"instrument {channel.instrument_name[:64]} does not exist"
    if kind is ChannelKind.ORDERBOOK:
        if channel.group not in _GROUPS:
            return f"group must be one of {_listed(_GROUPS)}"
        if channel.depth not in _DEPTHS:
            return f"depth must be one of {_listed(_DEPTHS)}"
    if channel.interval is not None and channel.interval not in _INTERVALS:
        return f"interval must be one of {_listed(_INTERVALS)}"
    if channel.instrument_type is not None and channel.instrument_type not in INSTRUMENT_TYPES:
        return _UNKNOWN
    if channel.currency not in (None, _ALL_FEEDS, *(instrument.base_currency for instrument in instruments.values())):
        return f"currency {(channel.currency or '')[:64]} does not exist"
    if channel.status is not None and channel.status not in _STATUSES[dialect]:
        return f"status must be one of {', '.join(sorted(_STATUSES[dialect]))}"
    if kind in PRIVATE and (account is None or channel.subaccount not in account.subaccounts):
        return _UNAUTHORISED
    return None


def refuse_if_none(status: Mapping[str, str]) -> None:
    """Raise `Refused` if no channel of a request is good: 14022 where all that lacked was a login, else 13000."""
    if status and not any(word in (OK, ALREADY) for word in status.values()):
        code = 14022 if all(word == _UNAUTHORISED for word in status.values()) else 13000
        raise Refused(code, "; ".join(f"{name[:80]}: {word}" for name, word in list(status.items())[:10]))


class Subscribers(Generic[_S]):
    """Who hears which channel, both ways, in the order they came."""

    def __init__(self) -> None:
        self._of_channel: dict[str, dict[_S, None]] = {}
        self._of_subscriber: dict[_S, dict[str, None]] = {}

    def add(self, subscriber: _S, topic: str) -> bool:
        """Whether it is new."""
        topics = self._of_subscriber.setdefault(subscriber, {})
        if topic in topics:
            return False
        topics[topic] = None
        self._of_channel.setdefault(topic, {})[subscriber] = None
        return True

    def remove(self, subscriber: _S, topic: str) -> bool:
        """Whether there was one."""
        topics = self._of_subscriber.get(subscriber, {})
        if topic not in topics:
            return False
        del topics[topic]
        heard_by = self._of_channel[topic]
        del heard_by[subscriber]
        if not heard_by:
            del self._of_channel[topic]
        return True

    def forget(self, subscriber: _S) -> None:
        """Take a subscriber out of everything."""
        for topic in list(self._of_subscriber.get(subscriber, ())):
            self.remove(subscriber, topic)
        self._of_subscriber.pop(subscriber, None)

    def topics_of(self, subscriber: _S) -> list[str]:
        """What a subscriber hears."""
        return list(self._of_subscriber.get(subscriber, ()))

    def of(self, topic: str) -> Collection[_S]:
        """Who hears a channel."""
        return self._of_channel.get(topic, {}).keys()

    def all(self) -> Collection[_S]:
        """Everybody who hears anything."""
        return [subscriber for subscriber, topics in self._of_subscriber.items() if topics]

    def topics(self) -> list[str]:
        """All channels that somebody hears."""
        return list(self._of_channel)


def _listed(words: Collection[str]) -> str:
    return ", ".join(sorted(words, key=int))
