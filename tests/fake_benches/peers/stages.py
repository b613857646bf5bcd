"""Two stages for libraries that need nothing but Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from derive_bench.measure.inputs import Inputs

PEERS = ("good", "legacy", "forger", "dropper", "crasher", "dier")
STAGES = {
    "decode/number": ("numbers", "text -> number"),
    "sign/thing": ("numbers", "text -> signature"),
    "auth/now": ("numbers", "time -> signature"),
}
SIGNED = frozenset({"sign/thing", "auth/now"})
ECHOED = {"auth/now": "time"}
REFERENCE = {"decode/number": "decode_only/ticker", "sign/thing": "signing/sign_trade_action"}


def material(inputs: Inputs) -> dict[str, Any]:
    first = 1 if inputs.dialect == "v3" else 1_000_001
    return {
        "stages": {stage: name for stage, (name, _) in STAGES.items()},
        "inputs": {"numbers": [str(number) for number in range(first, first + 50)]},
    }
