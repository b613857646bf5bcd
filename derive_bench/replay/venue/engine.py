"""The engine: orders in, fills against the tape, and word of both to whoever listens.

Contract: without I/O. A command either returns what it did or raises `Refused` and has done nothing, but for a replace, whose cancel
stands when its create fails, as at the venue. What happens to an order or a holding is told to the `listener` at once, in order.

How orders trade, which is what a tape allows without guessing: the tape is never moved by them. An order that takes does so at the
tape's best price, up to the amount shown there, each order anew; what is left of it rests (GTC) or is cancelled (IOC, market). A resting
order is filled at its own price: whole when a trade on the tape goes through it (strictly beyond its price), and up to the amount shown
when the other side's best price reaches it. :meth:`Engine.fill` fills one on request.
"""

from __future__ import annotations

import heapq
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from derive_bench.adapter import protocol as dialects
from derive_bench.adapter.channels import Channel
from derive_bench.adapter.errors import UnknownInstrument
from derive_bench.adapter.instruments import Instrument, InstrumentRegistry
from derive_bench.replay.venue import rules
from derive_bench.replay.venue.accounts import Account
from derive_bench.replay.venue.ledger import Change, Ledger
from derive_bench.replay.venue.market import Market, Quote
from derive_bench.replay.venue.orders import Fill, Order
from derive_bench.replay.venue.params import OrderParams, ReplaceParams
from derive_bench.replay.venue.refusals import Refused
from derive_bench.replay.venue.units import product, text_of, to_units

__all__ = ["Engine", "Listener", "Replaced"]

USER: Final = "user_request"
PARTIAL: Final = "ioc_or_market_partial_fill"
DISCONNECT: Final = "cancel_on_disconnect"

_KEPT: Final = 100_000
"""Orders remembered after their end, and fills."""
_GONE: Final = {"cancelled": 11003, "filled": 11004, "expired": 11005}


class Listener(Protocol):
    """Who is told what happens."""

    def order_changed(self, order: Order) -> None:
        """An order is new or has changed."""

    def filled(self, fill: Fill) -> None:
        """An order was filled; follows its `order_changed`."""

    def holdings_changed(self, order: Order, changes: list[Change]) -> None:
        """A fill of `order` moved its subaccount's holdings."""


@dataclass(slots=True, kw_only=True)
class Replaced:
    """What became of a replace."""

    cancelled: Order
    order: Order | None = None
    fills: list[Fill]
    refused: Refused | None = None


class Engine:
    """Orders of all accounts on the tape's instruments.

    `clock_ns` returns UTC ns; `new_id` a fresh identifier; `max_open` limits the open orders of a subaccount (11019).
    """

    def __init__(
        self,
        protocol: dialects.Protocol,
        instruments: InstrumentRegistry,
        market: Market,
        listener: Listener,
        clock_ns: Callable[[], int],
        *,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
        max_open: int = 1_000,
    ) -> None:
        self._protocol = protocol
        self._instruments = instruments
        self._market = market
        self._listener = listener
        self._clock_ns = clock_ns
        self._new_id = new_id
        self._max_open = max_open
        self._orders: OrderedDict[str, Order] = OrderedDict()
        self._resting: dict[str, dict[str, Order]] = {}
        self._expiries: list[tuple[int, str]] = []
        self._ledgers: dict[tuple[str, int], Ledger] = {}
        self.fills: deque[Fill] = deque(maxlen=_KEPT)

    # -- commands ----------------------------------------------------------------------------------------------------

    def place(self, account: Account, params: OrderParams, replaced: Order | None = None) -> tuple[Order, list[Fill]]:
        """Place an order: itself, and what it took from the tape at once. Raises `Refused`, as `rules` says, and 11007, 11019."""
        instrument = self.instrument(params.instrument_name)
        terms = rules.check_order(params, account, instrument, self._protocol, self._clock_ns())
        quote = self._market.quote(instrument.name)
        limit = self._reducible(account, params) if params.reduce_only else terms.amount
        takes = rules.check_against_market(params, terms, instrument, quote)
        self._check_own(account, params, terms)
        account.nonces.add(terms.nonce)
        order = self._new_order(account, params, terms, replaced)
        best = rules.opposite(quote, order.is_bid)
        if best is not None and not takes and rules.crosses(order.is_bid, order.limit_price, best[0]):
            order.limit_price = best[0] - self._tick(instrument) if order.is_bid else best[0] + self._tick(instrument)
        self._keep(order)
        fills = []
        if takes and best is not None:
            fills.append(self._fill(order, min(order.amount, best[1], limit), best[0], is_maker=False, quote=quote, tell=False))
        rests = params.order_type == "limit" and params.time_in_force in ("gtc", "post_only")
        if order.is_open and not rests:
            order.end("cancelled", PARTIAL, self._now_ms())
        if order.is_open:
            self._rest(order)
        self._listener.order_changed(order)
        for fill in fills:
            self._tell(fill)
        return order, fills

    def replace(self, account: Account, params: ReplaceParams) -> Replaced:
        """Cancel one order and place another. Raises `Refused` where the first cannot be cancelled: then nothing is done."""
        account.check_subaccount(params.subaccount_id)
        if (params.order_id_to_cancel is None) is (params.nonce_to_cancel is None):
            raise Refused(-32602, "Give exactly one of order_id_to_cancel and nonce_to_cancel")
        if params.order_id_to_cancel is not None:
            old = self._mine(account, params.subaccount_id, params.order_id_to_cancel, params.instrument_name)
        else:
            old = self._of_nonce(account, params.subaccount_id, str(params.nonce_to_cancel), params.instrument_name)
        expected = params.expected_filled_amount
        if expected is not None and to_units(expected, "$.params.expected_filled_amount") != old.filled:
            raise Refused(11028, f"{text_of(old.filled)} of it is filled, not {expected}")
        self._end(old, "cancelled", USER)
        try:
            order, fills = self.place(account, params, old)
        except Refused as refused:
            return Replaced(cancelled=old, fills=[], refused=refused)
        return Replaced(cancelled=old, order=order, fills=fills)

    def cancel(self, account: Account, subaccount: int, order_id: str, name: str) -> Order:
        """Cancel one order. Raises `Refused`: 11003 to 11006, 14001."""
        account.check_subaccount(subaccount)
        order = self._mine(account, subaccount, order_id, name)
        self._end(order, "cancelled", USER)
        return order

    def cancel_by_nonce(self, account: Account, subaccount: int, nonce: str, name: str) -> int:
        """Cancel the order of a nonce: how many that were. Without one, the nonce is used up."""
        account.check_subaccount(subaccount)
        try:
            order = self._of_nonce(account, subaccount, nonce, name)
        except Refused:
            if nonce.isascii() and nonce.isdigit():
                account.nonces.add(int(nonce))
            return 0
        self._end(order, "cancelled", USER)
        return 1

    def cancel_where(self, account: Account, subaccount: int, *, name: str | None = None, label: str | None = None) -> int:
        """Cancel all open orders of a subaccount, of an instrument or a label only where given: how many that were."""
        account.check_subaccount(subaccount)
        chosen = [
            order
            for order in self.open_orders(account, subaccount)
            if name in (None, order.instrument_name) and label in (None, order.label)
        ]
        return self._end_all(chosen, "cancelled", USER)

    def disconnected(self, account: Account) -> int:
        """A connection of a wallet that wants it so has gone: cancel all its orders, and say how many that were."""
        return self._end_all(list(self._open(account.wallet.lower())), "cancelled", DISCONNECT)

    # -- the tape and the script -------------------------------------------------------------------------------------

    def played(self, channel: Channel, frame: bytes) -> None:
        """A frame of the tape has been played: fill the resting orders that it reaches."""
        for name, quote, prices in self._market.feed(channel, frame):
            for order in list(self._resting.get(name, {}).values()):
                if any(price < order.limit_price if order.is_bid else price > order.limit_price for price in prices):
                    self._fill(order, order.remaining, order.limit_price, is_maker=True, quote=quote)
                    continue
                best = rules.opposite(quote, order.is_bid)
                if best is not None and rules.crosses(order.is_bid, order.limit_price, best[0]):
                    self._fill(order, min(order.remaining, best[1]), order.limit_price, is_maker=True, quote=quote)

    def fill(self, order_id: str, amount: int | None = None, price: int | None = None) -> Fill:
        """Fill a resting order as the script says; all that is left, at its own price, where not told. Raises `Refused`."""
        order = self._orders.get(order_id)
        if order is None or not order.is_open:
            raise Refused(11006, f"Open order with id: {order_id} does not exist.")
        amount = order.remaining if amount is None else amount
        if not 0 < amount <= order.remaining:
            raise Refused(11012, f"{text_of(order.remaining)} of it is left: {text_of(amount)} cannot be filled")
        quote = self._market.quote(order.instrument_name)
        return self._fill(order, amount, order.limit_price if price is None else price, is_maker=True, quote=quote)

    def expire(self) -> int:
        """End the orders whose signature has expired, and say how many those were. To be called now and then."""
        now_sec = self._clock_ns() // 10**9
        due = []
        while self._expiries and self._expiries[0][0] <= now_sec:
            order = self._orders.get(heapq.heappop(self._expiries)[1])
            if order is not None and order.is_open:
                due.append(order)
        return self._end_all(due, "expired", "")

    # -- questions ---------------------------------------------------------------------------------------------------

    def instrument(self, name: str) -> Instrument:
        """An instrument. Raises `Refused` (12001)."""
        try:
            return self._instruments[name]
        except UnknownInstrument:
            raise Refused(12001, f"Instrument {name[:64]} does not exist") from None

    def order(self, account: Account, subaccount: int, order_id: str) -> Order:
        """An order, whatever became of it. Raises `Refused` (11006)."""
        account.check_subaccount(subaccount)
        order = self._orders.get(order_id)
        if order is None or not _is_of(order, account, subaccount):
            raise Refused(11006, f"Order with id: {order_id[:64]} does not exist.")
        return order

    def open_orders(self, account: Account, subaccount: int) -> list[Order]:
        """Open orders of a subaccount, oldest first."""
        return [order for order in self._open(account.wallet.lower()) if order.subaccount_id == subaccount]

    def orders(self, account: Account) -> Iterator[Order]:
        """All remembered orders of a wallet, oldest first."""
        return (order for order in self._orders.values() if order.owner == account.wallet.lower())

    def ledger(self, account: Account, subaccount: int) -> Ledger:
        """The holdings of a subaccount."""
        return self._ledger(account.wallet.lower(), subaccount)

    # -- within ------------------------------------------------------------------------------------------------------

    def _now_ms(self) -> int:
        return self._clock_ns() // 10**6

    def _tick(self, instrument: Instrument) -> int:
        return to_units(f"{instrument.tick:f}")

    def _ledger(self, owner: str, subaccount: int) -> Ledger:
        return self._ledgers.setdefault((owner, subaccount), Ledger())

    def _open(self, owner: str) -> Iterable[Order]:
        return (order for resting in self._resting.values() for order in resting.values() if order.owner == owner)

    def _reducible(self, account: Account, params: OrderParams) -> int:
        position = self.ledger(account, params.subaccount_id).position(params.instrument_name)
        if position == 0 or (position > 0) is (params.direction == "buy"):
            raise Refused(11025, f"A position of {text_of(position)} would not be reduced")
        return abs(position)

    def _check_own(self, account: Account, params: OrderParams, terms: rules.Terms) -> None:
        mine = self.open_orders(account, params.subaccount_id)
        if len(mine) >= self._max_open:
            raise Refused(11019, f"{len(mine)} orders are open, at most {self._max_open} may be")
        is_bid = params.direction == "buy"
        for order in mine:
            other_side = order.instrument_name == params.instrument_name and order.is_bid is not is_bid
            if other_side and rules.crosses(is_bid, terms.price, order.limit_price):
                raise Refused(11007, f"It would cross your own order {order.order_id}")

    def _new_order(self, account: Account, params: OrderParams, terms: rules.Terms, replaced: Order | None) -> Order:
        now_ms = self._now_ms()
        return Order(
            owner=account.wallet.lower(),
            subaccount_id=params.subaccount_id,
            order_id=self._new_id(),
            instrument_name=params.instrument_name,
            is_bid=params.direction == "buy",
            amount=terms.amount,
            limit_price=terms.price,
            signed_price=terms.price,
            max_fee=terms.max_fee,
            nonce=terms.nonce,
            signature=params.signature,
            signature_expiry_sec=params.signature_expiry_sec,
            signer=params.signer,
            order_type=params.order_type,
            time_in_force=params.time_in_force,
            label=params.label or "",
            mmp=bool(params.mmp),
            reduce_only=bool(params.reduce_only),
            created_ms=now_ms,
            updated_ms=now_ms,
            replaced_order_id=None if replaced is None else replaced.order_id,
        )

    def _keep(self, order: Order) -> None:
        self._orders[order.order_id] = order
        if len(self._orders) > _KEPT:
            oldest = next((each for each in self._orders.values() if not each.is_open), None)
            if oldest is not None:
                del self._orders[oldest.order_id]

    def _rest(self, order: Order) -> None:
        self._resting.setdefault(order.instrument_name, {})[order.order_id] = order
        self._market.watched.add(order.instrument_name)
        heapq.heappush(self._expiries, (order.signature_expiry_sec, order.order_id))

    def _forget(self, order: Order) -> None:
        resting = self._resting.get(order.instrument_name, {})
        resting.pop(order.order_id, None)
        if not resting:
            self._market.watched.discard(order.instrument_name)

    def _mine(self, account: Account, subaccount: int, order_id: str, name: str) -> Order:
        order = self._orders.get(order_id)
        if order is None or not _is_of(order, account, subaccount) or order.instrument_name != name:
            raise Refused(11006, f"Open order with id: {order_id[:64]} does not exist.")
        if not order.is_open:
            raise Refused(_GONE.get(order.status, 11006), f"Order {order_id} is {order.status}")
        return order

    def _of_nonce(self, account: Account, subaccount: int, nonce: str, name: str) -> Order:
        for order in self.open_orders(account, subaccount):
            if str(order.nonce) == nonce and order.instrument_name == name:
                return order
        raise Refused(11006, f"Open order with nonce: {nonce[:64]} does not exist.")

    def _end(self, order: Order, status: str, reason: str) -> None:
        order.end(status, reason, self._now_ms())
        self._forget(order)
        self._listener.order_changed(order)

    def _end_all(self, orders: list[Order], status: str, reason: str) -> int:
        for order in orders:
            self._end(order, status, reason)
        return len(orders)

    def _fill(self, order: Order, amount: int, price: int, *, is_maker: bool, quote: Quote, tell: bool = True) -> Fill:
        instrument = self._instruments[order.instrument_name]
        spot = quote.spot or price
        rate = instrument.maker_fee if is_maker else instrument.taker_fee
        fee = product(product(to_units(f"{rate:f}"), spot), amount) + (0 if is_maker else to_units(f"{instrument.base_fee:f}"))
        order.fill(amount, price, fee, self._now_ms())
        fill = Fill(
            order=order,
            trade_id=self._new_id(),
            op_id=self._new_id(),
            price=price,
            amount=amount,
            fee=fee,
            is_maker=is_maker,
            index=quote.index or spot,
            mark=quote.mark or spot,
            timestamp_ms=order.updated_ms,
        )
        self.fills.append(fill)
        if not order.is_open:
            self._forget(order)
        if tell:
            self._listener.order_changed(order)
            self._tell(fill)
        return fill

    def _tell(self, fill: Fill) -> None:
        order = fill.order
        self._listener.filled(fill)
        changes = self._ledger(order.owner, order.subaccount_id).book(fill, self._instruments[order.instrument_name])
        self._listener.holdings_changed(order, changes)


def _is_of(order: Order, account: Account, subaccount: int) -> bool:
    return order.owner == account.wallet.lower() and order.subaccount_id == subaccount
