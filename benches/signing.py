"""Signing: what stands between an order's numbers and the signature on the wire, and the libraries it rests on.

Covered: ABI encoding, hashing and signing of a trade action, ready-made and presigned; REST headers; building a signer;
nonces. Left out: the guards and the conversion of values, which the ``exec`` rows include, and the WebSocket login, which
is the REST headers' signature once a session.

The inputs are the two fixed sets of ROWS.md, one for each dialect. The ``_cold`` twins sign 1,024 actions of which no two
have a price, an amount or a nonce in common. Words that do not change between the orders of one subaccount and instrument
are made beforehand, as an adapter does; ``sign_trade_action_once`` makes them all.

The key is a well-known test key.
"""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

from derive_bench.measure.rows import Suite

if TYPE_CHECKING:
    from derive_bench.adapter.signing import PresignPool, Signer, TradeAction
    from derive_bench.measure.inputs import Inputs

suite = Suite("signing", "signatures, their parts and the libraries beneath")

TEST_KEY = "0x2ae8be44db8a590d20bffbe3b6872df9b569147d3bf6801a35a28281a4816bbd"
WALLET = "0x000000000000000000000000000000000000aaaa"
ASSET = "0x000000000000000000000000000000000000abcd"
SUB_ID = 42
SUBACCOUNT_ID = 30769
TIMESTAMP_MS = 1_790_871_617_137
ONE = 10**18

NONCES = {"v2": 1_700_000_000_000_000, "v3": 1_790_871_617_137_835_612}
EXPIRIES_SEC = {"v2": 1_900_000_000, "v3": 1_790_871_617 + 600}

COLD_COUNT = 1_024
PRESIGNED_READY = 512
"""A presigned row's pool never holds fewer entries, so that each timed stretch finds one for every signature."""


def _action(inputs: Inputs, nonce: int, limit_price: int, amount: int, is_bid: bool) -> TradeAction:
    from derive_bench.adapter.protocol import PROTOCOLS
    from derive_bench.adapter.signing import Signer, TradeAction

    return TradeAction(
        subaccount_id=SUBACCOUNT_ID,
        nonce=nonce,
        module=PROTOCOLS[inputs.protocol_name].trade_module,
        asset_address=ASSET,
        sub_id=SUB_ID,
        limit_price=limit_price,
        amount=amount,
        max_fee=1_000 * ONE,
        recipient_id=SUBACCOUNT_ID,
        is_bid=is_bid,
        expiry_sec=EXPIRIES_SEC[inputs.dialect],
        owner=WALLET,
        signer=Signer(TEST_KEY).address,
    )


def _fixed_action(inputs: Inputs) -> TradeAction:
    return _action(inputs, NONCES[inputs.dialect], 3_500 * ONE, ONE, True)


def _cold_actions(inputs: Inputs) -> list[TradeAction]:
    from derive_bench.adapter.protocol import PROTOCOLS
    from derive_bench.adapter.signing import to_wei

    protocol = PROTOCOLS[inputs.protocol_name]
    # Some 7 ms apart, so that no more of a nonce's digits are constant than in a real stream of orders.
    step = 7_654_321 if inputs.dialect == "v3" else 7_654
    return [
        _action(
            inputs,
            NONCES[inputs.dialect] + number * step,
            to_wei(order.price, protocol, "limit_price"),
            to_wei(order.amount, protocol, "amount"),
            order.side == "buy",
        )
        for number, order in enumerate(inputs.orders_cold(COLD_COUNT))
    ]


def _digests() -> list[bytes]:
    from derive_bench.adapter.signing import keccak256

    return [keccak256(b"digest %d" % number) for number in range(COLD_COUNT)]


def _trade_signing(inputs: Inputs, signer: Signer) -> dict[str, Any]:
    from derive_bench.adapter.protocol import PROTOCOLS
    from derive_bench.adapter.signing import ActionSigner, trade_words

    actions = ActionSigner(signer, PROTOCOLS[inputs.protocol_name], WALLET, SUBACCOUNT_ID)
    return {"sign_trade": actions.sign_trade, "words": trade_words(ASSET, SUB_ID)}


SIGN_TRADE = "sign_trade(words, x.limit_price, x.amount, x.max_fee, x.is_bid, x.nonce, x.expiry_sec)"


@suite.row(
    "signing/sign_trade_action",
    SIGN_TRADE,
    cold="actions",
    summary="trade action -> 0x-hex signature",
    parts=("signing/abi_encode_trade", "atom/action_digest", "control/ecdsa_sign", "atom/signature_hex"),
    control="control/ecdsa_sign",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.signing import Signer

    return _trade_signing(inputs, Signer(TEST_KEY)) | {
        "x": _fixed_action(inputs),
        "actions": lambda: _cold_actions(inputs),
    }


@suite.row(
    "signing/sign_trade_action_once",
    "sign_trade_action(signer, protocol, x)",
    cold="actions",
    summary="the same with every constant word made anew",
    parts=("signing/abi_encode_trade", "atom/action_digest", "control/ecdsa_sign", "atom/signature_hex"),
    control="control/ecdsa_sign",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.protocol import PROTOCOLS
    from derive_bench.adapter.signing import Signer, sign_trade_action

    return {
        "sign_trade_action": sign_trade_action,
        "signer": Signer(TEST_KEY),
        "protocol": PROTOCOLS[inputs.protocol_name],
        "x": _fixed_action(inputs),
        "actions": lambda: _cold_actions(inputs),
    }


def _presigned(inputs: Inputs, pool: PresignPool) -> dict[str, Any]:
    from derive_bench.adapter.signing import Signer

    namespace = _trade_signing(inputs, Signer(TEST_KEY, presign=pool))
    actions = cycle(_cold_actions(inputs))

    def make_action() -> TradeAction:
        if pool.size < PRESIGNED_READY:
            pool.refill(64)
        return next(actions)

    pool.refill(PRESIGNED_READY)
    return namespace | {"make_action": make_action}


@suite.row(
    "signing/sign_trade_action_presigned",
    SIGN_TRADE,
    fresh="make_action",
    summary="trade action -> 0x-hex signature from a presigned pool, every action new",
    parts=("signing/abi_encode_trade", "atom/action_digest"),
    control="control/ecdsa_sign",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.signing import PresignPool

    return _presigned(inputs, PresignPool(2 * PRESIGNED_READY))


@suite.row(
    "signing/sign_trade_action_presigned_background",
    SIGN_TRADE,
    fresh="make_action",
    summary="the same while a thread refills the pool at its usual pace",
    control="control/ecdsa_sign",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.signing import PresignPool

    # Never full while the row runs, which uses far more than the thread makes, and soon full and idle after it.
    pool = PresignPool(PRESIGNED_READY + 128)
    namespace = _presigned(inputs, pool)
    pool.start()
    return namespace


def _refilling() -> dict[str, Any]:
    from derive_bench.adapter.signing import PresignPool, Signer

    pool = PresignPool(1 << 24)
    sign, digest = Signer(TEST_KEY, presign=pool).sign_hex, bytes(32)

    def make_room() -> None:
        # The entries of the last stretch, or else the pool grows as long as the row runs.
        for _ in range(pool.size):
            sign(digest)

    return {"refill": pool.refill, "make_room": make_room}


@suite.row(
    "signing/presign_entry",
    "refill(1)",
    fresh="make_room",
    summary="one presigned entry made alone: a curve point and an inversion",
    control="control/ecdsa_sign",
)
def _(inputs: Inputs) -> dict[str, Any]:
    return _refilling()


@suite.row(
    "signing/presign_refill_64",
    "refill(64)",
    fresh="make_room",
    summary="64 presigned entries made together: they share the inversion",
)
def _(inputs: Inputs) -> dict[str, Any]:
    return _refilling()


@suite.row(
    "signing/abi_encode_trade",
    "encode_trade(asset, sub_id, x.limit_price, x.amount, x.max_fee, x.recipient_id, x.is_bid)",
    cold="actions",
    summary="trade -> 7 ABI words, 224 bytes",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.signing import encode_trade

    return {
        "encode_trade": encode_trade,
        "asset": ASSET,
        "sub_id": SUB_ID,
        "x": _fixed_action(inputs),
        "actions": lambda: _cold_actions(inputs),
    }


@suite.row(
    "atom/action_digest",
    "action_digest(separator, action_hash(typehash, subaccount_id, nonce, module, x, expiry_sec, owner, signer))",
    cold="datas",
    summary="encoded data -> EIP-712 digest, three hashes",
    parts=("control/keccak256_tiny_keccak",),
)
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.protocol import PROTOCOLS
    from derive_bench.adapter.signing import action_digest, action_hash, encode_trade

    protocol = PROTOCOLS[inputs.protocol_name]
    action = _fixed_action(inputs)

    def data(action: TradeAction) -> bytes:
        return encode_trade(ASSET, SUB_ID, action.limit_price, action.amount, action.max_fee, SUBACCOUNT_ID, action.is_bid)

    return {
        "action_digest": action_digest,
        "action_hash": action_hash,
        "separator": protocol.domain_separator,
        "typehash": protocol.action_typehash,
        "subaccount_id": SUBACCOUNT_ID,
        "nonce": action.nonce,
        "module": action.module,
        "expiry_sec": action.expiry_sec,
        "owner": action.owner,
        "signer": action.signer,
        "x": data(action),
        "datas": lambda: [data(cold) for cold in _cold_actions(inputs)],
    }


@suite.row(
    "atom/signature_hex",
    "signature_hex(x)",
    cold="signatures",
    summary="65 bytes of libwally -> 0x-hex r, s, v",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.signing.signer import signature_hex

    sign = _wallycore_sign()
    return {
        "signature_hex": signature_hex,
        "x": sign(_digests()[0]),
        "signatures": lambda: [sign(digest) for digest in _digests()],
    }


@suite.row(
    "signing/rest_auth_headers",
    "rest_auth_headers(signer, protocol, wallet, x)",
    cold="timestamps",
    summary="time in ms -> three signed headers",
    control="control/ecdsa_sign",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.protocol import PROTOCOLS
    from derive_bench.adapter.signing import Signer, rest_auth_headers

    return {
        "rest_auth_headers": rest_auth_headers,
        "signer": Signer(TEST_KEY),
        "protocol": PROTOCOLS[inputs.protocol_name],
        "wallet": WALLET,
        "x": TIMESTAMP_MS,
        "timestamps": range(TIMESTAMP_MS, TIMESTAMP_MS + COLD_COUNT),
    }


@suite.row("signing/signer_from_key", "Signer(x)", cold="keys", summary="hex key -> Signer with its address")
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.signing import Signer

    return {"Signer": Signer, "x": TEST_KEY, "keys": lambda: [digest.hex() for digest in _digests()]}


@suite.row("signing/nonce_next", "next_nonce()", summary="a nonce from a thread-safe source", control="atom/empty_call")
def _(inputs: Inputs) -> dict[str, Any]:
    from derive_bench.adapter.protocol import PROTOCOLS
    from derive_bench.adapter.signing import NonceSource

    return {"next_nonce": NonceSource(PROTOCOLS[inputs.protocol_name]).next}


@suite.row(
    "control/ecdsa_sign",
    "sign_recoverable(x, hasher=None)",
    cold="digests",
    summary="coincurve on a ready digest, key object kept",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from coincurve import PrivateKey

    key = PrivateKey(bytes.fromhex(TEST_KEY[2:]))
    return {"sign_recoverable": key.sign_recoverable, "x": _digests()[0], "digests": _digests}


def _wallycore_sign() -> Any:
    from wallycore import EC_FLAG_ECDSA, EC_FLAG_RECOVERABLE, ec_sig_from_bytes

    key = bytes.fromhex(TEST_KEY[2:])
    return lambda digest: ec_sig_from_bytes(key, digest, EC_FLAG_ECDSA | EC_FLAG_RECOVERABLE)


@suite.row(
    "control/ecdsa_sign_wallycore",
    "ec_sig_from_bytes(key, x, flags)",
    cold="digests",
    summary="wallycore on a ready digest",
    control="control/ecdsa_sign",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from wallycore import EC_FLAG_ECDSA, EC_FLAG_RECOVERABLE, ec_sig_from_bytes

    return {
        "ec_sig_from_bytes": ec_sig_from_bytes,
        "key": bytes.fromhex(TEST_KEY[2:]),
        "flags": EC_FLAG_ECDSA | EC_FLAG_RECOVERABLE,
        "x": _digests()[0],
        "digests": _digests,
    }


@suite.row(
    "control/eth_account_sign",
    "sign_hash(x)",
    cold="digests",
    summary="eth-account on a ready digest",
    control="control/ecdsa_sign",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from eth_account import Account

    return {"sign_hash": Account.from_key(TEST_KEY).unsafe_sign_hash, "x": _digests()[0], "digests": _digests}


def _hashed() -> dict[str, Any]:
    def datas() -> list[bytes]:
        return [digest * 7 for digest in _digests()]

    return {"x": datas()[0], "datas": datas}


@suite.row("control/keccak256_tiny_keccak", "keccak256(x)", cold="datas", summary="tiny-keccak on 224 bytes, what signing uses")
def _(inputs: Inputs) -> dict[str, Any]:
    from tiny_keccak import keccak256

    return _hashed() | {"keccak256": keccak256}


@suite.row("control/keccak256_safe_pysha3", "keccak_256(x).digest()", cold="datas", summary="safe-pysha3 on the same")
def _(inputs: Inputs) -> dict[str, Any]:
    from sha3 import keccak_256

    return _hashed() | {"keccak_256": keccak_256}


@suite.row(
    "control/keccak256_pycryptodome",
    "new(digest_bits=256, data=x).digest()",
    cold="datas",
    summary="pycryptodome, what eth-account uses, on the same",
)
def _(inputs: Inputs) -> dict[str, Any]:
    from Crypto.Hash.keccak import new

    return _hashed() | {"new": new}
