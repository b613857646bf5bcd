"""The hot path of a Derive adapter: frames to domain types, commands to signed wire bytes, private payloads to events.

Contract: no I/O, no knowledge of benchmarks, no import from the rest of the package. Every public name of the modules
below can be imported from here; a module is loaded when its first name is asked for, so that who only reads frames does
not load the signing libraries. Type checkers read `__init__.pyi`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

PUBLIC: Final[dict[str, tuple[str, ...]]] = {
    "protocol": (
        "ACTION_TYPE",
        "ACTION_TYPEHASH",
        "DOMAIN_NAME",
        "DOMAIN_TYPE",
        "DOMAIN_VERSION",
        "Dialect",
        "ERROR_CODES",
        "OUTCOME_UNKNOWN",
        "PROTOCOLS",
        "Protocol",
        "V2_MAINNET",
        "V2_TESTNET",
        "V3_MAINNET",
        "V3_TESTNET",
    ),
    "errors": (
        "CallerError",
        "DecodeError",
        "DeriveBenchError",
        "OrderRefused",
        "PeerError",
        "SigningError",
        "UnknownInstrument",
    ),
    "numbers": (
        "EXACT_LIMIT",
        "MAX_DIGITS",
        "MAX_EXPONENT",
        "WIDE",
        "exact",
        "from_scaled",
        "plain",
        "scaled",
    ),
    "channels": (
        "Channel",
        "ChannelKind",
        "INSTRUMENT_TYPES",
        "format_channel",
        "parse_channel",
    ),
    "messages": (
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
    ),
    "frames": (
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
    ),
    "instruments": (
        "Instrument",
        "InstrumentKind",
        "InstrumentRegistry",
        "VENUE",
        "instrument_from_record",
    ),
    "model": (
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
    ),
    "book": (
        "BookAction",
        "BookHeader",
        "BookLevel",
        "DEPTH10",
        "F_LAST",
        "F_SNAPSHOT",
        "OrderBookDelta",
        "OrderBookDeltas",
        "OrderBookDepth10",
        "parse_order_book_deltas",
        "parse_order_book_depth10",
    ),
    "inbound": (
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
        "parse_trade",
        "parse_trades",
    ),
    "signing": (
        "ActionGuard",
        "ActionSigner",
        "NonceBook",
        "NonceSource",
        "PresignPool",
        "Signer",
        "TradeAction",
        "action_digest",
        "action_hash",
        "address_word",
        "domain_separator",
        "eip191_digest",
        "encode_trade",
        "guard_action",
        "keccak256",
        "login_params",
        "rest_auth_headers",
        "sign_trade_action",
        "to_wei",
        "trade_words",
        "wei_converter",
    ),
    "outbound": (
        "CancelAll",
        "CancelByLabel",
        "CancelCommand",
        "CancelTriggerOrder",
        "OrderCommand",
        "OrderEncoder",
        "OrderTerms",
        "ReplaceOrder",
        "TriggerKind",
        "TriggerOrder",
        "least_max_fee",
        "round_to_step",
        "round_to_tick",
    ),
    "events": (
        "Event",
        "OrderAccepted",
        "OrderCanceled",
        "OrderExpired",
        "OrderFilled",
        "OrderRejected",
        "OrderUpdated",
        "new_event_id",
    ),
    "dispatch": (
        "DispatchStats",
        "Dispatcher",
        "Emission",
        "EmitterError",
        "ExecutionState",
        "FifoSet",
        "OrderIdentity",
        "Replace",
        "ReplaceResult",
        "TrackedOrder",
        "UNKNOWN_OUTCOME",
        "VOID_STATUSES",
    ),
}
"""The public names, by the module of this package that defines them."""

_MODULE_OF: Final = {name: module for module, names in PUBLIC.items() for name in names}

__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
