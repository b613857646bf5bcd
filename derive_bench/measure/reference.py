"""The reference: what the Rust adapter's benches say, as published from another machine or as a Criterion run on this one left it.

:data:`PUBLISHED` holds the published medians. :func:`read_criterion` reads the result tree that ``cargo bench`` leaves in
``target/criterion``: one folder per benchmark with ``new/estimates.json`` (nanoseconds) and, beside it, ``new/benchmark.json``, whose
``full_id`` names the benchmark. Without the latter the folders below the tree's top are the id. An id is a row's name here,
but for the signing rows, which have no group there (``sign_trade_action``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["MACHINE", "MEASURED", "PUBLISHED", "SOURCE", "STATISTIC", "Figure", "ReferenceUnreadable", "criterion_id", "read_criterion"]

SOURCE = "NautilusTrader crates/adapters/derive/benches/BENCHMARKS.md"
MEASURED = "2026-05-30"
MACHINE = "AMD Ryzen Threadripper 9980X, rustc 1.95.0, fat LTO, governor performance, ASLR off"
STATISTIC = "Criterion median"

PUBLISHED: dict[str, float] = {
    "inbound_pipeline/book_deltas": 473,
    "inbound_pipeline/quotes": 1640,
    "inbound_pipeline/trades": 742,
    "inbound_pipeline/mark_price": 1590,
    "inbound_pipeline/index_price": 1590,
    "inbound_pipeline/funding_rate": 1570,
    "inbound_pipeline/bars": 670,
    "inbound_pipeline/option_greeks": 2350,
    "exec_pipeline/submit_limit": 42100,
    "exec_pipeline/submit_market": 42100,
    "exec_pipeline/modify": 42100,
    "exec_pipeline/cancel": 45.8,
    "signing/sign_trade_action": 42000,
    "signing/rest_auth_headers": 40900,
    "signing/signer_from_key": 31600,
    "signing/abi_encode_trade": 236,
    "signing/nonce_next": 45.8,
    "dispatch/orders_untracked": 8530,
    "dispatch/orders_tracked": 9010,
    "dispatch/trades_fill": 8450,
    "decode_only/orderbook": 423,
    "decode_only/ticker": 1560,
    "parse_only/orderbook_deltas": 49.9,
    "parse_only/trade": 32.2,
    "parse_only/ticker_quote": 36.6,
    "parse_only/order_report": 90.7,
    "parse_only/fill_report": 109,
    "atom/decimal_from_str": 6.97,
    "atom/price_from_decimal_dp": 6.54,
    "atom/price_combined": 12.3,
    "atom/trade_id_new": 8.89,
    "atom/uuid4_new": 12.9,
    "atom/state_construct_primed": 4110,
    "atom/state_drop_primed": 1130,
    "atom/dedup_trade_hit": 11.6,
}
"""Nanoseconds by row name."""


class ReferenceUnreadable(Exception):
    """A folder is not the result tree of a Criterion run of these rows; the message says what is wrong and what to give."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One median of the reference as measured on this machine, with its confidence interval; all in seconds."""

    median: float
    low: float
    high: float


def criterion_id(row: str) -> str:
    """The id a row has in the reference's Criterion benches."""
    group, _, name = row.partition("/")
    return name if group == "signing" else row


def read_criterion(folder: Path, rows: Collection[str]) -> dict[str, Figure]:
    """The figures of a Criterion run for those of ``rows`` that it has.

    Args:
        folder: ``target/criterion``, or a folder that holds it.

    Raises:
        ReferenceUnreadable: there is no such folder, it holds no results or none of these rows, or a result is broken.
    """
    if not folder.is_dir():
        raise ReferenceUnreadable(f"{folder}: no such folder; give the target/criterion of a checkout in which cargo bench has run")
    nested = [folder / "target" / "criterion", folder / "criterion"]
    top = next((place for place in nested if place.is_dir()), folder)
    places: dict[str, Path] = {}
    for path in sorted(top.rglob("new/estimates.json")):
        name = _full_id(path, top)
        if name in places:
            raise ReferenceUnreadable(f"{folder}: holds {name} twice, in {places[name].parent} and {path.parent}; give one result tree")
        places[name] = path
    if not places:
        raise ReferenceUnreadable(f"{folder}: holds no Criterion results (…/new/estimates.json); run cargo bench there first")
    found = {row: places[criterion_id(row)] for row in rows if criterion_id(row) in places}
    if not found:
        raise ReferenceUnreadable(f"{folder}: holds {len(places)} Criterion results, {min(places)} among them, but none of a row here")
    return {row: _figure(path) for row, path in found.items()}


def _full_id(path: Path, top: Path) -> str:
    beside = path.with_name("benchmark.json")
    if beside.is_file():
        document = _load(beside)
        if isinstance(document, dict) and isinstance(name := document.get("full_id", document.get("title")), str):
            return name
    return path.parent.parent.relative_to(top).as_posix()


def _figure(path: Path) -> Figure:
    try:
        median = _load(path)["median"]
        interval = median["confidence_interval"]
        nanoseconds = [float(median["point_estimate"]), float(interval["lower_bound"]), float(interval["upper_bound"])]
    except (KeyError, TypeError, ValueError) as error:
        raise ReferenceUnreadable(f"{path}: not estimates of Criterion: no median with a confidence interval ({error!r})") from None
    if not all(math.isfinite(value) and value > 0 for value in nanoseconds):
        raise ReferenceUnreadable(f"{path}: not estimates of Criterion: its median is no duration")
    return Figure(*(value * 1e-9 for value in nanoseconds))


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ReferenceUnreadable(f"{path}: cannot be read: {error}") from None
