"""Event ids and the exactness of fills."""

from __future__ import annotations

import os
import pickle
import threading
import uuid
from decimal import Decimal

import msgspec
import pytest

from derive_bench.adapter.events import OrderAccepted, OrderFilled, new_event_id
from derive_bench.adapter.model import LiquiditySide, OrderSide, OrderType


def _filled(price: str = "2873.10") -> OrderFilled:
    return OrderFilled(
        new_event_id(),
        "O-1",
        "A",
        "ETH-PERP.DERIVE",
        "S-1",
        "T-1",
        OrderSide.BUY,
        OrderType.LIMIT,
        "0.5",
        price,
        "-1e-3",
        "USDC",
        LiquiditySide.MAKER,
        1,
        2,
    )


def test_event_ids_are_random_version_4_uuids() -> None:
    ids = [uuid.UUID(str(new_event_id())) for _ in range(5_000)]
    assert len(set(ids)) == len(ids)
    assert {(value.version, value.variant) for value in ids} == {(4, uuid.RFC_4122)}
    assert all(0.4 < sum(value.int >> bit & 1 for value in ids) / len(ids) < 0.6 for bit in range(128) if bit // 2 not in (31, 38, 39))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_event_ids_differ_after_fork() -> None:
    new_event_id()
    texts: list[str] = []
    for _ in range(2):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, b"".join(str(new_event_id()).encode() for _ in range(200)))
            os._exit(0)
        os.close(writer)
        os.waitpid(child, 0)
        with os.fdopen(reader) as pipe:
            text = pipe.read()
        texts += [text[start : start + 36] for start in range(0, len(text), 36)]
    texts += [str(new_event_id()) for _ in range(200)]
    assert len(texts) == len(set(texts)) == 600


def test_event_ids_differ_between_threads() -> None:
    ids: list[str] = []

    def make() -> None:
        ids.extend(str(new_event_id()) for _ in range(2_000))

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == len(set(ids)) == 8_000


def test_a_fill_is_exact_and_keeps_the_scale() -> None:
    event = _filled("1234567890123456789012345678.000000000001")
    assert event.last_px == Decimal("1234567890123456789012345678.000000000001")
    assert str(event.last_qty) == "0.5"
    assert event.commission == Decimal("-0.001")


def test_events_are_immutable_written_as_json_and_copied_by_pickle() -> None:
    event = OrderAccepted(new_event_id(), "O-1", "A", "ETH-PERP.DERIVE", "S-1", 1, 2)
    with pytest.raises(AttributeError):
        event.venue_order_id = "B"  # type: ignore[misc]
    written = msgspec.json.decode(msgspec.json.encode(event, enc_hook=str))
    assert written["event_id"] == str(event.event_id)
    assert pickle.loads(pickle.dumps(_filled())) != _filled()
    assert pickle.loads(pickle.dumps(event)) == event
