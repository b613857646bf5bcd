"""Frames: the bytes of one WebSocket message to what they say.

Contract: `decode` takes one text frame (`bytes`, `bytearray`, `memoryview` or `str`) and returns a `Subscription` with a
typed payload, a `Response`, an `ErrorResponse`, a `Notification` or a `Heartbeat`; anything else is a `DecodeError` with
the JSON path. Any field order, white space and unknown fields are taken. Of a key that stands twice, the last counts.

Frames of the documented form, with or without `jsonrpc` in front, go through one typed pass for envelope and payload. One
byte of the topic proposes the pass; afterwards it must be the one that belongs to the decoded topic. Every other frame,
and every frame that fails there, takes the general way, which alone decides what is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec
from msgspec import Raw, Struct

from derive_bench.adapter.channels import Channel, ChannelKind, parse_channel
from derive_bench.adapter.errors import CallerError, DecodeError
from derive_bench.adapter.lenient import FAULTS, LONG, check_nesting, decode_payload
from derive_bench.adapter.messages import (
    BadElement,
    BalanceUpdate,
    Candle,
    FullTicker,
    InstrumentRecord,
    Millis,
    OrderBook,
    PrivateOrder,
    PrivateTrade,
    PublicTrade,
    RpcError,
    SpotFeed,
    Ticker,
)

__all__ = [
    "ErrorResponse",
    "Frame",
    "Heartbeat",
    "Notification",
    "RequestId",
    "Response",
    "Subscription",
    "decode",
    "decode_candles",
    "decode_instruments",
    "decode_result",
]

RequestId = str | int | float | None
"""The `id` of a request, as its reply repeats it."""

_T = TypeVar("_T")
_R = TypeVar("_R")


class Subscription(Struct, Generic[_T], gc=False):
    """A subscription's message: its topic and typed payload (`Raw` where the topic is not known)."""

    topic: str = msgspec.field(name="channel")
    data: _T

    @property
    def channel(self) -> Channel:
        """The topic taken apart."""
        return parse_channel(self.topic)


class Response(Struct):
    """A successful reply; `result` is its JSON, for `decode_result` or `decode_payload`."""

    id: RequestId
    result: Raw


class ErrorResponse(Struct):
    """A failed reply; `id` is None where the venue could not read the request's."""

    id: RequestId
    error: RpcError


class Notification(Struct):
    """A message with a method other than `subscription`; `params` is its JSON, empty where there is none."""

    method: str
    params: Raw


class Heartbeat(Struct):
    """The bare text `ping` or `pong`, which is not JSON. A ping is to be answered with the text `pong`."""

    text: str


Frame = Subscription[Any] | Response | ErrorResponse | Notification | Heartbeat


class _Typed(Struct, Generic[_T], gc=False):
    method: Literal["subscription"]
    params: Subscription[_T]


class _Envelope(Struct):
    id: Raw = Raw()
    method: str | None = None
    params: Raw = Raw()
    result: Raw = Raw()
    error: Raw = Raw()


class _RawSubscription(Struct):
    channel: str
    data: Raw


class _Publication(Struct):
    timestamp: Millis | None = None
    instrument_ticker: Raw = Raw()


_FORM: Final = b'{"method":"subscription","params":{"channel":"'
_FORM_JSONRPC: Final = b'{"jsonrpc":"2.0",' + _FORM[1:]
_THIRD: Final = len(_FORM) + 2
"""Where the topic's third byte stands: `d` of orderbook, `c` of ticker_slim, `a` of trades; it tells these apart."""
_THIRD_JSONRPC: Final = len(_FORM_JSONRPC) + 2
_CACHE_MAX: Final = 16_384
_DATA: Final = "$.params.data"
_JSON_SPACE: Final = b" \t\r\n"

_ONE_PASS: Final[dict[ChannelKind, Callable[[bytes], Any]]] = {
    kind: msgspec.json.Decoder(_Typed[payload]).decode  # type: ignore[valid-type]
    for kind, payload in (
        (ChannelKind.ORDERBOOK, OrderBook),
        (ChannelKind.TICKER_SLIM, Ticker),
        (ChannelKind.TRADES, list[PublicTrade]),
        (ChannelKind.ORDERS, list[PrivateOrder]),
        (ChannelKind.PRIVATE_TRADES, list[PrivateTrade]),
    )
}
_candles: Final = msgspec.json.Decoder(list[Candle]).decode
_ONE_PASS[ChannelKind.SETTLED_TRADES] = _ONE_PASS[ChannelKind.TRADES]
_id: Final[Callable[[Raw], RequestId]] = msgspec.json.Decoder(RequestId).decode
_envelope: Final = msgspec.json.Decoder(_Envelope).decode
_raw_subscription: Final = msgspec.json.Decoder(_RawSubscription).decode

_OnePass = Callable[[bytes], Any]
_by_third: Final[list[_OnePass | None]] = [None] * 256
_by_third[ord("d")] = _ONE_PASS[ChannelKind.ORDERBOOK]
_by_third[ord("c")] = _ONE_PASS[ChannelKind.TICKER_SLIM]
_by_third[ord("a")] = _ONE_PASS[ChannelKind.TRADES]
_by_topic: Final[dict[str, _OnePass]] = {}
_NOT_ONE_PASS: Final = (*FAULTS, LookupError, ValueError)


def decode(frame: bytes | bytearray | memoryview | str) -> Frame:
    """Decode one frame. Raises `DecodeError` with the JSON path for whatever is not a message of the venue's."""
    if type(frame) is not bytes:
        frame = _to_bytes(frame)
    if len(frame) > LONG:
        check_nesting(frame)
    try:
        one_pass = _by_third[frame[_THIRD]] or _find_pass(frame)
        if one_pass is None:
            return _decode_any(frame)
        message: Subscription[Any] = one_pass(frame).params
        if _by_topic[message.topic] is one_pass:
            return message
    except _NOT_ONE_PASS:
        pass
    return _decode_any(frame)


def decode_candles(result: bytes | Raw) -> list[Candle]:
    """Decode the array of `public/get_tradingview_chart_data`. Raises `DecodeError`."""
    try:
        if len(memoryview(result)) <= LONG:
            return _candles(result)
    except FAULTS:
        pass
    return decode_payload(list[Candle], result)


def decode_instruments(result: bytes | Raw) -> list[InstrumentRecord]:
    """Decode the array of `public/get_instruments`. Raises `DecodeError`."""
    return decode_payload(list[InstrumentRecord], result)


def decode_result(response: Response, kind: type[_R]) -> _R:
    """Decode a reply's result into a message type. Raises `DecodeError`."""
    return decode_payload(kind, response.result, "$.result")


def _to_bytes(frame: object) -> bytes:
    if isinstance(frame, str):
        try:
            return frame.encode()
        except UnicodeEncodeError as error:
            raise DecodeError(f"a lone surrogate at character {error.start}") from None
    if isinstance(frame, (bytes, bytearray, memoryview)):
        return bytes(frame)
    raise CallerError(f"a frame is bytes, bytearray, memoryview or str, not {type(frame).__name__}")


def _find_pass(frame: bytes) -> _OnePass | None:
    """Return the pass of a private topic's frame, or of one with `jsonrpc` in front; None where there is none, as for replies."""
    if frame.startswith(_FORM):
        at = len(_FORM)
    elif frame.startswith(_FORM_JSONRPC):
        one_pass = _by_third[frame[_THIRD_JSONRPC]]
        if one_pass is not None:
            return one_pass
        at = len(_FORM_JSONRPC)
    else:
        return None
    return _by_topic.get(frame[at : frame.find(b'"', at)].decode("ascii"))


def _learn(topic: str, kind: ChannelKind) -> None:
    one_pass = _ONE_PASS.get(kind)
    if one_pass is not None:
        if len(_by_topic) >= _CACHE_MAX:
            _by_topic.clear()
        _by_topic[topic] = one_pass


def _decode_any(frame: bytes) -> Frame:
    try:
        envelope = _envelope(frame)
    except FAULTS as error:
        text = frame.strip(_JSON_SPACE)
        if text in (b"ping", b"pong"):
            return Heartbeat(text.decode())
        raise DecodeError.from_msgspec(error) from None
    if envelope.method == "subscription":
        return _subscription(envelope.params)
    if envelope.method is not None:
        return Notification(envelope.method, envelope.params)
    if not envelope.id:
        raise DecodeError("neither a subscription, a reply nor a notification: no `method` and no `id`")
    reply_to = _request_id(envelope.id)
    if envelope.error and bytes(envelope.error) != b"null":
        return ErrorResponse(reply_to, decode_payload(RpcError, envelope.error, "$.error"))
    if not envelope.result:
        raise DecodeError("a reply without `result` or `error`")
    return Response(reply_to, envelope.result)


def _request_id(raw: Raw) -> RequestId:
    try:
        return _id(raw)
    except FAULTS as error:
        raise DecodeError.from_msgspec(error, "$.id") from None


def _subscription(params: Raw) -> Subscription[Any]:
    if not params:
        raise DecodeError("Object missing required field `params`")
    try:
        outer = _raw_subscription(params)
    except FAULTS as error:
        raise DecodeError.from_msgspec(error, "$.params") from None
    kind = parse_channel(outer.channel).kind
    read = _PAYLOADS.get(kind)
    message = Subscription(outer.channel, outer.data if read is None else read(outer.data))
    _learn(outer.channel, kind)
    return message


def _full_ticker(data: Raw) -> Ticker:
    """Read `ticker.*`, whose long object comes either bare or under `instrument_ticker`."""
    outer = decode_payload(_Publication, data, _DATA)
    if not outer.instrument_ticker:
        ticker = decode_payload(FullTicker, data, _DATA)
        return Ticker(ticker.body(), ticker.timestamp)
    if outer.timestamp is None:
        raise DecodeError("Object missing required field `timestamp`", _DATA)
    inner = decode_payload(FullTicker, outer.instrument_ticker, f"{_DATA}.instrument_ticker")
    return Ticker(inner.body(), outer.timestamp)


def _elements(kind: type[_T], data: Raw) -> list[_T | BadElement]:
    """Read a private array element by element, so that a bad one does not take its neighbours with it."""
    good: list[_T | BadElement] = []
    for index, raw in enumerate(decode_payload(list[Raw], data, _DATA)):
        try:
            good.append(decode_payload(kind, raw, f"{_DATA}[{index}]"))
        except DecodeError as error:
            good.append(BadElement(index, error, bytes(raw)))
    return good


_PAYLOADS: Final[dict[ChannelKind, Callable[[Raw], Any]]] = {
    ChannelKind.ORDERBOOK: lambda data: decode_payload(OrderBook, data, _DATA),
    ChannelKind.TICKER_SLIM: lambda data: decode_payload(Ticker, data, _DATA),
    ChannelKind.TICKER: _full_ticker,
    ChannelKind.TRADES: lambda data: decode_payload(list[PublicTrade], data, _DATA),
    ChannelKind.SETTLED_TRADES: lambda data: decode_payload(list[PublicTrade], data, _DATA),
    ChannelKind.ORDERS: lambda data: _elements(PrivateOrder, data),
    ChannelKind.PRIVATE_TRADES: lambda data: _elements(PrivateTrade, data),
    ChannelKind.BALANCES: lambda data: decode_payload(list[BalanceUpdate], data, _DATA),
    ChannelKind.SPOT_FEED: lambda data: decode_payload(SpotFeed, data, _DATA),
}
