"""The venue's texts: frames of market data and private channels, in both dialects.

Contract: compact JSON with the fields of PROTOCOL.md in the order of the documented form, numbers as decimal texts. `ms` are
the venue's timestamps. Forms: the venue's AsyncAPI document with the corrections the adapter's `messages` state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from derive_bench.replay.synth.book import Level, SynthBook
from derive_bench.replay.synth.dice import Dice
from derive_bench.replay.synth.instruments import SynthInstrument, text

__all__ = ["SIGNER", "SUBACCOUNT", "WALLET", "OrderState", "Wire"]

SUBACCOUNT: Final = 48213
WALLET: Final = "0x3a0129479e2fcBC1d17D70E81dBE79f0CC4c1Cb5"
SIGNER: Final = "0x1d6e2b4d1c1622d0a6b290fab6a48ac3ecfc91e8"
_SIGNATURE: Final = f"0x{'07' * 64}1c"
"""No real signature: nobody's key was at hand."""


@dataclass(slots=True)
class OrderState:
    """One of our orders. Ticks and steps are the instrument's; `cost` is filled steps times ticks."""

    instrument: SynthInstrument
    order_id: str
    label: str
    buy: bool
    ticks: int
    steps: int
    nonce: int
    created_ms: int
    post_only: bool = False
    filled: int = 0
    cost: int = 0
    status: str = "open"
    cancel_reason: str = ""
    replaced: str | None = None
    updated_ms: int = 0


class Wire:
    """Writes frames in one dialect."""

    def __init__(self, dialect: str, dice: Dice) -> None:
        self._v3 = dialect == "v3"
        self._dice = dice

    def notification(self, topic: str, data: str) -> str:
        """Return the frame of a subscription."""
        return f'{{"method":"subscription","params":{{"channel":"{topic}","data":{data}}}}}'

    def book(self, book: SynthBook, depth: int, publish_id: int, ms: int) -> str:
        """Return a snapshot's payload."""
        bids, asks = book.sides(depth)
        return f'{{"asks":{asks},"bids":{bids},"instrument_name":"{book.instrument.name}","publish_id":{publish_id},"timestamp":{ms}}}'

    def ticker(self, book: SynthBook, ms: int, volume: int, trades: int) -> str:
        """Return a slim ticker's payload; `volume` is in steps."""
        instrument, dice = book.instrument, self._dice
        bid, ask = book.bids[0], book.asks[0]
        middle = (bid.ticks + ask.ticks) // 2
        price, amount = instrument.price, instrument.amount
        mark, index = price(middle + dice.below(3)), price(middle + dice.below(9) - 4)
        funding = "null"
        if instrument.kind == "perp":
            funding = f'"{text(dice.below(400) - 150, 7)}"'
        pricing = self._pricing(book, middle) if instrument.kind == "option" else "null"
        first, tenth = instrument.start, instrument.start // 10
        return (
            f'{{"instrument_ticker":{{"A":"{amount(ask.steps)}","B":"{amount(bid.steps)}","I":"{index}","M":"{mark}",'
            f'"a":"{price(ask.ticks)}","b":"{price(bid.ticks)}","f":{funding},"maxp":"{price(middle + middle // 50)}",'
            f'"minp":"{price(middle - middle // 50)}","option_pricing":{pricing},"stats":{{"c":"{amount(volume)}",'
            f'"h":"{price(first + tenth)}","l":"{price(first - tenth)}","n":{trades},"oi":"{amount(6_420_915 + volume % 997)}",'
            f'"p":"{text(middle - first, 4)}","pr":"{price(volume)}","v":"{price(volume + 17)}"}},"t":{ms - 9 - dice.below(12)}}},'
            f'"timestamp":{ms}}}'
        )

    def public_trade(self, instrument: SynthInstrument, level: Level, buy: bool, trade_id: str, ms: int) -> str:
        """Return the payload of one public trade at a level."""
        price, amount = instrument.price(level.ticks), instrument.amount(level.steps)
        mark, index = self._near(instrument, level.ticks), self._near(instrument, level.ticks)
        side = "buy" if buy else "sell"
        if not self._v3:
            return (
                f'[{{"direction":"{side}","index_price":"{index}","instrument_name":"{instrument.name}","mark_price":"{mark}",'
                f'"quote_id":null,"timestamp":{ms},"trade_amount":"{amount}","trade_id":"{trade_id}","trade_price":"{price}"}}]'
            )
        fee = self._fee(instrument, level, 3)
        return (
            f'[{{"trade_id":"{trade_id}","instrument_name":"{instrument.name}","timestamp":{ms},"trade_price":"{price}",'
            f'"trade_amount":"{amount}","mark_price":"{mark}","index_price":"{index}","direction":"{side}","quote_id":null,'
            f'"rfq_id":null,"wallet":"{WALLET}","subaccount_id":{20_000 + self._dice.below(9_000)},"trade_fee":"{fee}",'
            f'"expected_rebate":"0","liquidity_role":"taker","realized_pnl":"{text(self._dice.below(9_000_000) - 4_500_000, 6)}",'
            f'"realized_pnl_excl_fees":"{text(self._dice.below(9_000_000) - 4_500_000, 6)}","extra_fee":"0"}}]'
        )

    def order(self, order: OrderState) -> str:
        """Return one order, as it stands in payloads and replies."""
        instrument = order.instrument
        places = instrument.price_places + 4
        average = text(order.cost * instrument.tick * 10_000 // order.filled, places) if order.filled else "0"
        nonce = f'"{order.nonce}"' if self._v3 else str(order.nonce)
        replaced = f'"{order.replaced}"' if order.replaced else "null"
        fee = self._fee(instrument, Level(order.ticks, order.filled, ""), 1)
        return (
            '{"algo_duration_sec":null,"algo_num_slices":null,"algo_slices_completed":null,"algo_type":null,'
            f'"amount":"{instrument.amount(order.steps)}","average_price":"{average}","cancel_reason":"{order.cancel_reason}",'
            f'"creation_timestamp":{order.created_ms},"direction":"{"buy" if order.buy else "sell"}","extra_fee":"0",'
            f'"filled_amount":"{instrument.amount(order.filled)}","instrument_name":"{instrument.name}","is_transfer":false,'
            f'"label":"{order.label}","last_update_timestamp":{order.updated_ms},"limit_price":"{instrument.price(order.ticks)}",'
            f'"max_fee":"2.9","mmp":false,"nonce":{nonce},"order_fee":"{fee}","order_id":"{order.order_id}",'
            f'"order_status":"{order.status}","order_type":"limit","quote_id":null,"replaced_order_id":{replaced},'
            f'"signature":"{_SIGNATURE}","signature_expiry_sec":{order.created_ms // 1000 + 3600},"signed_limit_price":null,'
            f'"signer":"{SIGNER}","subaccount_id":{SUBACCOUNT},"time_in_force":"{"post_only" if order.post_only else "gtc"}",'
            '"trigger_price":null,"trigger_price_type":null,"trigger_reject_message":null,"trigger_type":null}'
        )

    def private_trade(self, order: OrderState, level: Level, trade_id: str, ms: int) -> str:
        """Return the payload of one fill of an order."""
        instrument = order.instrument
        mark, index = self._near(instrument, level.ticks), self._near(instrument, level.ticks)
        settlement = f'"op_uuid":"{self._dice.uuid()}",' if self._v3 else f'"transaction_id":"{self._dice.uuid()}",'
        status = '"batch_status":null,' if self._v3 else '"tx_status":"pending",'
        rfq = '"rfq_id":null,' if self._v3 else ""
        return (
            f'[{{{status}"direction":"{"buy" if order.buy else "sell"}","expected_rebate":"0","extra_fee":"0","index_price":"{index}",'
            f'"instrument_name":"{instrument.name}","is_transfer":false,"label":"{order.label}","liquidity_role":"maker",'
            f'"mark_price":"{mark}",{settlement}"order_id":"{order.order_id}","quote_id":null,'
            f'"realized_pnl":"{text(self._dice.below(9_000_000) - 4_500_000, 6)}","realized_pnl_excl_fees":"0",{rfq}'
            f'"subaccount_id":{SUBACCOUNT},"timestamp":{ms},"trade_amount":"{instrument.amount(level.steps)}",'
            f'"trade_fee":"{self._fee(instrument, level, 1)}","trade_id":"{trade_id}","trade_price":"{instrument.price(level.ticks)}",'
            '"tx_hash":null}]'
        )

    def order_request(self, request_id: int, order: OrderState, replaces: str | None = None) -> str:
        """Return the request that places an order, or replaces the one named."""
        instrument = order.instrument
        method = "private/replace" if replaces else "private/order"
        nonce = f'"{order.nonce}"' if self._v3 else str(order.nonce)
        cancelling = f'"order_id_to_cancel":"{replaces}",' if replaces else ""
        return (
            f'{{"id":{request_id},"method":"{method}","params":{{{cancelling}"amount":"{instrument.amount(order.steps)}",'
            f'"direction":"{"buy" if order.buy else "sell"}","instrument_name":"{instrument.name}","label":"{order.label}",'
            f'"limit_price":"{instrument.price(order.ticks)}","max_fee":"2.9","mmp":false,"nonce":{nonce},"order_type":"limit",'
            f'"reduce_only":false,"signature":"{_SIGNATURE}","signature_expiry_sec":{order.created_ms // 1000 + 3600},'
            f'"signer":"{SIGNER}","subaccount_id":{SUBACCOUNT},"time_in_force":"{"post_only" if order.post_only else "gtc"}"}}}}'
        )

    def cancel_request(self, request_id: int, order: OrderState) -> str:
        """Return the request that cancels an order."""
        return (
            f'{{"id":{request_id},"method":"private/cancel","params":{{"instrument_name":"{order.instrument.name}",'
            f'"order_id":"{order.order_id}","subaccount_id":{SUBACCOUNT}}}}}'
        )

    def nonce(self, time_ns: int) -> int:
        """Return an order's nonce: UTC ns (v3), or UTC ms and three more digits (v2)."""
        return time_ns if self._v3 else time_ns // 1_000

    def _pricing(self, book: SynthBook, middle: int) -> str:
        dice, price = self._dice, book.instrument.price
        iv = 530_000 + dice.below(400)
        return (
            f'{{"ai":"{text(iv + 3_900, 6)}","bi":"{text(iv - 3_400, 6)}","d":"{text(60_274 + dice.below(90) - 45, 5)}","df":"0.9958",'
            f'"f":"{price(28_800 + dice.below(60))}","g":"{text(91_432 + dice.below(300), 8)}","i":"{text(iv, 6)}","m":"{price(middle)}",'
            f'"r":"{text(251_873 + dice.below(400), 5)}","t":"{text(-198_406 - dice.below(300), 5)}",'
            f'"v":"{text(436_917 + dice.below(300), 5)}"}}'
        )

    def _near(self, instrument: SynthInstrument, ticks: int) -> str:
        """Return a price near another, with the ten places of mark and index prices."""
        return text(ticks * instrument.tick * 10 ** (10 - instrument.price_places) + self._dice.below(1 << 30) - (1 << 29), 10)

    def _fee(self, instrument: SynthInstrument, level: Level, rate: int) -> str:
        """Return a fee of `rate` hundredths of a percent of a level's value."""
        value = level.ticks * instrument.tick * level.steps * instrument.step
        return text(value * rate, instrument.price_places + instrument.size_places + 4)
