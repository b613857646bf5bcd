"""`OrderEncoder`: commands to params bytes, or to whole JSON-RPC requests.

An order is refused, before anything is hashed, unless its shape is one the venue takes (`markets`), its price and amount
lie on the instrument's tick and step and within its limits, and its numbers, nonce and expiry are within the protocol's
ranges. Nothing is rounded: `rounding` has the functions that do, for the caller to use. `OrderRefused` names the wire
field and says what to do; `SigningError` is for what the protocol cannot sign.

One integer drives both what is signed and what is written. Numbers take one of two ways to it:

- the quick way reads price and amount in one call, as JSON numbers to each of which a minus and an exponent are
  joined, that is as whole numbers of units below 0. What is no number in itself (blanks, signs, a comma) makes no such
  array. The reading is exact: a text of at most 15 characters has at most 15 significant digits, decimals of at most 15
  digits are told apart by their nearest doubles (DBL_DIG of IEEE 754), and msgspec gives an integer only for a double
  that is one and within +-2**53. So a text that is not a whole number of units is not taken for one.
- whatever does not pass there (longer texts, exponents, breaches) is scaled by exact decimal arithmetic and judged in
  wei. Only this way reports errors.

Commands are never changed. An encoder may be used from several threads.

Sources: PROTOCOL.md (signing, WebSocket); the venue's OpenAPI document.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from decimal import Decimal
from itertools import count
from typing import Final, NamedTuple

import msgspec

from derive_bench.adapter.errors import OrderRefused
from derive_bench.adapter.instruments import InstrumentRegistry
from derive_bench.adapter.model import OrderSide, OrderType, TriggerType
from derive_bench.adapter.numbers import EXACT_LIMIT
from derive_bench.adapter.outbound.commands import (
    CancelCommand,
    OrderCommand,
    OrderTerms,
    ReplaceOrder,
    TriggerKind,
    TriggerOrder,
    Value,
    check_text,
)
from derive_bench.adapter.outbound.markets import QUICK_LENGTH, Market, json_text, prepare
from derive_bench.adapter.outbound.window import Window, open_window
from derive_bench.adapter.protocol import V3_MAINNET, Protocol
from derive_bench.adapter.signing import ActionGuard, ActionSigner, NonceSource, Signer, wei_converter

__all__ = ["OrderEncoder"]

_units = msgspec.json.Decoder(tuple[int, int], strict=False).decode

_TRIGGERS: Final = {TriggerKind.STOP_LOSS: "stoploss", TriggerKind.TAKE_PROFIT: "takeprofit"}
_TRIGGER_PRICES: Final = {TriggerType.MARK_PRICE: "mark", TriggerType.INDEX_PRICE: "index"}


_CANCELS_MAX: Final = 16_384
"""The most instruments that cancels are prepared for; any name can be given to one."""


class _Numbers(NamedTuple):
    price_wei: int
    amount_wei: int
    price: str
    amount: str


class OrderEncoder:
    """Writes the orders of one subaccount.

    Args:
        signer: holds the session key, or the owner's.
        protocol: dialect and network.
        owner: address of the wallet that owns the subaccount.
        subaccount_id: whose orders these are.
        instruments: what can be ordered; a renewed record takes effect with the next order.
        nonces: where nonces come from when none is given; every encoder of one (wallet, subaccount) must share one
            source, as `NonceBook` gives it. By default one of its own.
        request_ids: gives the ids of requests; by default 1, 2, 3 and so on.
        clock_ns: UTC time in ns, against which expiries and nonces are checked.
        referral_code: written into every order if given.
    """

    def __init__(
        self,
        signer: Signer,
        protocol: Protocol = V3_MAINNET,
        *,
        owner: str,
        subaccount_id: int,
        instruments: InstrumentRegistry,
        nonces: NonceSource | None = None,
        request_ids: Callable[[], int] | None = None,
        clock_ns: Callable[[], int] = time.time_ns,
        referral_code: str | None = None,
    ) -> None:
        self._protocol = protocol
        self._instruments = instruments
        self._sign = ActionSigner(signer, protocol, owner, subaccount_id).sign_trade
        self._clock_ns = clock_ns
        self._guard = ActionGuard(protocol, clock_ns)
        self._guard.check_values(0, 0, 0, 0, subaccount_id)  # the recipient of every trade, hence checked once
        self._next_nonce = (NonceSource(protocol, clock_ns) if nonces is None else nonces).next
        self._next_id = count(1).__next__ if request_ids is None else request_ids
        self._account = f'"subaccount_id":{subaccount_id},"signer":"{signer.address}"'
        if referral_code is not None:
            self._account += f',"referral_code":{_quoted("referral_code", referral_code)}'
        quote = '"' if protocol.nonce_is_text else ""
        self._before_nonce = f'","nonce":{quote}'
        self._after_nonce = f'{quote},"signature_expiry_sec":'
        self._before_order_id: dict[str, bytes] = {}
        self._after_order_id = b',"subaccount_id":%d}' % subaccount_id
        # Bounded by the instruments, times the few terms there are.
        self._markets: dict[tuple[str, OrderSide, OrderTerms], Market] = {}
        self._price = wei_converter(protocol, "limit_price")
        self._amount = wei_converter(protocol, "amount")
        self._fee_to_wei = wei_converter(protocol, "max_fee")
        # The last max fee and the last expiry, with what is made of them. Each is replaced as a whole, for threads' sake.
        self._fee: tuple[Value, int, str] = (Decimal(), 0, "")
        self._expiry: tuple[int, str, Window] = (-1, "", (0, 0, 0, 0))
        self._decimals = protocol.value_scale_decimals

    def submit(self, order: OrderCommand, nonce: int | None = None) -> bytes:
        """Return the params of ``private/order``. Raises `OrderRefused`, `SigningError`, `UnknownInstrument`."""
        return self._write(order, nonce, "", "}")

    def submit_rpc(self, order: OrderCommand, nonce: int | None = None, request_id: int | None = None) -> bytes:
        """Return the request that submits `order`; nonce and id come from their sources unless given."""
        if request_id is None:
            request_id = self._next_id()
        return self._write(order, nonce, f'{{"id":{request_id},"method":"private/order","params":', "}}")

    def replace(self, command: ReplaceOrder, nonce: int | None = None) -> bytes:
        """Return the params of ``private/replace``. Raises as `submit` does."""
        return self._write(command.order, nonce, "", self._replace_members(command) + "}")

    def replace_rpc(self, command: ReplaceOrder, nonce: int | None = None, request_id: int | None = None) -> bytes:
        """Return the request that replaces an order; nonce and id come from their sources unless given."""
        if request_id is None:
            request_id = self._next_id()
        lead = f'{{"id":{request_id},"method":"private/replace","params":'
        return self._write(command.order, nonce, lead, self._replace_members(command) + "}}")

    def trigger(self, command: TriggerOrder, nonce: int | None = None) -> bytes:
        """Return the params of a trigger order, for the protocol's `trigger_method`. Raises as `submit` does."""
        return self._write(command.order, nonce, "", self._trigger_members(command) + "}", True)

    def trigger_rpc(self, command: TriggerOrder, nonce: int | None = None, request_id: int | None = None) -> bytes:
        """Return the request that places a trigger order; nonce and id come from their sources unless given."""
        if request_id is None:
            request_id = self._next_id()
        lead = f'{{"id":{request_id},"method":"{self._protocol.trigger_method}","params":'
        return self._write(command.order, nonce, lead, self._trigger_members(command) + "}}", True)

    def cancel_order(self, instrument_name: str, order_id: str) -> bytes:
        """Return the params of ``private/cancel`` for one order by the venue's id, on any instrument, known or not.

        Raises `OrderRefused` for a name or id that no request can carry.
        """
        try:
            # Only a text that is not empty is above the empty text.
            if order_id > "":
                return self._before_order_id[instrument_name] + json_text(order_id) + self._after_order_id
        except (KeyError, TypeError, UnicodeEncodeError):
            pass
        return self._learn_cancel(instrument_name, order_id)

    def cancel_order_rpc(self, instrument_name: str, order_id: str, request_id: int | None = None) -> bytes:
        """Return the request that cancels one order; the id comes from its source unless given. Raises as above."""
        if request_id is None:
            request_id = self._next_id()
        return b'{"id":%d,"method":"private/cancel","params":%b}' % (request_id, self.cancel_order(instrument_name, order_id))

    cancel: Final[Callable[[CancelCommand], bytes]] = staticmethod(json_text)
    """The params of any other cancel, which checked itself when it was built."""

    def cancel_rpc(self, command: CancelCommand, request_id: int | None = None) -> bytes:
        """Return the request of any other cancel; the id comes from its source unless given."""
        if request_id is None:
            request_id = self._next_id()
        return f'{{"id":{request_id},"method":"{command.method}","params":'.encode() + json_text(command) + b"}"

    def _learn_cancel(self, instrument_name: str, order_id: str) -> bytes:
        check_text("instrument_name", instrument_name)
        check_text("order_id", order_id)
        if len(self._before_order_id) >= _CANCELS_MAX:
            self._before_order_id.clear()
        before = b'{"instrument_name":%b,"order_id":' % json_text(instrument_name)
        self._before_order_id[instrument_name] = before
        return before + json_text(order_id) + self._after_order_id

    def _market(self, order: OrderCommand) -> Market:
        market = prepare(order.terms, order.side, self._instruments[order.instrument_name], self._protocol, self._account)
        self._markets[order.instrument_name, order.side, order.terms] = market
        return market

    def _write(self, order: OrderCommand, nonce: int | None, lead: str, end: str, trigger: bool = False) -> bytes:
        """Check, sign and write. In one function, since each call, and each name looked up, is a part of the budget."""
        name = order.instrument_name
        market = self._markets.get((name, order.side, order.terms))
        if market is None or market.instrument is not self._instruments[name]:
            market = self._market(order)

        price, amount = order.limit_price, order.amount
        price_text = str(price) if price.__class__ is Decimal else _text(price)
        amount_text = str(amount) if amount.__class__ is Decimal else _text(amount)
        text = f"[-{price_text}{market.price_tail}{amount_text}{market.amount_tail}"
        try:
            price_units, amount_units = _units(text)
        except (msgspec.MsgspecError, UnicodeEncodeError):
            price_units = amount_units = 0
        if (
            price_units
            and market.lowest <= amount_units <= market.highest
            and not price_units % market.tick
            and not amount_units % market.step
            and (len(text) <= market.quick_length or (len(price_text) <= QUICK_LENGTH and len(amount_text) <= QUICK_LENGTH))
        ):
            price_wei = price_units * market.price_wei
            amount_wei = amount_units * market.amount_wei
        else:
            price_wei, amount_wei, price_text, amount_text = self._exact(order, market)
        fee, fee_wei, fee_and_on = self._fee
        if fee is not order.max_fee:
            fee_wei, fee_and_on = self._new_fee(order.max_fee)

        if nonce is None:
            nonce = self._next_nonce()
        expiry_sec, expiry_and_on, (from_ns, until_ns, first_nonce, last_nonce) = self._expiry
        if expiry_sec != order.expiry_sec or trigger or not (from_ns <= self._clock_ns() < until_ns and first_nonce <= nonce <= last_nonce):
            expiry_sec = order.expiry_sec
            expiry_and_on = self._check_times(nonce, expiry_sec, market.mmp, trigger)

        label = order.label
        if label is None:
            label_name, quoted = '"', ""
        else:
            label_name = '","label":'
            # As `_quoted`, which the others go through.
            quoted = json_text(label).decode() if label.__class__ is str and label.isascii() else _quoted("label", label)

        signature = self._sign(market.words, price_wei, amount_wei, fee_wei, market.is_bid, nonce, expiry_sec)
        return (
            f'{lead}{market.head}{amount_text}","limit_price":"{price_text}{fee_and_on}{nonce}{expiry_and_on}'
            f"{signature}{label_name}{quoted}{end}"
        ).encode()

    def _new_fee(self, value: Value) -> tuple[int, str]:
        """Convert a max fee and keep it for the next order: it seldom changes, and is known again by being the same."""
        wei = self._fee_to_wei(value)
        text = f'","max_fee":"{self._plain(wei)}{self._before_nonce}'
        self._fee = (value, wei, text)
        return wei, text

    def _check_times(self, nonce: int, expiry_sec: int, mmp: bool, trigger: bool) -> str:
        """Put the times before the rule; keep what it allows, and the expiry's text, for the orders that follow."""
        self._guard.check_times(nonce, expiry_sec, mmp, trigger)
        text = f'{self._after_nonce}{expiry_sec},"signature":"'
        self._expiry = expiry_sec, text, open_window(self._protocol, expiry_sec, self._clock_ns())
        return text

    def _exact(self, order: OrderCommand, market: Market) -> _Numbers:
        """The numbers by exact arithmetic, or the error that says what is wrong with them."""
        if order.limit_price is None:
            market_order = order.terms.order_type == OrderType.MARKET
            raise OrderRefused(
                "limit_price",
                "a market order needs the worst acceptable price" if market_order else "a limit order needs one",
            )
        price = self._price(order.limit_price)
        self._on_tick("limit_price", price, market)
        amount = self._amount(order.amount)
        instrument = market.instrument
        if not market.exact_least <= amount <= market.exact_most:
            raise OrderRefused(
                "amount",
                f"{self._plain(amount)} is outside {instrument.name}'s limits, {instrument.minimum:f} to {instrument.maximum:f}",
            )
        if amount % market.exact_step:
            raise OrderRefused(
                "amount",
                f"{self._plain(amount)} is not a multiple of {instrument.name}'s step {instrument.step:f}: see round_to_step",
            )
        return _Numbers(price, amount, self._plain(price), self._plain(amount))

    def _on_tick(self, field: str, price: int, market: Market) -> None:
        instrument = market.instrument
        if price <= 0:
            raise OrderRefused(field, f"{self._plain(price)} is not above 0")
        if price % market.exact_tick:
            raise OrderRefused(
                field,
                f"{self._plain(price)} is not a multiple of {instrument.name}'s tick {instrument.tick:f}: see round_to_tick",
            )

    def _replace_members(self, command: ReplaceOrder) -> str:
        order_id, nonce = command.order_id_to_cancel, command.nonce_to_cancel
        if (order_id is None) is (nonce is None):
            raise OrderRefused("order_id_to_cancel", "give exactly one of order_id_to_cancel and nonce_to_cancel")
        if order_id is not None:
            members = f',"order_id_to_cancel":{_quoted("order_id_to_cancel", order_id)}'
        else:
            if nonce.__class__ is not int or not 0 <= nonce < 1 << 63:
                raise OrderRefused("nonce_to_cancel", f"{nonce!r} is not a nonce: an integer from 0 to 2^63 - 1")
            members = f',"nonce_to_cancel":{nonce}'
        if command.expected_filled_amount is not None:
            filled = self._amount(command.expected_filled_amount)
            if filled < 0:
                raise OrderRefused("expected_filled_amount", f"{self._plain(filled)} is below 0")
            members += f',"expected_filled_amount":"{self._plain(filled)}"'
        return members

    def _trigger_members(self, command: TriggerOrder) -> str:
        order = command.order
        kind = _TRIGGERS.get(command.kind)
        if kind is None:
            raise OrderRefused("trigger_type", f"{command.kind!r}: STOP_LOSS or TAKE_PROFIT")
        price_type = _TRIGGER_PRICES.get(command.price_type)
        if price_type is None:
            raise OrderRefused("trigger_price_type", f"{command.price_type!r}: MARK_PRICE or INDEX_PRICE")
        price = self._price(command.trigger_price)
        market = self._market(order)
        self._on_tick("trigger_price", price, market)
        if order.terms.order_type == OrderType.MARKET and order.limit_price is not None:
            worst = self._price(order.limit_price)
            if worst < price if market.is_bid else worst > price:
                raise OrderRefused("limit_price", "the worst acceptable price cannot be met at the trigger price (error 11055)")
        members = f',"trigger_price":"{self._plain(price)}","trigger_price_type":"{price_type}","trigger_type":"{kind}"'
        for field, value in (("conn_id", command.conn_id), ("order_id", command.order_id)):
            if self._protocol.trigger_needs_ids:
                if value is None:
                    raise OrderRefused(field, f"{self._protocol.trigger_method} of {self._protocol.name} needs one")
                members += f',"{field}":{_quoted(field, value)}'
            elif value is not None:
                raise OrderRefused(field, f"{self._protocol.name} takes none with a trigger order: leave it None")
        return members

    def _plain(self, wei: int) -> str:
        """The value of `wei` as plain decimal text, without zeros at its end."""
        sign = "-" if wei < 0 else ""
        whole, fraction = divmod(abs(wei), 10**self._decimals)
        if not fraction:
            return f"{sign}{whole}"
        return f"{sign}{whole}.{str(fraction).zfill(self._decimals).rstrip('0')}"


def _text(value: Value | None) -> str:
    """A number that is no Decimal as the text the quick way reads, or one that sends it the exact way."""
    if value.__class__ is int:
        return str(value) if -EXACT_LIMIT < value < EXACT_LIMIT else ""
    return value if value.__class__ is str else ""


def _quoted(field: str, text: str) -> str:
    """The JSON form of a text. Raises `OrderRefused` for one that has none."""
    # A plain ASCII text cannot hold a lone surrogate, the one thing that has no JSON form here.
    if text.__class__ is not str or not text.isascii() or not text:
        check_text(field, text)
    return json_text(text).decode()
