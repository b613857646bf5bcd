"""Generated trade actions and test keys, the same in every run."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from derive_bench.adapter.signing import Signer, TradeAction

if TYPE_CHECKING:
    from derive_bench.adapter.protocol import Protocol

# Well-known test keys: the first of Hardhat's and Anvil's default accounts, and that of the reference's benchmark.
HARDHAT_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
BENCHMARK_KEY = "0x2ae8be44db8a590d20bffbe3b6872df9b569147d3bf6801a35a28281a4816bbd"

UINT256 = 2**256 - 1
INT256 = (-(2**255), 2**255 - 1)


def address(rng: random.Random) -> str:
    return "0x" + rng.randbytes(20).hex()


def _number(rng: random.Random, low: int, high: int) -> int:
    """A number within the limits: often an edge, else of any magnitude."""
    choice = rng.random()
    if choice < 0.1:
        return rng.choice((low, low + 1, high - 1, high, 0, 1))
    magnitude: int = rng.getrandbits(rng.randint(1, high.bit_length()))
    return max(low, -magnitude) if low < 0 and choice < 0.4 else min(high, magnitude)


def trade_actions(protocol: Protocol, signer: Signer, count: int, seed: int = 0) -> list[TradeAction]:
    """Actions over the whole range of the ABI's words."""
    rng = random.Random(seed)
    return [
        TradeAction(
            subaccount_id=_number(rng, 0, UINT256),
            nonce=_number(rng, 0, UINT256),
            module=protocol.trade_module,
            asset_address=address(rng),
            sub_id=_number(rng, 0, rng.choice((2**96 - 1, UINT256))),
            limit_price=_number(rng, *INT256),
            amount=_number(rng, *INT256),
            max_fee=_number(rng, 0, UINT256),
            recipient_id=_number(rng, 0, UINT256),
            is_bid=rng.random() < 0.5,
            expiry_sec=_number(rng, 0, UINT256),
            owner=address(rng),
            signer=signer.address,
        )
        for _ in range(count)
    ]
