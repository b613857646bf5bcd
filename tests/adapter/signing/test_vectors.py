"""Every entry of the reference vectors: encoded data, action hash, digest and signature, byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest

from derive_bench.adapter.protocol import PROTOCOLS, V2_MAINNET, V3_MAINNET, Protocol
from derive_bench.adapter.signing import (
    ActionSigner,
    Signer,
    TradeAction,
    action_digest,
    action_hash,
    eip191_digest,
    encode_trade,
    login_params,
    rest_auth_headers,
    sign_trade_action,
    to_wei,
    trade_words,
)
from tests.shared import SHARED, needs_shared

pytestmark = needs_shared

NAMES = {"v3/mainnet": "v3", "v3/testnet": "v3-testnet", "v2/mainnet": "v2", "v2/testnet": "v2-testnet"}


def entries(name: str) -> list[dict[str, Any]]:
    path = SHARED / "vectors" / name
    if not path.is_file():
        return []
    found: list[dict[str, Any]] = json.loads(path.read_text())
    return found


def trade_action(entry: dict[str, Any], protocol: Protocol) -> TradeAction:
    return TradeAction(
        subaccount_id=entry["subaccount_id"],
        nonce=int(entry["nonce"]),
        module=entry["module_address"],
        asset_address=entry["asset_address"],
        sub_id=int(entry["sub_id"]),
        limit_price=to_wei(entry["limit_price"], protocol, "limit_price"),
        amount=to_wei(entry["amount"], protocol, "amount"),
        max_fee=to_wei(entry["max_fee"], protocol, "max_fee"),
        recipient_id=entry["recipient_id"],
        is_bid=entry["is_bid"],
        expiry_sec=entry["signature_expiry_sec"],
        owner=entry["owner"],
        signer=entry["signer"],
    )


@pytest.mark.parametrize(("name", "count"), [("trade_actions_v3.json", 40), ("trade_actions_v2.json", 12)])
def test_trade_actions(name: str, count: int) -> None:
    found = entries(name)
    assert len(found) == count
    for entry in found:
        protocol = PROTOCOLS[NAMES[entry["protocol"]]]
        action = trade_action(entry, protocol)
        signer = Signer(entry["private_key"])
        assert signer.address == entry["signer"]
        data = encode_trade(
            action.asset_address,
            action.sub_id,
            action.limit_price,
            action.amount,
            action.max_fee,
            action.recipient_id,
            action.is_bid,
        )
        assert "0x" + data.hex() == entry["encoded_data"]
        hashed = action_hash(
            protocol.action_typehash,
            action.subaccount_id,
            action.nonce,
            action.module,
            data,
            action.expiry_sec,
            action.owner,
            action.signer,
        )
        if "action_hash" in entry:
            assert "0x" + hashed.hex() == entry["action_hash"]
        digest = action_digest(protocol.domain_separator, hashed)
        assert "0x" + digest.hex() == entry["typed_data_hash"]
        assert sign_trade_action(signer, protocol, action) == entry["signature"]
        assert "0x" + signer.sign(digest).hex() == entry["signature"]
        assert (action.recipient_id, action.module) == (action.subaccount_id, protocol.trade_module)
        stream = ActionSigner(signer, protocol, action.owner, action.subaccount_id)
        words = trade_words(action.asset_address, action.sub_id)
        values = (action.limit_price, action.amount, action.max_fee, action.is_bid, action.nonce, action.expiry_sec)
        assert stream.sign_trade(words, *values) == entry["signature"]


def test_golden_vectors_of_every_module() -> None:
    golden = json.loads((SHARED / "vectors/golden-vectors.json").read_text())
    protocol = V3_MAINNET.replace(domain_separator=bytes.fromhex(golden["domainSeparator"][2:]))
    signer = Signer(golden["signerPrivateKey"])
    assert signer.address == golden["signerAddress"]
    assert golden["cases"]
    for case in golden["cases"]:
        inputs = case["inputs"]
        data = bytes.fromhex(case["dataHex"][2:])
        if case["name"].startswith("trade"):
            encoded = encode_trade(
                inputs["asset_address"],
                int(inputs["sub_id"]),
                to_wei(inputs["limit_price"], protocol, "limit_price"),
                to_wei(inputs["amount"], protocol, "amount"),
                to_wei(inputs["max_fee"], protocol, "max_fee"),
                inputs["recipient_subaccount_id"],
                inputs["is_bid"],
            )
            assert encoded == data, case["name"]
        hashed = action_hash(
            protocol.action_typehash,
            inputs["subaccount_id"],
            int(inputs["nonce"]),
            inputs["module"],
            data,
            inputs["signature_expiry_sec"],
            inputs["owner"],
            inputs["signer"],
        )
        assert "0x" + hashed.hex() == case["actionHash"], case["name"]
        digest = action_digest(protocol.domain_separator, hashed)
        assert "0x" + digest.hex() == case["typedDataHash"], case["name"]
        assert signer.sign_hex(digest) == case["signature"], case["name"]


@pytest.mark.parametrize("protocol", [V3_MAINNET, V2_MAINNET], ids=lambda p: p.name)
def test_logins(protocol: Protocol) -> None:
    found = entries("auth.json")
    assert len(found) == 10
    wallet = "0x000000000000000000000000000000000000aaaa"
    for entry in found:
        signer = Signer(entry["private_key"])
        assert signer.address == entry["address"]
        assert "0x" + eip191_digest(entry["timestamp"]).hex() == entry["message_hash"]
        assert rest_auth_headers(signer, protocol, wallet, int(entry["timestamp"])) == {
            protocol.header_wallet: wallet,
            protocol.header_timestamp: entry["timestamp"],
            protocol.header_signature: entry["signature"],
        }
        login = login_params(signer, protocol, wallet, int(entry["timestamp"]))
        assert login == {"wallet": wallet, "timestamp": entry["timestamp"], "signature": entry["signature"]}
