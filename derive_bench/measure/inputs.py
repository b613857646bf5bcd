"""Inputs of the rows: the venue's messages as the hot path receives them.

`Inputs(protocol_name, data_dir)` reads payloads from a tree with this layout and wraps them in the envelope the
venue sends, all of it outside any timed region::

    perps/    orderbook_d1 _d10 _d20 _d100, ticker_slim, ticker_full, ticker_full_flat, trade, trades_batch,
              trades_settled, candles, instruments
    options/  orderbook_d10, ticker_slim, ticker_slim_put, ticker_full, trade, instruments
    spot/     orderbook_d10, ticker_slim, trade, instruments
    private/  order_<status>, order_replacement, order_option, trade_<kind>

each `NAME.json`. Where v2 differs there is a `NAME_v2.json` beside it, which the v2 protocols prefer. A file holds one
of: the payload alone (what stands under `params.data`), a whole captured notification, whose own topic is then kept, or
the answer to a REST call with its `result`. A user's own captures in the same layout run through the same rows.

`NAMES` lists every input. `frame(name)` is compact JSON; for `candles` and the instrument lists, which arrive over REST
and not in a notification, it is the bare result. `frames_cold` gives frames of the same shape with every value new: see
`cold`.

Errors: `DataError` names the file and says what is wrong with it and what to do.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from derive_bench.measure import cold
from derive_bench.measure.trees import find_tree

__all__ = ["NAMES", "DataError", "Inputs", "SharedInputs"]

Kind = Literal["orderbook", "ticker_slim", "ticker", "trades", "trades_settled", "orders", "private_trades", "rest"]

_FOLDERS = ("perps", "options", "spot", "private")
_BOOK_DEPTHS = (1, 10, 20, 100)
_INSTRUMENT_FILES = {
    "instruments_perps": "perps/instruments",
    "instruments_options": "options/instruments",
    "instruments_spot": "spot/instruments",
}
_SOURCES: dict[str, tuple[str, Kind]] = {
    "orderbook": ("perps/orderbook_d1", "orderbook"),
    "orderbook_d10": ("perps/orderbook_d10", "orderbook"),
    "orderbook_d20": ("perps/orderbook_d20", "orderbook"),
    "orderbook_d100": ("perps/orderbook_d100", "orderbook"),
    "orderbook_option": ("options/orderbook_d10", "orderbook"),
    "orderbook_spot": ("spot/orderbook_d10", "orderbook"),
    "ticker": ("perps/ticker_slim", "ticker_slim"),
    "ticker_option": ("options/ticker_slim", "ticker_slim"),
    "ticker_option_put": ("options/ticker_slim_put", "ticker_slim"),
    "ticker_spot": ("spot/ticker_slim", "ticker_slim"),
    "ticker_full": ("perps/ticker_full", "ticker"),
    "ticker_full_flat": ("perps/ticker_full_flat", "ticker"),
    "ticker_full_option": ("options/ticker_full", "ticker"),
    "trade": ("perps/trade", "trades"),
    "trade_option": ("options/trade", "trades"),
    "trade_spot": ("spot/trade", "trades"),
    "trades_batch": ("perps/trades_batch", "trades"),
    "trades_settled": ("perps/trades_settled", "trades_settled"),
    "candles": ("perps/candles", "rest"),
    "order": ("private/order_open", "orders"),
    "order_open": ("private/order_open", "orders"),
    "order_partially_filled": ("private/order_partially_filled", "orders"),
    "order_filled": ("private/order_filled", "orders"),
    "order_rejected": ("private/order_rejected", "orders"),
    "order_cancelled": ("private/order_cancelled", "orders"),
    "order_expired": ("private/order_expired", "orders"),
    "order_untriggered": ("private/order_untriggered", "orders"),
    "order_algo_active": ("private/order_algo_active", "orders"),
    "order_replacement": ("private/order_replacement", "orders"),
    "order_option": ("private/order_option", "orders"),
    "private_trade": ("private/trade_maker", "private_trades"),
    "private_trade_maker": ("private/trade_maker", "private_trades"),
    "private_trade_taker": ("private/trade_taker", "private_trades"),
    "private_trade_pending": ("private/trade_pending", "private_trades"),
    "private_trade_settled": ("private/trade_settled", "private_trades"),
    "private_trade_reverted": ("private/trade_reverted", "private_trades"),
    **{name: (path, "rest") for name, path in _INSTRUMENT_FILES.items()},
}
#: Every input by name. `private_trade_reverted` exists in v2 only; `instruments` is the three lists together.
NAMES = (*_SOURCES, "instruments")

#: Kinds whose payload is an array on the wire.
_ARRAYS = frozenset({"trades", "trades_settled", "orders", "private_trades"})


class DataError(Exception):
    """An input file is missing, unreadable or not what its name says; the message names it and what to do."""


class _Source(NamedTuple):
    path: Path
    kind: Kind
    payload: Any
    channel: str | None


def compact(value: Any) -> str:
    """JSON text without white space, as the venue writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class Inputs:
    """The inputs of one protocol from one data tree, read when first asked for.

    `protocol_name` picks the dialect: "v2…" prefers the `_v2` files. `data_dir` defaults to the `test_data` that comes
    with the project. Payloads are shared between calls: do not modify them.
    """

    def __init__(self, protocol_name: str = "v3", data_dir: Path | None = None) -> None:
        self.protocol_name = protocol_name
        self.dialect = "v2" if protocol_name.startswith("v2") else "v3"
        self.data_dir = find_tree("test_data") if data_dir is None else Path(data_dir)
        if not self.data_dir.is_dir():
            raise DataError(f"{self.data_dir}: no such directory; give one with the layout of test_data/")
        self._sources: dict[str, _Source] = {}

    @property
    def instruments(self) -> list[dict[str, Any]]:
        """The venue's records of all instruments the frames speak of: perps, options, spot."""
        return [record for name in _INSTRUMENT_FILES for record in self._records(name)]

    def payload(self, name: str) -> Any:
        """What stands under `params.data` (for REST inputs: the result), as `json.loads` gives it."""
        if name == "instruments":
            return self.instruments
        return self._source(name).payload

    def payload_bytes(self, name: str) -> bytes:
        """The payload as compact JSON."""
        return compact(self.payload(name)).encode()

    def channel(self, name: str) -> str | None:
        """The topic `name` arrives under; None for the results of REST calls."""
        if name == "instruments" or (source := self._source(name)).kind == "rest":
            return None
        return source.channel or self._topic(name, source)

    def frame(self, name: str, jsonrpc: bool = False) -> bytes:
        """The bytes the row receives: the notification (a leading `jsonrpc` member if asked for) or the REST result."""
        head, tail = self._envelope(name, jsonrpc)
        return f"{head}{compact(self.payload(name))}{tail}".encode()

    def frames_cold(self, name: str, count: int = 1024, jsonrpc: bool = False) -> list[bytes]:
        """`count` frames like `frame(name)` in which no price, amount, id, label or timestamp comes twice.

        The same frames on each call. The rules and their limits are in `cold`.
        """
        head, tail = self._envelope(name, jsonrpc)
        return [f"{head}{text}{tail}".encode() for text in self._cold_texts(name, count)]

    def payloads_cold(self, name: str, count: int = 8192) -> list[Any]:
        """The payloads of `frames_cold`, as `json.loads` gives them."""
        return [json.loads(text) for text in self._cold_texts(name, count)]

    def orders_cold(self, count: int = 1024, instrument_name: str = "ETH-PERP") -> list[cold.ColdOrder]:
        """`count` order commands for one instrument: price and amount on its tick and step, everything new in each."""
        return cold.orders(self._record(instrument_name), count)

    def data_hash(self) -> str:
        """sha256 over names and bytes of all input files of the tree, in hex; the same on every machine."""
        digest = hashlib.sha256()
        paths = [path for folder in _FOLDERS for path in (self.data_dir / folder).glob("*.json")]
        for name, path in sorted((path.relative_to(self.data_dir).as_posix(), path) for path in paths):
            content = _read(path)
            digest.update(f"{name}\0{len(content)}\0".encode())
            digest.update(content)
        return digest.hexdigest()

    def check(self) -> None:
        """Read every input this dialect has; `DataError` for the first that is missing or broken."""
        for name in NAMES:
            if name != "private_trade_reverted" or self.dialect == "v2":
                self.frame(name)

    def _cold_texts(self, name: str, count: int) -> list[str]:
        payload = self.payload(name)
        if name.startswith("instruments"):
            raise DataError(f"{name}: instrument records have no cold form")
        record = self._record(cold.instrument_name(payload) or self._ticker_instrument(name))
        return cold.texts(payload, record, count, seed=f"{name}/{self.dialect}")

    def _envelope(self, name: str, jsonrpc: bool) -> tuple[str, str]:
        channel = self.channel(name)
        if channel is None:
            return "", ""
        version = '"jsonrpc":"2.0",' if jsonrpc else ""
        return f'{{{version}"method":"subscription","params":{{"channel":{compact(channel)},"data":', "}}"

    def _topic(self, name: str, source: _Source) -> str:
        payload = source.payload
        first = payload[0] if source.kind in _ARRAYS else payload
        try:
            match source.kind:
                case "orderbook":
                    levels = max(len(payload["bids"]), len(payload["asks"]))
                    depth = next((depth for depth in _BOOK_DEPTHS if depth >= levels), _BOOK_DEPTHS[-1])
                    return f"orderbook.{payload['instrument_name']}.1.{depth}"
                case "ticker_slim":
                    return f"ticker_slim.{self._ticker_instrument(name)}.100"
                case "ticker":
                    ticker = payload.get("instrument_ticker", payload)
                    return f"ticker.{ticker['instrument_name']}.100"
                case "trades":
                    return f"trades.{first['instrument_name']}"
                case "trades_settled":
                    record = self._record(first["instrument_name"])
                    status = "settled" if self.dialect == "v2" else "Settled"
                    return f"trades.{record['instrument_type']}.{record['base_currency']}.{status}"
                case "orders":
                    return f"{first['subaccount_id']}.orders"
                case _:
                    return f"{first['subaccount_id']}.trades"
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{source.path}: not a payload of kind {source.kind}: {error!r}") from error

    def _ticker_instrument(self, name: str) -> str:
        """Whose a nameless payload is: its topic's, or that of the folder's first instrument (for the put: first put)."""
        source = self._source(name)
        if source.channel is not None:
            return source.channel.partition(".")[2].rpartition(".")[0]
        folder = _SOURCES[name][0].partition("/")[0]
        names = [str(record["instrument_name"]) for record in self._records(f"instruments_{folder}")]
        if name == "ticker_option_put":
            names = [put for put in names if put.endswith("-P")]
        if not names:
            raise DataError(f"{self.data_dir}/{folder}/instruments.json: has no instrument for {name}; add its record")
        return names[0]

    def _records(self, name: str) -> list[dict[str, Any]]:
        source = self._source(name)
        records = source.payload.get("instruments") if isinstance(source.payload, dict) else source.payload
        if not isinstance(records, list) or not all(isinstance(r, dict) for r in records):
            raise DataError(f'{source.path}: expected an array of instrument records, bare or under "instruments"')
        for number, record in enumerate(records):
            for key in ("instrument_name", "instrument_type", "tick_size", "amount_step"):
                if not isinstance(record.get(key), str):
                    raise DataError(f"{source.path}: record {number}: {key} is missing or not a text")
        return records

    def _record(self, instrument_name: str) -> dict[str, Any]:
        for record in self.instruments:
            if record["instrument_name"] == instrument_name:
                return record
        raise DataError(f"{self.data_dir}: no record of {instrument_name} in any instruments.json; add it")

    def _source(self, name: str) -> _Source:
        source = self._sources.get(name)
        if source is None:
            if name not in _SOURCES:
                raise DataError(f"no input is called {name!r}; there are {', '.join(NAMES)}")
            source = self._sources[name] = self._load(*_SOURCES[name])
        return source

    def _load(self, stem: str, kind: Kind) -> _Source:
        path = self.data_dir / f"{stem}.json"
        own = self.data_dir / f"{stem}_v2.json"
        if self.dialect == "v2" and own.is_file():
            path = own
        value = _parse(path, _read(path))
        channel: str | None = None
        if isinstance(value, dict) and isinstance(params := value.get("params"), dict):
            if "data" not in params or not isinstance(params.get("channel"), str):
                raise DataError(f"{path}: a notification without params.channel and params.data")
            value, channel = params["data"], params["channel"]
        elif isinstance(value, dict) and "result" in value:
            value = value["result"]
        if kind in _ARRAYS:
            value = [value] if isinstance(value, dict) else value
            if not isinstance(value, list) or not value or not isinstance(value[0], dict):
                raise DataError(f"{path}: expected a non-empty array of objects")
        elif not isinstance(value, dict) and kind != "rest":
            raise DataError(f"{path}: expected an object")
        return _Source(path, kind, value, channel)


class SharedInputs(Inputs):
    """The inputs of all rows of one worker: cold frames take long to make, and rows that share a worker share them."""

    @cache  # noqa: B019  # lives as long as the process
    def frames_cold(self, name: str, count: int = 1024, jsonrpc: bool = False) -> list[bytes]:
        """See :meth:`Inputs.frames_cold`."""
        return super().frames_cold(name, count, jsonrpc)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        layout = ", ".join(f"{folder}/" for folder in _FOLDERS)
        raise DataError(f"{path}: missing; a data tree holds {layout} as test_data/README.md says") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error


def _parse(path: Path, content: bytes) -> Any:
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from error
    except RecursionError:
        raise DataError(f"{path}: nested too deeply") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start}: not UTF-8") from error
