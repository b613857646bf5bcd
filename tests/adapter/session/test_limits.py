"""Rate limits: nothing beyond the rate in any window, nothing held back longer than that."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derive_bench.adapter import CallerError, Rate, RateLimits, RequestTimedOut
from derive_bench.adapter.session.limits import Window
from tests.adapter.session.venue import SECOND, UTC, error, log_in, opened, sent


@given(count=st.integers(1, 5), window=st.integers(1, 50), steps=st.lists(st.integers(0, 30), max_size=60))
def test_no_window_holds_more_and_none_could_hold_one_sooner(count: int, window: int, steps: list[int]) -> None:
    limit, now = Window(Rate(count, window)), 1
    spent: list[int] = []
    for step in steps:
        now += step
        recent = [when for when in spent if now - when < window]
        assert (limit.ready_at() <= now) == (len(recent) < count)
        if limit.ready_at() <= now:
            limit.spend(now)
            spent.append(now)


def test_a_burst_is_let_through_and_the_next_waits_for_a_whole_window() -> None:
    client = opened(limits=RateLimits(), timeout_ns=60 * SECOND)
    for _ in range(30):
        client.request("public/get_time", {}, 0)
    assert len(sent(client, 0)) == 25
    assert client.wake_at_ns == 5 * SECOND
    assert sent(client, 5 * SECOND - 1) == []
    assert len(sent(client, 5 * SECOND)) == 5


def test_classes_do_not_hold_each_other_back() -> None:
    limits = RateLimits(
        matching=Rate(3, SECOND),
        per_instrument=Rate(2, SECOND),
        non_matching=Rate(2, SECOND),
        endpoints={"private/cancel_all": Rate(1, SECOND)},
    )
    client = opened(login=True, limits=limits)
    log_in(client)
    for _ in range(3):
        client.request("private/order", {"instrument_name": "ETH-PERP"}, 0)
        client.request("private/cancel", {"instrument_name": "BTC-PERP"}, 0)
        client.request("private/cancel_all", {}, 0)
        client.request("private/cancel_by_label", {}, 0)
        client.request("public/get_time", {}, 0)
    methods = [request["method"] for request in sent(client, 1)]
    assert methods.count("private/order") == 2
    assert methods.count("private/cancel") == 1
    assert methods.count("private/cancel_all") == 1
    # One of the two was the login; a label without an instrument counts here, since no budget of its own was given.
    assert methods.count("private/cancel_by_label") + methods.count("public/get_time") == 1


def test_a_label_of_an_instrument_is_matching() -> None:
    client = opened(limits=RateLimits(matching=Rate(1, SECOND), endpoints={}))
    client.request("private/cancel_by_label", {"instrument_name": "ETH-PERP"}, 0)
    client.request("private/order", {"instrument_name": "BTC-PERP"}, 0)
    assert len(sent(client, 0)) == 1


def test_a_refusal_for_the_rate_holds_back_its_like() -> None:
    client = opened(limits=RateLimits())
    client.request("public/get_time", {}, 0)
    client.receive(error(sent(client, 0)[0], -32000), 10)
    client.request("public/get_time", {}, 10)
    client.request("private/order", {"instrument_name": "ETH-PERP"}, 10)
    assert [request["method"] for request in sent(client, 10)] == ["private/order"]
    assert [request["method"] for request in sent(client, 5 * SECOND + 10)] == ["public/get_time"]


def test_limits_outlast_the_connection() -> None:
    client = opened(limits=RateLimits(non_matching=Rate(1, 100 * SECOND)), timeout_ns=200 * SECOND)
    client.request("public/get_time", {}, 0)
    assert len(sent(client, 0)) == 1
    client.disconnected(0, "gone")
    client.opened(SECOND, UTC)
    client.request("public/get_time", {}, SECOND)
    assert sent(client, SECOND) == []


def test_the_time_to_answer_begins_when_it_is_sent() -> None:
    client = opened(limits=RateLimits(non_matching=Rate(1, 4 * SECOND)), timeout_ns=5 * SECOND)
    client.request("public/get_time", {}, 0)
    client.request("public/get_time", {}, 0)
    client.outgoing(0)
    client.outgoing(4 * SECOND)
    assert [type(event) for event in client.tick(5 * SECOND)] == [RequestTimedOut]
    assert client.tick(9 * SECOND - 1) == []
    assert [type(event) for event in client.tick(9 * SECOND)] == [RequestTimedOut]


@pytest.mark.parametrize(("count", "window"), [(0, 1), (1, 0), (-1, 5)])
def test_a_rate_that_is_none_is_refused(count: int, window: int) -> None:
    with pytest.raises(CallerError):
        Rate(count, window)
