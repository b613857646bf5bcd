"""Private payloads to execution events.

Contract: a `Dispatcher` takes the typed payloads of `{subaccount}.orders` and `{subaccount}.trades`, the replies to
order requests and trades read over REST, and hands what they mean to the caller's emitter, a plain callable: events for
orders registered at submission, reports for everything else. What it must remember is an `ExecutionState`, bounded
however many orders pass. One dispatcher serves one subaccount and one thread.
"""

from derive_bench.adapter.dispatch.dispatcher import (
    UNKNOWN_OUTCOME,
    VOID_STATUSES,
    Dispatcher,
    EmitterError,
    ReplaceResult,
)
from derive_bench.adapter.dispatch.state import ExecutionState, FifoSet, OrderIdentity, Replace, TrackedOrder
from derive_bench.adapter.dispatch.transitions import DispatchStats, Emission

__all__ = [
    "UNKNOWN_OUTCOME",
    "VOID_STATUSES",
    "DispatchStats",
    "Dispatcher",
    "Emission",
    "EmitterError",
    "ExecutionState",
    "FifoSet",
    "OrderIdentity",
    "Replace",
    "ReplaceResult",
    "TrackedOrder",
]
