"""The session's state machine, its requests, its login and its life and death."""

from __future__ import annotations

import json
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct

from derive_bench.adapter import (
    V2_MAINNET,
    BadFrame,
    CallerError,
    ClientSession,
    LateReply,
    LoggedIn,
    LoginFailed,
    Notification,
    PeerSilent,
    RequestAnswered,
    RequestNotSent,
    RequestRefused,
    RequestTimedOut,
    RequestUnknown,
    SessionClosed,
    SessionDisconnected,
    SessionOpened,
    SessionSettings,
    SessionState,
    Signer,
    StrayReply,
    Subscription,
)
from tests.adapter.session.venue import SECOND, TEST_KEY, UTC, credentials, error, log_in, opened, result, sent, session

ORDER = {"instrument_name": "ETH-PERP", "amount": "1"}
BOOK = '{"method":"subscription","params":{"channel":"nonsense.1","data":[1]}}'


def kinds(events: list[Any]) -> list[type]:
    return [type(event) for event in events]


def test_a_request_is_answered_by_its_id_in_any_order() -> None:
    client = opened()
    first = client.request("public/get_time", {}, 0, context="mine")
    second = client.request("public/get_currencies", {}, 0)
    requests = sent(client, 0)
    assert [request["id"] for request in requests] == [first, second]
    assert client.in_flight == 2
    (event,) = client.receive(result(requests[1], []), 1)
    assert isinstance(event, RequestAnswered)
    assert (event.request.id, event.request.method, bytes(event.result)) == (second, "public/get_currencies", b"[]")
    (event,) = client.receive(result(requests[0], 5), 2)
    assert isinstance(event, RequestAnswered)
    assert event.request.context == "mine"
    assert client.in_flight == 0


def test_an_error_ends_a_request_and_says_whether_its_outcome_is_known() -> None:
    client = opened()
    for code, unknown in ((11012, False), (-32603, True), (9000, True), (-32000, False)):
        client.request("private/order", ORDER, 0)
        (event,) = client.receive(error(sent(client, 0)[0], code), 0)
        assert isinstance(event, RequestRefused)
        assert event.outcome_unknown is unknown


def test_a_second_reply_and_a_foreign_one_are_stray() -> None:
    client = opened()
    client.request("public/get_time", {}, 0)
    reply = result(sent(client, 0)[0], 1)
    client.receive(reply, 0)
    for frame in (reply, '{"id":99,"result":1}', '{"id":null,"error":{"code":-32700,"message":"parse"}}', '{"id":1.0,"result":1}'):
        assert kinds(client.receive(frame, 0)) == [StrayReply], frame


def test_a_time_out_is_an_unknown_outcome_that_a_late_reply_may_resolve() -> None:
    client = opened(timeout_ns=SECOND)
    client.request("private/order", ORDER, 0)
    (request,) = sent(client, 0)
    assert client.wake_at_ns == SECOND
    assert client.tick(SECOND - 1) == []
    assert kinds(client.tick(SECOND)) == [RequestTimedOut]
    (event,) = client.receive(result(request, {}), SECOND + 1)
    assert isinstance(event, LateReply)
    assert event.request.id == request["id"]
    assert kinds(client.receive(result(request, {}), SECOND + 2)) == [StrayReply]


def test_receive_notices_what_time_has_brought() -> None:
    client = opened(timeout_ns=SECOND)
    client.request("private/order", ORDER, 0)
    client.outgoing(0)
    assert kinds(client.receive(BOOK, SECOND)) == [Subscription, RequestTimedOut]


def test_a_lost_connection_tells_what_may_have_happened_and_what_has_not() -> None:
    client = opened()
    client.request("private/order", ORDER, 0)
    client.outgoing(0)
    client.request("private/order", ORDER, 0)
    events = client.disconnected(5, "reset by peer")
    assert kinds(events) == [RequestUnknown, RequestNotSent, SessionDisconnected]
    assert client.state is SessionState.WAITING
    client.opened(SECOND, UTC)
    assert client.outgoing(SECOND) == []


def test_ids_go_on_over_connections() -> None:
    client = opened()
    first = client.request("public/get_time", {}, 0)
    client.outgoing(0)
    client.disconnected(0, "gone")
    client.opened(SECOND, UTC)
    assert client.request("public/get_time", {}, SECOND) > first
    assert kinds(client.receive(f'{{"id":{first},"result":1}}', SECOND)) == [StrayReply]


@pytest.mark.parametrize("protocol_v2", [False, True])
def test_a_login_goes_first_and_its_signature_is_the_wallets(protocol_v2: bool) -> None:
    client = ClientSession(V2_MAINNET, credentials()) if protocol_v2 else ClientSession(credentials=credentials())
    client.opened(0, UTC)
    client.request("private/order", ORDER, 0)
    (login,) = sent(client, 0)
    assert login["method"] == "public/login"
    params = login["params"]
    assert params["timestamp"] == str(UTC // 1_000_000)
    assert Account.recover_message(encode_defunct(text=params["timestamp"]), signature=params["signature"]) == params["wallet"]
    events = client.receive(result(login, [3, 4]), 1)
    assert events[1] == LoggedIn((3, 4), renewed=False)
    assert [request["method"] for request in sent(client, 1)] == ["private/order"]


def test_public_requests_do_not_wait_for_the_login() -> None:
    client = opened(login=True)
    client.request("private/order", ORDER, 0)
    client.request("public/get_time", {}, 0)
    assert [request["method"] for request in sent(client, 0)] == ["public/login", "public/get_time"]


def test_a_refused_login_ends_private_requests_and_is_tried_with_the_next_connection() -> None:
    client = opened(login=True)
    client.request("private/order", ORDER, 0)
    events = client.receive(error(sent(client, 0)[0], 14026, "session key not found"), 0)
    assert kinds(events) == [RequestRefused, LoginFailed, RequestNotSent]
    assert events[1] == LoginFailed("session key not found", 14026, None)
    with pytest.raises(CallerError, match="session key not found"):
        client.request("private/order", ORDER, 0)
    client.disconnected(0, "gone")
    client.opened(SECOND, UTC)
    assert [request["method"] for request in sent(client, SECOND)] == ["public/login"]


@pytest.mark.parametrize("code", [-32000, -32603, None])
def test_a_login_that_may_work_later_is_tried_again(code: int | None) -> None:
    client = opened(login=True, timeout_ns=SECOND, backoff_base_ns=SECOND)
    (login,) = sent(client, 0)
    events = client.tick(SECOND) if code is None else client.receive(error(login, code), SECOND)
    failed = next(event for event in events if isinstance(event, LoginFailed))
    assert failed.retry_at_ns == 2 * SECOND
    assert client.wake_at_ns == 2 * SECOND
    client.tick(2 * SECOND)
    assert [request["method"] for request in sent(client, 2 * SECOND)] == ["public/login"]


def test_a_login_is_renewed_with_the_time_of_then() -> None:
    client = opened(login=True, login_every_ns=10 * SECOND)
    log_in(client)
    client.tick(10 * SECOND)
    (login,) = sent(client, 10 * SECOND)
    assert login["params"]["timestamp"] == str((UTC + 10 * SECOND) // 1_000_000)
    assert client.receive(result(login, [7]), 10 * SECOND)[1] == LoggedIn((7,), renewed=True)
    client.renew_login(11 * SECOND)
    assert [request["method"] for request in sent(client, 11 * SECOND)] == ["public/login"]


def test_a_refused_renewal_leaves_the_connection_logged_in() -> None:
    client = opened(login=True)
    log_in(client)
    client.renew_login(1)
    client.receive(error(sent(client, 1)[0], 14030), 1)
    client.request("private/order", ORDER, 1)
    assert [request["method"] for request in sent(client, 1)] == ["private/order"]


def test_no_secret_shows() -> None:
    client = opened(login=True)
    (login,) = sent(client, 0)
    events = client.disconnected(0, "gone")
    shown = f"{events!r} {client!r} {credentials()!r}"
    assert TEST_KEY[2:] not in shown
    assert login["params"]["signature"][2:] not in shown


def test_a_frame_that_is_only_heard_is_a_sign_of_life() -> None:
    client = opened(ping_after_ns=10 * SECOND, silence_ns=15 * SECOND)
    assert client.heard(9 * SECOND) == []
    assert client.tick(10 * SECOND) == []
    assert client.outgoing(10 * SECOND) == []
    client.tick(19 * SECOND)
    assert client.outgoing(19 * SECOND) == [b"ping"]
    assert client.heard(23 * SECOND) == []
    assert client.tick(24 * SECOND) == []
    client.request("public/get_time", {}, 24 * SECOND, timeout_ns=SECOND)
    client.outgoing(24 * SECOND)
    (ended,) = client.heard(26 * SECOND)
    assert isinstance(ended, RequestTimedOut), "what is due is done, whatever comes"
    client.disconnected(27 * SECOND, "gone")
    with pytest.raises(CallerError, match="heard: the session is WAITING, nothing is connected"):
        client.heard(28 * SECOND)


def test_a_quiet_peer_is_pinged_and_then_given_up() -> None:
    client = opened(ping_after_ns=10 * SECOND, silence_ns=15 * SECOND)
    assert client.wake_at_ns == 10 * SECOND
    client.tick(10 * SECOND)
    assert client.outgoing(10 * SECOND) == [b"ping"]
    assert client.wake_at_ns == 15 * SECOND
    assert client.tick(15 * SECOND) == [PeerSilent(15 * SECOND)]
    assert client.hang_up
    assert client.outgoing(15 * SECOND) == []
    client.disconnected(16 * SECOND, "hung up")
    assert client.state is SessionState.WAITING


def test_any_frame_is_a_sign_of_life_and_a_ping_is_answered() -> None:
    client = opened(ping_after_ns=10 * SECOND, silence_ns=15 * SECOND)
    client.receive("not json", 9 * SECOND)
    assert client.tick(10 * SECOND) == []
    assert client.outgoing(10 * SECOND) == []
    assert client.receive("ping", 18 * SECOND) == []
    assert client.outgoing(18 * SECOND) == [b"pong"]
    client.tick(28 * SECOND)
    assert client.outgoing(28 * SECOND) == [b"ping"]
    client.receive("pong", 29 * SECOND)
    client.tick(39 * SECOND)
    assert client.outgoing(39 * SECOND) == [b"ping"]


def test_a_flood_of_pings_does_not_grow_the_queue() -> None:
    client = opened()
    for _ in range(100):
        client.receive("ping", 0)
    assert client.outgoing(0) == [b"pong"]


def test_waits_grow_with_jitter_and_start_anew_after_a_stable_connection() -> None:
    settings = SessionSettings(backoff_base_ns=SECOND, backoff_ceiling_ns=8 * SECOND, stable_ns=60 * SECOND)
    draws = iter([0.0, 0.5, 0.0, 0.0, 0.0, 0.999, 0.0])
    client = ClientSession(settings=settings, random=draws.__next__)
    assert client.connect_at_ns == 0
    waits, now = [], 0
    for _ in range(5):
        client.disconnected(now, "refused")
        assert client.connect_at_ns is not None
        waits.append(client.connect_at_ns - now)
        now = client.connect_at_ns
    assert waits == [SECOND, 3 * SECOND // 2, 4 * SECOND, 8 * SECOND, 8 * SECOND]
    assert client.opened(now, UTC) == [SessionOpened(6)]
    client.disconnected(now + SECOND, "dropped at once")
    assert client.connect_at_ns is not None
    assert 4 * SECOND <= client.connect_at_ns - now - SECOND < 4.1 * SECOND
    now = client.connect_at_ns
    client.opened(now, UTC)
    client.disconnected(now + 60 * SECOND, "after a while")
    assert client.connect_at_ns == now + 61 * SECOND


def test_an_orderly_close_waits_for_answers() -> None:
    client = opened(drain_ns=5 * SECOND)
    client.request("private/order", ORDER, 0)
    (request,) = sent(client, 0)
    client.request("private/order", ORDER, 0)
    assert kinds(client.close(1)) == [RequestNotSent]
    assert client.state is SessionState.DRAINING
    assert not client.hang_up
    client.receive("ping", 2)
    assert client.outgoing(2) == [b"pong"]
    assert kinds(client.receive(result(request, {}), 2)) == [RequestAnswered]
    assert client.hang_up
    assert client.disconnected(3, "hung up") == [SessionClosed("closed by the caller")]
    assert client.state is SessionState.CLOSED


def test_a_close_does_not_wait_for_ever() -> None:
    client = opened(drain_ns=5 * SECOND)
    client.request("private/order", ORDER, 0)
    client.outgoing(0)
    client.close(0)
    assert client.wake_at_ns == 5 * SECOND
    client.tick(5 * SECOND)
    assert client.hang_up
    assert kinds(client.disconnected(5 * SECOND, "hung up")) == [RequestUnknown, SessionClosed]


def test_a_close_while_nothing_is_connected_is_the_end() -> None:
    client = session()
    assert client.close(0, "done") == [SessionClosed("done")]


def test_misuse_raises_and_changes_nothing() -> None:
    client = session()
    for misuse in (
        lambda: client.receive(BOOK, 0),
        lambda: client.request("public/get_time", {}, 0),
        lambda: client.renew_login(0),
    ):
        with pytest.raises(CallerError, match="WAITING"):
            misuse()
    client.opened(0, UTC)
    for misuse in (
        lambda: client.opened(0, UTC),
        lambda: client.renew_login(0),
        lambda: client.request("subscribe", {"channels": []}, 0),
        lambda: client.request("public/get_time", {"a": object()}, 0),
        lambda: client.request("public/get_time", {}, 0, timeout_ns=0),
        lambda: client.subscribe("orderbook.ETH-PERP.10.10", 0),
        lambda: client.subscribe([""], 0),
        lambda: client.send_encoded(b"nonsense", 0),
        lambda: client.send_encoded(b'{"id":1,"method":"public/get_time"}', 0),
        lambda: client.receive(7, 0),  # type: ignore[arg-type]
    ):
        with pytest.raises(CallerError):
            misuse()
    assert (client.queued, client.in_flight, client.wanted) == (0, 0, ())
    client.close(0)
    client.disconnected(0, "gone")
    for misuse in (
        lambda: client.receive(BOOK, 0),
        lambda: client.tick(0),
        lambda: client.disconnected(0, "again"),
        lambda: client.close(0),
        lambda: client.subscribe(["a.b"], 0),
    ):
        with pytest.raises(CallerError, match="CLOSED"):
            misuse()


def test_a_whole_request_of_the_callers_goes_as_it_is_and_once() -> None:
    client = opened()
    request_id = client.next_id()
    payload = json.dumps({"id": request_id, "method": "private/order", "params": ORDER}).encode()
    assert client.send_encoded(payload, 0) == request_id
    assert client.outgoing(0) == [payload]
    with pytest.raises(CallerError, match="used before"):
        client.send_encoded(payload, 0)


def test_a_full_queue_refuses_and_a_held_request_ends_unsent() -> None:
    client = opened(login=True, max_queued=2, timeout_ns=SECOND)
    client.request("private/order", ORDER, 0)
    client.request("private/order", ORDER, 0)
    with pytest.raises(CallerError, match="wait"):
        client.request("private/order", ORDER, 0)
    client.outgoing(0)
    events = client.tick(SECOND)
    assert kinds(events).count(RequestNotSent) == 2
    assert client.queued == 0


def test_a_slow_socket_takes_what_it_can() -> None:
    client = opened()
    ids = [client.request("public/get_time", {}, 0) for _ in range(5)]
    given = [json.loads(frame)["id"] for _ in range(3) for frame in client.outgoing(0, 2)]
    assert given == ids


def test_a_clock_that_goes_back_stands_still() -> None:
    client = opened(timeout_ns=SECOND)
    client.tick(10)
    client.request("public/get_time", {}, 5)
    client.outgoing(3)
    assert client.wake_at_ns == 10 + SECOND


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "{",
        "[]",
        "\ud800",
        "[" * 100_000,
        b"\xff\xfe",
        '{"id":1}',
        '{"id":{},"result":1}',
        '{"id":1,"error":7}',
        '{"method":"subscription"}',
        '{"method":"subscription","params":{"channel":"orderbook.A.1.1","data":{}}}',
        '{"id":' + "9" * 5_000 + ',"result":1}',
    ],
)
def test_nothing_a_peer_sends_raises(frame: str | bytes) -> None:
    client = opened()
    client.request("public/get_time", {}, 0)
    client.outgoing(0)
    events = client.receive(frame, 0)
    assert kinds(events) in ([BadFrame], [StrayReply])
    assert client.in_flight == 1


def test_a_notification_is_handed_on() -> None:
    client = opened()
    (event,) = client.receive('{"method":"news","params":{"a":1}}', 0)
    assert isinstance(event, Notification)


def test_an_odd_login_result_is_a_login_all_the_same() -> None:
    client = opened(login=True)
    events = client.receive(result(sent(client, 0)[0], {"odd": True}), 0)
    assert kinds(events) == [RequestAnswered, BadFrame, LoggedIn]


def test_credentials_need_a_wallet_that_is_one() -> None:
    from derive_bench.adapter import Credentials

    with pytest.raises(CallerError, match="wallet"):
        Credentials(Signer(TEST_KEY), "0x12")


@pytest.mark.parametrize("wrong", [{"timeout_ns": 0}, {"silence_ns": 1}, {"max_queued": -1}])
def test_settings_that_cannot_work_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(CallerError):
        SessionSettings(**wrong)
