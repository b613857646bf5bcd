"""Trials: what is slowed down, by how much, and where localisation must put it.

Contract: :func:`plan` gives the trials in the order in which they run: kinds of trial in turn, so that a run that is cut short still has
some of each. A *plant* is a callable of the adapter and the row that must be blamed for it; an empty target is the row's own statement,
which no part measures.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from derive_bench.measure.injection import ROW
from derive_bench.measure.localise.explain import UNEXPLAINED
from derive_bench.measure.rows import Row

__all__ = ["SHARES", "Plant", "Trial", "pipeline_rows", "plan", "rows_of"]

SHARES = (0.05, 0.10, 0.20, 0.50)
"""Slowdowns, as shares of the row."""

_FRAMES, _INBOUND, _BOOK, _SIGNING = (f"derive_bench.adapter.{name}" for name in ("frames", "inbound", "book", "signing"))


@dataclass(frozen=True, slots=True)
class Plant:
    """One place that can be slowed down.

    Attributes:
        target: ``module:callable``, or empty for the statement of the trial's own row.
        blamed: the row that must be blamed, or :data:`UNEXPLAINED`.
        calls: how often the row calls it.
    """

    target: str
    blamed: str
    calls: int = 1


@dataclass(frozen=True, slots=True)
class Trial:
    """One measurement of two sides.

    Attributes:
        row: the pipeline row that is slowed down.
        share: by how much in all; 0: identical sides.
        plants: where, in equal parts.
    """

    row: str
    share: float
    plants: tuple[Plant, ...] = ()

    @property
    def kind(self) -> str:
        """``identical``, ``single``, ``double`` or ``uncovered``."""
        if not self.plants:
            return "identical"
        if len(self.plants) > 1:
            return "double"
        return "uncovered" if self.plants[0].blamed == UNEXPLAINED else "single"

    @property
    def blamed(self) -> frozenset[str]:
        """What localisation must say."""
        return frozenset(plant.blamed for plant in self.plants)

    def injections(self, row_ns: float) -> list[str]:
        """``--inject`` options for a row that takes ``row_ns``."""
        each = self.share * row_ns / max(1, len(self.plants))
        return [f"{plant.target or ROW + self.row}={each / plant.calls:.1f}" for plant in self.plants]


DECODE = f"{_FRAMES}:decode"

SINGLES: tuple[tuple[str, Plant], ...] = (
    ("inbound_pipeline/quotes", Plant(DECODE, "decode_only/ticker")),
    ("inbound_pipeline/quotes", Plant(f"{_INBOUND}:parse_quote", "parse_only/ticker_quote")),
    ("inbound_pipeline/mark_price", Plant(f"{_INBOUND}:parse_mark_price", "parse_only/ticker_mark")),
    ("inbound_pipeline/index_price", Plant(f"{_INBOUND}:parse_index_price", "parse_only/ticker_index")),
    ("inbound_pipeline/funding_rate", Plant(f"{_INBOUND}:parse_funding_rate", "parse_only/ticker_funding")),
    ("inbound_pipeline/trades", Plant(DECODE, "decode_only/trade")),
    ("inbound_pipeline/trades", Plant(f"{_INBOUND}:parse_trade", "parse_only/trade")),
    ("inbound_pipeline/book_deltas_d10", Plant(DECODE, "decode_only/orderbook_d10")),
    ("inbound_pipeline/book_deltas_d10", Plant(f"{_BOOK}:parse_order_book_deltas", "parse_only/orderbook_deltas_d10")),
    ("inbound_pipeline/bars", Plant(f"{_FRAMES}:decode_candles", "decode_only/candles")),
    ("inbound_pipeline/bars", Plant(f"{_INBOUND}:parse_bar", "parse_only/bar")),
    ("inbound_pipeline/option_greeks", Plant(f"{_INBOUND}:parse_option_greeks", "parse_only/option_greeks")),
    ("signing/sign_trade_action_presigned", Plant(f"{_SIGNING}.keccak:keccak256", "atom/action_digest", calls=3)),
    ("dispatch/trades_fill", Plant("derive_bench.adapter.events:new_event_id", "atom/uuid4_new")),
)

DOUBLES: tuple[tuple[str, tuple[Plant, Plant]], ...] = (
    ("inbound_pipeline/quotes", (Plant(DECODE, "decode_only/ticker"), Plant(f"{_INBOUND}:parse_quote", "parse_only/ticker_quote"))),
    ("inbound_pipeline/trades", (Plant(DECODE, "decode_only/trade"), Plant(f"{_INBOUND}:parse_trade", "parse_only/trade"))),
)

UNCOVERED = ("inbound_pipeline/quotes", "inbound_pipeline/trades")

IDENTICAL = ("inbound_pipeline/quotes", "inbound_pipeline/trades", "inbound_pipeline/book_deltas_d10", "dispatch/trades_fill")

NEIGHBOURS: Mapping[str, tuple[str, ...]] = {
    "data": ("parse_only/ticker_quote", "parse_only/trade", "parse_only/bar", "parse_only/ticker_index", "parse_only/ticker_mark"),
    "micros": ("atom/price_combined", "atom/identity_lookup", "parse_only/order_report"),
    "signing": ("signing/nonce_next", "atom/signature_hex"),
}
"""Rows that a trial measures besides, to see whether they are accused: none of them runs what a plant of another row slows down."""

CONTROLS: Mapping[str, tuple[str, ...]] = {
    "data": ("control/orjson_loads_ticker", "control/orjson_loads_trade", "control/orjson_loads_orderbook", "control/json_loads_trade"),
    "micros": ("control/orjson_loads_order", "control/json_loads_order", "control/orjson_loads_private_trade"),
    "signing": ("control/keccak256_tiny_keccak", "control/keccak256_safe_pysha3", "control/ecdsa_sign"),
}


def plan(limit: int | None = None) -> list[Trial]:
    """All trials, or the first ``limit`` of them."""
    kinds: list[Iterator[Trial]] = [
        (Trial(row, share, (plant,)) for share in SHARES for row, plant in SINGLES),
        (Trial(row, share, plants) for share in (0.20, 0.50, 0.10) for row, plants in DOUBLES),
        (Trial(row, share, (Plant("", UNEXPLAINED),)) for share in (0.20, 0.10, 0.50) for row in UNCOVERED),
        (Trial(row, 0.0) for row in (*IDENTICAL, *IDENTICAL)),
    ]
    # Of four, one is of another kind than a single plant.
    singles, rest = list(kinds[0]), [trial for group in itertools.zip_longest(*kinds[1:]) for trial in group if trial]
    stride = max(1, len(singles) // max(1, len(rest)))
    mixed: list[Trial] = []
    for number, trial in enumerate(singles):
        mixed.append(trial)
        if number % stride == stride - 1 and rest:
            mixed.append(rest.pop(0))
    return (mixed + rest)[:limit]


def pipeline_rows(trials: Sequence[Trial]) -> list[str]:
    """The rows that the trials slow down, each once."""
    return list(dict.fromkeys(trial.row for trial in trials))


def rows_of(trial: Trial, rows: Mapping[str, Row]) -> list[Row]:
    """The rows that a trial measures: its own with all parts below it, neighbours and controls, suite by suite."""
    names: dict[str, None] = {}
    _closure(trial.row, rows, names)
    suites = list(dict.fromkeys(rows[name].suite for name in names))
    for suite in suites:
        names |= dict.fromkeys((*NEIGHBOURS.get(suite, ()), *CONTROLS.get(suite, ())))
    return sorted((rows[name] for name in names), key=lambda row: row.suite)


def _closure(name: str, rows: Mapping[str, Row], found: dict[str, None]) -> None:
    found[name] = None
    for part in rows[name].parts:
        _closure(part, rows, found)
