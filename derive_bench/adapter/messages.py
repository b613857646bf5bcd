"""Typed wire messages, field for field as the venue names them.

Contract: numbers stay the text they came in (a bare JSON number becomes its text); they are checked where they are
used. Words the venue may add to (statuses, directions, roles) stay text, so that tomorrow's value is kept. Fields that
the venue may omit or null are optional; unknown fields are ignored. Timestamps are integers in the unit the venue
sends (ms, candles s), checked to fit 64 bits of ns. Fields stand in the order in which the venue sends them, where the JSON
library finds each at once; any other order is taken as well. Sources: the venue's OpenAPI and AsyncAPI documents of August
2026, with the corrections of PROTOCOL.md; v2 shapes from the venue's former specs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from derive_bench.adapter.errors import DecodeError
from derive_bench.adapter.lenient import FAULTS, NumberText, ShortNumberText, decode_payload

__all__ = [
    "BadElement",
    "BalanceUpdate",
    "Candle",
    "FullTicker",
    "InstrumentRecord",
    "OpenInterest",
    "OptionPricing",
    "OrderBook",
    "PrivateOrder",
    "PrivateTrade",
    "PublicTrade",
    "RpcError",
    "SpotFeed",
    "Ticker",
    "TickerBody",
    "TickerStats",
]

_COUNT: Final = re.compile(r"[0-9]{1,18}").fullmatch
_MAX_NS: Final = (1 << 64) - 1

_S = TypeVar("_S")

Millis = Annotated[int, Meta(ge=0, le=_MAX_NS // 1_000_000)]
Seconds = Annotated[int, Meta(ge=0, le=_MAX_NS // 1_000_000_000)]


class OrderBook(Struct, gc=False, kw_only=True):
    """`orderbook.*`: a full snapshot. A side is the JSON array of `[price, amount]`, best first, checked at parse."""

    asks: Raw
    bids: Raw
    instrument_name: str
    publish_id: Annotated[int, Meta(ge=0)] | None = None
    timestamp: Millis


class TickerStats(Struct, gc=False, kw_only=True):
    """Daily statistics: contract volume, high, low, number of trades, open interest, change, premium and USD volume."""

    c: NumberText
    h: NumberText
    l: NumberText  # noqa: E741 -- the venue's name
    n: int | None = None
    oi: NumberText
    p: NumberText | None = None
    pr: NumberText | None = None
    v: NumberText | None = None


class OptionPricing(Struct, gc=False, kw_only=True):
    """Option pricing: bid and ask IV, greeks, forward, IV and mark; the discount factor may be missing."""

    ai: ShortNumberText
    bi: ShortNumberText
    d: ShortNumberText
    df: ShortNumberText | None = None
    f: ShortNumberText
    g: ShortNumberText
    i: ShortNumberText
    m: ShortNumberText
    r: ShortNumberText
    t: ShortNumberText
    v: ShortNumberText


class OpenInterest(Struct, gc=False):
    """The one daily statistic that a domain type holds."""

    oi: ShortNumberText | None = None


_stats = msgspec.json.Decoder(TickerStats).decode
_open_interest = msgspec.json.Decoder(OpenInterest).decode
_STATS_PATH: Final = "$.params.data.instrument_ticker.stats"


class TickerBody(Struct, gc=False, kw_only=True):
    """The ticker itself, with the venue's short names. `t` is its creation time in ms."""

    A: NumberText
    B: NumberText
    I: NumberText  # noqa: E741 -- the venue's name
    M: NumberText
    a: NumberText
    b: NumberText
    f: NumberText | None = None
    maxp: NumberText | None = None
    minp: NumberText | None = None
    option_pricing: OptionPricing | None = None
    stats: Raw = Raw()
    t: Millis

    @property
    def statistics(self) -> TickerStats | None:
        """The daily statistics, decoded when asked for, since no stream reads them. `DecodeError` when malformed."""
        return self._read_stats(TickerStats, _stats)

    @property
    def open_interest(self) -> str | None:
        """The open interest's text, None when there are no statistics. `DecodeError` when malformed."""
        stats = self._read_stats(OpenInterest, _open_interest)
        return None if stats is None else stats.oi

    def _read_stats(self, kind: type[_S], decode: Callable[[Raw], _S]) -> _S | None:
        if not self.stats:
            return None
        try:
            return decode(self.stats)
        except FAULTS:
            return None if bytes(self.stats) == b"null" else decode_payload(kind, self.stats, _STATS_PATH)


class Ticker(Struct, gc=False):
    """`ticker_slim.*`, and what `ticker.*` is brought to: publication time in ms and the ticker."""

    instrument_ticker: TickerBody
    timestamp: Millis


class _FullStats(Struct, gc=False):
    contract_volume: NumberText
    high: NumberText
    low: NumberText
    open_interest: NumberText
    num_trades: NumberText | None = None
    percent_change: NumberText | None = None


class _FullPricing(Struct, gc=False):
    ask_iv: NumberText
    bid_iv: NumberText
    delta: NumberText
    forward_price: NumberText
    gamma: NumberText
    iv: NumberText
    mark_price: NumberText
    rho: NumberText
    theta: NumberText
    vega: NumberText
    discount_factor: NumberText | None = None


class _PerpDetails(Struct, gc=False):
    funding_rate: NumberText | None = None


class FullTicker(Struct, gc=False):
    """`ticker.*` (v2) and REST `get_ticker`: the long names. `body()` gives the form every ticker is parsed from."""

    best_ask_amount: NumberText
    best_ask_price: NumberText
    best_bid_amount: NumberText
    best_bid_price: NumberText
    index_price: NumberText
    mark_price: NumberText
    timestamp: Millis
    max_price: NumberText | None = None
    min_price: NumberText | None = None
    option_pricing: _FullPricing | None = None
    perp_details: _PerpDetails | None = None
    stats: _FullStats | None = None
    instrument_name: str | None = None

    def body(self) -> TickerBody:
        """Return the same ticker under the short names."""
        pricing = self.option_pricing
        details = self.perp_details
        return TickerBody(
            A=self.best_ask_amount,
            B=self.best_bid_amount,
            I=self.index_price,
            M=self.mark_price,
            a=self.best_ask_price,
            b=self.best_bid_price,
            t=self.timestamp,
            f=None if details is None else details.funding_rate,
            minp=self.min_price,
            maxp=self.max_price,
            option_pricing=None if pricing is None else _short_pricing(pricing),
            stats=_short_stats(self.stats),
        )


class PublicTrade(Struct, gc=False, kw_only=True):
    """An element of `trades.*`. v2 is lean; v3 adds the participant's side of it, whose role may be missing.

    `direction` is the participant's; `tx_hash` may be empty; `batch_status` (v3) and `tx_status` (v2) tell settlement.
    """

    trade_id: str
    instrument_name: str
    timestamp: Millis
    trade_price: NumberText
    trade_amount: NumberText
    mark_price: NumberText | None = None
    index_price: NumberText | None = None
    direction: str
    quote_id: str | None = None
    rfq_id: str | None = None
    wallet: str | None = None
    subaccount_id: int | None = None
    batch_status: str | None = None
    tx_status: str | None = None
    tx_hash: str | None = None
    trade_fee: NumberText | None = None
    expected_rebate: NumberText | None = None
    liquidity_role: str | None = None
    realized_pnl: NumberText | None = None
    realized_pnl_excl_fees: NumberText | None = None
    extra_fee: NumberText | None = None


class PrivateOrder(Struct, gc=False, kw_only=True):
    """An element of `{subaccount}.orders`, and the order in replies. `nonce` is text in v3, an integer in v2."""

    algo_duration_sec: int | None = None
    algo_num_slices: int | None = None
    algo_slices_completed: int | None = None
    algo_type: str | None = None
    amount: NumberText
    average_price: NumberText
    cancel_reason: str | None = None
    creation_timestamp: Millis
    direction: str
    extra_fee: NumberText | None = None
    filled_amount: NumberText
    instrument_name: str
    is_transfer: bool = False
    label: str | None = None
    last_update_timestamp: Millis
    limit_price: NumberText
    max_fee: NumberText | None = None
    mmp: bool = False
    nonce: str | int
    order_fee: NumberText | None = None
    order_id: str
    order_status: str
    order_type: str
    quote_id: str | None = None
    reduce_only: bool | None = None
    replaced_order_id: str | None = None
    signature: str | None = None
    signature_expiry_sec: int | None = None
    signed_limit_price: NumberText | None = None
    signer: str | None = None
    subaccount_id: int
    time_in_force: str
    trigger_price: NumberText | None = None
    trigger_price_type: str | None = None
    trigger_reject_message: str | None = None
    trigger_type: str | None = None


class PrivateTrade(Struct, gc=False, kw_only=True):
    """An element of `{subaccount}.trades`. v2 has `transaction_id` and `tx_status`, v3 `op_uuid` and `batch_status`."""

    batch_status: str | None = None
    direction: str
    expected_rebate: NumberText | None = None
    extra_fee: NumberText | None = None
    index_price: NumberText | None = None
    instrument_name: str
    is_transfer: bool = False
    label: str | None = None
    liquidity_role: str | None = None
    mark_price: NumberText | None = None
    op_uuid: str | None = None
    order_id: str
    quote_id: str | None = None
    realized_pnl: NumberText | None = None
    realized_pnl_excl_fees: NumberText | None = None
    rfq_id: str | None = None
    subaccount_id: int
    timestamp: Millis
    trade_amount: NumberText
    trade_fee: NumberText
    trade_id: str
    trade_price: NumberText
    transaction_id: str | None = None
    tx_hash: str | None = None
    tx_status: str | None = None
    wallet: str | None = None


class BadElement(Struct):
    """An element of a private array that could not be decoded; its neighbours were. `raw` is its JSON."""

    index: int
    error: DecodeError
    raw: bytes


class BalanceUpdate(Struct, gc=False):
    """An element of `{subaccount}.balances`."""

    name: str
    new_balance: NumberText
    previous_balance: NumberText
    update_type: str


class SpotPrice(Struct, gc=False):
    """One currency's spot price with its confidence and the price a day before."""

    price: NumberText
    confidence: NumberText | None = None
    price_prev_daily: NumberText | None = None
    confidence_prev_daily: NumberText | None = None
    timestamp_prev_daily: int | None = None


class SpotFeed(Struct):
    """`spot_feed.{currency}`."""

    feeds: dict[str, SpotPrice]
    timestamp: Millis


class Candle(Struct, gc=False):
    """A record of `public/get_tradingview_chart_data`; both timestamps are in seconds, the bucket's is its start."""

    open_price: NumberText
    high_price: NumberText
    low_price: NumberText
    close_price: NumberText
    volume_usd: NumberText
    volume_contracts: NumberText
    timestamp: Seconds
    timestamp_bucket: Seconds


class InstrumentRecord(Struct):
    """A record of `public/get_instrument(s)`: what parsing and signing read of it, and its details as sent."""

    instrument_name: str
    instrument_type: str
    tick_size: NumberText
    amount_step: NumberText
    minimum_amount: NumberText
    maximum_amount: NumberText
    base_asset_address: str
    base_asset_sub_id: str
    is_active: bool
    base_currency: str
    quote_currency: str
    maker_fee_rate: NumberText
    taker_fee_rate: NumberText
    base_fee: NumberText
    scheduled_activation: int = 0
    scheduled_deactivation: int = 0
    option_details: dict[str, Any] | None = None
    perp_details: dict[str, Any] | None = None
    erc20_details: dict[str, Any] | None = None


class RpcError(Struct, gc=False):
    """The venue's error object; `data` is any JSON or absent."""

    code: int
    message: str
    data: Any = None


def _short_pricing(pricing: _FullPricing) -> OptionPricing:
    return OptionPricing(
        ai=pricing.ask_iv,
        bi=pricing.bid_iv,
        d=pricing.delta,
        f=pricing.forward_price,
        g=pricing.gamma,
        i=pricing.iv,
        m=pricing.mark_price,
        r=pricing.rho,
        t=pricing.theta,
        v=pricing.vega,
        df=pricing.discount_factor,
    )


def _short_stats(stats: _FullStats | None) -> Raw:
    if stats is None:
        return Raw()
    trades = stats.num_trades
    short = TickerStats(
        c=stats.contract_volume,
        h=stats.high,
        l=stats.low,
        oi=stats.open_interest,
        n=int(trades) if trades is not None and _COUNT(trades) else None,
        p=stats.percent_change,
    )
    return Raw(msgspec.json.encode(short))
