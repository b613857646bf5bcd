"""The two dialects of the Derive wire protocol, as values.

A :class:`Protocol` holds every constant and rule by which v3 (live) and v2 (legacy), mainnet and testnet, differ:
addresses, EIP-712 domain, ranges of signed numbers, nonce and lifetime rules, header names. No other module has such a
constant. A rule that the venue changes, or that its sources dispute, is overridden with :meth:`Protocol.replace`::

    ten_seconds = V3_MAINNET.replace(min_lifetime_sec=10)

Sources: docs.derive.xyz (authentication/action-signing, authentication/session-login, migrating/breaking-changes,
error-codes), derive-py 0.1.5, derive_action_signing 0.0.13.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final, Literal

import msgspec

__all__ = [
    "ACTION_TYPE",
    "ACTION_TYPEHASH",
    "DOMAIN_NAME",
    "DOMAIN_TYPE",
    "DOMAIN_VERSION",
    "ERROR_CODES",
    "OUTCOME_UNKNOWN",
    "PROTOCOLS",
    "V2_MAINNET",
    "V2_TESTNET",
    "V3_MAINNET",
    "V3_TESTNET",
    "Dialect",
    "Protocol",
]

Dialect = Literal["v3", "v2"]

_DAY_SEC: Final = 86_400
_DAY_NS: Final = _DAY_SEC * 1_000_000_000
_HOUR_NS: Final = 3_600 * 1_000_000_000

DOMAIN_NAME: Final = "Matching"
DOMAIN_VERSION: Final = "1.0"
DOMAIN_TYPE: Final = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
ACTION_TYPE: Final = "Action(uint256 subaccountId,uint256 nonce,address module,bytes data,uint256 expiry,address owner,address signer)"
ACTION_TYPEHASH: Final = bytes.fromhex("4d7a9f27c403ff9c0f19bce61d76d82f9aa29f8d6d4b0c5474607d9770d1af17")

_MATCHING = "0xeB8d770ec18DB98Db922E9D83260A585b9F0DeAD"
_MATCHING_V2_TESTNET = "0x3cc154e220c2197c5337b7Bd13363DD127Bc0C6E"
_TRADE = "0xB8D20c2B7a1Ad2EE33Bc50eF10876eD3035b5e7b"
_TRADE_V2_TESTNET = "0x87F2863866D85E3192a35A73b388BD625D83f2be"

# The fields of which the domain separator is made: changing one changes it.
_DOMAIN_FIELDS: Final = frozenset({"domain_name", "domain_version", "chain_id", "matching_contract"})


class Protocol(msgspec.Struct, frozen=True, kw_only=True):
    """Constants and rules of one dialect on one network.

    Times are in the unit of the name's suffix. A limit of ``None`` means that the protocol has no such limit.
    """

    name: str
    """Key in :data:`PROTOCOLS`."""
    dialect: Dialect
    ws_url: str
    http_url: str

    # EIP-712
    chain_id: int
    matching_contract: str
    """Verifying contract of the domain, ``0x`` and 40 hex digits."""
    trade_module: str
    """Address of the Trade module, ``0x`` and 40 hex digits."""
    domain_separator: bytes
    """32 bytes. :meth:`replace` recomputes it when a part of the domain changes and it is not given."""
    domain_name: str = DOMAIN_NAME
    domain_version: str = DOMAIN_VERSION
    action_typehash: bytes = ACTION_TYPEHASH
    """32 bytes: keccak256 of :data:`ACTION_TYPE`."""

    # Ranges of the signed numbers, after scaling by 10 ** value_scale_decimals.
    value_scale_decimals: int = 18
    max_fraction_digits: int
    """Most fractional digits of a price, an amount or a fee; a value with more is refused, never rounded."""
    price_bits: int
    """Bits of the signed (two's complement) price and amount."""
    fee_bits: int
    """Bits of the unsigned max fee."""
    sub_id_bits: int
    """Bits of the unsigned asset sub-id."""
    recipient_bits: int
    """Bits of the unsigned recipient subaccount id."""

    # Nonces
    nonce_digits_min: int
    nonce_digits_max: int
    """Decimal digits of a nonce: what tells ns from µs and ms."""
    nonce_step_ns: int
    """What one unit of the nonce is worth in ns: 1 in v3; 1,000 in v2, whose 16 digits are ms and three more."""
    nonce_past_ns: int | None
    nonce_future_ns: int | None
    """An order's nonce lies within [now - past, now + future]."""
    nonce_is_text: bool
    """Whether a nonce is a JSON string (v3) or a JSON integer (v2)."""

    # Lifetime of an order's signature, expiry less now
    min_lifetime_sec: int
    max_lifetime_sec: int | None
    """Not for orders under market-maker protection, which have no maximum."""
    trigger_min_lifetime_sec: int
    trigger_max_lifetime_sec: int | None

    # Authentication
    header_wallet: str
    header_timestamp: str
    header_signature: str
    login_timestamp_is_text: bool = True
    """Whether ``public/login`` gets the timestamp as a string; the venue takes a number too."""

    # Trigger orders
    trigger_method: str
    """JSON-RPC method of a trigger order."""
    trigger_needs_ids: bool
    """Whether the trigger method needs ``conn_id`` and ``order_id``."""

    def __post_init__(self) -> None:
        for field in ("domain_separator", "action_typehash"):
            value = getattr(self, field)
            if not isinstance(value, bytes) or len(value) != 32:
                raise ValueError(f"Protocol.{field} must be 32 bytes")

    def replace(self, **changes: Any) -> Protocol:
        """Return a copy with `changes` applied.

        Changing ``chain_id``, ``matching_contract``, ``domain_name`` or ``domain_version`` without giving
        ``domain_separator`` recomputes that. Raises `TypeError` for an unknown field.
        """
        if "domain_separator" not in changes and not _DOMAIN_FIELDS.isdisjoint(changes):
            # Not at the top: signing depends on this module.
            from derive_bench.adapter.signing.eip712 import domain_separator

            part = {field: changes.get(field, getattr(self, field)) for field in _DOMAIN_FIELDS}
            changes["domain_separator"] = domain_separator(
                part["domain_name"], part["domain_version"], part["chain_id"], part["matching_contract"]
            )
        return msgspec.structs.replace(self, **changes)


V3_MAINNET: Final = Protocol(
    name="v3",
    dialect="v3",
    ws_url="wss://api.derive.xyz/v3/ws",
    http_url="https://api.derive.xyz/v3",
    chain_id=1,
    matching_contract=_MATCHING,
    trade_module=_TRADE,
    domain_separator=bytes.fromhex("da616dfabb88681b08e1592820a41d55ddc62d68de110e327ae99d734506fe19"),
    max_fraction_digits=12,
    price_bits=128,
    fee_bits=128,
    sub_id_bits=128,
    recipient_bits=64,
    nonce_digits_min=19,
    nonce_digits_max=19,
    nonce_step_ns=1,
    nonce_past_ns=90 * _DAY_NS,
    nonce_future_ns=_HOUR_NS,
    nonce_is_text=True,
    # Disputed: 300 s in derive-py (tried on the live venue), 10 s in NautilusTrader's v3 adapter. The stricter one is
    # accepted under both.
    min_lifetime_sec=300,
    max_lifetime_sec=120 * _DAY_SEC,
    trigger_min_lifetime_sec=300,
    trigger_max_lifetime_sec=120 * _DAY_SEC,
    header_wallet="X-DeriveWallet",
    header_timestamp="X-DeriveTimestamp",
    header_signature="X-DeriveSignature",
    trigger_method="private/order",
    trigger_needs_ids=False,
)

V3_TESTNET: Final = V3_MAINNET.replace(
    name="v3-testnet",
    ws_url="wss://testnet.api.derive.xyz/v3/ws",
    http_url="https://testnet.api.derive.xyz/v3",
    chain_id=11155111,
    domain_separator=bytes.fromhex("24d674cd5f2b9d564691c51e9d88f649b99246a2244dd74ce27b96578d773e85"),
)

V2_MAINNET: Final = Protocol(
    name="v2",
    dialect="v2",
    ws_url="wss://api.lyra.finance/ws",
    http_url="https://api.lyra.finance",
    chain_id=957,
    matching_contract=_MATCHING,
    trade_module=_TRADE,
    domain_separator=bytes.fromhex("d96e5f90797da7ec8dc4e276260c7f3f87fedf68775fbe1ef116e996fc60441b"),
    max_fraction_digits=18,
    price_bits=256,
    fee_bits=256,
    sub_id_bits=256,
    recipient_bits=256,
    nonce_digits_min=13,
    nonce_digits_max=16,
    nonce_step_ns=1_000,
    nonce_past_ns=None,
    nonce_future_ns=None,
    nonce_is_text=False,
    min_lifetime_sec=300,
    max_lifetime_sec=None,
    trigger_min_lifetime_sec=30 * _DAY_SEC,
    trigger_max_lifetime_sec=90 * _DAY_SEC,
    header_wallet="X-LYRAWALLET",
    header_timestamp="X-LYRATIMESTAMP",
    header_signature="X-LYRASIGNATURE",
    trigger_method="private/trigger_order",
    trigger_needs_ids=True,
)

V2_TESTNET: Final = V2_MAINNET.replace(
    name="v2-testnet",
    ws_url="wss://api-demo.lyra.finance/ws",
    http_url="https://api-demo.lyra.finance",
    chain_id=901,
    matching_contract=_MATCHING_V2_TESTNET,
    trade_module=_TRADE_V2_TESTNET,
    domain_separator=bytes.fromhex("9bcf4dc06df5d8bf23af818d5716491b995020f377d3b7b64c29ed14e3dd1105"),
)

PROTOCOLS: Final = MappingProxyType({p.name: p for p in (V3_MAINNET, V3_TESTNET, V2_MAINNET, V2_TESTNET)})
"""The four protocols by name: ``v3`` (the default everywhere), ``v3-testnet``, ``v2``, ``v2-testnet``."""

ERROR_CODES: Final = MappingProxyType(
    {
        -32700: "parse error",
        -32600: "invalid request",
        -32601: "method not found",
        -32602: "invalid params",
        -32603: "internal error, outcome unknown",
        -32000: "rate limit exceeded",
        -32100: "too many concurrent connections",
        9000: "order confirmation timed out, outcome unknown",
        9001: "engine confirmation timed out, outcome unknown",
        11000: "insufficient funds",
        11002: "rejected from queue",
        11003: "already cancelled",
        11004: "already filled",
        11005: "already expired",
        11006: "order does not exist",
        11007: "self-crossing disallowed",
        11008: "post-only would cross",
        11009: "zero liquidity for a market, IOC or FOK order",
        11010: "post-only needs a limit order",
        11011: "invalid signature expiry",
        11012: "invalid amount",
        11013: "invalid limit price",
        11014: "fill-or-kill not filled",
        11015: "market-maker protection frozen",
        11016: "already consumed",
        11017: "nonce not unique",
        11018: "invalid nonce date",
        11019: "open orders limit exceeded",
        11021: "instrument is not live",
        11022: "reject timestamp exceeded",
        11023: "max fee too low",
        11024: "reduce-only not supported with this time in force",
        11025: "reduce-only refused",
        11027: "subaccount under liquidation",
        11028: "replaced order's filled amount is not as expected",
        11050: "trigger order error",
        11051: "trigger order error",
        11052: "trigger order error",
        11053: "trigger order error",
        11054: "trigger order error",
        11055: "trigger order error",
        12000: "asset not found",
        12001: "instrument not found",
        12002: "currency not found",
        13000: "invalid channels",
        14000: "account not found",
        14001: "subaccount not found",
        14014: "signature invalid",
        14020: "wallet header mismatch",
        14021: "wallet header missing",
        14022: "private subscription refused",
        14025: "wallet missing",
        14026: "session key not found",
        14029: "session key: IP address refused",
        14030: "session key expired",
        14031: "session key: scope refused",
    }
)
"""The venue's error codes and what they mean, in our words."""

OUTCOME_UNKNOWN: Final = frozenset({-32603, 9000, 9001})
"""Codes after which a command may or may not have taken effect: reconcile, do not resend."""
