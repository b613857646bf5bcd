"""`Protocol`: the published constants, recomputed from their definitions where they have one."""

from __future__ import annotations

import json

import pytest
from eth_abi.abi import encode
from eth_utils.crypto import keccak

from derive_bench.adapter import protocol as module
from derive_bench.adapter.protocol import PROTOCOLS, V2_MAINNET, V2_TESTNET, V3_MAINNET, V3_TESTNET, Protocol
from tests.shared import SHARED, needs_shared


def by_definition(protocol: Protocol) -> bytes:
    """The domain separator by EIP-712's definition, through eth_abi and eth_utils."""
    return bytes(
        keccak(
            encode(
                ["bytes32", "bytes32", "bytes32", "uint256", "address"],
                [
                    keccak(text="EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                    keccak(text="Matching"),
                    keccak(text="1.0"),
                    protocol.chain_id,
                    protocol.matching_contract,
                ],
            )
        )
    )


@pytest.mark.parametrize("name", ["v3", "v3-testnet", "v2", "v2-testnet"])
def test_domain_separator_and_typehash_follow_from_their_definitions(name: str) -> None:
    protocol = PROTOCOLS[name]
    assert protocol.name == name
    assert protocol.domain_separator == by_definition(protocol)
    action = "Action(uint256 subaccountId,uint256 nonce,address module,bytes data,uint256 expiry,address owner,address signer)"
    assert protocol.action_typehash == keccak(text=action)


def test_the_networks_are_where_they_are_published() -> None:
    assert {p.name: (p.chain_id, p.ws_url, p.http_url) for p in PROTOCOLS.values()} == {
        "v3": (1, "wss://api.derive.xyz/v3/ws", "https://api.derive.xyz/v3"),
        "v3-testnet": (11155111, "wss://testnet.api.derive.xyz/v3/ws", "https://testnet.api.derive.xyz/v3"),
        "v2": (957, "wss://api.lyra.finance/ws", "https://api.lyra.finance"),
        "v2-testnet": (901, "wss://api-demo.lyra.finance/ws", "https://api-demo.lyra.finance"),
    }
    trade = "0xB8D20c2B7a1Ad2EE33Bc50eF10876eD3035b5e7b"
    assert [p.trade_module for p in PROTOCOLS.values()] == [trade, trade, trade, "0x87F2863866D85E3192a35A73b388BD625D83f2be"]


@pytest.mark.parametrize("protocol", [V3_MAINNET, V3_TESTNET], ids=lambda p: p.name)
def test_rules_of_v3(protocol: Protocol) -> None:
    assert (protocol.dialect, protocol.nonce_is_text, protocol.nonce_digits_min, protocol.nonce_digits_max) == ("v3", True, 19, 19)
    assert (protocol.nonce_past_ns, protocol.nonce_future_ns) == (90 * 86_400 * 10**9, 3_600 * 10**9)
    assert (protocol.max_fraction_digits, protocol.price_bits, protocol.fee_bits) == (12, 128, 128)
    assert (protocol.sub_id_bits, protocol.recipient_bits) == (128, 64)
    assert (protocol.min_lifetime_sec, protocol.max_lifetime_sec) == (300, 10_368_000)
    assert (protocol.header_wallet, protocol.header_timestamp) == ("X-DeriveWallet", "X-DeriveTimestamp")
    assert (protocol.header_signature, protocol.trigger_method) == ("X-DeriveSignature", "private/order")


@pytest.mark.parametrize("protocol", [V2_MAINNET, V2_TESTNET], ids=lambda p: p.name)
def test_rules_of_v2(protocol: Protocol) -> None:
    assert (protocol.dialect, protocol.nonce_is_text, protocol.nonce_digits_min, protocol.nonce_digits_max) == ("v2", False, 13, 16)
    assert (protocol.nonce_past_ns, protocol.nonce_future_ns) == (None, None)
    assert (protocol.max_fraction_digits, protocol.price_bits, protocol.fee_bits) == (18, 256, 256)
    assert (protocol.sub_id_bits, protocol.recipient_bits) == (256, 256)
    assert (protocol.min_lifetime_sec, protocol.max_lifetime_sec) == (300, None)
    assert (protocol.trigger_min_lifetime_sec, protocol.trigger_max_lifetime_sec) == (30 * 86_400, 90 * 86_400)
    assert (protocol.header_wallet, protocol.header_timestamp) == ("X-LYRAWALLET", "X-LYRATIMESTAMP")
    assert (protocol.header_signature, protocol.trigger_method) == ("X-LYRASIGNATURE", "private/trigger_order")


def test_replace_overrides_a_rule_and_leaves_the_original() -> None:
    shorter = V3_MAINNET.replace(min_lifetime_sec=10)
    assert (shorter.min_lifetime_sec, V3_MAINNET.min_lifetime_sec) == (10, 300)
    assert shorter.domain_separator == V3_MAINNET.domain_separator


def test_replace_recomputes_the_separator_of_a_changed_domain() -> None:
    assert V2_MAINNET.replace(chain_id=1).domain_separator == V3_MAINNET.domain_separator
    moved = V2_MAINNET.replace(chain_id=901, matching_contract=V2_TESTNET.matching_contract)
    assert moved.domain_separator == V2_TESTNET.domain_separator


def test_replace_takes_a_given_separator_as_it_is() -> None:
    own = bytes(range(32))
    assert V3_MAINNET.replace(domain_separator=own, chain_id=7).domain_separator == own


def test_wrong_overrides_are_refused() -> None:
    with pytest.raises(TypeError):
        V3_MAINNET.replace(colour="red")
    with pytest.raises(ValueError, match=r"Protocol\.domain_separator must be 32 bytes"):
        V3_MAINNET.replace(domain_separator=b"short")
    with pytest.raises(ValueError, match=r"Protocol\.action_typehash must be 32 bytes"):
        V3_MAINNET.replace(action_typehash="00" * 32)


def test_protocols_cannot_be_changed_in_place() -> None:
    with pytest.raises(AttributeError):
        V3_MAINNET.chain_id = 2  # type: ignore[misc]
    with pytest.raises(TypeError):
        PROTOCOLS["v4"] = V3_MAINNET  # type: ignore[index]


def test_error_codes_that_leave_the_outcome_open_are_known_codes() -> None:
    assert frozenset({-32603, 9000, 9001}) == module.OUTCOME_UNKNOWN
    assert set(module.ERROR_CODES) >= module.OUTCOME_UNKNOWN
    assert {11011, 11017, 11018, 11023, 14014} <= set(module.ERROR_CODES)


@needs_shared
def test_the_golden_vectors_have_the_same_typehash() -> None:
    golden = json.loads((SHARED / "vectors/golden-vectors.json").read_text())
    assert V3_MAINNET.action_typehash.hex() == golden["actionTypehash"][2:]
