"""Wire messages: optional parts, statistics that are read late, and the full ticker under its short names."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from derive_bench.adapter import messages
from derive_bench.adapter.errors import DecodeError
from derive_bench.adapter.frames import Subscription, decode
from derive_bench.adapter.lenient import decode_payload
from derive_bench.adapter.messages import FullTicker, InstrumentRecord, PrivateOrder, PrivateTrade, PublicTrade, TickerBody
from tests.adapter.wire import Num, envelope, inputs, write

MAX_MS = (2**64 - 1) // 10**6


def body_of(stats: Any = None) -> TickerBody:
    tree = json.loads(inputs().payload_bytes("ticker"))
    if stats is not None:
        tree["instrument_ticker"]["stats"] = stats
    message = decode(envelope("ticker_slim.ETH-PERP.100", write(tree, bare=1)))
    assert isinstance(message, Subscription)
    body = message.data.instrument_ticker
    assert isinstance(body, TickerBody)
    return body


def test_every_message_type_is_public() -> None:
    for name in messages.__all__:
        assert issubclass(getattr(messages, name), msgspec.Struct)


def test_statistics_are_read_when_asked_for() -> None:
    sent = inputs().payload("ticker")["instrument_ticker"]["stats"]
    statistics = body_of().statistics
    assert statistics is not None
    assert {name: getattr(statistics, name) for name in sent} == sent
    assert body_of().open_interest == sent["oi"]


def test_statistics_may_come_as_bare_numbers() -> None:
    bare = body_of({name: Num(text) for name, text in {"c": "1.50", "h": "2", "l": "0.10", "oi": "4248.3420"}.items()})
    assert bare.statistics is not None
    assert (bare.statistics.c, bare.statistics.l, bare.open_interest, bare.statistics.n) == ("1.50", "0.10", "4248.3420", None)


def test_no_statistics_are_none() -> None:
    body = body_of()
    for stats in (Raw(), Raw(b"null")):
        none = msgspec.structs.replace(body, stats=stats)
        assert none.statistics is None
        assert none.open_interest is None
    assert body_of({}).open_interest is None


@pytest.mark.parametrize(
    ("stats", "path"), [(b"5", ""), (b"[]", ""), (b"{}", ""), (b'{"c":"1","h":"1","l":"1","oi":[]}', ".oi"), (b'{"oi":true}', ".oi")]
)
def test_malformed_statistics_are_an_error_when_asked_for(stats: bytes, path: str) -> None:
    body = msgspec.structs.replace(body_of(), stats=Raw(stats))
    with pytest.raises(DecodeError) as caught:
        body.statistics  # noqa: B018
    assert caught.value.path in (f"$.params.data.instrument_ticker.stats{path}", "$.params.data.instrument_ticker.stats")
    if stats != b"{}":
        with pytest.raises(DecodeError) as caught:
            body.open_interest  # noqa: B018
        assert caught.value.path == f"$.params.data.instrument_ticker.stats{path}"


@pytest.mark.parametrize(
    ("sent", "count"), [("4173", 4173), (4173, 4173), ("", None), ("1.5", None), ("9" * 5000, None), ("٣", None), (None, None)]
)
def test_the_full_tickers_number_of_trades(sent: Any, count: int | None) -> None:
    long = json.loads(inputs().payload_bytes("ticker_full_flat"))
    long["stats"]["num_trades"] = sent if not isinstance(sent, int) else Num(str(sent))
    statistics = decode_payload(FullTicker, write(long, bare=1).encode()).body().statistics
    assert statistics is not None
    assert statistics.n == count
    assert (statistics.c, statistics.h, statistics.l, statistics.oi) == tuple(
        long["stats"][name] for name in ("contract_volume", "high", "low", "open_interest")
    )


def test_the_full_ticker_without_optional_parts() -> None:
    long = json.loads(inputs().payload_bytes("ticker_full_flat"))
    for name in ("stats", "option_pricing", "perp_details", "min_price", "max_price"):
        long.pop(name)
    body = decode_payload(FullTicker, write(long).encode()).body()
    assert (body.statistics, body.option_pricing, body.f, body.minp, body.maxp) == (None, None, None, None, None)
    assert (body.b, body.t) == (long["best_bid_price"], long["timestamp"])


@pytest.mark.parametrize(
    ("topic", "name", "field"),
    [("trades.ETH-PERP", "trade", "timestamp"), ("7.orders", "order", "creation_timestamp"), ("7.trades", "private_trade", "timestamp")],
)
def test_timestamps_fit_64_bits_of_nanoseconds(topic: str, name: str, field: str) -> None:
    row = inputs().payload(name)[0]
    kinds: dict[str, type[PublicTrade | PrivateOrder | PrivateTrade]] = {
        "trade": PublicTrade,
        "order": PrivateOrder,
        "private_trade": PrivateTrade,
    }
    for good in (0, 1, MAX_MS):
        message = decode(envelope(topic, [{**row, field: good}]))
        assert isinstance(message, Subscription)
        assert getattr(message.data[0], field) == good
    for bad in (-1, MAX_MS + 1, 10**30):
        with pytest.raises(DecodeError) as caught:
            decode_payload(kinds[name], write({**row, field: bad}).encode())
        assert caught.value.path == f"$.{field}"


@pytest.mark.parametrize("protocol", ["v3", "v2"])
def test_what_each_dialect_adds_is_kept(protocol: str) -> None:
    source = inputs(protocol)
    for name, fields in (("order", PrivateOrder), ("private_trade", PrivateTrade), ("trade", PublicTrade), ("trades_settled", PublicTrade)):
        sent = source.payload(name)[0]
        message = decode(source.frame(name))
        assert isinstance(message, Subscription)
        known = {field.encode_name for field in msgspec.structs.fields(fields)}
        for key in known & sent.keys():
            assert getattr(message.data[0], key) == sent[key]
    settled = decode(source.frame("trades_settled"))
    assert isinstance(settled, Subscription)
    assert (settled.data[0].tx_status is None) == (protocol == "v3")


def test_an_instrument_record_keeps_its_details() -> None:
    record = decode_payload(InstrumentRecord, write(inputs().payload("instruments_options")["instruments"][0]).encode())
    assert record.option_details is not None
    assert record.option_details["option_type"] == "C"
    assert record.perp_details is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("orderbook", messages.OrderBook),
        ("ticker", TickerBody),
        ("ticker_option", TickerBody),
        ("trade", PublicTrade),
        ("trades_settled", PublicTrade),
        ("order", PrivateOrder),
        ("private_trade", PrivateTrade),
    ],
)
def test_fields_stand_in_the_order_of_the_wire(name: str, kind: type[msgspec.Struct]) -> None:
    tree = json.loads(inputs().payload_bytes(name))
    sent = tree[0] if isinstance(tree, list) else tree.get("instrument_ticker", tree)
    assert [field for field in kind.__struct_fields__ if field in sent] == [key for key in sent if key in kind.__struct_fields__]
