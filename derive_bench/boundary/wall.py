"""Derive frames across the wall: the adapter in its own process, a strategy in this one.

Contract: `latency` times from the moment a batch's frames are at hand in the adapter's process to the moment its quotes are in the
strategy's hands, `throughput` a batch when the adapter sends as fast as it can, `order` an order out and its signed params back. Each
has a twin without a wall, so that what the wall adds is a difference of two rows. Results are checked against the twin's first.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from derive_bench.adapter.model import QuoteTick
from derive_bench.boundary.architectures import Opening
from derive_bench.boundary.codecs import EVENT_CODECS
from derive_bench.boundary.engines import Client, open_engine
from derive_bench.boundary.feeder import FORMS, HEAD, STAMP, Adapter, Order, Setup, read_frames
from derive_bench.boundary.frames import LENGTH, OK, Bytes
from derive_bench.boundary.placing import apart, placed, spins_of
from derive_bench.boundary.ring import Unsupported
from derive_bench.boundary.session import Missing, Timed

__all__ = ["BATCHES", "DeriveLoad", "latency", "order", "orders_in_process", "quotes_in_process", "throughput"]

BATCHES: Final = (1, 10, 100, 1000)
"""Events that cross at once."""

COMMAND: Final = (sys.executable, "-m", "derive_bench.boundary.feeder")


@dataclass(frozen=True)
class DeriveLoad:
    """What the adapter is fed with: frames of one ticker and the venue's record of its instrument."""

    frames: Sequence[bytes]
    record: Mapping[str, Any]

    def setup(self, *, presigned: bool = False) -> Setup:
        """The same as the other process is told it."""
        return Setup(list(self.frames), dict(self.record), presigned)


def _message(letter: bytes, *parts: Bytes) -> list[Bytes]:
    return [LENGTH.pack(1 + sum(map(len, parts))), letter, *parts]


@contextlib.contextmanager
def _adapter(transport: str, setup: Setup) -> Iterator[Client]:
    try:
        where = apart()
        with placed(where) as cpus, open_engine(COMMAND, transport, cpus=cpus, spins=spins_of(where)) as client:
            client.call(_message(b"S", msgspec.msgpack.encode(setup)))
            yield client
    except Unsupported as error:
        raise Missing(str(error)) from error


def _reader(form: str, local: Adapter) -> tuple[Callable[[Bytes], Any], Callable[[Sequence[QuoteTick], Any], bool]]:
    """What the strategy does with a payload, and whether it then has the quotes."""
    if form == "frames":
        return (lambda payload: local.quotes(list(read_frames(payload)))), (lambda quotes, found: list(quotes) == found)
    _, decode, same = EVENT_CODECS[form].prepare()
    return decode, same


def quotes_in_process(load: DeriveLoad, count: int) -> Opening:
    """Frames to quotes without a wall."""

    @contextlib.contextmanager
    def opened() -> Iterator[Timed]:
        local = Adapter(load.setup())
        yield Timed(lambda: local.quotes(local.next_frames(count)))

    return opened


def latency(load: DeriveLoad, form: str, transport: str, count: int) -> Opening:
    """A batch from frames at hand over there to quotes at hand here; only the way over counts, not the asking."""

    @contextlib.contextmanager
    def opened() -> Iterator[Timed]:
        local = Adapter(load.setup())
        read, same = _reader(form, local)
        ask = _message(b"L", HEAD.pack(FORMS.index(form), count))
        took = 0
        with _adapter(transport, load.setup()) as client:

            def call() -> Any:
                nonlocal took
                payload = client.call(ask)
                found = read(payload[STAMP.size :])
                took = time.perf_counter_ns() - STAMP.unpack_from(payload)[0]
                return found

            def check(found: Any) -> str:
                return "" if same(local.quotes(local.next_frames(count)), found) else "other quotes than without a wall"

            yield Timed(call, check, elapsed_ns=lambda: took)

    return opened


def throughput(load: DeriveLoad, form: str, transport: str, count: int) -> Opening:
    """A batch when the adapter sends without being asked, as fast as this side takes them."""

    @contextlib.contextmanager
    def opened() -> Iterator[Timed]:
        local = Adapter(load.setup())
        read, same = _reader(form, local)
        with _adapter(transport, load.setup()) as client:
            client.stream.send(_message(b"R", HEAD.pack(FORMS.index(form), count)))

            def call() -> Any:
                body = client.stream.receive_body()
                if body[0] != OK:
                    raise ValueError(bytes(body[1:]).decode(errors="replace"))
                return read(body[1 + STAMP.size :])

            def check(found: Any) -> str:
                return "" if same(local.quotes(local.next_frames(count)), found) else "other quotes than without a wall"

            yield Timed(call, check)

    return opened


def _orders() -> Iterator[Order]:
    """Orders of which no two are alike."""
    for number in itertools.count():
        price, amount = f"{3400 + number % 20_000 / 100:.2f}", f"{1 + number % 900 / 100:.2f}"
        yield Order(number % 2 == 0, price, amount, f"O-{number}", 1_790_871_617_137_835_612 + number * 7_654_321)


def orders_in_process(load: DeriveLoad, *, presigned: bool) -> Opening:
    """An order to its signed params without a wall."""

    @contextlib.contextmanager
    def opened() -> Iterator[Timed]:
        local, orders = Adapter(load.setup(presigned=presigned)), _orders()
        yield Timed(lambda: local.sign(next(orders)))

    return opened


def order(load: DeriveLoad, transport: str, *, presigned: bool) -> Opening:
    """An order out, its signed params back."""

    @contextlib.contextmanager
    def opened() -> Iterator[Timed]:
        local, orders, encode = Adapter(load.setup()), _orders(), msgspec.msgpack.Encoder().encode
        with _adapter(transport, load.setup(presigned=presigned)) as client:

            def call() -> tuple[Order, memoryview]:
                one = next(orders)
                return one, client.call(_message(b"O", encode(one)))

            def check(found: tuple[Order, memoryview]) -> str:
                theirs, ours = msgspec.json.decode(found[1]), msgspec.json.decode(local.sign(found[0]))
                # Signatures from a pool differ each time, by design.
                if presigned:
                    theirs.pop("signature"), ours.pop("signature")
                return "" if theirs == ours else "other params than without a wall"

            yield Timed(call, check)

    return opened
