"""Every row of the project runs, in both dialects, on its fixed and on its cold inputs."""

from __future__ import annotations

import gc

import pytest

from derive_bench.measure.catalogue import Catalogue
from derive_bench.measure.inputs import SharedInputs

INPUTS = {protocol: SharedInputs(protocol) for protocol in ("v3", "v2")}


@pytest.mark.parametrize(
    ("protocol", "name"),
    [(protocol, name) for protocol in INPUTS for name in Catalogue.load(protocol).rows],
)
def test_a_row_runs(protocol: str, name: str) -> None:
    row = Catalogue.load(protocol).rows[name]
    try:
        seconds = row.compile(row.namespace(INPUTS[protocol]), inner=1).run(1)
    finally:
        gc.unfreeze()
    assert isinstance(seconds, float)
