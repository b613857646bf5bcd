"""The Rust adapter's published figures: facts to lay beside our own, measured by others on another machine."""

from __future__ import annotations

__all__ = ["MACHINE", "MEASURED", "ROWS", "SOURCE", "STATISTIC"]

SOURCE = "NautilusTrader crates/adapters/derive/benches/BENCHMARKS.md"
MEASURED = "2026-05-30"
MACHINE = "AMD Ryzen Threadripper 9980X, rustc 1.95.0, fat LTO, governor performance, ASLR off"
STATISTIC = "Criterion median"

ROWS: dict[str, float] = {
    "inbound_pipeline/book_deltas": 473,
    "inbound_pipeline/quotes": 1640,
    "inbound_pipeline/trades": 742,
    "inbound_pipeline/mark_price": 1590,
    "inbound_pipeline/index_price": 1590,
    "inbound_pipeline/funding_rate": 1570,
    "inbound_pipeline/bars": 670,
    "inbound_pipeline/option_greeks": 2350,
    "exec_pipeline/submit_limit": 42100,
    "exec_pipeline/submit_market": 42100,
    "exec_pipeline/modify": 42100,
    "exec_pipeline/cancel": 45.8,
    "signing/sign_trade_action": 42000,
    "signing/rest_auth_headers": 40900,
    "signing/signer_from_key": 31600,
    "signing/abi_encode_trade": 236,
    "signing/nonce_next": 45.8,
    "dispatch/orders_untracked": 8530,
    "dispatch/orders_tracked": 9010,
    "dispatch/trades_fill": 8450,
    "decode_only/orderbook": 423,
    "decode_only/ticker": 1560,
    "parse_only/orderbook_deltas": 49.9,
    "parse_only/trade": 32.2,
    "parse_only/ticker_quote": 36.6,
    "parse_only/order_report": 90.7,
    "parse_only/fill_report": 109,
    "atom/decimal_from_str": 6.97,
    "atom/price_from_decimal_dp": 6.54,
    "atom/price_combined": 12.3,
    "atom/trade_id_new": 8.89,
    "atom/uuid4_new": 12.9,
    "atom/state_construct_primed": 4110,
    "atom/state_drop_primed": 1130,
    "atom/dedup_trade_hit": 11.6,
}
"""Nanoseconds by row name."""
