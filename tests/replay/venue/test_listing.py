"""The listing: records of a tape's instruments, known, completed or made up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from derive_bench.adapter.instruments import InstrumentRegistry
from derive_bench.replay.venue.listing import ListingError, list_instruments, look_through
from derive_bench.replay.venue.tape import Item, playable
from tests.replay.venue.test_views import check
from tests.replay.venue.venue_support import book, note, records, trade
from tests.shared import needs_shared

NAMES = ["DOGE-PERP", "XRP-20261225-0_5-P", "DOGE-USDC"]


def items(*frames: bytes) -> list[Item]:
    return [item for frame in frames if (item := playable(1, frame)) is not None]


def test_what_a_tape_has() -> None:
    frames = [book("0.12345", "0.1240", "10.5", "DOGE-PERP"), trade("0.5", "DOGE-USDC"), note("77.orders", []), b'{"channel":"x"']
    frames += [note("orderbook.A.1.10", {"bids": 5}), note("ticker_slim.B-PERP.100", {}), book(amount="x", name="C")]
    contents = look_through(items(*frames))
    assert contents.subaccounts == {77}
    assert {"77.orders", "trades.DOGE-USDC", "x"} <= set(contents.topics)
    assert contents.topics["77.orders"] == frames[2]
    assert contents.items == len(frames)
    assert contents.digits == {"DOGE-PERP": (5, 1), "DOGE-USDC": (1, 0), "A": (0, 0), "B-PERP": (0, 0), "C": (2, 0)}
    assert look_through(items(*frames), head=1).digits == {"DOGE-PERP": (5, 1)}


def test_made_up_records_fit_together() -> None:
    contents = look_through(items(*(book("0.12345", "0.1240", "10.5", name) for name in NAMES)))
    listing = list_instruments(contents, [], "v3")
    assert [listing[name]["instrument_type"] for name in NAMES] == ["perp", "option", "erc20"]
    assert listing["DOGE-PERP"]["tick_size"] == "0.00001"
    assert listing["DOGE-PERP"]["amount_step"] == "0.1"
    option = listing["XRP-20261225-0_5-P"]
    assert (option["option_details"]["strike"], option["option_details"]["expiry"]) == ("0.5", 1798185600)
    registry = InstrumentRegistry(listing.values())
    assert len({(instrument.asset_address, instrument.sub_id) for instrument in registry.values()}) == 3
    assert list_instruments(contents, [], "v3") == listing, "the same each time"


@needs_shared
def test_made_up_records_keep_the_venues_schema() -> None:
    contents = look_through(items(*(book(name=name) for name in NAMES)))
    for record in list_instruments(contents, [], "v3").values():
        check(record, "Instrument")


def test_what_is_known_counts_first() -> None:
    contents = look_through(items(book(name="ETH-PERP"), book(name="DOGE-PERP")))
    header: list[dict[str, Any]] = [
        {"instrument_name": "ETH-PERP", "tick_size": "0.5", "perp_details": {"index": "X"}},
        {"instrument_name": "OTHER-PERP"},
    ]
    listing = list_instruments(contents, [header, records().values()], "v3")
    assert listing["ETH-PERP"]["tick_size"] == "0.5"
    assert listing["ETH-PERP"]["perp_details"] == records()["ETH-PERP"]["perp_details"] | {"index": "X"}
    assert listing["ETH-PERP"]["base_asset_address"] == records()["ETH-PERP"]["base_asset_address"]
    assert set(listing) == {"ETH-PERP", "OTHER-PERP", "DOGE-PERP"}
    with pytest.raises(ListingError, match=r"instrument ETH-PERP: .*tick_size"):
        list_instruments(contents, [[{"instrument_name": "ETH-PERP", "tick_size": "none"}]], "v3")


def test_records_are_json() -> None:
    json.dumps(list_instruments(look_through(items(book(name="A"))), [], "v2"))
