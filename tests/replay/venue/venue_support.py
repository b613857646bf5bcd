"""A venue without I/O and orders for it, for its tests and those of real clients."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from derive_bench.adapter.channels import parse_channel
from derive_bench.adapter.protocol import V3_MAINNET, Protocol
from derive_bench.adapter.signing import Signer, TradeAction, login_params, sign_trade_action
from derive_bench.measure.trees import find_tree
from derive_bench.replay.records import Frame as TapeFrame
from derive_bench.replay.records import Header, encode_end, encode_header, encode_record
from derive_bench.replay.venue.accounts import Accounts
from derive_bench.replay.venue.api import Api
from derive_bench.replay.venue.faults import Faults
from derive_bench.replay.venue.outbox import Outbox
from derive_bench.replay.venue.venue import Peer, Venue

KEY = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
"""The first key of a well-known test mnemonic."""
OTHER_KEY = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
SUBACCOUNT = 1
NOW_NS = 1_790_871_617_000_000_000
BID, ASK = "2874.31", "2874.32"

_nonces = itertools.count(1)


@cache
def records(dialect: str = "v3") -> dict[str, dict[str, Any]]:
    """The project's own perpetuals and spot, by name."""
    name = "instruments.json" if dialect == "v3" else "instruments_v2.json"
    found = {}
    for path in sorted(find_tree("test_data").glob(f"*/{name}")):
        document = json.loads(path.read_bytes())
        for record in document["instruments"] if isinstance(document, dict) else document:
            found[record["instrument_name"]] = record
    return found


def order_params(
    by: Signer,
    record: dict[str, Any],
    subaccount: int = SUBACCOUNT,
    *,
    protocol: Protocol = V3_MAINNET,
    wallet: str | None = None,
    now_ns: int | None = None,
    signed: dict[str, Any] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """Params of a signed order for half an ETH; `signed` is what the signature says where it says something else."""
    now_ns = time.time_ns() if now_ns is None else now_ns
    nonce = now_ns // protocol.nonce_step_ns + next(_nonces)
    params: dict[str, Any] = {
        "instrument_name": record["instrument_name"],
        "subaccount_id": subaccount,
        "direction": "buy",
        "amount": "0.5",
        "limit_price": "1000",
        "max_fee": "100",
        "nonce": str(nonce) if protocol.nonce_is_text else nonce,
        "signature_expiry_sec": now_ns // 10**9 + 3600,
        "signer": by.address,
        "order_type": "limit",
        "time_in_force": "gtc",
        "label": "",
    }
    params |= changes
    said = params | (signed or {})
    action = TradeAction(
        subaccount_id=said["subaccount_id"],
        nonce=int(said["nonce"]),
        module=protocol.trade_module,
        asset_address=record["base_asset_address"],
        sub_id=int(record["base_asset_sub_id"]),
        limit_price=_units(said["limit_price"]),
        amount=_units(said["amount"]),
        max_fee=_units(said["max_fee"]),
        recipient_id=said["subaccount_id"],
        is_bid=said["direction"] == "buy",
        expiry_sec=said["signature_expiry_sec"],
        owner=wallet or by.address,
        signer=said["signer"],
    )
    return params | {"signature": sign_trade_action(by, protocol, action)}


def _units(text: str) -> int:
    return int(Decimal(text).scaleb(18))


def note(topic: str, data: Any) -> bytes:
    """A notification as the venue writes it."""
    return json.dumps({"method": "subscription", "params": {"channel": topic, "data": data}}, separators=(",", ":")).encode()


def book(bid: str = BID, ask: str = ASK, amount: str = "5", name: str = "ETH-PERP") -> bytes:
    """A book of one level a side; an empty price is an empty side."""
    sides = {"bids": [[bid, amount]] if bid else [], "asks": [[ask, amount]] if ask else []}
    return note(f"orderbook.{name}.1.10", {"instrument_name": name, "timestamp": 1, "publish_id": 1} | sides)


def trade(price: str, name: str = "ETH-PERP") -> bytes:
    """A public trade."""
    data = {"direction": "sell", "instrument_name": name, "timestamp": 1, "trade_amount": "1", "trade_id": "t", "trade_price": price}
    return note(f"trades.{name}", [data])


def ticker(**changes: Any) -> bytes:
    """A slim ticker with the best prices."""
    body = {"t": 1, "A": "5", "B": "5", "a": ASK, "b": BID, "I": "2874", "M": "2874", "f": "0", "minp": "2800", "maxp": "2950"}
    body |= {"option_pricing": None, "stats": {"c": "0", "h": "0", "l": "0", "n": 0, "oi": "0", "p": "0", "pr": "0", "v": "0"}}
    return note("ticker_slim.ETH-PERP.100", {"timestamp": 2, "instrument_ticker": body | changes})


def write_tape(path: Path, seconds: int) -> None:
    """A capture of a book, a ticker and trades, a hundred books a second."""
    lines = [encode_header(Header(protocol="v3", instruments=list(records().values())))]
    for index in range(seconds * 100):
        frames = [book(), ticker()] + ([trade("2874.32")] if index % 10 == 0 else [])
        lines += [encode_record(TapeFrame(10**18 + index * 10**7, raw)) for raw in frames]
    path.write_bytes(b"".join([*lines, encode_end(len(lines) - 1)]))


class FakeWire:
    """The socket's end of an outbox, in memory: what was written, and callbacks that run when told."""

    def __init__(self) -> None:
        self.written = b""
        self.is_cut = False
        self.kept = 0
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def write(self, data: bytes) -> None:
        self.written += data

    def waiting(self) -> int:
        return self.kept

    def cut(self) -> None:
        self.is_cut = True

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        self.timers.append((seconds, call))

    def run_timer(self) -> float:
        """Run the first timer, and say how long it was to wait."""
        seconds, call = self.timers.pop(0)
        call()
        return seconds

    def messages(self) -> list[bytes]:
        """The payloads written since the last call."""
        data, self.written, found = self.written, b"", []
        while data:
            length, head = data[1], 2
            if length == 126:
                length, head = int.from_bytes(data[2:4]), 4
            elif length == 127:
                length, head = int.from_bytes(data[2:10]), 10
            found.append(data[head : head + length])
            data = data[head + length :]
        return found


class Rig:
    """A venue with a clock that stands still, and a client of it, logged in unless told otherwise."""

    def __init__(self, protocol: Protocol = V3_MAINNET, *, login: bool = True, playing: bool = True, **options: Any) -> None:
        self.now_ns = NOW_NS
        self.protocol = protocol
        self.faults = Faults()
        self.accounts = Accounts(options.pop("subaccounts", [SUBACCOUNT]), lambda: self.now_ns, **options.pop("accounts", {}))
        options["clock_ns"] = lambda: self.now_ns
        self.venue = Venue(protocol, records(protocol.dialect), self.accounts, self.faults, **options)
        self.api = Api(self.venue)
        self.signer = Signer(KEY)
        self.wire = FakeWire()
        self.peer = self.connect(self.wire)
        if playing:
            self.play(book())
            self.play(ticker())
        if login:
            self.result("public/login", self.login_params())

    def connect(self, wire: FakeWire) -> Peer:
        """Another client."""
        peer = Peer(is_local=True)
        peer.outbox = Outbox(wire, self.faults, peer.number, 1 << 20)
        self.venue.peers[peer.number] = peer
        return peer

    def login_params(self, key: str = KEY, wallet: str | None = None) -> dict[str, Any]:
        """A proof of now."""
        signer = Signer(key)
        return login_params(signer, self.protocol, wallet or signer.address, self.now_ns // 10**6)

    def order(self, name: str = "ETH-PERP", **changes: Any) -> dict[str, Any]:
        """Params of a signed order."""
        options: dict[str, Any] = {"protocol": self.protocol, "now_ns": self.now_ns}
        return order_params(self.signer, self.venue.records.get(name, self.venue.records["ETH-PERP"]), **options | changes)

    def call(self, method: str, params: Any = None, peer: Peer | None = None) -> dict[str, Any]:
        """The reply to a request."""
        data = json.dumps({"id": 1, "method": method, "params": {} if params is None else params}).encode()
        reply: dict[str, Any] = json.loads(self.api.dispatcher.answer(peer or self.peer, data).payload)
        return reply

    def result(self, method: str, params: Any = None, peer: Peer | None = None) -> Any:
        """The result of a request that is not refused."""
        reply = self.call(method, params, peer)
        assert "error" not in reply, reply
        return reply["result"]

    def code(self, method: str, params: Any = None, peer: Peer | None = None) -> int:
        """The code of a request that is refused."""
        reply = self.call(method, params, peer)
        assert "error" in reply, reply
        code: int = reply["error"]["code"]
        return code

    def play(self, frame: bytes, topic: str | None = None) -> list[tuple[list[Peer], str, bytes]]:
        """Play a frame of the tape, and say what goes to whom."""
        topic = json.loads(frame)["params"]["channel"] if topic is None else topic
        return [(list(peers), name, sent.payload) for peers, name, sent in self.venue.play(topic, frame, self.now_ns)]

    def updates(self, kind: str) -> list[dict[str, Any]]:
        """The elements of the private notifications of a kind that have gathered; all others are gone too."""
        found = []
        for _, topic, frame in self.venue.updates():
            if parse_channel(topic).topic.endswith(f".{kind}"):
                found += json.loads(frame.payload)["params"]["data"]
        return found
