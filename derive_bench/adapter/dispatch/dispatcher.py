"""The dispatcher: whose a frame or trade is, what it means, and its hand-over to the emitter.

Contract, in the order it is applied:

- An order frame belongs to the registered order whose label it carries, or, where the label is unknown, to the one it is
  a leg of (known for orders that were replaced); `transitions` says what it means. Without either it becomes an
  `OrderStatusReport`.
- A trade whose id was seen is dropped first. Without an id (not settled yet) or void, it makes no fill and its id is not
  remembered. Otherwise it is an OrderFilled of the order it belongs to, whichever leg made it (OrderAccepted first if
  that is due), or a `FillReport`.
- An element that could not be decoded or holds an illegal number is handed over as a `BadElement` and changes no state.

Hand-over: the state takes up the whole element first, then each emission is handed to the emitter exactly once, in
order. An emitter that raises has still had it: the rest of the payload is handed over, then `EmitterError` is raised,
which carries what was refused and why. So nothing is lost, and the same payload again makes no event twice. Only what is
no `Exception` (an interrupt) leaves at once; the payload may then be given again for the elements not yet reached.
The emitter may call the dispatcher.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from derive_bench.adapter.dispatch.state import ExecutionState, OrderIdentity, Replace
from derive_bench.adapter.dispatch.transitions import (
    LIVE,
    MS,
    DispatchStats,
    Emission,
    Transitions,
    accept,
    due_post_only,
    in_flight,
    settle,
)
from derive_bench.adapter.errors import CallerError, DecodeError
from derive_bench.adapter.events import OrderAccepted, OrderFilled, OrderRejected, new_event_id
from derive_bench.adapter.inbound import check_fill_numbers, liquidity_side, parse_fill_report, parse_order_report
from derive_bench.adapter.messages import BadElement, PrivateOrder, PrivateTrade, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from derive_bench.adapter.model import FillReport

__all__ = ["UNKNOWN_OUTCOME", "VOID_STATUSES", "Dispatcher", "EmitterError", "ReplaceResult"]

VOID_STATUSES: Final = frozenset({"reverted", "timed_out"})
"""`tx_status` (v2) or `batch_status` (v3) of trades that did not happen.

Not among them: the `...Error` batch statuses of v3, which say that a stage of a whole batch's settlement failed, not that
its trades were undone. The public sources do not say more; a caller who knows better passes a set of its own.
"""

UNKNOWN_OUTCOME: Final = frozenset({-32603, 9000, 9001})
"""Error codes of the venue after which a request may still have been carried out."""

_POST_ONLY_CROSSES: Final = 11008
_LIQUIDITY: Final = {role: liquidity_side(role) for role in ("maker", "taker", None)}

_Failures = list[tuple[Emission, Exception]]


class EmitterError(CallerError):
    """The emitter raised. `failures` holds each emission it refused and the exception, in order: keep or retry them."""

    def __init__(self, failures: _Failures) -> None:
        super().__init__(f"the emitter refused {len(failures)} emission(s), the first with {failures[0][1]!r}: see `failures`")
        self.failures = failures


class ReplaceResult(Struct, gc=False):
    """The result of `private/replace`. Without `order` the create failed and the old order stays cancelled."""

    cancelled_order: PrivateOrder
    order: PrivateOrder | None = None
    trades: list[PrivateTrade] | None = None
    create_order_error: RpcError | None = None


class Dispatcher:
    """Turns private payloads into calls of `emit`.

    `emit` takes one `Emission`; what it returns is ignored. `state` is a fresh one unless given. All `ts_init` are UNIX
    ns. `commission_currency` is the currency of `trade_fee`; `void_statuses` are explained at `VOID_STATUSES`.
    """

    def __init__(
        self,
        emit: Callable[[Emission], object],
        state: ExecutionState | None = None,
        *,
        commission_currency: str = "USDC",
        void_statuses: frozenset[str] = VOID_STATUSES,
    ) -> None:
        self._emit = emit
        self.state = ExecutionState() if state is None else state
        self.stats = DispatchStats()
        self._rules = Transitions(self.state, self.stats)
        self._commission_currency = commission_currency
        self._void: frozenset[str | None] = void_statuses
        self._find = self.state.find
        self._find_leg = self.state.find_leg
        self._seen = self.state.trade_ids.items

    # What the caller does with its orders

    def register(self, client_order_id: str, identity: OrderIdentity) -> None:
        """Register an order before its request is sent. `CallerError` when the id is empty or in use."""
        if self.state.register(client_order_id, identity) is not None:
            self.stats.dropped_identities += 1

    def forget(self, client_order_id: str) -> None:
        """Forget an order, for example one whose request was never sent. An unknown id is no error."""
        self.state.forget(client_order_id)

    def on_submit_error(self, client_order_id: str, error: RpcError, ts_init: int) -> None:
        """Take the error reply to an order request: OrderRejected, and the order is forgotten.

        Nothing happens when the outcome is unknown (`UNKNOWN_OUTCOME`) or the venue has spoken of the order already.
        The order and trades of a successful reply go to `on_orders` and `on_trades`.
        """
        tracked = self.state.find(client_order_id)
        if tracked is None or error.code in UNKNOWN_OUTCOME or tracked.accepted or tracked.venue_order_id is not None:
            return
        event = OrderRejected(
            new_event_id(),
            tracked.client_order_id,
            None,
            tracked.instrument_id,
            tracked.strategy_id,
            error.message,
            error.code == _POST_ONLY_CROSSES or due_post_only(error.message),
            ts_init,
            ts_init,
        )
        self.state.forget(tracked.client_order_id)
        self._hand_over((event,))

    def on_replace_sent(self, client_order_id: str, label: str | None = None) -> Replace:
        """Note that a replace of the order's current leg is about to be sent; return the handle for its reply.

        `label` is the one the request gives the new leg, if it is not the client order id: a replacement does not
        inherit it. Events keep the client order id. Raises `CallerError` for an order that is not registered or is
        filled, and for a label that another order goes by.
        """
        state = self.state
        tracked = state.find(client_order_id)
        if tracked is None or tracked.filled:
            raise CallerError(f"client_order_id: no open order {client_order_id!r} is registered")
        if label:
            state.add_label(tracked, label)
        if tracked.venue_order_id is not None:
            state.add_leg(tracked, tracked.venue_order_id)
        replace = Replace(tracked.client_order_id)
        if tracked.replaces is None:
            tracked.replaces = []
        tracked.replaces.append(replace)
        return replace

    def on_replace_reply(self, replace: Replace, result: ReplaceResult, ts_init: int) -> None:
        """Take the result of a replace, before or after the frames of either leg."""
        tracked = self.state.find(replace.client_order_id)
        emissions: list[Emission] = []
        if tracked is not None and (tracked.venue_order_id is not None or in_flight(tracked, replace)):
            order, gone = result.order, result.cancelled_order
            moves = False
            if order is None or order.order_status == "rejected":
                order = tracked.held or gone
            else:
                moves = tracked.venue_order_id is None or gone.order_id == tracked.venue_order_id
            try:
                emissions += self._rules.advance(tracked, order, ts_init, moves)
                settle(tracked, replace)
                emissions += self._rules.release(tracked, ts_init)
            except DecodeError as error:
                emissions.append(self._bad(0, order, error))
        failures: _Failures = []
        self._deliver(emissions, failures)
        if result.trades:
            try:
                self.on_trades(result.trades, ts_init)
            except EmitterError as error:
                failures += error.failures
        _raise_any(failures)

    def on_replace_error(self, replace: Replace, error: RpcError, ts_init: int) -> None:
        """Take the error reply to a replace: the cancel failed, nothing was created, the order lives on.

        With an unknown outcome (`UNKNOWN_OUTCOME`) it stays in flight, as after a time-out: a frame of the new leg
        settles it, or the caller, once it has asked the venue, by `on_replace_failed`.
        """
        if error.code not in UNKNOWN_OUTCOME:
            self.on_replace_failed(replace, ts_init)

    def on_replace_failed(self, replace: Replace, ts_init: int) -> None:
        """Note that a replace created nothing. What ended the order meanwhile, and was held back, is emitted now."""
        tracked = self.state.find(replace.client_order_id)
        if tracked is not None:
            settle(tracked, replace)
            self._hand_over(self._rules.release(tracked, ts_init))

    # What the venue says

    def on_orders(self, orders: Sequence[PrivateOrder | BadElement], ts_init: int) -> None:
        """Take a payload of `{subaccount}.orders`, or orders of a reply or a REST list.

        Raises `EmitterError` after the whole payload was taken, if the emitter raised.
        """
        emit = self._emit
        failures: _Failures | None = None
        for index, order in enumerate(orders):
            emission: Emission
            if isinstance(order, PrivateOrder):
                try:
                    tracked = self._find(order.label)
                    if tracked is None:
                        tracked = self._rules.find_by_leg(order)
                    if tracked is None:
                        emission = parse_order_report(order, ts_init)
                    elif (
                        tracked.venue_order_id is None and not tracked.accepted and order.order_status in LIVE and tracked.replaces is None
                    ):
                        # The usual first frame, without the general way's list and calls.
                        tracked.accepted = True
                        tracked.venue_order_id = venue_order_id = order.order_id
                        emission = OrderAccepted(
                            new_event_id(),
                            tracked.client_order_id,
                            venue_order_id,
                            tracked.instrument_id,
                            tracked.strategy_id,
                            order.creation_timestamp * MS,
                            ts_init,
                        )
                    else:
                        emissions = self._rules.advance(tracked, order, ts_init)
                        if not emissions:
                            continue
                        if len(emissions) > 1:
                            failures = [] if failures is None else failures
                            self._deliver(emissions[:-1], failures)
                        emission = emissions[-1]
                except DecodeError as error:
                    emission = self._bad(index, order, error)
            else:
                emission = self._counted(order)
            try:
                emit(emission)
            except Exception as error:
                failures = [] if failures is None else failures
                failures.append((emission, error))
        if failures is not None:
            _raise_any(failures)

    def on_trades(self, trades: Sequence[PrivateTrade | BadElement], ts_init: int) -> None:
        """Take a payload of `{subaccount}.trades`, or the trades of a reply.

        Raises `EmitterError` after the whole payload was taken, if the emitter raised.
        """
        emit = self._emit
        void = self._void
        failures: _Failures | None = None
        for index, trade in enumerate(trades):
            emission: Emission
            if isinstance(trade, PrivateTrade):
                trade_id = trade.trade_id
                if trade_id in self._seen:
                    self.stats.duplicate_trades += 1
                    continue
                if not trade_id or trade.tx_status in void or trade.batch_status in void:
                    self._count_unfilled(trade_id)
                    continue
                try:
                    tracked = self._find(trade.label)
                    if tracked is None:
                        tracked = self._find_leg(trade.order_id)
                    if tracked is None:
                        emission = parse_fill_report(trade, ts_init, self._commission_currency)
                        self.state.trade_ids.add(trade_id)
                    else:
                        check_fill_numbers(trade)
                        side = _LIQUIDITY.get(trade.liquidity_role)
                        if side is None:
                            side = liquidity_side(trade.liquidity_role)
                        ts_event = trade.timestamp * MS
                        emission = OrderFilled(
                            new_event_id(),
                            tracked.client_order_id,
                            trade.order_id,
                            tracked.instrument_id,
                            tracked.strategy_id,
                            trade_id,
                            tracked.order_side,
                            tracked.order_type,
                            trade.trade_amount,
                            trade.trade_price,
                            trade.trade_fee,
                            self._commission_currency,
                            side,
                            ts_event,
                            ts_init,
                        )
                        self.state.trade_ids.add(trade_id)
                        if not tracked.accepted:
                            failures = [] if failures is None else failures
                            self._deliver((accept(tracked, trade.order_id, ts_event, ts_init),), failures)
                except DecodeError as error:
                    emission = self._bad(index, trade, error)
            else:
                emission = self._counted(trade)
            try:
                emit(emission)
            except Exception as error:
                failures = [] if failures is None else failures
                failures.append((emission, error))
        if failures is not None:
            _raise_any(failures)

    def fill_reports(self, trades: Sequence[PrivateTrade | BadElement], ts_init: int) -> list[FillReport]:
        """Return reports of trades read over REST, without those already seen here or on the stream.

        They count as seen from now on. Bad elements go to the emitter, as those of the stream do.
        """
        trade_ids = self.state.trade_ids
        reports: list[FillReport] = []
        bad: list[Emission] = []
        for index, trade in enumerate(trades):
            if not isinstance(trade, PrivateTrade):
                bad.append(self._counted(trade))
            elif trade.trade_id in trade_ids.items:
                self.stats.duplicate_trades += 1
            elif not trade.trade_id or trade.tx_status in self._void or trade.batch_status in self._void:
                self._count_unfilled(trade.trade_id)
            else:
                try:
                    reports.append(parse_fill_report(trade, ts_init, self._commission_currency))
                except DecodeError as error:
                    bad.append(self._bad(index, trade, error))
                else:
                    trade_ids.add(trade.trade_id)
        self._hand_over(bad)
        return reports

    # Counting and handing over

    def _count_unfilled(self, trade_id: str) -> None:
        if trade_id:
            self.stats.void_trades += 1
        else:
            self.stats.pending_trades += 1

    def _bad(self, index: int, element: PrivateOrder | PrivateTrade, error: DecodeError) -> BadElement:
        return self._counted(BadElement(index, error, msgspec.json.encode(element)))

    def _counted(self, element: BadElement) -> BadElement:
        self.stats.bad_elements += 1
        return element

    def _deliver(self, emissions: Iterable[Emission], failures: _Failures) -> None:
        for emission in emissions:
            try:
                self._emit(emission)
            except Exception as error:
                failures.append((emission, error))

    def _hand_over(self, emissions: Iterable[Emission]) -> None:
        failures: _Failures = []
        self._deliver(emissions, failures)
        _raise_any(failures)


def _raise_any(failures: _Failures) -> None:
    if failures:
        raise EmitterError(failures) from failures[0][1]
