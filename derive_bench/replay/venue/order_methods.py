"""Private methods: orders, cancels, and what an account holds and has done.

Contract: each is a thin layer between a request's params and the engine. `wallet` in params has to be the one logged in (14020).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from derive_bench.adapter.signing.signer import checksum_address
from derive_bench.replay.venue.accounts import Account
from derive_bench.replay.venue.orders import Fill, Order
from derive_bench.replay.venue.params import (
    CancelAllParams,
    CancelParams,
    LabelParams,
    NonceParams,
    OrderIdParams,
    OrderParams,
    ReplaceParams,
    SubaccountParams,
    WalletParams,
)
from derive_bench.replay.venue.refusals import Refused
from derive_bench.replay.venue.rpc import Method
from derive_bench.replay.venue.venue import Peer, Venue
from derive_bench.replay.venue.views import (
    account_view,
    collateral_views,
    fill_view,
    order_view,
    page_of,
    position_views,
    session_key_views,
    subaccount_view,
)

__all__ = ["order_methods"]

View = dict[str, Any]


def order_methods(venue: Venue) -> dict[str, Method[Any]]:
    """``private/…``."""
    commands = _commands(venue) | _histories(venue) | _holdings(venue)
    return {f"private/{name}": Method(params, run, private=True) for name, (params, run) in commands.items()}


def _commands(venue: Venue) -> dict[str, Any]:
    engine, protocol = venue.engine, venue.protocol

    def order(peer: Peer, params: OrderParams) -> View:
        placed, fills = engine.place(_account(peer), params)
        return {"order": order_view(placed, protocol), "trades": [fill_view(fill, protocol) for fill in fills]}

    def replace(peer: Peer, params: ReplaceParams) -> View:
        done = engine.replace(_account(peer), params)
        result: View = {"cancelled_order": order_view(done.cancelled, protocol)}
        if done.order is not None:
            result["order"] = order_view(done.order, protocol)
        result["trades"] = [fill_view(fill, protocol) for fill in done.fills]
        if done.refused is not None:
            result["create_order_error"] = done.refused.document()
        return result

    def cancel(peer: Peer, params: CancelParams) -> View:
        return order_view(engine.cancel(_account(peer), params.subaccount_id, params.order_id, params.instrument_name), protocol)

    def cancel_all(peer: Peer, params: CancelAllParams) -> str:
        engine.cancel_where(_account(peer), params.subaccount_id)
        return "ok"

    def cancel_by_instrument(peer: Peer, params: CancelAllParams) -> View:
        if params.instrument_name is None:
            raise Refused(-32602, "Object missing required field `instrument_name` - at `$.params`")
        return {"cancelled_orders": engine.cancel_where(_account(peer), params.subaccount_id, name=params.instrument_name)}

    def cancel_by_label(peer: Peer, params: LabelParams) -> View:
        count = engine.cancel_where(_account(peer), params.subaccount_id, name=params.instrument_name, label=params.label)
        return {"cancelled_orders": count if params.instrument_name is not None else -1}

    def cancel_by_nonce(peer: Peer, params: NonceParams) -> View:
        count = engine.cancel_by_nonce(_account(peer), params.subaccount_id, str(params.nonce), params.instrument_name)
        return {"cancelled_orders": count}

    return {
        "order": (OrderParams, order),
        "replace": (ReplaceParams, replace),
        "cancel": (CancelParams, cancel),
        "cancel_all": (CancelAllParams, cancel_all),
        "cancel_by_instrument": (CancelAllParams, cancel_by_instrument),
        "cancel_by_label": (LabelParams, cancel_by_label),
        "cancel_by_nonce": (NonceParams, cancel_by_nonce),
    }


def _histories(venue: Venue) -> dict[str, Any]:
    engine, protocol = venue.engine, venue.protocol

    def orders_of(account: Account, params: SubaccountParams) -> list[Order]:
        subaccounts = _subaccounts(account, params)
        return [
            order
            for order in engine.orders(account)
            if order.subaccount_id in subaccounts and _in_time(order.created_ms, params) and _named(order, params)
        ]

    def get_order(peer: Peer, params: OrderIdParams) -> View:
        return order_view(engine.order(_account(peer), params.subaccount_id, params.order_id), protocol)

    def get_open_orders(peer: Peer, params: SubaccountParams) -> View:
        chosen = [order_view(order, protocol) for order in orders_of(_account(peer), params) if order.is_open]
        return {"subaccount_id": params.subaccount_id or 0, "orders": chosen}

    def get_order_history(peer: Peer, params: SubaccountParams) -> View:
        newest_first = orders_of(_account(peer), params)[::-1]
        page, pagination = page_of(newest_first, params.page, params.page_size)
        views = [order_view(order, protocol) for order in page]
        return {"subaccount_id": params.subaccount_id or 0, "orders": views, "pagination": pagination}

    def get_orders(peer: Peer, params: SubaccountParams) -> View:
        return get_order_history(peer, params)

    def get_trade_history(peer: Peer, params: SubaccountParams) -> View:
        account = _account(peer)
        subaccounts = _subaccounts(account, params)
        chosen = [fill for fill in engine.fills if _is_of(fill, account, subaccounts, params)][::-1]
        page, pagination = page_of(chosen, params.page, params.page_size)
        views = [fill_view(fill, protocol) for fill in page]
        return {"subaccount_id": params.subaccount_id or 0, "trades": views, "pagination": pagination}

    return {
        "get_order": (OrderIdParams, get_order),
        "get_orders": (SubaccountParams, get_orders),
        "get_open_orders": (SubaccountParams, get_open_orders),
        "get_order_history": (SubaccountParams, get_order_history),
        "get_trade_history": (SubaccountParams, get_trade_history),
    }


def _holdings(venue: Venue) -> dict[str, Any]:
    engine = venue.engine

    def get_account(peer: Peer, params: WalletParams) -> View:
        return account_view(_account(peer, params.wallet))

    def get_subaccounts(peer: Peer, params: WalletParams) -> View:
        account = _account(peer, params.wallet)
        return {"wallet": account.wallet, "subaccount_ids": account.subaccounts}

    def session_keys(peer: Peer, params: WalletParams) -> View:
        account = _account(peer, params.wallet)
        keys = [(checksum_address(address), since) for address, since in account.keys.items()]
        return {"public_session_keys": session_key_views(account, keys)}

    def get_subaccount(peer: Peer, params: SubaccountParams) -> View:
        account, subaccount = _account(peer), _subaccount(_account(peer), params)
        orders = [order_view(order, venue.protocol) for order in engine.open_orders(account, subaccount)]
        return subaccount_view(subaccount, engine.ledger(account, subaccount), orders, venue.kinds(), venue.protocol)

    def get_positions(peer: Peer, params: SubaccountParams) -> View:
        account, subaccount = _account(peer), _subaccount(_account(peer), params)
        return {"subaccount_id": subaccount, "positions": position_views(engine.ledger(account, subaccount), venue.kinds())}

    def get_collaterals(peer: Peer, params: SubaccountParams) -> View:
        account, subaccount = _account(peer), _subaccount(_account(peer), params)
        return {"subaccount_id": subaccount, "collaterals": collateral_views(engine.ledger(account, subaccount))}

    def get_all_portfolios(peer: Peer, params: WalletParams) -> list[View]:
        account = _account(peer, params.wallet)
        return [get_subaccount(peer, SubaccountParams(subaccount_id=subaccount)) for subaccount in account.subaccounts]

    return {
        "get_account": (WalletParams, get_account),
        "get_subaccounts": (WalletParams, get_subaccounts),
        "session_keys": (WalletParams, session_keys),
        "get_subaccount": (SubaccountParams, get_subaccount),
        "get_positions": (SubaccountParams, get_positions),
        "get_collaterals": (SubaccountParams, get_collaterals),
        "get_all_portfolios": (WalletParams, get_all_portfolios),
    }


def _account(peer: Peer, wallet: str | None = None) -> Account:
    account = peer.account
    if account is None:  # the dispatcher has seen to it
        raise Refused(14021)
    if wallet is not None and wallet.lower() != account.wallet.lower():
        raise Refused(14020, f"Wallet {wallet[:64]} is not the one logged in, {account.wallet}")
    return account


def _subaccount(account: Account, params: SubaccountParams) -> int:
    if params.subaccount_id is None:
        raise Refused(-32602, "Object missing required field `subaccount_id` - at `$.params`")
    account.check_subaccount(params.subaccount_id)
    return params.subaccount_id


def _subaccounts(account: Account, params: SubaccountParams) -> Iterable[int]:
    if params.subaccount_id is None and params.wallet is None:
        raise Refused(14025, "Give subaccount_id or wallet")
    if params.subaccount_id is None:
        _account(Peer(is_local=True, account=account), params.wallet)
        return account.subaccounts
    account.check_subaccount(params.subaccount_id)
    return (params.subaccount_id,)


def _in_time(timestamp_ms: int, params: SubaccountParams) -> bool:
    after = params.from_timestamp is None or timestamp_ms >= params.from_timestamp
    return after and (params.to_timestamp is None or timestamp_ms <= params.to_timestamp)


def _named(order: Order, params: SubaccountParams) -> bool:
    return params.instrument_name in (None, order.instrument_name) and params.order_id in (None, order.order_id)


def _is_of(fill: Fill, account: Account, subaccounts: Iterable[int], params: SubaccountParams) -> bool:
    order = fill.order
    mine = order.owner == account.wallet.lower() and order.subaccount_id in subaccounts
    return mine and _named(order, params) and _in_time(fill.timestamp_ms, params)
