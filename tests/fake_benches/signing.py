"""A second suite, which holds the control of a row in the first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from derive_bench.measure.rows import Suite

if TYPE_CHECKING:
    from derive_bench.measure.inputs import Inputs

suite = Suite("signing", "tiny rows, too")


@suite.row("control/json_loads_ticker", "loads(x)", summary="json.loads of the same bytes")
def _(inputs: Inputs) -> dict[str, Any]:
    return {"loads": json.loads, "x": b'{"a":1}'}
