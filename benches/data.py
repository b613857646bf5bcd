"""Data: market data frames to domain types.

Covered: order books of 1, 10, 20 and 100 levels a side, slim tickers of a perpetual and an option, public trades and
candles; whole (`inbound_pipeline`) and in their two halves (`decode_only`, `parse_only`); the decoding of private frames,
whose processing the `micros` suite measures. Left out: the socket, and what a client does with the results.

A row reads one fixed frame; its `_cold` twin reads 1,024 frames in which no price, amount, id or timestamp comes twice;
its `_jsonrpc` twin reads the same frame in the envelope that begins with `"jsonrpc":"2.0"`. A `_consumed` twin uses every
value of a domain type that converts late. The controls parse the very bytes that the rows get, into dicts and lists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from derive_bench.measure.rows import Suite

if TYPE_CHECKING:
    from derive_bench.adapter.instruments import InstrumentRegistry
    from derive_bench.measure.inputs import Inputs

suite = Suite("data", "market data frames to domain types")

Build = Callable[["Inputs"], dict[str, Any]]

BOOKS = {"": "orderbook", "_d10": "orderbook_d10", "_d20": "orderbook_d20", "_d100": "orderbook_d100"}
FRAMES = (*BOOKS.values(), "ticker", "ticker_option", "trade", "candles", "order", "private_trade")

DECODE = "message = decode(x)"
"""The message is kept until the next one is there, as it is in a pipeline row."""
BY_TOPIC = "instruments.by_topic[message.topic]"
BY_NAME = "instruments[book.instrument_name]"


def _registry(inputs: Inputs) -> InstrumentRegistry:
    from derive_bench.adapter.instruments import InstrumentRegistry

    return InstrumentRegistry(inputs.instruments)


def _calls(inputs: Inputs) -> dict[str, Any]:
    """The adapter's public calls and the instrument registry, as a live adapter holds them."""
    from derive_bench.adapter import book, frames, inbound

    modules = (book, frames, inbound)
    public = {name: getattr(module, name) for module in modules for name in module.__all__}
    return {name: call for name, call in public.items() if name.startswith(("decode", "parse"))} | {"instruments": _registry(inputs)}


def _from_frames(name: str) -> Build:
    return lambda inputs: _calls(inputs) | {"x": inputs.frame(name), "frames": lambda: inputs.frames_cold(name)}


def _parse_row(name: str, statement: str, source: str, summary: str) -> None:
    """Register a row that parses one frame's message, decoded anew each time as in a pipeline, and its `_cold` twin."""

    def build(inputs: Inputs) -> dict[str, Any]:
        calls, fixed = _calls(inputs), inputs.frame(source)
        decode = calls["decode_candles" if source == "candles" else "decode"]
        return calls | {
            "decoded": lambda: decode(fixed),
            "messages": lambda: [decode(frame) for frame in inputs.frames_cold(source)],
        }

    suite.row(f"parse_only/{name}", statement, fresh="decoded", summary=summary)(build)
    suite.row(f"parse_only/{name}_cold", statement, each="messages", summary=f"{summary}, every input new")(build)


def _jsonrpc(name: str) -> Build:
    return lambda inputs: _calls(inputs) | {"x": inputs.frame(name, jsonrpc=True)}


for suffix, frame in BOOKS.items():
    parts = (f"decode_only/{frame}", f"parse_only/orderbook_deltas{suffix}")
    statement = f"book = decode(x).data\nparse_order_book_deltas(book, {BY_NAME}, 0)"
    consumed = f"book = decode(x).data\nfor delta in parse_order_book_deltas(book, {BY_NAME}, 0):\n    delta.price_raw, delta.size_raw"
    control = f"control/orjson_loads_{frame}"
    suite.row(
        f"inbound_pipeline/book_deltas{suffix}",
        statement,
        cold="frames",
        summary=f"{frame} frame -> OrderBookDeltas",
        parts=parts,
        control=control,
    )(_from_frames(frame))
    suite.row(
        f"inbound_pipeline/book_deltas{suffix}_consumed",
        consumed,
        cold="frames",
        summary=f"{frame} frame -> OrderBookDeltas, every delta visited",
        control=control,
    )(_from_frames(frame))
    suite.row(
        f"decode_only/{frame}",
        DECODE,
        cold="frames",
        summary=f"{frame} frame -> OrderBook message",
        control=control,
    )(_from_frames(frame))
    _parse_row(
        f"orderbook_deltas{suffix}",
        f"book = x.data\nparse_order_book_deltas(book, {BY_NAME}, 0)",
        frame,
        "OrderBook message -> OrderBookDeltas, numbers checked",
    )

suite.row(
    "inbound_pipeline/book_deltas_jsonrpc",
    f"book = decode(x).data\nparse_order_book_deltas(book, {BY_NAME}, 0)",
    summary="the same with jsonrpc in front",
    control="control/orjson_loads_orderbook",
)(_jsonrpc("orderbook"))

TICKER_ROWS = {
    "quotes": ("parse_quote", "ticker_quote", "QuoteTick"),
    "mark_price": ("parse_mark_price", "ticker_mark", "MarkPriceUpdate"),
    "index_price": ("parse_index_price", "ticker_index", "IndexPriceUpdate"),
    "funding_rate": ("parse_funding_rate", "ticker_funding", "FundingRateUpdate"),
}

for name, (call, part, domain_type) in TICKER_ROWS.items():
    suite.row(
        f"inbound_pipeline/{name}",
        f"message = decode(x)\n{call}(message.data, {BY_TOPIC}, 0)",
        cold="frames",
        summary=f"ticker frame -> {domain_type}",
        parts=("decode_only/ticker", f"parse_only/{part}"),
        control="control/orjson_loads_ticker",
    )(_from_frames("ticker"))
    _parse_row(part, f"message = x\n{call}(message.data, {BY_TOPIC}, 0)", "ticker", f"Ticker message -> {domain_type}")

suite.row(
    "inbound_pipeline/ticker_all",
    f"message = decode(x)\nparse_ticker(message.data, {BY_TOPIC}, 0)",
    cold="frames",
    summary="ticker frame -> quote, mark, index and funding",
    parts=("decode_only/ticker", "parse_only/ticker_all"),
    control="control/orjson_loads_ticker",
)(_from_frames("ticker"))
_parse_row(
    "ticker_all", f"message = x\nparse_ticker(message.data, {BY_TOPIC}, 0)", "ticker", "Ticker message -> quote, mark, index and funding"
)
suite.row(
    "inbound_pipeline/quotes_jsonrpc",
    f"message = decode(x)\nparse_quote(message.data, {BY_TOPIC}, 0)",
    summary="the same with jsonrpc in front",
    control="control/orjson_loads_ticker",
)(_jsonrpc("ticker"))
suite.row(
    "inbound_pipeline/funding_rate_consumed",
    f"message = decode(x)\nparse_funding_rate(message.data, {BY_TOPIC}, 0).rate",
    cold="frames",
    summary="ticker frame -> FundingRateUpdate, read as a decimal",
    control="control/orjson_loads_ticker",
)(_from_frames("ticker"))
suite.row(
    "inbound_pipeline/option_greeks",
    f"message = decode(x)\nparse_option_greeks(message.data, {BY_TOPIC}, 0)",
    cold="frames",
    summary="option ticker frame -> OptionGreeks",
    parts=("decode_only/ticker_option", "parse_only/option_greeks"),
    control="control/orjson_loads_ticker_option",
)(_from_frames("ticker_option"))
suite.row(
    "inbound_pipeline/option_greeks_consumed",
    f"message = decode(x)\nparse_option_greeks(message.data, {BY_TOPIC}, 0).as_decimals()",
    cold="frames",
    summary="option ticker frame -> OptionGreeks, all read as decimals",
    control="control/orjson_loads_ticker_option",
)(_from_frames("ticker_option"))
_parse_row(
    "option_greeks",
    f"message = x\nparse_option_greeks(message.data, {BY_TOPIC}, 0)",
    "ticker_option",
    "Ticker message -> OptionGreeks",
)
for ticker in ("ticker", "ticker_option"):
    suite.row(
        f"decode_only/{ticker}",
        DECODE,
        cold="frames",
        summary=f"{ticker} frame -> Ticker message",
        control=f"control/orjson_loads_{ticker}",
    )(_from_frames(ticker))

TRADE = "trade = decode(x).data[0]\nparse_trade(trade, instruments[trade.instrument_name], 0)"
suite.row(
    "inbound_pipeline/trades",
    TRADE,
    cold="frames",
    summary="frame with one trade -> TradeTick",
    parts=("decode_only/trade", "parse_only/trade"),
    control="control/orjson_loads_trade",
)(_from_frames("trade"))
suite.row(
    "inbound_pipeline/trades_jsonrpc",
    TRADE,
    summary="the same with jsonrpc in front",
    control="control/orjson_loads_trade",
)(_jsonrpc("trade"))
suite.row(
    "decode_only/trade",
    DECODE,
    cold="frames",
    summary="trade frame -> PublicTrade message",
    control="control/orjson_loads_trade",
)(_from_frames("trade"))
_parse_row(
    "trade",
    "trade = x.data[0]\nparse_trade(trade, instruments[trade.instrument_name], 0)",
    "trade",
    "PublicTrade message -> TradeTick",
)

suite.row(
    "inbound_pipeline/bars",
    "parse_bar(decode_candles(x)[0], instruments['ETH-PERP'], 0)",
    cold="frames",
    summary="array of 3 candles -> first Bar",
    parts=("decode_only/candles", "parse_only/bar"),
    control="control/orjson_loads_candles",
)(_from_frames("candles"))
suite.row(
    "decode_only/candles",
    "decode_candles(x)",
    cold="frames",
    summary="array of 3 candles -> Candle messages",
    control="control/orjson_loads_candles",
)(_from_frames("candles"))
_parse_row("bar", "parse_bar(x[0], instruments['ETH-PERP'], 0)", "candles", "Candle message -> Bar")

for private in ("order", "private_trade"):
    suite.row(
        f"decode_only/{private}",
        DECODE,
        cold="frames",
        summary=f"{private} frame -> typed message",
        control=f"control/orjson_loads_{private}",
    )(_from_frames(private))


def _orjson(name: str) -> Build:
    def build(inputs: Inputs) -> dict[str, Any]:
        import orjson

        return {"loads": orjson.loads, "x": inputs.frame(name), "frames": lambda: inputs.frames_cold(name)}

    return build


def _json(name: str) -> Build:
    def build(inputs: Inputs) -> dict[str, Any]:
        import json

        return {"loads": json.loads, "x": inputs.frame(name)}

    return build


for name in FRAMES:
    suite.row(f"control/orjson_loads_{name}", "loads(x)", cold="frames", summary=f"orjson.loads of the {name} frame")(_orjson(name))
    suite.row(f"control/json_loads_{name}", "loads(x)", summary=f"json.loads of the {name} frame")(_json(name))
