"""Accounts: who may log in, and whose signature is whose."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive_bench.adapter.protocol import V2_MAINNET, V3_MAINNET
from derive_bench.adapter.signing import Signer, eip191_digest, rest_auth_headers
from derive_bench.replay.venue.signatures import recover_address
from tests.replay.venue.venue_support import KEY, NOW_NS, OTHER_KEY, Rig
from tests.shared import SHARED, needs_shared

WALLET = "0x1111111111111111111111111111111111111111"


@settings(max_examples=60)
@given(st.integers(1, 2**255).map(lambda number: number.to_bytes(32)), st.binary(min_size=32, max_size=32))
def test_the_signer_is_recovered(key: bytes, digest: bytes) -> None:
    signer = Signer(key)
    assert recover_address(digest, signer.sign_hex(digest)) == signer.address.lower()
    assert recover_address(digest, signer.sign_hex(digest)[2:]) == signer.address.lower(), "without 0x"


@needs_shared
def test_the_signer_is_recovered_from_signatures_of_other_libraries() -> None:
    logins = json.loads((SHARED / "vectors" / "auth.json").read_bytes())
    actions = [each for name in ("v3", "v2") for each in json.loads((SHARED / "vectors" / f"trade_actions_{name}.json").read_bytes())]
    assert len(logins) + len(actions) > 20
    for each in logins:
        assert recover_address(eip191_digest(each["timestamp"]), each["signature"]) == each["address"].lower()
    for each in actions:
        assert recover_address(bytes.fromhex(each["typed_data_hash"][2:]), each["signature"]) == each["signer"].lower()


def test_what_is_no_signature_is_nobodys() -> None:
    digest = eip191_digest("1")
    good = Signer(KEY).sign_hex(digest)
    order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
    high_s = order - int(good[66:130], 16)
    twin = f"{good[:66]}{high_s:064x}{'1c' if good[130:] == '1b' else '1b'}"
    for bad in ("", "0x", good[:-1], good + "0", good[:-2] + "1d", good[:-2] + "00", twin, "0x" + "00" * 64 + "1b", "g" + good[1:]):
        assert recover_address(digest, bad) is None, bad


def test_a_wallet_signs_for_itself() -> None:
    rig = Rig(login=False, subaccounts=[4, 2])
    assert rig.result("public/login", rig.login_params()) == [2, 4]
    assert rig.result("private/get_account")["wallet"] == rig.signer.address


def test_a_timestamp_may_be_a_number() -> None:
    rig = Rig(login=False)
    params = rig.login_params()
    assert rig.result("public/login", params | {"timestamp": int(params["timestamp"])}) == [1]


def test_a_login_that_proves_nothing_is_refused() -> None:
    rig = Rig(login=False)
    good = rig.login_params()
    stranger = rig.login_params(OTHER_KEY, rig.signer.address)
    assert rig.code("public/login", stranger) == 14026
    assert rig.code("public/login", good | {"signature": good["signature"][:-4] + "00" + good["signature"][-2:]}) in (14014, 14026)
    assert rig.code("public/login", good | {"signature": "0x12"}) == 14014
    assert rig.code("public/login", good | {"timestamp": "now"}) == 14014
    assert rig.code("public/login", good | {"timestamp": str(int(good["timestamp"]) + 1)}) == 14026
    assert rig.code("public/login", good | {"wallet": "me"}) == 14000
    assert rig.code("public/login", {"timestamp": good["timestamp"], "signature": good["signature"]}) == 14021
    assert rig.code("private/get_account") == 14021
    rig.now_ns += 601 * 10**9
    assert rig.code("public/login", good) == 14014, "too old a proof"


def test_a_session_key_signs_once_it_is_registered() -> None:
    rig = Rig(login=False)
    params = rig.login_params(KEY, WALLET)
    assert rig.code("public/login", params) == 14026
    rig.accounts.register(rig.signer.address, WALLET)
    assert rig.result("public/login", params) == [1]
    assert rig.result("private/session_keys")["public_session_keys"][0]["public_session_key"] == rig.signer.address
    assert rig.code("public/login", rig.login_params(OTHER_KEY, WALLET)) == 14026
    rig.result("venue/register_key", {"key": Signer(OTHER_KEY).address})
    assert rig.result("public/login", rig.login_params(OTHER_KEY, "0x" + "22" * 20)) == [1]


def test_a_closed_venue_takes_those_it_knows() -> None:
    rig = Rig(login=False, accounts={"closed": True})
    assert rig.code("public/login", rig.login_params()) == 14000
    rig.accounts.open(rig.signer.address, [9])
    assert rig.result("public/login", rig.login_params()) == [9]


@pytest.mark.parametrize("protocol", [V3_MAINNET, V2_MAINNET])
def test_headers_log_in(protocol: object) -> None:
    rig = Rig(V2_MAINNET if protocol is V2_MAINNET else V3_MAINNET, login=False)
    headers = rest_auth_headers(rig.signer, rig.protocol, rig.signer.address, NOW_NS // 10**6)
    peer = rig.connect(rig.wire)
    peer.outbox = None
    answer = rig.api.over_http(peer, "private/get_subaccounts", b"{}", headers)
    assert json.loads(answer.payload)["result"] == {"wallet": rig.signer.address, "subaccount_ids": [1]}
    foreign = headers | {rig.protocol.header_wallet: WALLET}
    assert json.loads(rig.api.over_http(peer, "private/get_account", b"{}", foreign).payload)["error"]["code"] == 14026
    other = json.dumps({"wallet": WALLET}).encode()
    assert json.loads(rig.api.over_http(peer, "private/get_account", other, headers).payload)["error"]["code"] == 14020
    peer.account = None
    assert json.loads(rig.api.over_http(peer, "private/get_account", b"{}", {}).payload)["error"]["code"] == 14021
    login = {"id": 1, "method": "public/login", "params": rig.login_params()}
    assert json.loads(rig.api.over_http(peer, None, json.dumps(login).encode(), {}).payload) == {"id": 1, "result": [1]}


def test_two_wallets_do_not_meet_under_one_id() -> None:
    rig = Rig()
    other = rig.connect(rig.wire)
    rig.result("public/login", rig.login_params(OTHER_KEY), other)
    for peer in (rig.peer, other):
        rig.result("subscribe", {"channels": ["1.orders"]}, peer)
    order = rig.result("private/order", rig.order())["order"]
    assert [peers for peers, _, _ in rig.venue.updates()] == [[rig.peer]]
    assert rig.result("private/get_open_orders", {"subaccount_id": 1}, other)["orders"] == []
    cancel = {"subaccount_id": 1, "order_id": order["order_id"], "instrument_name": "ETH-PERP"}
    assert rig.code("private/cancel", cancel, other) == 11006
    assert rig.code("private/get_open_orders", {"subaccount_id": 2}) == 14001
