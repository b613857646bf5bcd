"""A suite of tiny rows with everything that a row can have; the tests of the harness measure these."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from derive_bench.measure.rows import Suite

if TYPE_CHECKING:
    from derive_bench.measure.inputs import Inputs

suite = Suite("data", "tiny rows")


@suite.row(
    "inbound_pipeline/quotes",
    "parse(decode(x))",
    cold="frames",
    summary="frame -> text",
    parts=("decode_only/ticker", "parse_only/ticker_quote"),
    control="control/json_loads_ticker",
)
@suite.row("decode_only/ticker", "decode(x)", cold="frames", summary="frame -> value")
def _(inputs: Inputs) -> dict[str, Any]:
    return {"decode": json.loads, "parse": str, "x": b'{"a":1}', "frames": lambda: [b'{"a":%d}' % n for n in range(1_000)]}


@suite.row("parse_only/ticker_quote", "parse(value)", summary="value -> text")
def _(inputs: Inputs) -> dict[str, Any]:
    return {"parse": str, "value": {"a": 1}}


@suite.row("dispatch/consumed", "x.pop()", fresh="make", summary="a state that one call consumes")
def _(inputs: Inputs) -> dict[str, Any]:
    return {"make": lambda: [1]}


@suite.row("atom/v2_only", "abs(-1)", summary="a row of the legacy protocol", protocols=("v2",))
def _(inputs: Inputs) -> dict[str, Any]:
    return {}
