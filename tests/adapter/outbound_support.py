"""Instruments, encoders and orders of the outbound tests, and an oracle of signing that shares no code with the project."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

from coincurve import PrivateKey
from eth_abi.abi import encode
from eth_account import Account
from eth_utils.crypto import keccak

from derive_bench.adapter.instruments import InstrumentRegistry
from derive_bench.adapter.model import OrderSide
from derive_bench.adapter.outbound import OrderCommand, OrderEncoder
from derive_bench.adapter.protocol import V3_MAINNET, Protocol
from derive_bench.adapter.signing import Signer

# A well-known test key, that of the reference's benchmark.
KEY = "0x2ae8be44db8a590d20bffbe3b6872df9b569147d3bf6801a35a28281a4816bbd"
WALLET = "0x000000000000000000000000000000000000aaaa"
SUBACCOUNT_ID = 30769
CLOCK_SEC = 1_790_871_617
CLOCK_NS = CLOCK_SEC * 10**9
NONCES = {"v3": 1_790_871_617_137_835_612, "v2": 1_700_000_000_000_000}
EXPIRY_SEC = CLOCK_SEC + 600

_WIDE = Context(prec=200)


def record(**changes: Any) -> dict[str, Any]:
    """A venue record of an instrument."""
    fields = {
        "instrument_name": "ETH-PERP",
        "instrument_type": "perp",
        "is_active": True,
        "base_currency": "ETH",
        "quote_currency": "USDC",
        "tick_size": "0.01",
        "amount_step": "0.01",
        "minimum_amount": "0.1",
        "maximum_amount": "10000",
        "base_asset_address": "0x000000000000000000000000000000000000abcd",
        "base_asset_sub_id": "42",
        "taker_fee_rate": "0.0003",
        "maker_fee_rate": "0.0001",
        "base_fee": "0.1",
    }
    return fields | changes


def make_encoder(protocol: Protocol = V3_MAINNET, *records: dict[str, Any], **changes: Any) -> OrderEncoder:
    """An encoder on a fixed clock, with ETH-PERP or the given records."""
    options: dict[str, Any] = {
        "owner": WALLET,
        "subaccount_id": SUBACCOUNT_ID,
        "instruments": InstrumentRegistry(records or [record()]),
        "clock_ns": lambda: CLOCK_NS,
    }
    return OrderEncoder(Signer(KEY), protocol, **(options | changes))


def make_order(**changes: Any) -> OrderCommand:
    fields: dict[str, Any] = {
        "instrument_name": "ETH-PERP",
        "side": OrderSide.BUY,
        "amount": Decimal("1.25"),
        "limit_price": Decimal("3500.01"),
        "max_fee": Decimal(1000),
        "expiry_sec": EXPIRY_SEC,
        "label": "client-1",
    }
    return OrderCommand(**(fields | changes))


def params(wire: bytes) -> dict[str, Any]:
    """The params as any JSON library reads them; a key that comes twice is an error."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({key for key, _ in pairs}) == len(pairs), pairs
        return dict(pairs)

    decoded: dict[str, Any] = json.loads(wire, object_pairs_hook=once)
    return decoded


def expected_digest(sent: dict[str, Any], protocol: Protocol, asset: str, sub_id: int) -> bytes:
    """The digest that the venue makes of a request: from the decimal texts on the wire, by eth_abi."""

    def wei(text: str) -> int:
        scaled = _WIDE.multiply(Decimal(text), Decimal(10) ** 18)
        assert scaled == scaled.to_integral_value()
        return int(scaled)

    data = encode(
        ["address", "uint256", "int256", "int256", "uint256", "uint256", "bool"],
        [
            asset,
            sub_id,
            wei(sent["limit_price"]),
            wei(sent["amount"]),
            wei(sent["max_fee"]),
            sent["subaccount_id"],
            sent["direction"] == "buy",
        ],
    )
    action = encode(
        ["bytes32", "uint256", "uint256", "address", "bytes32", "uint256", "address", "address"],
        [
            protocol.action_typehash,
            sent["subaccount_id"],
            int(sent["nonce"]),
            protocol.trade_module,
            keccak(data),
            sent["signature_expiry_sec"],
            WALLET,
            sent["signer"],
        ],
    )
    return keccak(b"\x19\x01" + protocol.domain_separator + keccak(action))


def expected_signature(digest: bytes) -> str:
    """The deterministic signature, by coincurve."""
    signature = PrivateKey(bytes.fromhex(KEY[2:])).sign_recoverable(digest, hasher=None)
    return f"0x{signature[:64].hex()}{27 + signature[64]:x}"


def recovered_signer(digest: bytes, signature: str) -> str:
    """Who signed the digest, by eth-account."""
    recover: Callable[..., str] = Account._recover_hash
    return recover(digest, signature=bytes.fromhex(signature[2:]))
