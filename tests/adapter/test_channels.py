"""Topics: every form of the venue's, dots in odd places, unknown ones kept, and the way back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derive_bench.adapter import channels
from derive_bench.adapter.channels import Channel, ChannelKind, format_channel, parse_channel
from derive_bench.adapter.errors import CallerError

PARTS = ("instrument_name", "group", "depth", "interval", "instrument_type", "currency", "status", "subaccount")

FORMS: dict[str, tuple[ChannelKind, dict[str, Any]]] = {
    "orderbook.ETH-PERP.1.10": (ChannelKind.ORDERBOOK, {"instrument_name": "ETH-PERP", "group": "1", "depth": "10"}),
    "orderbook.A.B.C.10.100": (ChannelKind.ORDERBOOK, {"instrument_name": "A.B.C", "group": "10", "depth": "100"}),
    "ticker_slim.ETH-PERP.100": (ChannelKind.TICKER_SLIM, {"instrument_name": "ETH-PERP", "interval": "100"}),
    "ticker_slim.XRP-20261225-0.5-P.1000": (ChannelKind.TICKER_SLIM, {"instrument_name": "XRP-20261225-0.5-P", "interval": "1000"}),
    "ticker.ETH-USDC.1000": (ChannelKind.TICKER, {"instrument_name": "ETH-USDC", "interval": "1000"}),
    "trades.ETH-PERP": (ChannelKind.TRADES, {"instrument_name": "ETH-PERP"}),
    "trades.XRP-20261225-0.5-P": (ChannelKind.TRADES, {"instrument_name": "XRP-20261225-0.5-P"}),
    "trades.perp": (ChannelKind.TRADES, {"instrument_name": "perp"}),
    "trades.perp.ETH": (ChannelKind.TRADES, {"instrument_type": "perp", "currency": "ETH"}),
    "trades.option.BTC": (ChannelKind.TRADES, {"instrument_type": "option", "currency": "BTC"}),
    "trades.erc20.ETH": (ChannelKind.TRADES, {"instrument_type": "erc20", "currency": "ETH"}),
    "trades.perp.ETH.settled": (ChannelKind.SETTLED_TRADES, {"instrument_type": "perp", "currency": "ETH", "status": "settled"}),
    "trades.option.BTC.ProvingError": (
        ChannelKind.SETTLED_TRADES,
        {"instrument_type": "option", "currency": "BTC", "status": "ProvingError"},
    ),
    "trades.erc20.US.D.Settled": (ChannelKind.SETTLED_TRADES, {"instrument_type": "erc20", "currency": "US.D", "status": "Settled"}),
    "spot_feed.ETH": (ChannelKind.SPOT_FEED, {"currency": "ETH"}),
    "48213.orders": (ChannelKind.ORDERS, {"subaccount": 48213}),
    "0.orders": (ChannelKind.ORDERS, {"subaccount": 0}),
    "48213.trades": (ChannelKind.PRIVATE_TRADES, {"subaccount": 48213}),
    "48213.trades.settled": (ChannelKind.PRIVATE_TRADES, {"subaccount": 48213, "status": "settled"}),
    "18446744073709551615.balances": (ChannelKind.BALANCES, {"subaccount": 18446744073709551615}),
}
UNKNOWN = (
    *("", ".", "..", "orderbook", "orderbook.", "orderbook.ETH-PERP", "orderbook.ETH-PERP.1", "orderbook..1.10", "orderbook.A.1."),
    *("ticker", "ticker.", "ticker.100", "ticker_slim.", "ticker_slim..100", "ticker_slim.A.", "ticker_fat.A.100"),
    *("trades", "trades.", "trades.perp..Settled", "trades.perp.ETH.", "spot_feed", "spot_feed.", "Orderbook.A.1.1"),
    *("orders", ".orders", "x.orders", "-1.orders", "+1.orders", "1_0.orders", " 1.orders", "٣.orders", "²1.orders", "007.orders"),
    *("1", "1.", "1.orders.", "1.orders.x", "1.trades.", "1.quotes", "1.best.quotes", "9" * 5000 + ".orders"),
    *("auctions.watch", "margin.watch", "0xabc.rfqs", "something.of.tomorrow"),
)


@pytest.mark.parametrize("topic", FORMS)
def test_each_form_is_taken_apart_and_put_together_again(topic: str) -> None:
    kind, parts = FORMS[topic]
    channel = parse_channel(topic)
    assert channel == Channel(kind, topic, **parts)
    assert format_channel(kind, **parts) == topic


@pytest.mark.parametrize("topic", UNKNOWN, ids=lambda topic: ascii(topic[:24]))
def test_a_form_that_is_not_known_is_kept(topic: str) -> None:
    assert parse_channel(topic) == Channel(ChannelKind.OTHER, topic)


@given(
    st.one_of(
        st.text(max_size=40),
        st.lists(
            st.sampled_from(["orderbook", "ticker", "ticker_slim", "trades", "perp", "option", "orders", "A", "1", "", "12"]), max_size=6
        ).map(".".join),
    )
)
def test_a_topic_either_comes_back_from_its_parts_or_is_kept_whole(topic: str) -> None:
    channel = parse_channel(topic)
    assert channel.topic == topic
    parts = {name: getattr(channel, name) for name in PARTS if getattr(channel, name) is not None}
    if channel.kind is ChannelKind.OTHER:
        assert parts == {}
    else:
        assert format_channel(channel.kind, **parts) == topic


NAMES = st.from_regex(r"\A[A-Z]{1,5}(\.[A-Z])?-(PERP|[0-9]{8}-[0-9]{1,5}([_.][0-9])?-[CP])\Z")


@given(NAMES, st.sampled_from(["1", "10", "100"]), st.sampled_from(["1", "10", "20", "100"]), st.integers(0, 2**63))
def test_formatted_topics_are_read_as_they_were_meant(name: str, group: str, depth: str, subaccount: int) -> None:
    book = parse_channel(format_channel(ChannelKind.ORDERBOOK, instrument_name=name, group=group, depth=depth))
    assert (book.kind, book.instrument_name, book.group, book.depth) == (ChannelKind.ORDERBOOK, name, group, depth)
    for kind in (ChannelKind.TICKER_SLIM, ChannelKind.TICKER):
        ticker = parse_channel(format_channel(kind, instrument_name=name, interval=100))
        assert (ticker.kind, ticker.instrument_name, ticker.interval) == (kind, name, "100")
    trades = parse_channel(format_channel(ChannelKind.TRADES, instrument_name=name))
    assert (trades.kind, trades.instrument_name) == (ChannelKind.TRADES, name)
    for kind in (ChannelKind.ORDERS, ChannelKind.PRIVATE_TRADES, ChannelKind.BALANCES):
        private = parse_channel(format_channel(kind, subaccount=subaccount))
        assert (private.kind, private.subaccount, private.status) == (kind, subaccount, None)


@pytest.mark.parametrize(
    ("kind", "parts", "said"),
    [
        (ChannelKind.ORDERBOOK, {"instrument_name": "A", "group": "1"}, r"orderbook\.\{instrument_name\}\.\{group\}\.\{depth\}"),
        (ChannelKind.ORDERS, {}, r"\{subaccount\}\.orders"),
        (ChannelKind.TRADES, {"instrument_name": "A", "currency": "B"}, r" or trades\.\{instrument_type\}"),
        (ChannelKind.TICKER, {"instrument_name": "", "interval": 100}, "must not be empty"),
        (ChannelKind.OTHER, {"topic": "x"}, "none"),
    ],
)
def test_parts_that_make_no_topic_are_the_callers_error(kind: ChannelKind, parts: dict[str, str | int], said: str) -> None:
    with pytest.raises(CallerError, match=said):
        format_channel(kind, **parts)


def test_the_memory_of_topics_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "_CACHE_SIZE", 8)
    cache: dict[str, Channel] = {}
    monkeypatch.setattr(channels, "_cache", cache)
    for number in range(50):
        assert parse_channel(f"trades.X{number}-PERP").instrument_name == f"X{number}-PERP"
        assert len(cache) <= 8
    assert parse_channel("trades.X49-PERP") is parse_channel("trades.X49-PERP")
