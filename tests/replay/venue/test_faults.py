"""Faults: each kind does what it says to the frames due to a client, and the counts are exact."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive_bench.adapter.signing import rest_auth_headers
from derive_bench.replay.venue.faults import FRAME_KINDS, BadRule, Faults, Rule, make_rule, parse_rule, spoil
from derive_bench.replay.venue.outbox import Frame, Outbox
from derive_bench.replay.venue.venue import Peer
from tests.replay.venue.venue_support import NOW_NS, FakeWire, Rig, note

TOPIC = "orderbook.ETH-PERP.1.10"


def outbox(*rules: Rule, limit: int = 1 << 20) -> tuple[Outbox, FakeWire, Faults]:
    wire, faults = FakeWire(), Faults(rules)
    return Outbox(wire, faults, 1, limit), wire, faults


def due(box: Outbox, *numbers: int) -> None:
    for number in numbers:
        box.notify(TOPIC, Frame(b'{"n":%d}' % number))
    box.flush()


def got(wire: FakeWire) -> list[int]:
    return [json.loads(message)["n"] for message in wire.messages()]


def test_without_rules_frames_go_as_they_come() -> None:
    box, wire, _ = outbox()
    due(box, *range(200))
    box.reply(b'{"n":200}')
    assert got(wire) == list(range(201))
    assert (box.due, box.sent) == (200, 200)


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 200_000])
def test_frames_of_any_length(size: int) -> None:
    wire = FakeWire()
    wire.write(Frame(b"x" * size).wire)
    assert wire.messages() == [b"x" * size]


def test_drop_and_duplicate() -> None:
    box, wire, faults = outbox(Rule("drop", every=3), Rule("duplicate", every=2))
    due(box, *range(1, 13))
    # Frames 3, 6, 9, 12 are dropped; of the others, every second is sent twice.
    assert got(wire) == [1, 2, 2, 4, 5, 5, 7, 8, 8, 10, 11, 11]
    assert faults.counts == {"drop": 4, "duplicate": 4}


def test_reorder_changes_places_with_the_next() -> None:
    box, wire, faults = outbox(Rule("reorder", every=3))
    due(box, 1, 2, 3)
    assert got(wire) == [1, 2]
    assert faults.counts["reorder"] == 0, "not yet"
    due(box, 4, 5, 6, 7)
    assert got(wire) == [4, 3, 5, 7, 6]
    assert faults.counts["reorder"] == 2


def test_a_frame_to_be_reordered_goes_alone_where_none_follows() -> None:
    box, wire, faults = outbox(Rule("reorder"))
    due(box, 1)
    assert got(wire) == []
    assert wire.run_timer() == 1.0
    assert got(wire) == [1]
    assert faults.counts["reorder"] == 0


def test_delay_holds_up_all_behind_it() -> None:
    box, wire, faults = outbox(Rule("delay", every=2, ms=250))
    due(box, 1, 2, 3, 4, 5)
    box.reply(b'{"n":6}')
    assert got(wire) == [1]
    assert wire.run_timer() == 0.25
    assert got(wire) == [2, 3]
    assert wire.run_timer() == 0.25
    assert got(wire) == [4, 5, 6]
    assert faults.counts == {"delay": 2}


def test_malformed_frames_are_text_and_no_json() -> None:
    box, wire, faults = outbox(Rule("malformed", times=1))
    box.notify(TOPIC, Frame('{"é":"éé"}'.encode()))
    due(box, 2)
    bad, good = wire.messages()
    bad.decode()
    with pytest.raises(json.JSONDecodeError):
        json.loads(bad)
    assert good == b'{"n":2}'
    assert faults.counts == {"malformed": 1}


@settings(max_examples=50)
@given(st.text(min_size=1))
def test_what_is_spoilt_stays_utf8(text: str) -> None:
    spoil(json.dumps({"a": text}, ensure_ascii=False).encode("utf-8", "surrogatepass")).decode()


def test_cut_ends_the_connection() -> None:
    box, wire, faults = outbox(Rule("cut", every=3))
    due(box, 1, 2, 3, 4)
    assert wire.is_cut
    assert got(wire) == [1, 2]
    assert faults.counts == {"cut": 1}


def test_who_falls_behind_is_cut_off() -> None:
    box, wire, _ = outbox(limit=100)
    due(box, *range(5))
    wire.kept = 60
    due(box, *range(5))
    assert wire.is_cut
    assert box.slow
    assert box.closed


def test_rules_match_by_channel_client_and_times() -> None:
    faults = Faults([Rule("drop", channel="orderbook.*", times=2), Rule("drop", channel="trades.*", client=7)])
    for topic, client, struck in (
        (TOPIC, 1, True),
        ("trades.X", 1, False),
        ("trades.X", 7, True),
        (TOPIC, 1, True),
        (TOPIC, 1, False),
        ("ticker", 1, False),
    ):
        rule = faults.strike_frame(topic, client)
        assert (rule is not None) is struck, topic
        if rule is not None:
            faults.did(rule)
    assert [rule.done for rule in faults.rules] == [2, 1]


def test_shares_repeat_with_their_seed() -> None:
    def struck(seed: int) -> list[bool]:
        faults = Faults([Rule("drop", share=0.3)], seed)
        return [faults.strike_frame(TOPIC, 1) is not None for _ in range(200)]

    assert struck(1) == struck(1) != struck(2)
    assert 30 < sum(struck(1)) < 90


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(FRAME_KINDS[:2] + FRAME_KINDS[3:5]), st.integers(1, 5)), max_size=4), st.integers(0, 60))
def test_what_was_got_can_be_reckoned_from_the_counts(kinds: list[tuple[Any, int]], frames: int) -> None:
    box, wire, faults = outbox(*(Rule(kind, every=every) for kind, every in kinds))
    due(box, *range(frames))
    while wire.timers:
        wire.run_timer()
    messages = wire.messages()
    counts = faults.counts
    assert len(messages) == frames - counts["drop"] + counts["duplicate"] == box.sent
    good = []
    for message in messages:
        try:
            good.append(json.loads(message)["n"])
        except ValueError:
            continue
    assert len(messages) - len(good) == counts["malformed"]
    assert sum(times - 1 for times in Counter(good).values()) == counts["duplicate"]
    assert sum(later < earlier for earlier, later in pairwise(good)) <= counts["reorder"]
    assert sum(rule.done for rule in faults.rules) == counts.total()


def test_rules_from_flags() -> None:
    rule = parse_rule("delay, every=10, channel=orderbook.*, ms=50, times=3")
    assert (rule.kind, rule.every, rule.channel, rule.ms, rule.times) == ("delay", 10, "orderbook.*", 50, 3)
    assert parse_rule("drop,share=0.25").share == 0.25
    for bad in ("", "explode", "drop,every", "drop,every=0", "drop,share=2", "drop,unknown=1", "error", "drop,every=x", "drop,kind=x"):
        with pytest.raises(BadRule):
            parse_rule(bad)
    with pytest.raises(BadRule):
        make_rule({"kind": "drop", "every": "2"})


def test_requests_are_refused_and_counted() -> None:
    rig = Rig(login=False)
    for rule in ({"kind": "refuse_login", "times": 1}, {"kind": "rate_limit", "every": 2, "method": "public/get_*"}):
        rig.result("venue/inject", rule)
    assert rig.code("public/login", rig.login_params()) == 14014
    assert rig.result("public/login", rig.login_params()) == [1]
    codes = ["error" in rig.call("public/get_time") for _ in range(4)]
    assert codes == [False, True, False, True]
    rig.result("venue/inject", {"kind": "error", "code": 9000, "method": "private/order"})
    assert rig.code("private/order", rig.order()) == 9000
    assert rig.result("private/get_open_orders", {"subaccount_id": 1})["orders"] == [], "a refused request is not done"
    report = rig.result("venue/faults")
    assert {kind: count for kind, count in report["counts"].items() if count} == {"refuse_login": 1, "rate_limit": 2, "error": 1}
    assert [(rule["kind"], rule["done"]) for rule in report["rules"]] == [("refuse_login", 1), ("rate_limit", 2), ("error", 1)]
    assert rig.result("venue/clear", {"id": report["rules"][1]["id"]}) == {"removed": 1}
    assert rig.result("venue/clear") == {"removed": 2}
    assert rig.result("venue/faults")["counts"]["rate_limit"] == 2, "counts stay"
    assert rig.code("venue/inject", {"kind": "explode"}) == -32602
    assert rig.code("venue/inject", {"kind": "error"}) == -32602


def test_logins_by_headers_are_refused_and_counted_too() -> None:
    rig = Rig()
    headers = rest_auth_headers(rig.signer, rig.protocol, rig.signer.address, NOW_NS // 10**6)
    rig.result("venue/inject", {"kind": "refuse_login", "every": 2, "code": 14030})
    replies = [json.loads(rig.api.over_http(Peer(is_local=True), "private/get_account", b"{}", headers).payload) for _ in range(4)]
    assert [reply.get("error", {}).get("code") for reply in replies] == [None, 14030, None, 14030]
    assert rig.result("venue/faults")["counts"]["refuse_login"] == 2


def test_faults_strike_each_client_by_itself() -> None:
    rig = Rig()
    other_wire = FakeWire()
    other = rig.connect(other_wire)
    for peer in (rig.peer, other):
        rig.result("subscribe", {"channels": [TOPIC]}, peer)
    rig.result("venue/inject", {"kind": "drop", "client": other.number})
    for peers, topic, frame in rig.venue.play(TOPIC, note(TOPIC, {}), 1):
        for peer in peers:
            assert peer.outbox is not None
            peer.outbox.notify(topic, frame)
            peer.outbox.flush()
    assert (len(rig.wire.messages()), len(other_wire.messages())) == (1, 0)
