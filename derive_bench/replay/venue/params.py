"""The params of requests, typed: what is missing or mistyped is refused (-32602) with its JSON path.

Numbers are texts or bare JSON numbers, and stay the text they were. Fields the venue takes and this one has no use for are ignored.
Source: the request schemas of the venue's OpenAPI and AsyncAPI documents.
"""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec
from msgspec import Raw, Struct

from derive_bench.adapter.errors import DecodeError
from derive_bench.adapter.lenient import NumberText, decode_payload
from derive_bench.replay.venue.refusals import Refused

__all__ = [
    "CancelAllParams",
    "CancelParams",
    "ChannelsParams",
    "InstrumentsParams",
    "LabelParams",
    "LoginParams",
    "NameParams",
    "NonceParams",
    "OrderIdParams",
    "OrderParams",
    "PublicTradesParams",
    "ReplaceParams",
    "SubaccountParams",
    "SwitchParams",
    "TypeParams",
    "WalletParams",
    "decode_params",
]

_P = TypeVar("_P")


class LoginParams(Struct):
    """`public/login`. On HTTP the three may stand in the headers instead."""

    wallet: str | None = None
    timestamp: str | int | None = None
    signature: str | None = None


class ChannelsParams(Struct):
    """`subscribe` and `unsubscribe`."""

    channels: list[str] | None = None


class InstrumentsParams(Struct):
    """`public/get_all_instruments`, `public/get_instruments`: a page of those of a type."""

    instrument_type: str | None = None
    expired: bool = False
    currency: str | None = None
    page: int | None = None
    page_size: int | None = None


class NameParams(Struct):
    """One instrument."""

    instrument_name: str


class TypeParams(Struct):
    """`public/get_tickers`."""

    instrument_type: str | None = None
    currency: str | None = None


class PublicTradesParams(Struct):
    """`public/get_trade_history`."""

    instrument_name: str | None = None
    instrument_type: str | None = None
    currency: str | None = None
    page: int | None = None
    page_size: int | None = None


class WalletParams(Struct):
    """One wallet; the one logged in where it is left out."""

    wallet: str | None = None


class SubaccountParams(Struct):
    """A subaccount, and for histories a page and what to filter by. A wallet in place of it means all of its subaccounts."""

    subaccount_id: int | None = None
    wallet: str | None = None
    instrument_name: str | None = None
    order_id: str | None = None
    from_timestamp: int | None = None
    to_timestamp: int | None = None
    page: int | None = None
    page_size: int | None = None


class SwitchParams(Struct):
    """`private/set_cancel_on_disconnect`."""

    enabled: bool | None = None
    wallet: str | None = None


class OrderParams(Struct, kw_only=True):
    """`private/order`."""

    instrument_name: str
    subaccount_id: int
    direction: Literal["buy", "sell"]
    amount: NumberText
    limit_price: NumberText
    max_fee: NumberText
    nonce: str | int
    signature: str
    signature_expiry_sec: int
    signer: str
    order_type: Literal["limit", "market"] = "limit"
    time_in_force: Literal["gtc", "post_only", "fok", "ioc"] = "gtc"
    label: str | None = None
    mmp: bool | None = None
    reduce_only: bool | None = None
    reject_post_only: bool | None = None
    reject_timestamp: int | None = None
    trigger_price: NumberText | None = None
    trigger_type: str | None = None
    algo_type: str | None = None


class ReplaceParams(OrderParams, kw_only=True):
    """`private/replace`: an order, and the one it takes the place of."""

    order_id_to_cancel: str | None = None
    nonce_to_cancel: str | int | None = None
    expected_filled_amount: NumberText | None = None


class CancelParams(Struct):
    """`private/cancel`."""

    subaccount_id: int
    order_id: str
    instrument_name: str


class OrderIdParams(Struct):
    """`private/get_order`."""

    subaccount_id: int
    order_id: str


class CancelAllParams(Struct):
    """`private/cancel_all`, `private/cancel_by_instrument`."""

    subaccount_id: int
    instrument_name: str | None = None


class LabelParams(Struct):
    """`private/cancel_by_label`."""

    subaccount_id: int
    label: str
    instrument_name: str | None = None


class NonceParams(Struct):
    """`private/cancel_by_nonce`."""

    subaccount_id: int
    nonce: str | int
    instrument_name: str


def decode_params(kind: type[_P], raw: Raw) -> _P:
    """Decode a request's `params` (none is an empty object). Raises `Refused` (-32602)."""
    data = bytes(raw)
    if not data or data == b"null":
        data = b"{}"
    try:
        return decode_payload(kind, data, "$.params")
    except DecodeError as error:
        raise Refused(-32602, str(error)) from None
    except msgspec.MsgspecError as error:
        raise Refused(-32602, str(error)) from None
