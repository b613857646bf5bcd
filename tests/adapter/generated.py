"""Messages made from the venue's AsyncAPI document, with what the document leaves out: see `SchemaMessages`."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from random import Random
from typing import Any

from tests.adapter.wire import TOMORROW, Num, number_text

NUMERIC_SCHEMAS = frozenset({"OptionPricing", "TickerSlimSnapshot", "OrderSnapshot", "SpotFeedEntry"})
"""Schemas whose every string is a number, though the document does not say so."""
NUMERIC_NAMES = frozenset({"trade_price", "trade_amount", "index_price", "mark_price"})

INSTRUMENTS = {"ETH-PERP": "perp", "ETH-20261127-2800-C": "option", "ETH-USDC": "erc20"}
STATUSES = ("Batching", "Executing", "Proving", "Settling", "Settled", "SettledError")


class SchemaMessages:
    """Topics and payloads of the channels this project reads, drawn from the schemas of `spec`.

    Corrected: a book's level is `[price, amount]`, as PROTOCOL.md says. Added: unknown fields, a null or nothing where the
    schema allows either, words of tomorrow for enums, and numbers of every legal sort.
    """

    def __init__(self, spec: Path, seed: int) -> None:
        self._schemas: dict[str, Any] = json.loads(spec.read_text())["components"]["schemas"]
        self._rng = Random(seed)
        self._makers = (
            *(self._book, self._ticker, self._trades, self._typed_trades, self._settled, self._orders, self._private_trades),
            *(self._private_trades_by_status, self._balances, self._spot),
        )

    def draw(self) -> tuple[str, Any]:
        """A topic and the tree of its payload; numbers are `Num`."""
        return self._rng.choice(self._makers)()

    def _instrument(self) -> str:
        return self._rng.choice(tuple(INSTRUMENTS))

    def _book(self) -> tuple[str, Any]:
        book = self._value({"$ref": "#/components/schemas/OrderbookSnapshot"})
        book["instrument_name"] = name = self._instrument()
        for side in ("bids", "asks"):
            levels = [self._value({"$ref": "#/components/schemas/OrderSnapshot"}) for _ in range(self._rng.randrange(12))]
            book[side] = [[level["price"], level["amount"]] for level in levels]
        return f"orderbook.{name}.1.{self._rng.choice((1, 10, 20, 100))}", book

    def _ticker(self) -> tuple[str, Any]:
        return f"ticker_slim.{self._instrument()}.{self._rng.choice((100, 1000))}", self._of("TickerSlimPayload")

    def _trades(self) -> tuple[str, Any]:
        name = self._instrument()
        return f"trades.{name}", self._array("PublicTrade", name)

    def _typed_trades(self) -> tuple[str, Any]:
        name = self._instrument()
        return f"trades.{INSTRUMENTS[name]}.ETH", self._array("PublicTrade", name)

    def _settled(self) -> tuple[str, Any]:
        name = self._instrument()
        return f"trades.{INSTRUMENTS[name]}.ETH.{self._rng.choice(STATUSES)}", self._array("SettledTrade", name)

    def _orders(self) -> tuple[str, Any]:
        orders = self._array("Order", self._instrument())
        for order in orders:
            nonce = str(self._rng.randrange(10**15, 2 * 10**18))
            order["nonce"] = self._rng.choice((nonce, int(nonce)))
        return f"{self._rng.randrange(10 ** self._rng.randrange(1, 8))}.orders", orders

    def _private_trades(self) -> tuple[str, Any]:
        return f"{self._rng.randrange(10**6)}.trades", self._array("Trade", self._instrument())

    def _private_trades_by_status(self) -> tuple[str, Any]:
        return f"{self._rng.randrange(10**6)}.trades.{self._rng.choice(STATUSES)}", self._array("Trade", self._instrument())

    def _balances(self) -> tuple[str, Any]:
        return f"{self._rng.randrange(10**6)}.balances", self._array("BalanceUpdate", None)

    def _spot(self) -> tuple[str, Any]:
        return f"spot_feed.{self._rng.choice(('ETH', 'BTC'))}", self._of("SpotFeedPayload")

    def _array(self, schema: str, instrument_name: str | None) -> list[Any]:
        elements = [self._of(schema) for _ in range(self._rng.choice((0, 1, 1, 1, 2, 5)))]
        if instrument_name is not None:
            for element in elements:
                element["instrument_name"] = instrument_name
        return elements

    def _of(self, schema: str) -> Any:
        return self._value({"$ref": f"#/components/schemas/{schema}"})

    def _value(self, schema: dict[str, Any], owner: str = "", name: str = "") -> Any:
        rng = self._rng
        if "$ref" in schema:
            owner = schema["$ref"].rpartition("/")[2]
            return self._value(self._schemas[owner], owner, name)
        if "anyOf" in schema:
            return self._value(rng.choice(schema["anyOf"]), owner, name)
        if schema.get("nullable") and rng.random() < 0.3:
            return None
        if "enum" in schema:
            return TOMORROW if rng.random() < 0.05 else rng.choice(schema["enum"])
        match schema["type"]:
            case "object" if "additionalProperties" in schema:
                return {key: self._value(schema["additionalProperties"]) for key in rng.sample(("ETH", "BTC", "SOL"), rng.randrange(1, 4))}
            case "object":
                return self._object(schema, owner)
            case "array":
                return [self._value(schema["items"]) for _ in range(rng.randrange(3))]
            case "string" if schema.get("format") == "decimal" or owner in NUMERIC_SCHEMAS or name in NUMERIC_NAMES:
                return Num(number_text(rng))
            case "string":
                return rng.choice(("", "6ae110c8-6a26-4b43-a200-b0844a1ebe1f", "0xab", 'a "quoted" \\ \n label', "naïve ★ \U0001f600"))
            case "integer":
                return rng.randrange(2**31) if schema.get("format") == "int32" else rng.choice((0, 1, 1790871617137, 1_700_000_000_000))
            case "boolean":
                return rng.random() < 0.5
            case "null":
                return None
        raise AssertionError(f"a schema this cannot draw from: {schema}")

    def _object(self, schema: dict[str, Any], owner: str) -> dict[str, Any]:
        rng, required = self._rng, schema["required"]
        made = {
            name: self._value(inner, owner, name) for name, inner in schema["properties"].items() if name in required or rng.random() < 0.7
        }
        for number in range(rng.choice((0, 0, 1, 3))):
            made[rng.choice(("new_field", "Z", "été", "data", "channel", "x" * 300)) + str(number)] = self._anything(2)
        return made

    def _anything(self, depth: int) -> Any:
        rng = self._rng
        flat = (None, True, 0, -1.5e-7, 10**25, "", "text", "\\u", "🙂", "]}")
        if depth == 0 or rng.random() < 0.5:
            return rng.choice(flat)
        if rng.random() < 0.5:
            return [self._anything(depth - 1) for _ in range(3)]
        return {key: self._anything(depth - 1) for key in ("a", "b", "params")}


@functools.cache
def schema_messages(spec: Path, seed: int, count: int) -> list[tuple[str, Any]]:
    """`count` topics with their payloads' trees, the same on each call."""
    source = SchemaMessages(spec, seed)
    return [source.draw() for _ in range(count)]
