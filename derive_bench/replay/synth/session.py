"""The session itself: what is sent next, when, and on which connection.

Contract: `synthesise(plan)` returns a header and an iterator over the records: two connections (`1` for the market, `2` for the
account), their first requests, then frames of all kinds in the plan's proportions until exactly `plan.frames` were received.
`FaultsLeft` is raised at the end when faults that were asked for found no place, so a session that is whole has them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from derive_bench.adapter.protocol import PROTOCOLS
from derive_bench.replay.records import Connect, Disconnect, Frame, Header, Record
from derive_bench.replay.synth.account import Account
from derive_bench.replay.synth.book import SynthBook
from derive_bench.replay.synth.dice import Dice
from derive_bench.replay.synth.faults import Faults, FaultsLeft, add_unknown_fields, spoil
from derive_bench.replay.synth.instruments import INSTRUMENTS
from derive_bench.replay.synth.plan import KINDS, START_NS, Plan
from derive_bench.replay.synth.wire import SUBACCOUNT, WALLET, Wire

__all__ = ["synthesise"]

_MARKET: Final = "1"
_ACCOUNT: Final = "2"
_LAG_MS: Final = 8
"""From the venue's timestamp to our receiving it, at least."""
_UNKNOWN_TOPIC: Final = '{"method":"subscription","params":{"channel":"auctions.ETH","data":{"timestamp":0}}}'


def synthesise(plan: Plan) -> tuple[Header, Iterator[Record]]:
    """Return the header and the records of a plan's session."""
    instruments = INSTRUMENTS[: plan.instruments]
    header = Header(
        protocol=plan.protocol,
        start_ns=START_NS,
        tool="derive_bench synth",
        instruments=[instrument.record() for instrument in instruments],
        info={"synth": plan.as_info()},
    )
    return header, _Session(plan).records()


class _Session:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._protocol = PROTOCOLS[plan.protocol]
        self._dice = dice = Dice(plan.seed)
        self._wire = Wire("v2" if plan.protocol.startswith("v2") else "v3", dice)
        self._books = [SynthBook(instrument, dice) for instrument in INSTRUMENTS[: plan.instruments]]
        self._depths = [plan.depths[index % len(plan.depths)] for index in range(plan.instruments)]
        self._publish_ids = [1_000_000 + dice.below(9_000_000) for _ in self._books]
        self._volumes = [5_000_000 + dice.below(1_000_000) for _ in self._books]
        self._trades = [4_000] * len(self._books)
        self._account = Account(self._books, self._wire, dice)
        self._faults = Faults(plan.faults, plan.frames)
        self._time_ns = START_NS
        self._received = 0
        self._sent = dict.fromkeys(KINDS, 0)
        self._weights = [plan.mix.get(kind, 0) for kind in KINDS]
        self._last_trade = ""
        self._last_book = ""

    def records(self) -> Iterator[Record]:
        """Yield the session until so many frames were received."""
        frames = self._plan.frames
        for record in self._all():
            yield record
            if isinstance(record, Frame) and record.direction == "in":
                self._received += 1
                if self._received == frames:
                    break
        if self._faults.left:
            left = ", ".join(f"{count} {kind}" for kind, count in self._faults.left.items())
            raise FaultsLeft(f"faults: no place was found for {left} in {frames:,} frames; give more frames, or a mix with frames for them")

    def _all(self) -> Iterator[Record]:
        for connection in (_MARKET, _ACCOUNT):
            yield Connect(self._tick(), connection, self._protocol.ws_url)
            yield from self._greeting(connection)
        while True:
            yield from self._next()
            yield from self._extra()

    def _next(self) -> Iterator[Record]:
        kind = self._choose()
        if kind == "book":
            yield from self._book()
        elif kind == "ticker":
            yield from self._ticker()
        elif kind == "trade":
            yield from self._trade()
        else:
            yield from self._private()

    def _choose(self) -> str:
        """Return a kind by chance, but none that is ahead of its share: a private act sends several frames."""
        total, weight = sum(self._sent.values()) + 8, sum(self._weights)
        while True:
            kind = KINDS[self._dice.pick(self._weights)]
            if self._sent[kind] * weight <= total * self._weights[KINDS.index(kind)]:
                return kind

    def _book(self) -> Iterator[Record]:
        place = self._dice.below(len(self._books))
        book, depth = self._books[place], self._depths[place]
        book.evolve(depth, self._plan.change)
        self._publish_ids[place] += 1
        if self._faults.due("gaps", self._received):
            self._publish_ids[place] += 1 + self._dice.below(5)
        topic = f"orderbook.{book.instrument.name}.1.{depth}"
        self._last_book = self._wire.notification(topic, self._wire.book(book, depth, self._publish_ids[place], self._ms()))
        yield self._in("book", self._last_book)
        if self._faults.due("regressions", self._received):
            yield self._in("book", self._last_book)

    def _ticker(self) -> Iterator[Record]:
        place = self._dice.below(len(self._books))
        book = self._books[place]
        payload = self._wire.ticker(book, self._ms(), self._volumes[place], self._trades[place])
        yield self._in("ticker", self._wire.notification(f"ticker_slim.{book.instrument.name}.100", payload))

    def _trade(self) -> Iterator[Record]:
        dice = self._dice
        place = dice.below(len(self._books))
        book, buy = self._books[place], bool(dice.below(2))
        level = book.take(buy, dice.small(book.instrument.most))
        self._volumes[place] += level.steps
        self._trades[place] += 1
        payload = self._wire.public_trade(book.instrument, level, buy, dice.uuid(), self._ms())
        yield self._in("trade", self._wire.notification(f"trades.{book.instrument.name}", payload))

    def _private(self) -> Iterator[Record]:
        reorder = self._account.can_replace and self._faults.due("reorders", self._received)
        for act in self._account.step(self._tick(), reorder):
            if act.channel == "request":
                yield Frame(self._tick(), act.text.encode(), "out", _ACCOUNT)
            elif act.channel == "public":
                yield self._in("trade", act.text)
            else:
                if act.channel == "trades":
                    self._last_trade = act.text
                yield self._in("private", act.text)

    def _extra(self) -> Iterator[Record]:
        """Yield faults that are frames of their own."""
        faults = self._faults
        if self._last_trade and faults.due("duplicates", self._received):
            yield Disconnect(self._tick(), _ACCOUNT, "1006 abnormal closure")
            yield Connect(self._tick(), _ACCOUNT, self._protocol.ws_url)
            yield from self._greeting(_ACCOUNT)
            yield self._in("private", self._last_trade)
        if faults.due("unknown_topics", self._received):
            yield self._in("ticker", _UNKNOWN_TOPIC)
        if self._last_book and faults.due("malformed", self._received):
            yield Frame(self._tick(), spoil(self._last_book, self._dice), "in", _MARKET)

    def _greeting(self, connection: str) -> Iterator[Record]:
        """Yield a connection's first requests and their replies."""
        if connection == _ACCOUNT:
            signed = f'"wallet":"{WALLET}","timestamp":"{self._ms()}","signature":"0x{"07" * 65}"'
            login = f'{{"id":1,"method":"public/login","params":{{{signed}}}}}'
            yield Frame(self._tick(), login.encode(), "out", connection)
            yield Frame(self._tick(), b'{"id":1,"result":[%d]}' % SUBACCOUNT, "in", connection)
            topics = [f"{SUBACCOUNT}.orders", f"{SUBACCOUNT}.trades"]
        else:
            names = [book.instrument.name for book in self._books]
            topics = [f"orderbook.{name}.1.{depth}" for name, depth in zip(names, self._depths, strict=True)]
            topics += [f"{channel}.{name}{tail}" for channel, tail in (("ticker_slim", ".100"), ("trades", "")) for name in names]
        listed = ",".join(f'"{topic}"' for topic in topics)
        status = ",".join(f'"{topic}":"ok"' for topic in topics)
        yield Frame(self._tick(), f'{{"id":2,"method":"subscribe","params":{{"channels":[{listed}]}}}}'.encode(), "out", connection)
        reply = f'{{"id":2,"result":{{"status":{{{status}}},"current_subscriptions":[{listed}]}}}}'
        yield Frame(self._tick(), reply.encode(), "in", connection)

    def _in(self, kind: str, text: str) -> Frame:
        self._sent[kind] += 1
        if '"data":' in text and self._faults.due("unknown_fields", self._received):
            text = add_unknown_fields(text)
        return Frame(self._tick(), text.encode(), "in", _ACCOUNT if kind == "private" else _MARKET)

    def _tick(self) -> int:
        self._time_ns += 1 + self._dice.below(2_000_000_000 // self._plan.rate)
        return self._time_ns

    def _ms(self) -> int:
        return self._time_ns // 1_000_000 - _LAG_MS - self._dice.below(5)
