"""Subscriptions: what the caller wants, what the venue has confirmed, and what must be asked to make the two one.

Contract: no channel is asked for while it is asked for, confirmed or being left, so none is ever subscribed twice on one connection.
Changes of mind during a request take effect after its answer. A channel whose request was not answered, or refused for a
reason that passes, is *unsure*: it is asked for, or left, again after `retry`. A refused one stays wanted, for the next connection.

Source: PROTOCOL.md, WebSocket: `subscribe` and `unsubscribe`, and their answers per channel.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from typing import Final

from msgspec import Struct

from derive_bench.adapter.channels import parse_channel
from derive_bench.adapter.session.events import ChannelRefused, ChannelSubscribed, ChannelUnsubscribed

__all__ = ["SubscribeResult", "Subscriptions", "UnsubscribeResult", "is_private"]

_GOOD: Final = ("ok", "already subscribed")


class SubscribeResult(Struct):
    """Result of ``subscribe``."""

    status: dict[str, str] = {}
    current_subscriptions: list[str] = []


class UnsubscribeResult(Struct):
    """Result of ``unsubscribe``."""

    status: dict[str, str] = {}
    remaining_subscriptions: list[str] = []


class _Status(Enum):
    ASKED = auto()
    CONFIRMED = auto()
    LEAVING = auto()
    REFUSED = auto()
    UNSURE = auto()


def is_private(channel: str) -> bool:
    """Whether a channel needs a login."""
    return parse_channel(channel).subaccount is not None


class Subscriptions:
    """The channels of one session."""

    def __init__(self) -> None:
        self._wanted: dict[str, None] = {}
        self._status: dict[str, _Status] = {}
        self.changed = False
        """Whether `due` may have something to say."""

    @property
    def wanted(self) -> tuple[str, ...]:
        """What the caller wants, in the order it was asked for."""
        return tuple(self._wanted)

    @property
    def confirmed(self) -> frozenset[str]:
        """What the venue has confirmed on this connection, and is not asked to end."""
        return frozenset(channel for channel, status in self._status.items() if status is _Status.CONFIRMED)

    def want(self, channels: Iterable[str]) -> None:
        """Want these too; one that was refused is asked for again."""
        for channel in channels:
            self._wanted[channel] = None
            if self._status.get(channel) is _Status.REFUSED:
                del self._status[channel]
        self.changed = True

    def unwant(self, channels: Iterable[str]) -> None:
        """Want these no more."""
        for channel in channels:
            self._wanted.pop(channel, None)
            if self._status.get(channel) is _Status.REFUSED:
                del self._status[channel]
        self.changed = True

    def due(self, *, retry: bool, private: bool) -> tuple[list[str], list[str]]:
        """What to subscribe and what to leave now; both count as asked.

        `retry` says whether unsure ones are due again, `private` whether private ones may be asked for.
        """
        self.changed = False
        join = [
            channel
            for channel in self._wanted
            if (status := self._status.get(channel)) is None or (retry and status is _Status.UNSURE)
            if private or not is_private(channel)
        ]
        leave = [
            channel
            for channel, status in self._status.items()
            if channel not in self._wanted and (status is _Status.CONFIRMED or (retry and status is _Status.UNSURE))
        ]
        self._status.update(dict.fromkeys(join, _Status.ASKED))
        self._status.update(dict.fromkeys(leave, _Status.LEAVING))
        return join, leave

    @property
    def any_unsure(self) -> bool:
        """Whether something has to be asked again."""
        return _Status.UNSURE in self._status.values()

    def joined(self, channels: Iterable[str], result: SubscribeResult) -> list[ChannelSubscribed | ChannelRefused]:
        """Take the answer to `subscribe` for these channels."""
        events: list[ChannelSubscribed | ChannelRefused] = []
        current = frozenset(result.current_subscriptions)
        for channel in channels:
            word = result.status.get(channel, "ok" if channel in current else "the answer says nothing of this channel")
            if word in _GOOD:
                self._status[channel] = _Status.CONFIRMED
                events.append(ChannelSubscribed(channel))
            else:
                events.append(self._refuse(channel, word, None))
        self.changed = True
        return events

    def left(self, channels: Iterable[str], result: UnsubscribeResult) -> list[ChannelUnsubscribed]:
        """Take the answer to `unsubscribe` for these channels: one that remains in spite of it is unsure."""
        events = []
        remaining = frozenset(result.remaining_subscriptions)
        for channel in channels:
            if channel in remaining and result.status.get(channel) != "ok":
                self._status[channel] = _Status.UNSURE
                continue
            self._status.pop(channel, None)
            events.append(ChannelUnsubscribed(channel))
        self.changed = True
        return events

    def refused(self, channels: Iterable[str], reason: str, code: int | None) -> list[ChannelRefused]:
        """The whole request was refused for good."""
        self.changed = True
        return [self._refuse(channel, reason, code) for channel in channels]

    def refuse_private(self, reason: str) -> list[ChannelRefused]:
        """There is no login on this connection: private channels that wait for one are refused."""
        waiting = [channel for channel in self._wanted if channel not in self._status and is_private(channel)]
        return [self._refuse(channel, reason, None) for channel in waiting]

    def unsure(self, channels: Iterable[str]) -> None:
        """No answer, one that says nothing, or a request that was never sent."""
        self._status.update(dict.fromkeys(channels, _Status.UNSURE))

    def lose(self) -> None:
        """The connection has gone, and its subscriptions with it."""
        self._status.clear()
        self.changed = True

    def _refuse(self, channel: str, reason: str, code: int | None) -> ChannelRefused:
        if channel in self._wanted:
            self._status[channel] = _Status.REFUSED
        else:
            self._status.pop(channel, None)
        return ChannelRefused(channel, reason, code)
