"""Stages: the work that is compared between libraries, and the inputs they all get.

Covered: a frame to the library's own message (``decode``), on to what its user works with (``domain``), through its receive path to
the user's handler (``dispatch``); an action's signature, an order's and a cancel's wire bytes, REST headers. Left out: sockets, REST
calls, and what only one of the libraries does. Every input is new, as in the ``_cold`` rows; the sets for v3 and v2 differ as the
dialects do.

Facts are what a result says, in the same words for every library, so that results can be compared: numbers as texts of
decimals, or as JSON numbers where the library gives floats (then compared as floats); only what a library gives is compared.

==========  =====================================================================================
tickers     bid, bid_size, ask, ask_size, mark, index; of an option: delta, gamma, theta, vega, rho
books       bids, asks: lists of [price, amount]
trades      id, price, amount, side
orders      id, label, price, amount, filled
fills       id, order, price, amount, fee
actions     signature
requests    the members of ``params``: those of the order or cancel
headers     wallet, timestamp, signature
==========  =====================================================================================

A stage in :data:`SIGNED` has a signature, which is compared byte for byte, whether its text begins with 0x or not.

The key is a well-known test key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from derive_bench.measure.inputs import Inputs

PEERS = ("derive_py", "derive_client", "derive_action_signing", "ccxt")
"""Modules beside this one, in the order of the table; ``ours`` is the first contender."""

STAGES: dict[str, tuple[str, str]] = {
    "decode/orderbook": ("orderbook", "frame, 1 level a side -> message"),
    "decode/orderbook_d10": ("orderbook_d10", "frame, 10 levels a side -> message"),
    "decode/orderbook_d100": ("orderbook_d100", "frame, 100 levels a side -> message"),
    "decode/ticker": ("ticker", "slim ticker of a perpetual -> message"),
    "decode/ticker_option": ("ticker_option", "slim ticker of an option -> message"),
    "decode/trade": ("trade", "public trade -> message"),
    "decode/order": ("order", "private order -> message"),
    "decode/private_trade": ("private_trade", "private trade -> message"),
    "domain/book": ("orderbook", "frame, 1 level a side -> book"),
    "domain/book_d10": ("orderbook_d10", "frame, 10 levels a side -> book"),
    "domain/book_d100": ("orderbook_d100", "frame, 100 levels a side -> book"),
    "domain/quote": ("ticker", "slim ticker -> quote"),
    "domain/option_greeks": ("ticker_option", "slim ticker -> greeks"),
    "domain/trade": ("trade", "public trade -> trade"),
    "domain/order": ("order", "private order -> order report"),
    "domain/fill": ("private_trade", "private trade -> fill report"),
    "dispatch/book_d10": ("orderbook_d10", "frame, 10 levels a side -> the user's handler"),
    "dispatch/quote": ("ticker", "slim ticker -> the user's handler"),
    "dispatch/trade": ("trade", "public trade -> the user's handler"),
    "dispatch/order": ("order", "private order, not registered -> the user's handler"),
    "dispatch/fill": ("private_trade", "private trade, not registered -> the user's handler"),
    "sign/trade_action": ("orders", "order in decimals -> signature"),
    "exec/submit_limit": ("orders", "order in decimals, nonce given -> signed request"),
    "exec/cancel": ("orders", "ids -> request"),
    "auth/rest_headers": ("timestamps", "signed REST headers"),
}
"""Stage -> name of its inputs, and one line on it."""

SIGNED = frozenset({"sign/trade_action", "exec/submit_limit", "auth/rest_headers"})

ECHOED = {"auth/rest_headers": "timestamp"}
"""Stages where a library takes an input of its own, here the time: ours is then asked with what it took, which is this fact of it."""

REFERENCE = {
    "decode/orderbook": "decode_only/orderbook",
    "decode/ticker": "decode_only/ticker",
    "domain/book": "inbound_pipeline/book_deltas",
    "domain/quote": "inbound_pipeline/quotes",
    "domain/option_greeks": "inbound_pipeline/option_greeks",
    "domain/trade": "inbound_pipeline/trades",
    "sign/trade_action": "signing/sign_trade_action",
    "exec/submit_limit": "exec_pipeline/submit_limit",
    "exec/cancel": "exec_pipeline/cancel",
    "auth/rest_headers": "signing/rest_auth_headers",
}
"""Stage -> the row of the Rust reference that comes closest; its input is fixed where these are new."""

FRAMES = ("orderbook", "orderbook_d10", "orderbook_d100", "ticker", "ticker_option", "trade", "order", "private_trade")
COLD_COUNT = 1_024
FILLS_COUNT = 4_608
"""More than the trade ids that are remembered, or a fill that comes round again would be dropped as a duplicate."""

TEST_KEY = "0x2ae8be44db8a590d20bffbe3b6872df9b569147d3bf6801a35a28281a4816bbd"
SIGNER = "0x86042886b1063625D0B3DDCC9e4cBcf912B79e16"
WALLET = "0x000000000000000000000000000000000000aaaa"
SUBACCOUNT_ID = 30769
ASSET = "0x000000000000000000000000000000000000abcd"
SUB_ID = "42"
MAX_FEE = "1000"
CLOCKS_NS = {"v2": 1_700_000_000 * 10**9, "v3": 1_790_871_617 * 10**9}
NONCES = {"v2": 1_700_000_000_000_000, "v3": 1_790_871_617_137_835_612}
NONCE_STEPS = {"v2": 7_654, "v3": 7_654_321}
EXPIRIES_SEC = {"v2": 1_900_000_000, "v3": 1_790_871_617 + 600}


def material(inputs: Inputs) -> dict[str, Any]:
    """What every contender of one dialect gets, as JSON: ``stages`` (stage -> name of inputs), ``inputs``, ``instruments``, ``account``."""
    nonce, step = NONCES[inputs.dialect], NONCE_STEPS[inputs.dialect]
    records = [dict(record) for record in inputs.instruments]
    for record in records:
        if record["instrument_name"] == "ETH-PERP":
            record |= {"base_asset_address": ASSET, "base_asset_sub_id": SUB_ID}
    orders = [order._asdict() | {"nonce": nonce + n * step} for n, order in enumerate(inputs.orders_cold(COLD_COUNT))]
    frames = {
        name: [frame.decode() for frame in inputs.frames_cold(name, FILLS_COUNT if name == "private_trade" else COLD_COUNT)]
        for name in FRAMES
    }
    return {
        "protocol": inputs.protocol_name,
        "stages": {stage: name for stage, (name, _) in STAGES.items()},
        "inputs": {**frames, "orders": orders, "timestamps": [CLOCKS_NS[inputs.dialect] // 10**6 + n for n in range(COLD_COUNT)]},
        "instruments": records,
        "account": {
            "key": TEST_KEY,
            "signer": SIGNER,
            "wallet": WALLET,
            "subaccount_id": SUBACCOUNT_ID,
            "asset": ASSET,
            "sub_id": SUB_ID,
            "max_fee": MAX_FEE,
            "clock_ns": CLOCKS_NS[inputs.dialect],
            "expiry_sec": EXPIRIES_SEC[inputs.dialect],
        },
    }
