"""Wanted and confirmed channels: never asked for twice, always brought together."""

from __future__ import annotations

from typing import Any

import pytest

from derive_bench.adapter import BadFrame, ChannelRefused, ChannelSubscribed, ChannelUnsubscribed, RequestAnswered
from tests.adapter.session.venue import SECOND, UTC, error, log_in, opened, result, sent, session, subscribed, unsubscribed

BOOK, TRADES, MINE = "orderbook.ETH-PERP.10.10", "trades.perp.ETH", "7.orders"


def asked(requests: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    return [(request["method"], request["params"]["channels"]) for request in requests]


def test_wanted_before_the_connection_is_asked_for_on_it() -> None:
    client = session()
    client.subscribe([BOOK, TRADES, BOOK], 0)
    client.opened(1, UTC)
    requests = sent(client, 1)
    assert asked(requests) == [("subscribe", [BOOK, TRADES])]
    assert client.receive(subscribed(requests[0]), 1)[1:] == [ChannelSubscribed(BOOK), ChannelSubscribed(TRADES)]
    assert client.confirmed == {BOOK, TRADES}
    client.subscribe([BOOK], 2)
    assert sent(client, 2) == []


def test_a_channel_is_refused_by_itself_and_asked_again_on_the_next_connection() -> None:
    client = opened()
    client.subscribe([BOOK, TRADES], 0)
    events = client.receive(subscribed(sent(client, 0)[0], trades="no such currency"), 0)
    assert events[1:] == [ChannelSubscribed(BOOK), ChannelRefused(TRADES, "no such currency")]
    assert sent(client, 0) == []
    client.disconnected(1, "gone")
    client.opened(2 * SECOND, UTC)
    assert asked(sent(client, 2 * SECOND)) == [("subscribe", [BOOK, TRADES])]


def test_already_subscribed_is_subscribed() -> None:
    client = opened()
    client.subscribe([BOOK], 0)
    assert client.receive(subscribed(sent(client, 0)[0], orderbook="already subscribed"), 0)[1:] == [ChannelSubscribed(BOOK)]


def test_a_request_without_a_good_channel_refuses_each() -> None:
    client = opened()
    client.subscribe(["nonsense", BOOK], 0)
    events = client.receive(error(sent(client, 0)[0], 13000, "Invalid channels", "nonsense"), 0)
    assert events[1:] == [ChannelRefused(name, "Invalid channels: nonsense", 13000) for name in ("nonsense", BOOK)]
    client.subscribe([BOOK], 0)
    assert asked(sent(client, 0)) == [("subscribe", [BOOK])]


def test_changes_of_mind_during_a_request_wait_for_its_answer() -> None:
    client = opened()
    client.subscribe([BOOK], 0)
    (first,) = sent(client, 0)
    client.unsubscribe([BOOK], 0)
    client.subscribe([BOOK], 0)
    client.unsubscribe([BOOK], 0)
    assert sent(client, 0) == []
    client.receive(subscribed(first), 0)
    (second,) = sent(client, 0)
    assert asked([second]) == [("unsubscribe", [BOOK])]
    client.subscribe([BOOK], 0)
    assert sent(client, 0) == []
    assert client.receive(unsubscribed(second), 0)[1:] == [ChannelUnsubscribed(BOOK)]
    assert asked(sent(client, 0)) == [("subscribe", [BOOK])]


def test_changes_during_an_outage_count_once_it_is_over() -> None:
    client = opened()
    client.subscribe([BOOK], 0)
    client.receive(subscribed(sent(client, 0)[0]), 0)
    client.disconnected(0, "gone")
    client.unsubscribe([BOOK], 0)
    client.subscribe([TRADES], 0)
    client.opened(SECOND, UTC)
    assert asked(sent(client, SECOND)) == [("subscribe", [TRADES])]


def test_private_channels_wait_for_the_login() -> None:
    client = opened(login=True)
    client.subscribe([BOOK, MINE], 0)
    login, public = sent(client, 0)
    assert asked([public]) == [("subscribe", [BOOK])]
    client.receive(result(login, [7]), 0)
    assert asked(sent(client, 0)) == [("subscribe", [MINE])]


def test_private_channels_are_refused_with_the_login() -> None:
    client = opened(login=True)
    client.subscribe([MINE], 0)
    events = client.receive(error(sent(client, 0)[0], 14014, "bad signature"), 0)
    assert events[-1] == ChannelRefused(MINE, "the login was refused: bad signature")
    assert sent(client, 0) == []


@pytest.mark.parametrize("code", [-32000, -32603, None])
def test_what_was_not_answered_is_asked_again_after_a_while(code: int | None) -> None:
    client = opened(timeout_ns=SECOND, backoff_base_ns=SECOND)
    client.subscribe([BOOK], 0)
    (request,) = sent(client, 0)
    if code is None:
        client.tick(SECOND)
    else:
        client.receive(error(request, code), SECOND)
    assert sent(client, SECOND) == []
    assert client.wake_at_ns == 2 * SECOND
    client.tick(2 * SECOND)
    assert asked(sent(client, 2 * SECOND)) == [("subscribe", [BOOK])]


def test_what_may_still_be_subscribed_is_left_when_no_longer_wanted() -> None:
    client = opened(timeout_ns=SECOND, backoff_base_ns=SECOND)
    client.subscribe([BOOK], 0)
    client.outgoing(0)
    client.tick(SECOND)
    client.unsubscribe([BOOK], SECOND)
    client.tick(2 * SECOND)
    assert asked(sent(client, 2 * SECOND)) == [("unsubscribe", [BOOK])]


def test_an_answer_that_makes_no_sense_is_no_answer() -> None:
    client = opened(backoff_base_ns=SECOND)
    client.subscribe([BOOK], 0)
    events = client.receive(result(sent(client, 0)[0], {"status": 7}), 0)
    assert [type(event) for event in events] == [RequestAnswered, BadFrame]
    client.tick(SECOND)
    assert asked(sent(client, SECOND)) == [("subscribe", [BOOK])]


def test_a_channel_that_remains_in_spite_of_its_end_is_left_again() -> None:
    client = opened(backoff_base_ns=SECOND)
    client.subscribe([BOOK], 0)
    client.receive(subscribed(sent(client, 0)[0]), 0)
    client.unsubscribe([BOOK], 0)
    (request,) = sent(client, 0)
    client.receive(result(request, {"status": {BOOK: "busy"}, "remaining_subscriptions": [BOOK]}), 0)
    client.tick(SECOND)
    assert asked(sent(client, SECOND)) == [("unsubscribe", [BOOK])]


def test_an_answer_without_status_goes_by_the_current_ones() -> None:
    client = opened()
    client.subscribe([BOOK, TRADES], 0)
    events = client.receive(result(sent(client, 0)[0], {"current_subscriptions": [BOOK]}), 0)
    assert [type(event) for event in events[1:]] == [ChannelSubscribed, ChannelRefused]


def test_many_channels_go_in_several_requests() -> None:
    client = opened(channels_per_request=2)
    client.subscribe([f"trades.perp.C{number}" for number in range(5)], 0)
    assert [len(request["params"]["channels"]) for request in sent(client, 0)] == [2, 2, 1]


def test_closing_leaves_the_channels_alone() -> None:
    client = opened(login=True)
    log_in(client)
    client.subscribe([MINE], 0)
    client.close(0)
    assert sent(client, 0) == []
