"""The registry: precision, tick and step of real multiples, kinds, unknown names, and records that cannot be used."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derive_bench.adapter import instruments
from derive_bench.adapter.errors import CallerError, DecodeError, UnknownInstrument
from derive_bench.adapter.frames import decode_instruments
from derive_bench.adapter.instruments import Instrument, InstrumentKind, InstrumentRegistry, instrument_from_record
from derive_bench.adapter.lenient import decode_payload
from derive_bench.adapter.messages import InstrumentRecord
from tests.adapter.wire import Num, inputs, made_instrument, write

RECORD = inputs().instruments[0]


def with_changes(**changes: Any) -> Instrument:
    (instrument,) = InstrumentRegistry([{**RECORD, **changes}]).values()
    return instrument


@pytest.mark.parametrize("protocol", ["v3", "v2"])
def test_our_records(protocol: str) -> None:
    records = inputs(protocol).instruments
    registry = InstrumentRegistry(records)
    assert list(registry) == [record["instrument_name"] for record in records]
    for record in records:
        found = registry[record["instrument_name"]]
        assert (found.name, found.id) == (record["instrument_name"], f"{record['instrument_name']}.DERIVE")
        assert found.kind is InstrumentKind(record["instrument_type"])
        assert (found.tick, found.step) == (Decimal(record["tick_size"]), Decimal(record["amount_step"]))
        assert (found.minimum, found.maximum) == (Decimal(record["minimum_amount"]), Decimal(record["maximum_amount"]))
        assert (found.asset_address, found.sub_id) == (record["base_asset_address"], int(record["base_asset_sub_id"]))
        assert found.is_active is record["is_active"]
        assert (found.base_currency, found.quote_currency) == (record["base_currency"], record["quote_currency"])
        fees = (Decimal(record["taker_fee_rate"]), Decimal(record["maker_fee_rate"]), Decimal(record["base_fee"]))
        assert (found.taker_fee, found.maker_fee, found.base_fee) == fees


@pytest.mark.parametrize(
    ("multiple", "places"),
    [
        *(("0.01", 2), ("0.5", 1), ("5", 0), ("1", 0), ("10", 0), ("1e3", 0), ("1e-3", 3), ("5e-1", 1), ("0.0100", 2), ("1.0", 0)),
        *(("2.50", 1), ("0.000000000000000001", 18), ("1e-18", 18), ("1000000000000", 0), ("25", 0)),
    ],
)
def test_precision_is_the_places_of_tick_and_step(multiple: str, places: int) -> None:
    by_tick, by_step = made_instrument(tick=multiple), made_instrument(step=multiple)
    assert (by_tick.price_precision, by_tick.tick) == (places, Decimal(multiple))
    assert (by_step.size_precision, by_step.step) == (places, Decimal(multiple))
    assert (by_tick.price_unit, by_tick.price_tail) == (10.0**places, f"e{places}")
    assert (by_step.size_unit, by_step.size_tail) == (10.0**places, f"e{places}")


@given(st.integers(1, 10**12), st.integers(0, 18))
def test_every_multiple_is_a_whole_number_of_units(digits: int, places: int) -> None:
    tick = Decimal(digits).scaleb(-places)
    precision = made_instrument(tick=f"{tick:f}").price_precision
    assert tick.scaleb(precision) == int(tick.scaleb(precision))
    assert precision == 0 or tick.scaleb(precision - 1) != int(tick.scaleb(precision - 1))


def test_the_kind_is_the_records_and_never_guessed_from_the_name() -> None:
    assert with_changes(instrument_name="ETH-20261127-2800-C", instrument_type="perp").kind is InstrumentKind.PERP
    assert with_changes(instrument_name="ETH-PERP", instrument_type="erc20").kind is InstrumentKind.ERC20
    assert with_changes(instrument_type="future_of_tomorrow").kind == "future_of_tomorrow"


@pytest.mark.parametrize("sub_id", ["0", "39614082459723011678567741568", str(2**96 - 1), str(2**256 - 1)])
def test_sub_ids_are_whole(sub_id: str) -> None:
    assert with_changes(base_asset_sub_id=sub_id).sub_id == int(sub_id)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("tick_size", text) for text in ("0", "-0.01", "NaN", "", "1e61", "0x1", "1e-19", "0.0000000000000000001", 5, None)),
        *(("amount_step", text) for text in ("0.0", "-1", "abc", "1e-60", True)),
        *((name, "x") for name in ("minimum_amount", "maximum_amount", "taker_fee_rate", "maker_fee_rate", "base_fee")),
        *(("base_asset_sub_id", text) for text in ("", "-1", "1.5", "0x1", "٣", " 1", str(2**256), "9" * 5_000, 5)),
        *(("base_asset_address", text) for text in ("", "0x", "0x" + "g" * 40, "0x" + "a" * 39, "a" * 42, "0x" + "a" * 41, 7)),
        *(("instrument_name", 5), ("instrument_type", None), ("is_active", "yes"), ("base_currency", 1)),
    ],
)
def test_a_record_that_cannot_be_used_is_an_error_at_its_field(field: str, value: Any) -> None:
    registry = InstrumentRegistry([RECORD])
    before = dict(registry)
    with pytest.raises(DecodeError) as caught:
        registry.add([{**RECORD, "instrument_name": "NEW"}, {**RECORD, field: value}])
    assert caught.value.path.endswith(f".{field}")
    assert dict(registry) == before, "all or none"


@pytest.mark.parametrize("field", ["instrument_name", "tick_size", "base_asset_address", "is_active"])
def test_a_record_without_a_field_is_an_error_that_names_it(field: str) -> None:
    with pytest.raises(DecodeError, match=f"`{field}`"):
        InstrumentRegistry([{key: value for key, value in RECORD.items() if key != field}])


@pytest.mark.parametrize("record", [5, "x", [], None])
def test_what_is_no_record_is_an_error(record: Any) -> None:
    with pytest.raises(DecodeError):
        InstrumentRegistry([record])


def test_records_come_as_mappings_as_messages_or_from_json() -> None:
    message = decode_payload(InstrumentRecord, write(RECORD).encode())
    numbers = ("tick_size", "amount_step", "minimum_amount", "maximum_amount", "maker_fee_rate", "taker_fee_rate", "base_fee")
    bare = {key: Num(value) if key in numbers else value for key, value in RECORD.items()}
    from_json = decode_instruments(write([bare], bare=1).encode())
    assert InstrumentRegistry([RECORD]) == InstrumentRegistry([message]) == InstrumentRegistry(from_json)
    assert instrument_from_record(message) == InstrumentRegistry([RECORD])[RECORD["instrument_name"]]


def test_an_unknown_name_is_a_clear_error() -> None:
    registry = InstrumentRegistry([RECORD])
    with pytest.raises(UnknownInstrument, match="unknown instrument 'DOGE-PERP'") as caught:
        registry["DOGE-PERP"]
    assert caught.value.name == "DOGE-PERP"
    with pytest.raises(UnknownInstrument, match="DOGE-PERP"):
        registry.by_topic["orderbook.DOGE-PERP.1.10"]
    assert "DOGE-PERP" not in registry


def test_instruments_by_topic() -> None:
    registry = InstrumentRegistry(inputs().instruments)
    for topic in (
        "ticker_slim.ETH-PERP.100",
        "ticker.ETH-PERP.1000",
        "orderbook.ETH-PERP.1.10",
        "trades.ETH-PERP",
        "ticker_slim.ETH-PERP.100",
    ):
        assert registry.by_topic[topic] is registry["ETH-PERP"]
    for topic in ("trades.perp.ETH", "7.orders", "spot_feed.ETH", "something", ""):
        with pytest.raises(CallerError, match="names no instrument"):
            registry.by_topic[topic]


def test_a_renewed_instrument_is_renewed_by_topic_as_well() -> None:
    registry = InstrumentRegistry([RECORD])
    name = RECORD["instrument_name"]
    topic = f"ticker_slim.{name}.100"
    assert registry.by_topic[topic].price_precision == 2
    registry.add([{**RECORD, "tick_size": "0.5"}])
    assert registry.by_topic[topic].price_precision == registry[name].price_precision == 1


def test_the_memory_of_topics_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instruments, "_TOPIC_CACHE_SIZE", 8)
    registry = InstrumentRegistry([RECORD])
    name = RECORD["instrument_name"]
    for number in range(50):
        assert registry.by_topic[f"ticker_slim.{name}.{number}"].name == name
        assert len(registry.by_topic) <= 8


def test_an_instrument_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        with_changes().price_precision = 5  # type: ignore[misc]
