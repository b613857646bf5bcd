"""The adapter in a process of its own: it feeds a strategy with quotes and signs its orders.

Contract: `python -m derive_bench.boundary.feeder` with the words that `hosting` takes. A request's body is one letter and what it needs;
a reply's payload is:

- `S` and msgpack of a `Setup`: nothing. Everything below needs it first.
- `L`, a form and a batch: `[u64 stamp][payload]`, the next batch of quotes. The stamp is `time.perf_counter_ns` when its frames were at
  hand, a clock that all processes of a machine share; the payload is in the form asked for.
- `R`, a form and a batch: such replies without end, as fast as they are taken.
- `O` and msgpack of an `Order`: the signed params.

The key is a well-known test key.
"""

from __future__ import annotations

import contextlib
import itertools
import struct
import sys
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final

import msgspec

from derive_bench.adapter.frames import decode
from derive_bench.adapter.inbound import parse_quote
from derive_bench.adapter.instruments import Instrument, InstrumentRegistry
from derive_bench.adapter.model import OrderSide, QuoteTick
from derive_bench.adapter.outbound import OrderCommand, OrderEncoder
from derive_bench.adapter.protocol import V3_MAINNET
from derive_bench.adapter.signing import PresignPool, Signer
from derive_bench.boundary.codecs import EVENT_CODECS
from derive_bench.boundary.frames import OK, Bytes, refusal, reply
from derive_bench.boundary.hosting import host
from derive_bench.boundary.streams import CutShort, PeerGone, Stream

__all__ = ["FORMS", "HEAD", "STAMP", "Adapter", "Order", "Setup", "read_frames"]

TEST_KEY: Final = "0x2ae8be44db8a590d20bffbe3b6872df9b569147d3bf6801a35a28281a4816bbd"
WALLET: Final = "0x000000000000000000000000000000000000aaaa"
SUBACCOUNT_ID: Final = 30769
POOL: Final = 8_192
MAX_EVENTS: Final = 100_000
"""The longest batch that may be asked for."""

CLOCK_NS: Final = 1_790_871_617 * 10**9
EXPIRY_SEC: Final = 1_790_871_617 + 600
MAX_FEE: Final = Decimal(1000)

FORMS: Final = ("frames", "msgpack", "arrow", "raw")
"""What a batch may cross as: the venue's frames as they came, or decoded quotes through one of `EVENT_CODECS`."""

HEAD: Final = struct.Struct("<BI")
STAMP: Final = struct.Struct("<Q")
_LENGTH: Final = struct.Struct("<I")
_REPEATED: Final = ord("R")


class Setup(msgspec.Struct):
    """What the adapter works on: frames of one ticker, its instrument's record, and whether orders are signed from a pool."""

    frames: list[bytes]
    record: dict[str, Any]
    presigned: bool = False


class Order(msgspec.Struct, array_like=True):
    """A limit order as a strategy would send it; price and amount as decimal texts."""

    is_buy: bool
    price: str
    amount: str
    label: str
    nonce: int


class Adapter:
    """Does what the adapter does, in this process: also what everything across the wall is compared with."""

    def __init__(self, setup: Setup) -> None:
        registry = InstrumentRegistry([setup.record])
        self._frames = itertools.cycle(setup.frames)
        self._instrument: Instrument = registry[setup.record["instrument_name"]]
        pool = PresignPool(size=POOL) if setup.presigned else None
        signer = Signer(TEST_KEY, presign=pool)
        if pool is not None:
            pool.refill(POOL)
        self._encoder = OrderEncoder(
            signer, V3_MAINNET, owner=WALLET, subaccount_id=SUBACCOUNT_ID, instruments=registry, clock_ns=lambda: CLOCK_NS
        )
        self._encode: dict[str, Callable[[Any], Bytes]] = {"frames": join_frames}

    def next_frames(self, count: int) -> list[bytes]:
        """The next frames, as if they had just come."""
        return list(itertools.islice(self._frames, count))

    def quotes(self, frames: list[bytes]) -> list[QuoteTick]:
        """Frames to quotes."""
        instrument = self._instrument
        return [parse_quote(decode(frame).data, instrument, 0) for frame in frames]  # type: ignore[union-attr]

    def batch(self, form: str, count: int) -> list[Bytes]:
        """A stamp and the next quotes in a form."""
        frames = self.next_frames(count)
        stamp = STAMP.pack(time.perf_counter_ns())
        if form not in self._encode:
            self._encode[form] = EVENT_CODECS[form].prepare()[0]
        return [stamp, self._encode[form](frames if form == "frames" else self.quotes(frames))]

    def sign(self, order: Order) -> bytes:
        """An order's signed params."""
        return self._encoder.submit(
            OrderCommand(
                instrument_name=self._instrument.name,
                side=OrderSide.BUY if order.is_buy else OrderSide.SELL,
                limit_price=Decimal(order.price),
                amount=Decimal(order.amount),
                max_fee=MAX_FEE,
                expiry_sec=EXPIRY_SEC,
                label=order.label,
            ),
            order.nonce,
        )


def join_frames(frames: list[bytes]) -> bytes:
    """Frames with their lengths in front."""
    return b"".join([part for frame in frames for part in (_LENGTH.pack(len(frame)), frame)])


def read_frames(payload: Bytes) -> Iterator[bytes]:
    """The frames that `join_frames` put together."""
    at, data = 0, bytes(payload)
    while at < len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        yield data[at + 4 : at + 4 + length]
        at += 4 + length


class Desk:
    """What one strategy has set up, and the answers to its requests."""

    def __init__(self) -> None:
        self._adapter: Adapter | None = None
        self._order = msgspec.msgpack.Decoder(Order).decode
        self._setup = msgspec.msgpack.Decoder(Setup).decode

    def answer(self, body: memoryview) -> Callable[[], list[Bytes]]:
        """Return what makes a reply's payload. `Exception` of any kind for a request that makes no sense."""
        letter, rest = bytes(body[:1]), body[1:]
        if letter == b"S":
            self._adapter = Adapter(self._setup(rest))
            return list
        adapter = self._adapter
        if adapter is None:
            raise ValueError("there was no setup")
        if letter == b"O":
            order = self._order(rest)
            return lambda: [adapter.sign(order)]
        if letter not in (b"L", b"R"):
            raise ValueError("unknown letter")
        form, count = HEAD.unpack(rest)
        if form >= len(FORMS) or not 1 <= count <= MAX_EVENTS:
            raise ValueError(f"form {form} is not below {len(FORMS)}, or {count} events are not in 1..={MAX_EVENTS}")
        return lambda: adapter.batch(FORMS[form], count)


def serve(stream: Stream) -> None:
    """Serve one strategy until it goes."""
    desk = Desk()
    with contextlib.suppress(PeerGone):
        try:
            while True:
                body = stream.receive_body()
                _serve_request(stream, desk, body)
        except (ValueError, CutShort) as error:
            # Nothing after it can be believed.
            stream.send(refusal(error))


def _serve_request(stream: Stream, desk: Desk, body: memoryview) -> None:
    try:
        answer = desk.answer(body)
        payload = answer()
    except Exception as error:  # a strategy's mistake, whatever it leads to, must not end the adapter
        stream.send(refusal(error))
        return
    stream.send(reply(OK, *payload))
    while body[0] == _REPEATED:
        stream.send(reply(OK, *answer()))


if __name__ == "__main__":
    host(sys.argv[1:], serve)
