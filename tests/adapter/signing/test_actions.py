"""Trade actions against eth_abi and eth-account, and the refusals of what fits no word."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from eth_abi.abi import encode
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_utils.crypto import keccak

from derive_bench.adapter.errors import SigningError
from derive_bench.adapter.protocol import V2_TESTNET, V3_MAINNET, Protocol
from derive_bench.adapter.signing import (
    ActionSigner,
    Signer,
    TradeAction,
    address_word,
    encode_trade,
    sign_trade_action,
    trade_words,
)
from derive_bench.adapter.signing.abi import int_word, uint_word
from tests.adapter.signing.generated import BENCHMARK_KEY, HARDHAT_KEY, trade_actions

ADDRESS = "0x000000000000000000000000000000000000aBcD"


def encoded_by_eth_abi(action: TradeAction) -> bytes:
    types = ["address", "uint256", "int256", "int256", "uint256", "uint256", "bool"]
    values = [
        action.asset_address,
        action.sub_id,
        action.limit_price,
        action.amount,
        action.max_fee,
        action.recipient_id,
        action.is_bid,
    ]
    return encode(types, values)


def digest_by_eth_abi(protocol: Protocol, action: TradeAction, data: bytes) -> bytes:
    types = ["bytes32", "uint256", "uint256", "address", "bytes32", "uint256", "address", "address"]
    values = [
        protocol.action_typehash,
        action.subaccount_id,
        action.nonce,
        action.module,
        keccak(data),
        action.expiry_sec,
        action.owner,
        action.signer,
    ]
    return bytes(keccak(b"\x19\x01" + protocol.domain_separator + keccak(encode(types, values))))


def signature_by_typed_data(protocol: Protocol, action: TradeAction, key: str) -> str:
    words = ("uint256", "uint256", "address", "bytes", "uint256", "address", "address")
    names = ("subaccountId", "nonce", "module", "data", "expiry", "owner", "signer")
    message: dict[str, Any] = {
        "subaccountId": action.subaccount_id,
        "nonce": action.nonce,
        "module": action.module,
        "data": encoded_by_eth_abi(action),
        "expiry": action.expiry_sec,
        "owner": action.owner,
        "signer": action.signer,
    }
    domain = {
        "name": "Matching",
        "version": "1.0",
        "chainId": protocol.chain_id,
        "verifyingContract": protocol.matching_contract,
    }
    types = {"Action": [{"name": name, "type": word} for name, word in zip(names, words, strict=True)]}
    signed = Account.sign_message(encode_typed_data(domain, types, message), key)
    return "0x" + bytes(signed.signature).hex()


@pytest.mark.parametrize(("protocol", "key"), [(V3_MAINNET, HARDHAT_KEY), (V2_TESTNET, BENCHMARK_KEY)])
def test_generated_actions_are_signed_as_eth_account_signs_them(protocol: Protocol, key: str) -> None:
    signer, account = Signer(key), Account.from_key(key)
    assert signer.address == account.address
    for action in trade_actions(protocol, signer, 1_250):
        data = encoded_by_eth_abi(action)
        values = (action.limit_price, action.amount, action.max_fee, action.recipient_id, action.is_bid)
        assert encode_trade(action.asset_address, action.sub_id, *values) == data
        expected = "0x" + bytes(account.unsafe_sign_hash(digest_by_eth_abi(protocol, action, data)).signature).hex()
        assert sign_trade_action(signer, protocol, action) == expected
        # The stream signer has the recipient of its subaccount.
        own = msgspec.structs.replace(action, recipient_id=action.subaccount_id)
        stream = ActionSigner(signer, protocol, action.owner, action.subaccount_id)
        words = trade_words(action.asset_address, action.sub_id)
        streamed = stream.sign_trade(
            words, action.limit_price, action.amount, action.max_fee, action.is_bid, action.nonce, action.expiry_sec
        )
        assert streamed == (expected if own == action else sign_trade_action(signer, protocol, own))


@pytest.mark.parametrize("protocol", [V3_MAINNET, V2_TESTNET], ids=lambda p: p.name)
def test_a_sample_is_signed_as_encode_typed_data_says(protocol: Protocol) -> None:
    signer = Signer(HARDHAT_KEY)
    for action in trade_actions(protocol, signer, 40, seed=1):
        assert sign_trade_action(signer, protocol, action) == signature_by_typed_data(protocol, action, HARDHAT_KEY)


def test_edges_of_the_words() -> None:
    assert int_word(-(2**255), "x") == b"\x80" + bytes(31)
    assert int_word(2**255 - 1, "x") == b"\x7f" + b"\xff" * 31
    assert int_word(-1, "x") == b"\xff" * 32
    assert uint_word(2**256 - 1, "x") == b"\xff" * 32
    assert address_word(ADDRESS) == bytes(30) + b"\xab\xcd" == address_word(ADDRESS.lower())


@pytest.mark.parametrize(
    ("field", "value", "limit"),
    [
        ("limit_price", 2**255, "int256"),
        ("limit_price", -(2**255) - 1, "int256"),
        ("amount", 2**255, "int256"),
        ("max_fee", -1, "uint256"),
        ("max_fee", 2**256, "uint256"),
        ("nonce", 2**256, "uint256"),
        ("nonce", "1790871617137835612", "str"),
        ("expiry_sec", -1, "uint256"),
        ("expiry_sec", 1.5, "float"),
        ("amount", 1.0, "float"),
        ("amount", None, "NoneType"),
        ("limit_price", 10**4_000, "an integer of 13288 bits"),
    ],
)
def test_a_value_that_fits_no_word_is_refused_by_name(field: str, value: Any, limit: str) -> None:
    signer = Signer(HARDHAT_KEY)
    good = trade_actions(V3_MAINNET, signer, 1)[0]
    action = msgspec.structs.replace(good, **{field: value})
    with pytest.raises(SigningError, match=f"^{field}: .*{limit}"):
        sign_trade_action(signer, V3_MAINNET, action)
    stream = ActionSigner(signer, V3_MAINNET, action.owner, 1)
    values = (action.limit_price, action.amount, action.max_fee, action.is_bid, action.nonce, action.expiry_sec)
    with pytest.raises(SigningError, match=f"^{field}: .*{limit}"):
        stream.sign_trade(trade_words(ADDRESS, 42), *values)


@pytest.mark.parametrize("field", ["sub_id", "recipient_id", "subaccount_id"])
def test_ids_that_fit_no_word_are_refused_by_name(field: str) -> None:
    signer = Signer(HARDHAT_KEY)
    good = trade_actions(V3_MAINNET, signer, 1)[0]
    for value in (-1, 2**256, "7"):
        with pytest.raises(SigningError, match=f"^{field}: "):
            sign_trade_action(signer, V3_MAINNET, msgspec.structs.replace(good, **{field: value}))


@pytest.mark.parametrize("text", ["", "0x", "0x12", ADDRESS[2:], ADDRESS + "0", ADDRESS[:-1] + "g", " " + ADDRESS, ADDRESS + "\n", None, 7])
def test_a_text_that_is_no_address_is_refused(text: Any) -> None:
    with pytest.raises(SigningError, match=r"^owner: .*0x and 40 hex digits"):
        address_word(text, "owner")
    with pytest.raises(SigningError, match=r"^asset_address: "):
        trade_words(text, 1)


def test_the_caller_s_bugs_in_data_are_not_hidden() -> None:
    stream = ActionSigner(Signer(HARDHAT_KEY), V3_MAINNET, ADDRESS, 1)
    with pytest.raises(TypeError):
        stream.sign_trade("not bytes", 1, 1, 1, True, 1, 1)  # type: ignore[arg-type]
