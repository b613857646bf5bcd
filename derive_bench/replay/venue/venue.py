"""The venue: accounts, engine, subscriptions and faults of one tape, put together.

Contract: without I/O. A :class:`Peer` is whoever sends requests: a connection, or one HTTP request. What the engine does is kept as
private notifications until :meth:`Venue.updates` is asked for them, so that the server decides whether they go before or after the reply.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from derive_bench.adapter.channels import parse_channel
from derive_bench.adapter.instruments import InstrumentRegistry
from derive_bench.adapter.protocol import Protocol
from derive_bench.replay.venue.accounts import Account, Accounts
from derive_bench.replay.venue.derived import Derived
from derive_bench.replay.venue.engine import Engine
from derive_bench.replay.venue.faults import Faults
from derive_bench.replay.venue.ledger import Change
from derive_bench.replay.venue.market import QUOTING, Market
from derive_bench.replay.venue.orders import Fill, Order
from derive_bench.replay.venue.outbox import Frame, Outbox
from derive_bench.replay.venue.subscriptions import PRIVATE, Subscribers
from derive_bench.replay.venue.views import balance_views, fill_view, order_view

__all__ = ["Control", "Peer", "Venue"]

_numbers = itertools.count(1)
_encode: Final = msgspec.json.Encoder().encode


class Control:
    """What the control methods may ask of the player: see `pump`. This one plays nothing."""

    def start(self) -> None:
        """Play on."""

    def pause(self) -> None:
        """Stop playing, until told to start."""

    def state(self) -> dict[str, Any]:
        """Where the tape stands."""
        return {}


@dataclass(eq=False, slots=True)
class Peer:
    """Whoever sends requests.

    Attributes:
        is_local: whether it may use the control methods.
        outbox: of a WebSocket connection; an HTTP request has none, and cannot subscribe.
        account: whom it has logged in as.
    """

    is_local: bool
    outbox: Outbox | None = None
    account: Account | None = None
    number: int = field(default_factory=lambda: next(_numbers))


class Venue:
    """See the module's text. `records` are the instruments as the API gives them, by name.

    Attributes:
        topics: channels that the tape is known to have.
    """

    def __init__(
        self,
        protocol: Protocol,
        records: Mapping[str, dict[str, Any]],
        accounts: Accounts,
        faults: Faults,
        *,
        clock_ns: Callable[[], int] = time.time_ns,
        max_open: int = 1_000,
    ) -> None:
        self.protocol = protocol
        self.records = records
        self.instruments = InstrumentRegistry(records.values())
        self.accounts = accounts
        self.faults = faults
        self.clock_ns = clock_ns
        self.market = Market()
        self.engine = Engine(protocol, self.instruments, self.market, self, clock_ns, max_open=max_open)
        self.subscribers: Subscribers[Peer] = Subscribers()
        self.derived = Derived(self.instruments)
        self.control = Control()
        self.topics: set[str] = set()
        self.peers: dict[int, Peer] = {}
        self.slow_cut = 0
        self._updates: list[tuple[str, str, bytes]] = []

    # -- the engine's listener ---------------------------------------------------------------------------------------

    def order_changed(self, order: Order) -> None:
        """Keep the `.orders` notification."""
        self._note(order, "orders", [order_view(order, self.protocol)])

    def filled(self, fill: Fill) -> None:
        """Keep the `.trades` notification, and in v2 the one of `.trades.pending`."""
        views = [fill_view(fill, self.protocol)]
        self._note(fill.order, "trades", views)
        if self.protocol.dialect == "v2":
            self._note(fill.order, "trades.pending", views)

    def holdings_changed(self, order: Order, changes: list[Change]) -> None:
        """Keep the `.balances` notification."""
        self._note(order, "balances", balance_views(changes))

    # -- notifications -----------------------------------------------------------------------------------------------

    def updates(self) -> Iterator[tuple[Iterable[Peer], str, Frame]]:
        """Private notifications that have gathered, each with those it is for; they are then gone."""
        kept, self._updates = self._updates, []
        for owner, topic, payload in kept:
            peers = [peer for peer in self.subscribers.of(topic) if peer.account and peer.account.wallet.lower() == owner]
            if peers:
                yield peers, topic, Frame(payload)

    def play(self, topic: str | None, frame: bytes, tape_ns: int) -> Iterator[tuple[Iterable[Peer], str, Frame]]:
        """A frame of the tape: whom it goes to, and what else follows from it. One without topic goes to all who listen."""
        if topic is None:
            yield self.subscribers.all(), "", Frame(frame)
            return
        channel = parse_channel(topic)
        self.topics.add(topic)
        self.derived.see(channel)
        peers = self.subscribers.of(topic)
        if peers:
            yield peers, topic, Frame(frame)
        for made_topic, made in self.derived.make(channel, frame, tape_ns):
            yield self.subscribers.of(made_topic), made_topic, Frame(made)
        if channel.kind not in PRIVATE:
            self.engine.played(channel, frame)
            yield from self.updates()

    def expect(self, topics: Mapping[str, bytes]) -> None:
        """The tape has these channels, and they begin with these frames: what is known of prices before it is played."""
        for topic, frame in topics.items():
            channel = parse_channel(topic)
            self.topics.add(topic)
            self.derived.see(channel)
            if channel.kind in QUOTING:
                self.market.feed(channel, frame)

    def subscribed(self) -> None:
        """Subscriptions have changed."""
        self.derived.want(self.subscribers.topics())

    def gone(self, peer: Peer) -> None:
        """A connection has ended: its subscriptions end, and where its wallet wants it so, its orders."""
        self.peers.pop(peer.number, None)
        self.subscribers.forget(peer)
        self.subscribed()
        if peer.outbox is not None:
            self.slow_cut += peer.outbox.slow
            peer.outbox.close()
        if peer.account is not None and peer.account.cancel_on_disconnect:
            self.engine.disconnected(peer.account)

    def kinds(self) -> dict[str, str]:
        """`instrument_type` by name."""
        return {name: str(instrument.kind) for name, instrument in self.instruments.items()}

    def _note(self, order: Order, stream: str, views: list[dict[str, Any]]) -> None:
        topic = f"{order.subaccount_id}.{stream}"
        payload = _encode({"method": "subscription", "params": {"channel": topic, "data": views}})
        self._updates.append((order.owner, topic, payload))
