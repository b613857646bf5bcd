"""Typed messages to domain types.

Contract: each `parse_*` takes a message, the instrument it is about and the caller's time `ts_init` (ns), and returns an
immutable domain type. Prices and sizes are exact, rounded half-even to the instrument's precision where the venue
sends more digits. `ts_event` is the venue's publication time in ns. A number text that is not legal raises `DecodeError`
with its path. Books have a module of their own (`book`).

How exactness is kept: several texts are handed to a JSON parser at once as `-{text}e{precision}`, which yields an
integer only where the scaled value is integral as a double; below 2**52 that integer is the half-even rounding. Texts with a
sign, an exponent or more digits than the precision fail there and go through exact decimals.
"""

from __future__ import annotations

from typing import Final

import msgspec

from derive_bench.adapter.instruments import VENUE, Instrument, InstrumentRegistry
from derive_bench.adapter.messages import Candle, OpenInterest, OptionPricing, PrivateOrder, PrivateTrade, PublicTrade, Ticker, TickerBody
from derive_bench.adapter.model import (
    AggressorSide,
    Bar,
    FillReport,
    FundingRateUpdate,
    IndexPriceUpdate,
    LiquiditySide,
    MarkPriceUpdate,
    OptionGreeks,
    OrderSide,
    OrderStatus,
    OrderStatusReport,
    OrderType,
    QuoteTick,
    TimeInForce,
    TradeTick,
    TriggerType,
)
from derive_bench.adapter.numbers import EXACT_LIMIT, MAX_DIGITS, exact, scaled

__all__ = [
    "TickerEvent",
    "check_fill_numbers",
    "liquidity_side",
    "parse_bar",
    "parse_fill_report",
    "parse_funding_rate",
    "parse_index_price",
    "parse_mark_price",
    "parse_option_greeks",
    "parse_order_report",
    "parse_quote",
    "parse_ticker",
    "parse_trade",
    "parse_trades",
]

TickerEvent = QuoteTick | MarkPriceUpdate | IndexPriceUpdate | FundingRateUpdate | OptionGreeks
"""What a ticker can tell."""

_MS: Final = 1_000_000
_S: Final = 1_000_000_000
_BODY: Final = "$.params.data.instrument_ticker"

_LOWEST: Final = -EXACT_LIMIT
"""None of several values that are at most 0 is below this when their sum is not."""
_one: Final = msgspec.json.Decoder(int, strict=False).decode
_two: Final = msgspec.json.Decoder(tuple[int, int], strict=False).decode
_four: Final = msgspec.json.Decoder(tuple[int, int, int, int], strict=False).decode
_five: Final = msgspec.json.Decoder(tuple[int, int, int, int, int], strict=False).decode
_six: Final = msgspec.json.Decoder(tuple[int, int, int, int, int, int], strict=False).decode
_seven: Final = msgspec.json.Decoder(tuple[int, int, int, int, int, int, float], strict=False).decode
_three_plain: Final = msgspec.json.Decoder(tuple[float, float, float]).decode
_four_plain: Final = msgspec.json.Decoder(tuple[float, float, float, float]).decode
_float: Final = msgspec.json.Decoder(float).decode
_grammar: Final = msgspec.json.Decoder(msgspec.Raw).decode
_interest: Final = msgspec.json.Decoder(OpenInterest).decode
_NOT_INTEGRAL: Final = (msgspec.MsgspecError, UnicodeError, IndexError)
"""What the quick way raises for texts that it does not take, the empty one among them."""

# Longest joined texts of which no single number can exceed the 40 digits that are legal: 40, one digit for each of the
# other numbers, and the signs, commas, brackets and exponents around them.
_TWO_MAX: Final = 40 + 1 + 9
_FOUR_MAX: Final = 40 + 3 + 17
_FIVE_MAX: Final = 40 + 4 + 21
_SIX_MAX: Final = 40 + 5 + 25
_THREE_PLAIN_MAX: Final = 40 + 2 + 13
_FOUR_PLAIN_MAX: Final = 40 + 3 + 17

_GREEKS: Final = ("d", "g", "v", "t", "r", "i", "bi", "ai", "f")
_NUMERIC: Final = b"0123456789.-"
_TEN_NUMBERS: Final = b"[,,,,,,,,,]"


def parse_quote(ticker: Ticker, instrument: Instrument, ts_init: int) -> QuoteTick:
    """Return best bid and ask. An empty side has price and size 0."""
    body = ticker.instrument_ticker
    price, size = instrument.price_tail, instrument.size_tail
    text = f"[-{body.b}{price},-{body.a}{price},-{body.B}{size},-{body.A}{size}]"
    try:
        bid, ask, bid_size, ask_size = _four(text)
        if not (bid + ask + bid_size + ask_size > _LOWEST and len(text) <= _FOUR_MAX):
            raise UnicodeError
    except _NOT_INTEGRAL:
        return _quote_exactly(ticker, instrument, ts_init)
    return QuoteTick(
        instrument.id,
        -bid,
        -ask,
        -bid_size,
        -ask_size,
        instrument.price_precision,
        instrument.size_precision,
        ticker.timestamp * _MS,
        ts_init,
    )


def parse_ticker(ticker: Ticker, instrument: Instrument, ts_init: int) -> tuple[TickerEvent, ...]:
    """Return all that a ticker tells: quote, mark price, index price, and funding rate and greeks where it has them.

    They are what `parse_quote` and its neighbours give, with one pass over the numbers.
    """
    body = ticker.instrument_ticker
    price, size, rate = instrument.price_tail, instrument.size_tail, body.f
    text = f"[-{body.b}{price},-{body.a}{price},-{body.B}{size},-{body.A}{size},-{body.M}{price},-{body.I}{price}"
    try:
        if rate is None:
            bid, ask, bid_size, ask_size, mark, index = _six(f"{text}]")
        else:
            bid, ask, bid_size, ask_size, mark, index, _ = _seven(f"{text},{rate}e0]" if rate[0] == "-" else f"{text},-{rate}e0]")
        if not (bid + ask + bid_size + ask_size + mark + index > _LOWEST and len(text) < _SIX_MAX):
            raise UnicodeError
        if rate is not None and len(rate) > MAX_DIGITS:
            raise UnicodeError
    except _NOT_INTEGRAL:
        parts = (parse(ticker, instrument, ts_init) for parse in _TICKER_PARTS)
        return tuple(part for part in parts if part is not None)
    name, places, ts_event = instrument.id, instrument.price_precision, ticker.timestamp * _MS
    quote = QuoteTick(name, -bid, -ask, -bid_size, -ask_size, places, instrument.size_precision, ts_event, ts_init)
    mark_price, index_price = (
        MarkPriceUpdate(name, -mark, places, ts_event, ts_init),
        IndexPriceUpdate(name, -index, places, ts_event, ts_init),
    )
    if rate is not None:
        funding = FundingRateUpdate(name, rate, ts_event, ts_init)
        if body.option_pricing is None:
            return quote, mark_price, index_price, funding
        return quote, mark_price, index_price, funding, _greeks_of(ticker, body.option_pricing, instrument, ts_init)
    if body.option_pricing is None:
        return quote, mark_price, index_price
    return quote, mark_price, index_price, _greeks_of(ticker, body.option_pricing, instrument, ts_init)


def parse_mark_price(ticker: Ticker, instrument: Instrument, ts_init: int) -> MarkPriceUpdate:
    """Return the mark price."""
    text = ticker.instrument_ticker.M
    try:
        value = _one(f"-{text}{instrument.price_tail}")
        if not (value > _LOWEST and len(text) <= MAX_DIGITS):
            raise UnicodeError
    except _NOT_INTEGRAL:
        value = -scaled(text, instrument.price_precision, f"{_BODY}.M")
    return MarkPriceUpdate(instrument.id, -value, instrument.price_precision, ticker.timestamp * _MS, ts_init)


def parse_index_price(ticker: Ticker, instrument: Instrument, ts_init: int) -> IndexPriceUpdate:
    """Return the index price."""
    text = ticker.instrument_ticker.I
    try:
        value = _one(f"-{text}{instrument.price_tail}")
        if not (value > _LOWEST and len(text) <= MAX_DIGITS):
            raise UnicodeError
    except _NOT_INTEGRAL:
        value = -scaled(text, instrument.price_precision, f"{_BODY}.I")
    return IndexPriceUpdate(instrument.id, -value, instrument.price_precision, ticker.timestamp * _MS, ts_init)


def parse_funding_rate(ticker: Ticker, instrument: Instrument, ts_init: int) -> FundingRateUpdate | None:
    """Return the hourly funding rate, or None where the ticker has none (options, spot)."""
    text = ticker.instrument_ticker.f
    if text is None:
        return None
    try:
        _float(f"{text}e0" if text[0] == "-" else f"-{text}e0")
        if len(text) > MAX_DIGITS:
            raise UnicodeError
    except _NOT_INTEGRAL:
        exact(text, f"{_BODY}.f")
    return FundingRateUpdate(instrument.id, text, ticker.timestamp * _MS, ts_init)


def parse_option_greeks(ticker: Ticker, instrument: Instrument, ts_init: int) -> OptionGreeks | None:
    """Return greeks and implied volatilities, or None where the ticker has no option pricing."""
    pricing = ticker.instrument_ticker.option_pricing
    return None if pricing is None else _greeks_of(ticker, pricing, instrument, ts_init)


def parse_trade(trade: PublicTrade, instrument: Instrument, ts_init: int, index: int = 0) -> TradeTick:
    """Return a public trade; `index` is its place in the message, for errors.

    The direction is the participant's: with role taker, or without a role, the aggressor's side, with role maker the
    opposite one, and with a role the venue adds there is none.
    """
    text = f"[-{trade.trade_price}{instrument.price_tail},-{trade.trade_amount}{instrument.size_tail}]"
    try:
        price, size = _two(text)
        if not (price + size > _LOWEST and len(text) <= _TWO_MAX):
            raise UnicodeError
    except _NOT_INTEGRAL:
        price = -scaled(trade.trade_price, instrument.price_precision, f"$.params.data[{index}].trade_price")
        size = -scaled(trade.trade_amount, instrument.size_precision, f"$.params.data[{index}].trade_amount")
    direction, role = trade.direction, trade.liquidity_role
    if role is None or role == "taker":
        aggressor = _BUYER if direction == "buy" else _SELLER if direction == "sell" else _NO_AGGRESSOR
    else:
        aggressor = _AGAINST_MAKER.get(direction, _NO_AGGRESSOR) if role == "maker" else _NO_AGGRESSOR
    return TradeTick(
        instrument.id,
        -price,
        -size,
        instrument.price_precision,
        instrument.size_precision,
        aggressor,
        trade.trade_id,
        trade.timestamp * _MS,
        ts_init,
    )


def parse_trades(trades: list[PublicTrade], instruments: InstrumentRegistry, ts_init: int) -> list[TradeTick]:
    """Return all trades of a message, in its order, each with its own instrument. Raises `UnknownInstrument`."""
    # Most messages hold one trade, for which a comprehension's own call would cost more than it saves.
    ticks = []
    for index, trade in enumerate(trades):
        ticks.append(parse_trade(trade, instruments[trade.instrument_name], ts_init, index))
    return ticks


def parse_bar(candle: Candle, instrument: Instrument, ts_init: int, index: int = 0) -> Bar:
    """Return a candle as a bar; `index` is its place in the array, for errors."""
    price, size = instrument.price_tail, instrument.size_tail
    prices = f"[-{candle.open_price}{price},-{candle.high_price}{price},-{candle.low_price}{price}"
    text = f"{prices},-{candle.close_price}{price},-{candle.volume_contracts}{size}]"
    try:
        opened, high, low, close, volume = _five(text)
        if not (opened + high + low + close + volume > _LOWEST and len(text) <= _FIVE_MAX):
            raise UnicodeError
    except _NOT_INTEGRAL:
        return _bar_exactly(candle, instrument, ts_init, index)
    return Bar(
        instrument.id,
        -opened,
        -high,
        -low,
        -close,
        -volume,
        instrument.price_precision,
        instrument.size_precision,
        candle.timestamp_bucket * _S,
        ts_init,
    )


def parse_order_report(order: PrivateOrder, ts_init: int) -> OrderStatusReport:
    """Return an order as a report, numbers at the venue's own scale; words the venue adds are kept."""
    text = f"[-{order.amount}e0,-{order.filled_amount}e0,-{order.average_price}e0,-{order.limit_price}e0]"
    trigger, watched, side = order.trigger_price, order.trigger_price_type, order.direction
    try:
        _, filled, average, _ = _four_plain(text)
        if len(text) > _FOUR_PLAIN_MAX or trigger is not None:
            raise UnicodeError
    except _NOT_INTEGRAL:
        filled, average = _check_order(order)
    status = _ORDER_STATUS.get(order.order_status, order.order_status)
    if filled and status is _ACCEPTED:
        status = _PARTIALLY_FILLED
    time = order.time_in_force
    return OrderStatusReport(
        instrument_id=f"{order.instrument_name}.{VENUE}",
        client_order_id=order.label or None,
        venue_order_id=order.order_id,
        order_side=_ORDER_SIDE.get(side, side),
        order_type=_ORDER_TYPE.get((order.order_type, order.trigger_type)) or order.order_type,
        time_in_force=_TIME_IN_FORCE.get(time, time),
        order_status=status,
        quantity_text=order.amount,
        filled_qty_text=order.filled_amount,
        price_text=order.limit_price,
        avg_px_text=order.average_price if average else None,
        trigger_price_text=trigger,
        trigger_type=None if watched is None else _TRIGGER_TYPE.get(watched, watched),
        post_only=time == "post_only",
        reduce_only=order.reduce_only,
        cancel_reason=order.trigger_reject_message or order.cancel_reason or None,
        replaced_order_id=order.replaced_order_id,
        ts_accepted=order.creation_timestamp * _MS,
        ts_last=order.last_update_timestamp * _MS,
        ts_init=ts_init,
    )


def parse_fill_report(trade: PrivateTrade, ts_init: int, commission_currency: str = "USDC") -> FillReport:
    """Return one of our trades as a report, numbers at the venue's own scale."""
    check_fill_numbers(trade)
    side, role = trade.direction, trade.liquidity_role
    return FillReport(
        instrument_id=f"{trade.instrument_name}.{VENUE}",
        client_order_id=trade.label or None,
        venue_order_id=trade.order_id,
        trade_id=trade.trade_id,
        order_side=_ORDER_SIDE.get(side, side),
        last_qty_text=trade.trade_amount,
        last_px_text=trade.trade_price,
        commission_text=trade.trade_fee,
        commission_currency=commission_currency,
        liquidity_side=liquidity_side(role),
        ts_event=trade.timestamp * _MS,
        ts_init=ts_init,
    )


def check_fill_numbers(trade: PrivateTrade) -> None:
    """Raise `DecodeError` unless amount, price and fee of a private trade are legal numbers."""
    text = f"[-{trade.trade_amount}e0,-{trade.trade_price}e0,-{trade.trade_fee}e0]"
    try:
        _three_plain(text)
        if len(text) > _THREE_PLAIN_MAX:
            raise UnicodeError
    except _NOT_INTEGRAL:
        exact(trade.trade_amount, "$.trade_amount")
        exact(trade.trade_price, "$.trade_price")
        exact(trade.trade_fee, "$.trade_fee")


def liquidity_side(role: str | None) -> LiquiditySide | str:
    """Return the side of a wire liquidity role; None is NO_LIQUIDITY_SIDE, a word the venue adds is kept."""
    return _LIQUIDITY_SIDE.get(role, role) if role is not None else LiquiditySide.NO_LIQUIDITY_SIDE


_ORDER_SIDE: Final[dict[str, OrderSide | str]] = {"buy": OrderSide.BUY, "sell": OrderSide.SELL}
_LIQUIDITY_SIDE: Final[dict[str, LiquiditySide | str]] = {"maker": LiquiditySide.MAKER, "taker": LiquiditySide.TAKER}
_TIME_IN_FORCE: Final[dict[str, TimeInForce | str]] = {
    "gtc": TimeInForce.GTC,
    "post_only": TimeInForce.GTC,
    "ioc": TimeInForce.IOC,
    "fok": TimeInForce.FOK,
}
_TRIGGER_TYPE: Final[dict[str, TriggerType | str]] = {"mark": TriggerType.MARK_PRICE, "index": TriggerType.INDEX_PRICE}
_ORDER_STATUS: Final[dict[str, OrderStatus | str]] = {
    "open": OrderStatus.ACCEPTED,
    "untriggered": OrderStatus.ACCEPTED,
    "algo_active": OrderStatus.ACCEPTED,
    "filled": OrderStatus.FILLED,
    "rejected": OrderStatus.REJECTED,
    "cancelled": OrderStatus.CANCELED,
    "expired": OrderStatus.EXPIRED,
}
_ORDER_TYPE: Final = {
    ("limit", None): OrderType.LIMIT,
    ("market", None): OrderType.MARKET,
    ("limit", "stoploss"): OrderType.STOP_LIMIT,
    ("market", "stoploss"): OrderType.STOP_MARKET,
    ("limit", "takeprofit"): OrderType.LIMIT_IF_TOUCHED,
    ("market", "takeprofit"): OrderType.MARKET_IF_TOUCHED,
}
_BUYER: Final = AggressorSide.BUYER
_SELLER: Final = AggressorSide.SELLER
_ACCEPTED: Final = OrderStatus.ACCEPTED
_PARTIALLY_FILLED: Final = OrderStatus.PARTIALLY_FILLED
_NO_AGGRESSOR: Final = AggressorSide.NO_AGGRESSOR
_AGAINST_MAKER: Final = {"buy": _SELLER, "sell": _BUYER}

_TICKER_PARTS: Final = (parse_quote, parse_mark_price, parse_index_price, parse_funding_rate, parse_option_greeks)


def _check_order(order: PrivateOrder) -> tuple[float, float]:
    """Check an order's numbers one by one; return what is 0 only for a filled amount and an average price of 0."""
    exact(order.amount, "$.amount")
    exact(order.limit_price, "$.limit_price")
    if order.trigger_price is not None:
        exact(order.trigger_price, "$.trigger_price")
    filled, average = exact(order.filled_amount, "$.filled_amount"), exact(order.average_price, "$.average_price")
    return float(filled != 0), float(average != 0)


def _greeks_of(ticker: Ticker, pricing: OptionPricing, instrument: Instrument, ts_init: int) -> OptionGreeks:
    body = ticker.instrument_ticker
    try:
        numbers = (
            f"[{pricing.d},{pricing.g},{pricing.v},{pricing.t},{pricing.r},"
            f"{pricing.i},{pricing.bi},{pricing.ai},{pricing.f},{_interest(body.stats).oi}]"
        ).encode()
        if numbers.translate(None, _NUMERIC) != _TEN_NUMBERS:
            raise UnicodeError
        _grammar(numbers)
    except _NOT_INTEGRAL:
        numbers = _greeks_exactly(body, pricing)
    return OptionGreeks(instrument.id, numbers, ticker.timestamp * _MS, ts_init)


def _quote_exactly(ticker: Ticker, instrument: Instrument, ts_init: int) -> QuoteTick:
    body = ticker.instrument_ticker
    price, size = instrument.price_precision, instrument.size_precision
    return QuoteTick(
        instrument.id,
        scaled(body.b, price, f"{_BODY}.b"),
        scaled(body.a, price, f"{_BODY}.a"),
        scaled(body.B, size, f"{_BODY}.B"),
        scaled(body.A, size, f"{_BODY}.A"),
        price,
        size,
        ticker.timestamp * _MS,
        ts_init,
    )


def _bar_exactly(candle: Candle, instrument: Instrument, ts_init: int, index: int) -> Bar:
    price, size = instrument.price_precision, instrument.size_precision
    return Bar(
        instrument.id,
        scaled(candle.open_price, price, f"$[{index}].open_price"),
        scaled(candle.high_price, price, f"$[{index}].high_price"),
        scaled(candle.low_price, price, f"$[{index}].low_price"),
        scaled(candle.close_price, price, f"$[{index}].close_price"),
        scaled(candle.volume_contracts, size, f"$[{index}].volume_contracts"),
        price,
        size,
        candle.timestamp_bucket * _S,
        ts_init,
    )


def _greeks_exactly(body: TickerBody, pricing: OptionPricing) -> bytes:
    texts = [getattr(pricing, name) for name in _GREEKS]
    for name, text in zip(_GREEKS, texts, strict=True):
        exact(text, f"{_BODY}.option_pricing.{name}")
    interest = body.open_interest
    if interest is not None:
        exact(interest, f"{_BODY}.stats.oi")
    return f"[{','.join(texts)},{'null' if interest is None else interest}]".encode()
