"""An account at work: orders placed, filled in parts, replaced and cancelled, as requests, replies and private frames.

Contract: `step` returns what one act of the account's puts on its connection, in order, each frame with its direction. Labels are new
for each order, also for a replacement. A fill happens at the order's price, against an aggressor, and is in the public trades too.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from derive_bench.adapter.protocol import ERROR_CODES
from derive_bench.replay.synth.book import Level, SynthBook
from derive_bench.replay.synth.dice import Dice
from derive_bench.replay.synth.wire import SUBACCOUNT, OrderState, Wire

__all__ = ["Account", "Act"]

_ORDERS: Final = f"{SUBACCOUNT}.orders"
_TRADES: Final = f"{SUBACCOUNT}.trades"
_FEWEST: Final = 4
_MOST: Final = 40
_PLACE, _CANCEL, _REPLACE, _FILL = range(4)
_ACTS: Final = [30, 20, 15, 35]
_POST_ONLY_CROSSES: Final = 11008


class Act(NamedTuple):
    """One frame of the account's. `channel`: `orders`, `trades`, `reply`, `request`, or `public` for a trade of everyone's."""

    channel: str
    text: str


class Account:
    """The account and its open orders."""

    def __init__(self, books: list[SynthBook], wire: Wire, dice: Dice) -> None:
        self._books = books
        self._wire = wire
        self._dice = dice
        self._open: list[OrderState] = []
        self._requests = 1_000
        self._labels = 0

    def step(self, time_ns: int, reorder: bool) -> list[Act]:
        """Do one thing. With `reorder` it is a replace whose frames come in the wrong order, if an order is open."""
        if reorder and self._open:
            return self._replace(time_ns, reorder)
        act = self._dice.pick(_ACTS) if len(self._open) > _FEWEST else _PLACE
        if len(self._open) >= _MOST:
            act = _CANCEL
        if act == _PLACE:
            return self._place(time_ns)
        if act == _CANCEL:
            return self._cancel(time_ns)
        return self._replace(time_ns, reorder=False) if act == _REPLACE else self._fill(time_ns)

    @property
    def can_replace(self) -> bool:
        """Whether an order is open."""
        return bool(self._open)

    def _place(self, time_ns: int) -> list[Act]:
        dice = self._dice
        order = self._new_order(self._books[dice.below(len(self._books))], time_ns, bool(dice.below(2)))
        number = self._next_request()
        request = Act("request", self._wire.order_request(number, order))
        if order.post_only and dice.share(60):
            error = f'{{"code":{_POST_ONLY_CROSSES},"message":"{ERROR_CODES[_POST_ONLY_CROSSES]}","data":null}}'
            return [request, Act("reply", f'{{"id":{number},"error":{error}}}')]
        self._open.append(order)
        reply = Act("reply", f'{{"id":{number},"result":{{"order":{self._wire.order(order)},"trades":[]}}}}')
        frame = self._orders(order)
        return [request, reply, frame] if dice.below(2) else [request, frame, reply]

    def _cancel(self, time_ns: int) -> list[Act]:
        order = self._take_out()
        order.updated_ms = time_ns // 1_000_000
        if self._dice.share(80):
            order.status = "expired"
            return [self._orders(order)]
        order.status, order.cancel_reason = "cancelled", "user_request"
        number = self._next_request()
        reply = Act("reply", f'{{"id":{number},"result":{self._wire.order(order)}}}')
        return [Act("request", self._wire.cancel_request(number, order)), reply, self._orders(order)]

    def _replace(self, time_ns: int, reorder: bool) -> list[Act]:
        old = self._take_out()
        new = self._new_order(self._book(old), time_ns, old.buy)
        new.replaced = old.order_id
        old.status, old.cancel_reason = "cancelled", "user_request"
        old.updated_ms = time_ns // 1_000_000
        new.created_ms = new.updated_ms = old.updated_ms + 1
        self._open.append(new)
        number = self._next_request()
        result = f'{{"cancelled_order":{self._wire.order(old)},"order":{self._wire.order(new)},"trades":[]}}'
        request = Act("request", self._wire.order_request(number, new, old.order_id))
        frames = [self._orders(new), self._orders(old)] if reorder else [self._orders(old), self._orders(new)]
        return [request, Act("reply", f'{{"id":{number},"result":{result}}}'), *frames]

    def _fill(self, time_ns: int) -> list[Act]:
        dice, ms = self._dice, time_ns // 1_000_000
        best = [place for place, order in enumerate(self._open) if self._is_best(order)]
        if not best:
            return self._place(time_ns)
        place = best[dice.below(len(best))]
        order = self._open[place]
        left = order.steps - order.filled
        steps = left if dice.share(350) else min(left, dice.small(left))
        order.filled += steps
        order.cost += steps * order.ticks
        order.updated_ms = ms
        if order.filled == order.steps:
            order.status = "filled"
            del self._open[place]
        level, trade_id = Level(order.ticks, steps, ""), dice.uuid()
        public = self._wire.notification(
            f"trades.{order.instrument.name}", self._wire.public_trade(order.instrument, level, not order.buy, trade_id, ms)
        )
        ours = Act("trades", self._wire.notification(_TRADES, self._wire.private_trade(order, level, trade_id, ms)))
        frame = self._orders(order)
        return [Act("public", public), *([ours, frame] if dice.below(2) else [frame, ours])]

    def _is_best(self, order: OrderState) -> bool:
        """Whether an order's price is at the market, so that a trade can happen at it."""
        book = self._book(order)
        bid, ask = book.bids[0].ticks, book.asks[0].ticks
        return bid <= order.ticks < ask if order.buy else bid < order.ticks <= ask

    def _book(self, order: OrderState) -> SynthBook:
        return next(book for book in self._books if book.instrument is order.instrument)

    def _new_order(self, book: SynthBook, time_ns: int, buy: bool) -> OrderState:
        dice, ms = self._dice, time_ns // 1_000_000
        best = book.bids[0] if buy else book.asks[0]
        self._labels += 1
        return OrderState(
            instrument=book.instrument,
            order_id=dice.uuid(),
            label=f"mm7-{self._labels:08x}-{dice.hex(4)}",
            buy=buy,
            ticks=best.ticks,
            steps=dice.small(book.instrument.most),
            nonce=self._wire.nonce(time_ns),
            created_ms=ms,
            updated_ms=ms,
            post_only=bool(dice.below(2)),
        )

    def _orders(self, order: OrderState) -> Act:
        return Act("orders", self._wire.notification(_ORDERS, f"[{self._wire.order(order)}]"))

    def _take_out(self) -> OrderState:
        return self._open.pop(self._dice.below(len(self._open)))

    def _next_request(self) -> int:
        self._requests += 1
        return self._requests
