"""The rules an order has to keep, each with the code that its breach is refused with.

Contract: :func:`check_order` looks at the order alone (who signs, when, what), :func:`check_against_market` at it beside the tape's
prices. Both raise `Refused` for the first breach, in this order: subaccount 14001, what is not played here 11050 and -32602, session
key 14026, rejection time 11022, expiry 11011, nonce 11018 and 11017, amount 11012, price 11013, fee -32602 (no number) or 11023 (too
low), signature 14014, instrument not live 11021, post-only market orders 11010, reduce-only 11024 and 11025; then, against the market,
liquidity 11009, fill-or-kill 11014, post-only 11008, fee 11023.

Sources: PROTOCOL.md, constants, signing and error codes; docs.derive.xyz, order types.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from derive_bench.adapter.errors import DecodeError, SigningError
from derive_bench.adapter.instruments import Instrument, InstrumentKind
from derive_bench.adapter.numbers import WIDE, exact, from_scaled
from derive_bench.adapter.outbound import least_max_fee
from derive_bench.adapter.protocol import Protocol
from derive_bench.adapter.signing import action_digest, action_hash, encode_trade, to_wei
from derive_bench.replay.venue.accounts import Account, is_address
from derive_bench.replay.venue.market import Level, Quote
from derive_bench.replay.venue.params import OrderParams
from derive_bench.replay.venue.refusals import Refused
from derive_bench.replay.venue.signatures import recover_address
from derive_bench.replay.venue.units import PLACES, text_of

__all__ = ["Terms", "check_against_market", "check_order", "crosses", "nonce_of", "opposite"]

_SEC_NS: Final = 1_000_000_000
_MS_NS: Final = 1_000_000
_NANOSECOND_DIGITS: Final = 19
_NONCE: Final = re.compile("[0-9]{1,40}", re.ASCII)


@dataclass(slots=True, kw_only=True)
class Terms:
    """A checked order: its numbers in units of 1e-18, and its nonce."""

    amount: int
    price: int
    max_fee: int
    nonce: int


def check_order(params: OrderParams, account: Account, instrument: Instrument, protocol: Protocol, now_ns: int) -> Terms:
    """Check what the order says of itself; see the module's text. `now_ns` is UTC."""
    account.check_subaccount(params.subaccount_id)
    if params.trigger_price is not None or params.trigger_type is not None:
        raise Refused(11050, "This venue plays no trigger orders")
    if params.algo_type is not None:
        raise Refused(-32602, "This venue plays no algo orders - at `$.params.algo_type`")
    if not is_address(params.signer) or not account.may_sign(params.signer):
        raise Refused(14026, f"Signer {params.signer[:64]} is neither wallet {account.wallet} nor a session key registered for it")
    if params.reject_timestamp is not None and params.reject_timestamp * _MS_NS < now_ns:
        raise Refused(11022, f"It was to be rejected from {params.reject_timestamp} on, and now it is {now_ns // _MS_NS}")
    _check_expiry(params, protocol, now_ns)
    nonce = nonce_of(params.nonce, protocol)
    _check_nonce(nonce, account, protocol, now_ns)
    terms = Terms(
        amount=_amount(params.amount, instrument, protocol),
        price=_price(params.limit_price, instrument, protocol),
        max_fee=_fee(params.max_fee, protocol),
        nonce=nonce,
    )
    _check_signature(params, terms, account, instrument, protocol)
    if not instrument.is_active:
        raise Refused(11021, f"{instrument.name} is not live")
    if params.order_type == "market" and params.time_in_force == "post_only":
        raise Refused(11010, "A market order cannot be post-only")
    if params.reduce_only:
        _check_reduce_only(params, instrument)
    return terms


def check_against_market(params: OrderParams, terms: Terms, instrument: Instrument, quote: Quote) -> bool:
    """Check the order beside the tape's prices: whether it takes from them. Raises `Refused`; see the module's text."""
    is_bid = params.direction == "buy"
    best = opposite(quote, is_bid)
    takes = best is not None and crosses(is_bid, terms.price, best[0])
    takes_only = params.order_type == "market" or params.time_in_force in ("ioc", "fok")
    if takes_only and (best is None or not takes):
        raise Refused(11009, "No liquidity at the limit price or better" if best else "No liquidity on the other side")
    if params.time_in_force == "fok" and best is not None and terms.amount > best[1]:
        raise Refused(11014, f"{text_of(best[1])} of {text_of(terms.amount)} could be filled")
    if takes and not takes_only and _is_post_only(params, terms, quote):
        if params.reject_post_only is False and (not is_bid or best is None or best[0] > _exact(instrument.tick)):
            takes = False
        else:
            raise Refused(11008, "Post only order cannot cross the market")
    _check_fee(params, terms, instrument, quote, takes)
    return takes


def opposite(quote: Quote, is_bid: bool) -> Level | None:
    """The best level an order of that side could take from."""
    return quote.ask if is_bid else quote.bid


def crosses(is_bid: bool, limit: int, price: int) -> bool:
    """Whether an order with that limit trades at `price`."""
    return limit >= price if is_bid else limit <= price


def nonce_of(nonce: str | int, protocol: Protocol) -> int:
    """The nonce as a number. Raises `Refused` (-32602) for the JSON type of the other dialect and for no number."""
    if isinstance(nonce, str) is not protocol.nonce_is_text:
        raise Refused(-32602, f"A nonce is a JSON {'string' if protocol.nonce_is_text else 'integer'} - at `$.params.nonce`")
    text = str(nonce)
    if _NONCE.fullmatch(text) is None:
        raise Refused(-32602, "A nonce is a number without sign - at `$.params.nonce`")
    return int(text)


def _check_expiry(params: OrderParams, protocol: Protocol, now_ns: int) -> None:
    left_ns = params.signature_expiry_sec * _SEC_NS - now_ns
    if left_ns < protocol.min_lifetime_sec * _SEC_NS:
        raise Refused(11011, f"Order must expire in {protocol.min_lifetime_sec} sec or more")
    longest_sec = protocol.max_lifetime_sec
    if longest_sec is not None and not params.mmp and left_ns > longest_sec * _SEC_NS:
        raise Refused(11011, f"Order must expire in {longest_sec} sec or less")


def _check_nonce(nonce: int, account: Account, protocol: Protocol, now_ns: int) -> None:
    # The legacy SDK derive-client sends nanoseconds in v2 as well, and was taken.
    digits = protocol.nonce_digits_max if protocol.dialect == "v3" else _NANOSECOND_DIGITS
    if not 10 ** (protocol.nonce_digits_min - 1) <= nonce < 10**digits:
        unit = "nanoseconds" if protocol.nonce_step_ns == 1 else "milliseconds and up to three more digits"
        raise Refused(11018, f"A nonce is the UTC time in {unit}")
    age_ns = now_ns - nonce * protocol.nonce_step_ns
    if protocol.nonce_past_ns is not None and age_ns > protocol.nonce_past_ns:
        raise Refused(11018, f"The nonce is {age_ns // _SEC_NS} s old, at most {protocol.nonce_past_ns // _SEC_NS} s are taken")
    if protocol.nonce_future_ns is not None and -age_ns > protocol.nonce_future_ns:
        raise Refused(11018, f"The nonce is {-age_ns // _SEC_NS} s ahead, at most {protocol.nonce_future_ns // _SEC_NS} s are taken")
    if nonce in account.nonces:
        raise Refused(11017, f"Nonce {nonce} has been used by wallet {account.wallet}")


def _amount(text: str, instrument: Instrument, protocol: Protocol) -> int:
    amount = _wei(text, protocol, "amount", 11012)
    if not _exact(instrument.minimum) <= amount <= _exact(instrument.maximum):
        raise Refused(11012, f"Amount must be from {instrument.minimum:f} to {instrument.maximum:f}")
    if amount % _exact(instrument.step):
        raise Refused(11012, f"Amount must be a multiple of {instrument.step:f}")
    return amount


def _price(text: str, instrument: Instrument, protocol: Protocol) -> int:
    price = _wei(text, protocol, "limit_price", 11013)
    if price <= 0:
        raise Refused(11013, "Limit price must be above 0")
    if price % _exact(instrument.tick):
        raise Refused(11013, f"Limit price must be a multiple of {instrument.tick:f}")
    return price


def _fee(text: str, protocol: Protocol) -> int:
    return _wei(text, protocol, "max_fee", -32602)


def _wei(text: str, protocol: Protocol, field: str, code: int) -> int:
    try:
        exact(text, f"$.params.{field}")
    except DecodeError as error:
        raise Refused(-32602, str(error)) from None
    try:
        return to_wei(text, protocol, field)
    except SigningError as error:
        raise Refused(code, str(error)) from None


def _exact(value: Decimal) -> int:
    return int(value.scaleb(PLACES, WIDE))


def _check_signature(params: OrderParams, terms: Terms, account: Account, instrument: Instrument, protocol: Protocol) -> None:
    try:
        data = encode_trade(
            instrument.asset_address,
            instrument.sub_id,
            terms.price,
            terms.amount,
            terms.max_fee,
            params.subaccount_id,
            params.direction == "buy",
        )
        struct_hash = action_hash(
            protocol.action_typehash,
            params.subaccount_id,
            terms.nonce,
            protocol.trade_module,
            data,
            params.signature_expiry_sec,
            account.wallet,
            params.signer,
        )
    except SigningError as error:
        raise Refused(-32602, str(error)) from None
    signer = recover_address(action_digest(protocol.domain_separator, struct_hash), params.signature)
    if signer != params.signer.lower():
        raise Refused(14014, f"The signature is not {params.signer}'s over this order, wallet {account.wallet} and this network")


def _check_reduce_only(params: OrderParams, instrument: Instrument) -> None:
    if instrument.kind == InstrumentKind.ERC20:
        raise Refused(11025, f"{instrument.name} is spot, which has no position to reduce")
    if params.order_type == "limit" and params.time_in_force not in ("ioc", "fok"):
        raise Refused(11024, f"A limit order that reduces only is IOC or FOK, not {params.time_in_force}")


def _is_post_only(params: OrderParams, terms: Terms, quote: Quote) -> bool:
    edge = quote.high if params.direction == "buy" else quote.low
    beyond = edge is not None and edge > 0 and (terms.price > edge if params.direction == "buy" else terms.price < edge)
    return params.time_in_force == "post_only" or beyond


def _check_fee(params: OrderParams, terms: Terms, instrument: Instrument, quote: Quote, takes: bool) -> None:
    spot = quote.spot
    if spot is None:
        return
    amount = from_scaled(terms.amount, PLACES) if takes else None
    least = least_max_fee(instrument, from_scaled(spot, PLACES), amount)
    if terms.max_fee < _exact(least):
        raise Refused(11023, f"Max fee {params.max_fee} is below {least:f}, the least for this order")
