"""Outbound: order commands to wire bytes.

``commands`` are what a caller asks for, ``encoder`` checks, signs and writes them, ``rounding`` puts prices, amounts and
fees where the venue takes them, on request.
"""

from __future__ import annotations

from derive_bench.adapter.outbound.commands import (
    CancelAll,
    CancelByLabel,
    CancelCommand,
    CancelTriggerOrder,
    OrderCommand,
    OrderTerms,
    ReplaceOrder,
    TriggerKind,
    TriggerOrder,
)
from derive_bench.adapter.outbound.encoder import OrderEncoder
from derive_bench.adapter.outbound.rounding import least_max_fee, round_to_step, round_to_tick

__all__ = [
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
]
