"""Views: the venue's records as the JSON objects of its API, field for field as the dialect has them.

Contract: pure functions of records; every value that the API requires is there, those of what is not simulated (margins, greeks of a
position) as zero. Numbers are decimal texts. Sources: the venue's OpenAPI and AsyncAPI documents; `PROTOCOL.md` for v2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from derive_bench.adapter.protocol import Protocol
from derive_bench.replay.venue.accounts import Account
from derive_bench.replay.venue.ledger import CASH, Change, Ledger
from derive_bench.replay.venue.orders import Fill, Order
from derive_bench.replay.venue.units import text_of

__all__ = [
    "account_view",
    "balance_views",
    "collateral_views",
    "fill_view",
    "order_view",
    "page_of",
    "position_views",
    "session_key_views",
    "subaccount_view",
]

_Item = TypeVar("_Item")
View = dict[str, Any]

_ENDLESS_SEC = 4_102_444_800
"""When registered keys expire: the year 2100."""
_PAGE_SIZE = 100
_PAGE_SIZE_MAX = 1_000


def order_view(order: Order, protocol: Protocol) -> View:
    """An order as on `.orders` and in replies."""
    view: View = {
        "subaccount_id": order.subaccount_id,
        "order_id": order.order_id,
        "instrument_name": order.instrument_name,
        "direction": "buy" if order.is_bid else "sell",
        "label": order.label,
        "quote_id": None,
        "creation_timestamp": order.created_ms,
        "last_update_timestamp": order.updated_ms,
        "limit_price": text_of(order.limit_price),
        "amount": text_of(order.amount),
        "filled_amount": text_of(order.filled),
        "average_price": text_of(order.average_price),
        "order_fee": text_of(order.fee),
        "order_type": order.order_type,
        "time_in_force": order.time_in_force,
        "order_status": order.status,
        "max_fee": text_of(order.max_fee),
        "signature_expiry_sec": order.signature_expiry_sec,
        "nonce": str(order.nonce) if protocol.nonce_is_text else order.nonce,
        "signer": order.signer,
        "signature": order.signature,
        "cancel_reason": order.cancel_reason,
        "mmp": order.mmp,
        "is_transfer": False,
        "replaced_order_id": order.replaced_order_id,
        "trigger_type": None,
        "trigger_price_type": None,
        "trigger_price": None,
        "trigger_reject_message": None,
    }
    if protocol.dialect == "v3":
        moved = order.signed_price != order.limit_price
        view["signed_limit_price"] = text_of(order.signed_price) if moved else None
        view["extra_fee"] = "0"
        view |= dict.fromkeys(("algo_type", "algo_duration_sec", "algo_num_slices", "algo_slices_completed"))
    return view


def fill_view(fill: Fill, protocol: Protocol) -> View:
    """A fill as on `.trades` and in replies."""
    order = fill.order
    view: View = {
        "subaccount_id": order.subaccount_id,
        "order_id": order.order_id,
        "instrument_name": order.instrument_name,
        "direction": "buy" if order.is_bid else "sell",
        "label": order.label,
        "quote_id": None,
        "trade_id": fill.trade_id,
        "timestamp": fill.timestamp_ms,
        "mark_price": text_of(fill.mark),
        "index_price": text_of(fill.index),
        "trade_price": text_of(fill.price),
        "trade_amount": text_of(fill.amount),
        "liquidity_role": "maker" if fill.is_maker else "taker",
        "realized_pnl": "0",
        "realized_pnl_excl_fees": "0",
        "is_transfer": False,
        "tx_hash": None,
        "trade_fee": text_of(fill.fee),
        "expected_rebate": "0",
        "extra_fee": "0",
    }
    if protocol.dialect == "v3":
        return view | {"op_uuid": fill.op_id, "batch_status": None, "rfq_id": None}
    return view | {"transaction_id": fill.op_id, "tx_status": "pending"}


def balance_views(changes: Iterable[Change]) -> list[View]:
    """Changed holdings as on `.balances`."""
    return [
        {"name": name, "previous_balance": text_of(before), "new_balance": text_of(after), "update_type": "trade"}
        for name, before, after in changes
    ]


def account_view(account: Account) -> View:
    """`private/get_account`."""
    return {
        "wallet": account.wallet,
        "subaccount_ids": account.subaccounts,
        "cancel_on_disconnect": account.cancel_on_disconnect,
        "creation_timestamp_sec": account.created_sec,
        "fallback_subaccount_id": account.subaccounts[0] if account.subaccounts else 0,
        "is_rfq_maker": False,
        "referral_code": "",
        "websocket_matching_tps": 1_000,
        "websocket_non_matching_tps": 1_000,
        "websocket_option_tps": 1_000,
        "websocket_perp_tps": 1_000,
        "per_endpoint_tps": {},
        "whitelisted_recipients": [],
        "fee_info": {
            "base_fee_discount": "0",
            "rfq_maker_discount": "0",
            "rfq_taker_discount": "0",
            "option_maker_fee": None,
            "option_taker_fee": None,
            "perp_maker_fee": None,
            "perp_taker_fee": None,
            "spot_maker_fee": None,
            "spot_taker_fee": None,
        },
    }


def session_key_views(account: Account, checksummed: Iterable[tuple[str, int]]) -> list[View]:
    """`private/session_keys`: pairs of a key's address and when it was registered, UTC seconds."""
    return [
        {
            "public_session_key": address,
            "expiry_sec": _ENDLESS_SEC,
            "ip_whitelist": [],
            "label": "registered with the local venue",
            "offchain_scopes": ["admin"],
            "protocol_scopes": ["admin"],
            "scope": "admin",
            "registered_sec": registered_sec,
            "subaccount_ids": account.subaccounts,
        }
        for address, registered_sec in checksummed
    ]


def collateral_views(ledger: Ledger) -> list[View]:
    """Cash and spot assets."""
    return [_collateral(name, amount) for name, amount in ledger.holdings.items() if "-" not in name]


def position_views(ledger: Ledger, kinds: dict[str, str]) -> list[View]:
    """Perpetuals and options that are held; `kinds` has their `instrument_type`."""
    held = ((name, amount) for name, amount in ledger.holdings.items() if "-" in name and amount)
    return [_position(name, amount, kinds.get(name, "perp")) for name, amount in held]


def subaccount_view(subaccount: int, ledger: Ledger, open_orders: Iterable[View], kinds: dict[str, str], protocol: Protocol) -> View:
    """`private/get_subaccount`."""
    cash = text_of(ledger.holdings[CASH])
    zeros = dict.fromkeys(_SUBACCOUNT_ZEROS, "0")
    return zeros | {
        "subaccount_id": subaccount,
        "label": "",
        "currency": ["all"] if protocol.dialect == "v3" else "all",
        "margin_type": "SM",
        "manager_id": 1,
        "risk_universe_id": 1,
        "failed_to_fetch": False,
        "is_under_liquidation": False,
        "collaterals": collateral_views(ledger),
        "collaterals_value": cash,
        "subaccount_value": cash,
        "positions": position_views(ledger, kinds),
        "open_orders": list(open_orders),
        "vault_deposit_holds": [],
    }


def page_of(items: Sequence[_Item], page: int | None, size: int | None) -> tuple[list[_Item], View]:
    """A page, counted from 1, and the `pagination` object that goes with it."""
    size = min(max(1, size or _PAGE_SIZE), _PAGE_SIZE_MAX)
    first = (max(1, page or 1) - 1) * size
    return list(items[first : first + size]), {"count": len(items), "num_pages": -(-len(items) // size)}


_SUBACCOUNT_ZEROS = (
    "collaterals_initial_margin",
    "collaterals_maintenance_margin",
    "initial_margin",
    "maintenance_margin",
    "mm_credits",
    "open_orders_margin",
    "positions_initial_margin",
    "positions_maintenance_margin",
    "positions_value",
    "projected_margin_change",
)
_COLLATERAL_ZEROS = (
    "average_price",
    "average_price_excl_fees",
    "cumulative_interest",
    "delta",
    "initial_margin",
    "maintenance_margin",
    "open_orders_margin",
    "pending_interest",
    "realized_pnl",
    "realized_pnl_excl_fees",
    "total_fees",
    "unrealized_pnl",
    "unrealized_pnl_excl_fees",
)
_POSITION_ZEROS = (
    "average_price",
    "average_price_excl_fees",
    "cumulative_funding",
    "delta",
    "gamma",
    "index_price",
    "initial_margin",
    "maintenance_margin",
    "mark_price",
    "mark_value",
    "net_settlements",
    "open_orders_margin",
    "pending_funding",
    "realized_pnl",
    "realized_pnl_excl_fees",
    "theta",
    "total_fees",
    "unrealized_pnl",
    "unrealized_pnl_excl_fees",
    "vega",
)


def _collateral(name: str, amount: int) -> View:
    return dict.fromkeys(_COLLATERAL_ZEROS, "0") | {
        "asset_name": name,
        "asset_type": "erc20",
        "currency": name,
        "delta_currency": name,
        "amount": text_of(amount),
        "amount_step": "0",
        "mark_price": "1" if name == CASH else "0",
        "mark_value": text_of(amount) if name == CASH else "0",
        "creation_timestamp": 0,
    }


def _position(name: str, amount: int, kind: str) -> View:
    return dict.fromkeys(_POSITION_ZEROS, "0") | {
        "instrument_name": name,
        "instrument_type": kind,
        "amount": text_of(amount),
        "amount_step": "0",
        "creation_timestamp": 0,
        "leverage": None,
        "liquidation_price": None,
    }
