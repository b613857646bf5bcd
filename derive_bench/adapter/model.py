"""Domain types, under the names NautilusTrader's users know.

Contract: immutable; timestamps are UNIX ns; an instrument id is `ETH-PERP.DERIVE`. Market data holds prices and sizes
as integers in units of 10**-precision (`bid_price_raw`), exact, with an exact decimal view of the same name
(`bid_price`). Option greeks, funding rates and reports have no precision of their own: they keep the venue's
text, checked, and are exact decimals of its scale when read.
"""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Any

from msgspec import Struct

from derive_bench.adapter.numbers import from_scaled

__all__ = [
    "AggressorSide",
    "Bar",
    "FillReport",
    "FundingRateUpdate",
    "IndexPriceUpdate",
    "LiquiditySide",
    "MarkPriceUpdate",
    "OptionGreeks",
    "OrderSide",
    "OrderStatus",
    "OrderStatusReport",
    "OrderType",
    "QuoteTick",
    "TimeInForce",
    "TradeTick",
    "TriggerType",
]


class AggressorSide(StrEnum):
    """Who crossed the spread; NO_AGGRESSOR where the message does not tell."""

    NO_AGGRESSOR = "NO_AGGRESSOR"
    BUYER = "BUYER"
    SELLER = "SELLER"


class OrderSide(StrEnum):
    """Side of an order or of a book level; NO_ORDER_SIDE for a book's CLEAR and for a word the venue adds."""

    NO_ORDER_SIDE = "NO_ORDER_SIDE"
    BUY = "BUY"
    SELL = "SELL"


class LiquiditySide(StrEnum):
    """Whether a fill made or took liquidity."""

    NO_LIQUIDITY_SIDE = "NO_LIQUIDITY_SIDE"
    MAKER = "MAKER"
    TAKER = "TAKER"


class OrderType(StrEnum):
    """Order types; a stop or take-profit carries a trigger price."""

    LIMIT = "LIMIT"
    MARKET = "MARKET"
    STOP_LIMIT = "STOP_LIMIT"
    STOP_MARKET = "STOP_MARKET"
    LIMIT_IF_TOUCHED = "LIMIT_IF_TOUCHED"
    MARKET_IF_TOUCHED = "MARKET_IF_TOUCHED"


class TimeInForce(StrEnum):
    """Time in force; the venue's `post_only` is GTC with `post_only` set."""

    GTC = "GTC"
    IOC = "IOC"
    FOK = "FOK"


class TriggerType(StrEnum):
    """The price a trigger order watches."""

    MARK_PRICE = "MARK_PRICE"
    INDEX_PRICE = "INDEX_PRICE"


class OrderStatus(StrEnum):
    """State of an order as the venue reports it."""

    ACCEPTED = "ACCEPTED"
    PARTIALLY_FILLED = "PARTIALLY_FILLED"
    FILLED = "FILLED"
    REJECTED = "REJECTED"
    CANCELED = "CANCELED"
    EXPIRED = "EXPIRED"


class QuoteTick(Struct, frozen=True, gc=False):
    """Best bid and ask. A side that is empty has price and size 0."""

    instrument_id: str
    bid_price_raw: int
    ask_price_raw: int
    bid_size_raw: int
    ask_size_raw: int
    price_precision: int
    size_precision: int
    ts_event: int
    ts_init: int

    @property
    def bid_price(self) -> Decimal:
        """Best bid price."""
        return from_scaled(self.bid_price_raw, self.price_precision)

    @property
    def ask_price(self) -> Decimal:
        """Best ask price."""
        return from_scaled(self.ask_price_raw, self.price_precision)

    @property
    def bid_size(self) -> Decimal:
        """Amount at the best bid."""
        return from_scaled(self.bid_size_raw, self.size_precision)

    @property
    def ask_size(self) -> Decimal:
        """Amount at the best ask."""
        return from_scaled(self.ask_size_raw, self.size_precision)


class TradeTick(Struct, frozen=True, gc=False):
    """One public trade."""

    instrument_id: str
    price_raw: int
    size_raw: int
    price_precision: int
    size_precision: int
    aggressor_side: AggressorSide
    trade_id: str
    ts_event: int
    ts_init: int

    @property
    def price(self) -> Decimal:
        """Price of the trade."""
        return from_scaled(self.price_raw, self.price_precision)

    @property
    def size(self) -> Decimal:
        """Amount traded."""
        return from_scaled(self.size_raw, self.size_precision)


class _Price(Struct, frozen=True, gc=False):
    instrument_id: str
    value_raw: int
    price_precision: int
    ts_event: int
    ts_init: int

    @property
    def value(self) -> Decimal:
        """The price."""
        return from_scaled(self.value_raw, self.price_precision)


class MarkPriceUpdate(_Price, frozen=True, gc=False):
    """The venue's mark price."""


class IndexPriceUpdate(_Price, frozen=True, gc=False):
    """The venue's index price."""


class FundingRateUpdate(Struct, frozen=True, gc=False, eq=False):
    """The hourly funding rate of a perpetual. Equal when the values are, whatever zeros the text ends in."""

    instrument_id: str
    rate_text: str
    ts_event: int
    ts_init: int

    @property
    def rate(self) -> Decimal:
        """The rate per hour as a fraction, exact."""
        return Decimal(self.rate_text)

    def _key(self) -> tuple[Any, ...]:
        return self.instrument_id, self.rate, self.ts_event, self.ts_init

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, FundingRateUpdate) else NotImplemented

    def __ne__(self, other: object) -> bool:
        # A Struct's own is by identity here.
        return not self == other

    def __hash__(self) -> int:
        return hash(self._key())


class OptionGreeks(Struct, frozen=True, gc=False, eq=False):
    """Greeks and implied volatilities of an option, exact decimals; `as_floats` is the view for numeric work.

    `numbers` is the JSON array of the venue's own texts, checked when this was built, in the order of `as_decimals`.
    Equal when the values are.
    """

    instrument_id: str
    numbers: bytes
    ts_event: int
    ts_init: int

    @property
    def delta(self) -> Decimal:
        """Change of the option's price with its underlying's."""
        return self._number(0)

    @property
    def gamma(self) -> Decimal:
        """Change of delta with the underlying's price."""
        return self._number(1)

    @property
    def vega(self) -> Decimal:
        """Change of the price with volatility, as the venue scales it."""
        return self._number(2)

    @property
    def theta(self) -> Decimal:
        """Change of the price with time, as the venue scales it."""
        return self._number(3)

    @property
    def rho(self) -> Decimal:
        """Change of the price with the interest rate, as the venue scales it."""
        return self._number(4)

    @property
    def mark_iv(self) -> Decimal:
        """Implied volatility at the mark."""
        return self._number(5)

    @property
    def bid_iv(self) -> Decimal:
        """Implied volatility at the best bid, 0 without one."""
        return self._number(6)

    @property
    def ask_iv(self) -> Decimal:
        """Implied volatility at the best ask, 0 without one."""
        return self._number(7)

    @property
    def underlying_price(self) -> Decimal:
        """The forward price."""
        return self._number(8)

    @property
    def open_interest(self) -> Decimal | None:
        """Open interest in contracts, None where the ticker has no statistics."""
        return self.as_decimals()[-1]

    def as_decimals(self) -> tuple[Decimal | None, ...]:
        """Return delta, gamma, vega, theta, rho, mark, bid and ask IV, forward and open interest."""
        return tuple(None if text == "null" else Decimal(text) for text in self._texts())

    def as_floats(self) -> tuple[float | None, ...]:
        """Return the same as `as_decimals`, as the nearest doubles."""
        return tuple(None if text == "null" else float(text) for text in self._texts())

    def _number(self, place: int) -> Decimal:
        return Decimal(self._texts()[place])

    def _texts(self) -> list[str]:
        return self.numbers[1:-1].decode("ascii").split(",")

    def _key(self) -> tuple[Any, ...]:
        return self.instrument_id, self.as_decimals(), self.ts_event, self.ts_init

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, OptionGreeks) else NotImplemented

    def __ne__(self, other: object) -> bool:
        # A Struct's own is by identity here.
        return not self == other

    def __hash__(self) -> int:
        return hash(self._key())


class Bar(Struct, frozen=True, gc=False):
    """A candle. `ts_event` is the bucket's start; volume is in contracts."""

    instrument_id: str
    open_raw: int
    high_raw: int
    low_raw: int
    close_raw: int
    volume_raw: int
    price_precision: int
    size_precision: int
    ts_event: int
    ts_init: int

    @property
    def open(self) -> Decimal:
        """First price of the bucket."""
        return from_scaled(self.open_raw, self.price_precision)

    @property
    def high(self) -> Decimal:
        """Highest price of the bucket."""
        return from_scaled(self.high_raw, self.price_precision)

    @property
    def low(self) -> Decimal:
        """Lowest price of the bucket."""
        return from_scaled(self.low_raw, self.price_precision)

    @property
    def close(self) -> Decimal:
        """Last price of the bucket."""
        return from_scaled(self.close_raw, self.price_precision)

    @property
    def volume(self) -> Decimal:
        """Contracts traded in the bucket."""
        return from_scaled(self.volume_raw, self.size_precision)


class OrderStatusReport(Struct, frozen=True, gc=False, kw_only=True):
    """An order as the venue reports it. Words the venue adds tomorrow are kept as their own text.

    The texts are legal numbers, checked when this was built, at the venue's own scale; the decimals are made when read.
    """

    instrument_id: str
    client_order_id: str | None
    venue_order_id: str
    order_side: OrderSide | str
    order_type: OrderType | str
    time_in_force: TimeInForce | str
    order_status: OrderStatus | str
    quantity_text: str
    filled_qty_text: str
    price_text: str
    avg_px_text: str | None
    """None while nothing is filled."""
    trigger_price_text: str | None
    trigger_type: TriggerType | str | None
    post_only: bool
    reduce_only: bool | None
    cancel_reason: str | None
    replaced_order_id: str | None
    ts_accepted: int
    ts_last: int
    ts_init: int

    @property
    def quantity(self) -> Decimal:
        """Amount of the order, exact."""
        return Decimal(self.quantity_text)

    @property
    def filled_qty(self) -> Decimal:
        """Amount filled so far."""
        return Decimal(self.filled_qty_text)

    @property
    def price(self) -> Decimal:
        """Limit price; a market order's worst acceptable one."""
        return Decimal(self.price_text)

    @property
    def avg_px(self) -> Decimal | None:
        """Average price of the fills, None while there are none."""
        return None if self.avg_px_text is None else Decimal(self.avg_px_text)

    @property
    def trigger_price(self) -> Decimal | None:
        """Price that triggers the order, None for an order without."""
        return None if self.trigger_price_text is None else Decimal(self.trigger_price_text)


class FillReport(Struct, frozen=True, gc=False, kw_only=True):
    """One of our trades as the venue reports it. A commission is positive when paid.

    The texts are legal numbers, checked when this was built, at the venue's own scale; the decimals are made when read.
    """

    instrument_id: str
    client_order_id: str | None
    venue_order_id: str
    trade_id: str
    order_side: OrderSide | str
    last_qty_text: str
    last_px_text: str
    commission_text: str
    commission_currency: str
    liquidity_side: LiquiditySide | str
    ts_event: int
    ts_init: int

    @property
    def last_qty(self) -> Decimal:
        """Amount traded, exact."""
        return Decimal(self.last_qty_text)

    @property
    def last_px(self) -> Decimal:
        """Price of the trade."""
        return Decimal(self.last_px_text)

    @property
    def commission(self) -> Decimal:
        """Commission in `commission_currency`."""
        return Decimal(self.commission_text)
