"""The hot path as one call: a received frame to the events it makes.

Contract: `Pipeline.receive(raw, ts_init)` decodes a frame, parses it with its instrument's precisions, or dispatches it where it
is private, and returns the events, in order: what `derive_bench.adapter` gives for it, nothing else. It raises what the adapter
raises; a frame that makes no event returns an empty sequence. `sent` takes what we sent, so that orders are known under the
labels they were given and replies find their requests. `ts_init` is the time of receipt, ns.

What `receive` returns for a private frame is valid until the next call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from derive_bench.adapter.book import parse_order_book_deltas
from derive_bench.adapter.channels import ChannelKind, parse_channel
from derive_bench.adapter.dispatch import Dispatcher, DispatchStats, OrderIdentity, Replace, ReplaceResult
from derive_bench.adapter.errors import CallerError
from derive_bench.adapter.frames import ErrorResponse, Frame, Response, Subscription, decode, decode_result
from derive_bench.adapter.inbound import parse_ticker, parse_trades
from derive_bench.adapter.instruments import VENUE, Instrument, InstrumentRegistry
from derive_bench.adapter.messages import PrivateOrder, PrivateTrade
from derive_bench.adapter.model import OrderSide, OrderType

__all__ = ["Pipeline"]


_STRATEGY: Final = "replay"
_ENTRIES_MOST: Final = 16_384

_Handler = Callable[[Subscription[Any], int], Sequence[Any]]


class _OrderReply(Struct):
    order: PrivateOrder
    trades: list[PrivateTrade] = []


class _Params(Struct):
    label: str | None = None
    instrument_name: str = ""
    direction: str = ""
    order_type: str = "limit"
    order_id_to_cancel: str | None = None
    subaccount_id: int = 0


class _Request(Struct):
    id: str | int | float | None = None
    method: str = ""
    params: msgspec.Raw = msgspec.Raw()


class _Pending(Struct):
    method: str
    label: str
    subaccount: int
    replace: Replace | None = None


_request: Final = msgspec.json.Decoder(_Request).decode
_params: Final = msgspec.json.Decoder(_Params).decode
_SIDES: Final = {"buy": OrderSide.BUY, "sell": OrderSide.SELL}
_TYPES: Final = {"limit": OrderType.LIMIT, "market": OrderType.MARKET}
# A cancel's reply is left to the frame that comes with it: the order would be forgotten before the frame is there.
_ORDERING: Final = frozenset({"private/order", "private/trigger_order", "private/replace"})


class Pipeline:
    """One adapter at work; it remembers orders and trades as a live one does."""

    def __init__(self, instruments: InstrumentRegistry) -> None:
        self.instruments = instruments
        self.restart()

    def restart(self) -> None:
        """Forget everything: orders, trades, requests."""
        self.message: Frame | None = None
        """The last frame that could be decoded."""
        self._dispatchers: dict[int, Dispatcher] = {}
        self._emitted: list[Any] = []
        self._handlers: dict[str, _Handler] = {}
        self._pending: dict[tuple[str, Any], _Pending] = {}
        self._client_ids: dict[str, str] = {}

    @property
    def stats(self) -> DispatchStats:
        """What the dispatchers counted, taken together."""
        total = DispatchStats()
        for dispatcher in self._dispatchers.values():
            for name in DispatchStats.__struct_fields__:
                setattr(total, name, getattr(total, name) + getattr(dispatcher.stats, name))
        return total

    def receive(self, raw: bytes, ts_init: int, connection: str = "1") -> Sequence[Any]:
        """Return the events of one frame. Raises `DecodeError`, `UnknownInstrument`."""
        self.message = message = decode(raw)
        if type(message) is Subscription:
            handler = self._handlers.get(message.topic) or self._learn(message.topic)
            return handler(message, ts_init)
        if isinstance(message, (Response, ErrorResponse)):
            pending = self._pending.pop((connection, message.id), None)
            if pending is not None:
                return self._reply(pending, message, ts_init)
        return ()

    def sent(self, raw: bytes, connection: str = "1") -> None:
        """Take a request of ours: its order is registered, its reply awaited. What is none is passed over."""
        try:
            request = _request(raw)
            if request.method not in _ORDERING:
                return
            params = _params(request.params)
        except (msgspec.MsgspecError, UnicodeError):
            return
        pending = _Pending(request.method, params.label or "", params.subaccount_id)
        if request.method == "private/replace":
            pending.replace = self._replace_sent(params, pending.label)
        elif pending.label:
            self._register(params, pending.label)
        _make_room(self._pending)
        self._pending[connection, request.id] = pending

    def _learn(self, topic: str) -> _Handler:
        """Return what takes a topic's messages, and remember it; a channel nobody knows makes no events."""
        channel = parse_channel(topic)
        if channel.kind is ChannelKind.ORDERBOOK:
            handler = _books(self.instruments.by_topic[topic])
        elif channel.kind in (ChannelKind.TICKER_SLIM, ChannelKind.TICKER):
            handler = _tickers(self.instruments.by_topic[topic])
        elif channel.kind in (ChannelKind.TRADES, ChannelKind.SETTLED_TRADES):
            handler = _trades(self.instruments)
        elif channel.kind is ChannelKind.ORDERS:
            handler = _private(self._dispatcher(channel.subaccount or 0).on_orders, self._emitted)
        elif channel.kind is ChannelKind.PRIVATE_TRADES:
            handler = _private(self._dispatcher(channel.subaccount or 0).on_trades, self._emitted)
        else:
            handler = _nothing
        _make_room(self._handlers)
        self._handlers[topic] = handler
        return handler

    def _reply(self, pending: _Pending, message: Response | ErrorResponse, ts_init: int) -> Sequence[Any]:
        self._emitted.clear()
        dispatcher = self._dispatcher(pending.subaccount)
        if isinstance(message, ErrorResponse):
            if pending.replace is not None:
                dispatcher.on_replace_error(pending.replace, message.error, ts_init)
            elif pending.label:
                dispatcher.on_submit_error(pending.label, message.error, ts_init)
        elif pending.method == "private/replace":
            replaced = decode_result(message, ReplaceResult)
            if pending.replace is not None:
                if replaced.order is not None:
                    self._remember(replaced.order.order_id, pending.replace.client_order_id)
                dispatcher.on_replace_reply(pending.replace, replaced, ts_init)
        else:
            placed = decode_result(message, _OrderReply)
            self._remember(placed.order.order_id, pending.label)
            dispatcher.on_orders([placed.order], ts_init)
            if placed.trades:
                dispatcher.on_trades(placed.trades, ts_init)
        return self._emitted

    def _dispatcher(self, subaccount: int) -> Dispatcher:
        dispatcher = self._dispatchers.get(subaccount)
        if dispatcher is None:
            dispatcher = self._dispatchers[subaccount] = Dispatcher(self._emitted.append)
        return dispatcher

    def _register(self, params: _Params, label: str) -> None:
        side, kind = _SIDES.get(params.direction), _TYPES.get(params.order_type)
        if side is not None and kind is not None:
            dispatcher = self._dispatcher(params.subaccount_id)
            # A label used before is the venue's to refuse; here the later order counts.
            dispatcher.forget(label)
            dispatcher.register(label, OrderIdentity(f"{params.instrument_name}.{VENUE}", _STRATEGY, side, kind))

    def _replace_sent(self, params: _Params, label: str) -> Replace | None:
        """Note a replace of an order whose own reply was seen; of any other, its frames alone must tell."""
        client_order_id = self._client_ids.get(params.order_id_to_cancel or "")
        if client_order_id is None:
            return None
        try:
            return self._dispatcher(params.subaccount_id).on_replace_sent(client_order_id, label)
        except CallerError:
            return None

    def _remember(self, venue_order_id: str, client_order_id: str) -> None:
        _make_room(self._client_ids)
        self._client_ids[venue_order_id] = client_order_id


# Handlers: functions that hold what does not change between the messages of a topic.


def _books(instrument: Instrument) -> _Handler:
    def handle(message: Subscription[Any], ts_init: int) -> Sequence[Any]:
        return (parse_order_book_deltas(message.data, instrument, ts_init),)

    return handle


def _tickers(instrument: Instrument) -> _Handler:
    def handle(message: Subscription[Any], ts_init: int) -> Sequence[Any]:
        return parse_ticker(message.data, instrument, ts_init)

    return handle


def _trades(instruments: InstrumentRegistry) -> _Handler:
    def handle(message: Subscription[Any], ts_init: int) -> Sequence[Any]:
        return parse_trades(message.data, instruments, ts_init)

    return handle


def _private(dispatch: Callable[[Any, int], None], emitted: list[Any]) -> _Handler:
    def handle(message: Subscription[Any], ts_init: int) -> Sequence[Any]:
        emitted.clear()
        dispatch(message.data, ts_init)
        return emitted

    return handle


def _nothing(_message: Subscription[Any], _ts_init: int) -> Sequence[Any]:
    return ()


def _make_room(memory: dict[Any, Any]) -> None:
    """Let the oldest entry go when there are too many."""
    if len(memory) >= _ENTRIES_MOST:
        del memory[next(iter(memory))]
