"""``serve``: a local venue that plays a session to live clients."""

from __future__ import annotations

import argparse
import ipaddress
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from derive_bench.cli.options import PROTOCOL_NAMES, Parser, Refusal, not_negative, positive, seconds

if TYPE_CHECKING:
    from derive_bench.replay.records import Header, Record
    from derive_bench.replay.synth import Plan
    from derive_bench.replay.venue.server import VenueServer
    from derive_bench.replay.venue.tape import Item

__all__ = ["run"]

PORT = 8765
PUBLIC_MIX = {"book": 40, "ticker": 35, "trade": 10}
"""Of a synthesised session: without private frames, so that clients see their own orders only."""
EPILOG = """\
examples:
  python -m derive_bench serve session.jsonl.zst
  python -m derive_bench serve --synth --seed 7 --speed 10 --loop
  python -m derive_bench serve session.jsonl --fault drop,every=100,channel=orderbook.* --fault rate_limit,every=50,method=private/*
  python -m derive_bench serve --synth --loop --rate 1000 --measure 100

It says where it listens, on the first line of its output, and serves until it is stopped. Everything else, the URLs that clients are
to be given, methods, refusals and faults, stands in docs/serve.md.
"""


def run(words: Sequence[str]) -> int:
    """``serve``: play a session to live clients until stopped."""
    args = _parser().parse_args(words)
    if (args.file is None) is not args.synth:
        raise Refusal("give either a FILE to play or --synth to make one up")
    try:
        import aiohttp  # noqa: F401 -- asked for before anything is read
    except ImportError:
        raise Refusal("serving needs aiohttp: pip install 'derive_bench[serve]'") from None

    from derive_bench.cli.serving import measure, serve
    from derive_bench.replay.reader import Tape

    server, tape = _build(args)
    if args.measure:
        return measure(server, args.measure, args.seconds)
    if not _is_loopback(args.host):
        print(f"derive-bench: warning: {args.host} can be reached from other machines; this is a venue for tests", file=sys.stderr)
    name = "a synthesised session" if args.synth else str(args.file)
    code = serve(server, args.host, args.port, f"{name} ({server.venue.protocol.name})", exit_at_end=args.exit_at_end)
    if isinstance(tape, Tape) and tape.truncated is not None and server.pump.finished.is_set():
        print(f"derive-bench: {args.file}: {tape.truncated}", file=sys.stderr)
    return code


def _parser() -> Parser:
    parser = Parser(
        prog="python -m derive_bench serve",
        description="Serve a session to live clients as Derive would: WebSocket and HTTP on one local port.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="a capture, or a file of another tool's (docs/capture-format.md)"
    )
    parser.add_argument("--synth", action="store_true", help="a synthesised session in place of a file")
    parser.add_argument("--seed", type=not_negative, default=1, metavar="N", help="with --synth: its seed (default: 1)")
    parser.add_argument("--frames", type=positive, default=100_000, metavar="N", help="with --synth: its length (default: 100,000)")
    parser.add_argument("--private", action="store_true", help="with --synth: with somebody's orders and fills on private channels")
    parser.add_argument("--protocol", choices=PROTOCOL_NAMES, help="dialect and network (default: the file's, else v3)")
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: 127.0.0.1, this machine only)")
    parser.add_argument("--port", type=_port, default=PORT, metavar="N", help=f"0 for any that is free (default: {PORT})")

    play = parser.add_argument_group("playing")
    play.add_argument("--speed", type=_speed, default=1.0, metavar="N|max", help="times as fast as it happened (default: 1)")
    play.add_argument("--rate", type=seconds, metavar="N", help="frames a second, at even distances, in place of the times on the tape")
    play.add_argument("--loop", action="store_true", help="begin anew after the end")
    play.add_argument("--exit-at-end", action="store_true", help="stop serving after the end")
    play.add_argument(
        "--start",
        type=_start,
        default=1,
        metavar="N|control",
        help="begin once N channels are subscribed (default: 1), or when venue/start says",
    )
    play.add_argument("--connection", metavar="ID", help="only what this connection of the tape received")
    play.add_argument("--disconnects", action="store_true", help="cut all clients off where the tape's connection was")
    play.add_argument("--instruments", type=Path, metavar="FILE", help="records of public/get_all_instruments, before those of the tape")

    accounts = parser.add_argument_group("accounts")
    accounts.add_argument(
        "--subaccount", type=positive, action="append", metavar="ID", help="of every wallet; repeatable (default: the tape's, or 1)"
    )
    accounts.add_argument(
        "--account", type=_account, action="append", default=[], metavar="WALLET[:ID,…]", help="a wallet and its subaccounts; repeatable"
    )
    accounts.add_argument(
        "--session-key", type=_key, action="append", default=[], metavar="KEY[@WALLET]", help="address of a key that may sign; repeatable"
    )
    accounts.add_argument("--closed", action="store_true", help="no other wallets than those of --account")
    accounts.add_argument(
        "--login-window", type=not_negative, default=600, metavar="SECONDS", help="age of a login's timestamp, 0 for any (default: 600)"
    )
    accounts.add_argument("--min-lifetime", type=not_negative, metavar="SECONDS", help="of an order's signature (default: the protocol's)")

    faults = parser.add_argument_group("faults (docs/serve.md)")
    faults.add_argument("--fault", action="append", default=[], metavar="KIND[,NAME=VALUE…]", help="such as drop,every=10; repeatable")
    faults.add_argument("--fault-seed", type=int, default=0, metavar="N", help="for faults with a share (default: 0)")

    limits = parser.add_argument_group("limits")
    limits.add_argument("--max-clients", type=positive, default=1_000, metavar="N", help="connections at once (default: 1000)")
    limits.add_argument("--max-message", type=positive, default=1 << 20, metavar="BYTES", help="of a request (default: 1 MiB)")
    limits.add_argument("--max-queue", type=positive, default=8 << 20, metavar="BYTES", help="a client may be behind (default: 8 MiB)")
    limits.add_argument("--heartbeat", type=seconds, default=180.0, metavar="SECONDS", help="between pings (default: 180)")
    limits.add_argument("--heartbeat-text", action="store_true", help="send the text 'ping' as well")
    limits.add_argument("--private-first", action="store_true", help="send .orders and .trades before the reply they belong to")

    load = parser.add_argument_group("measuring what this machine can serve")
    load.add_argument("--measure", type=positive, metavar="CLIENTS", help="serve so many clients of its own, say how it went, and stop")
    load.add_argument("--seconds", type=seconds, default=10.0, metavar="N", help="for so long (default: 10)")
    return parser


def _build(args: argparse.Namespace) -> tuple[VenueServer, Iterable[Record]]:
    """The venue that was asked for, and the records it plays."""
    import time

    from derive_bench.adapter.protocol import PROTOCOLS
    from derive_bench.replay.records import TapeError
    from derive_bench.replay.venue.accounts import Accounts
    from derive_bench.replay.venue.faults import BadRule, Faults, parse_rule
    from derive_bench.replay.venue.listing import ListingError, list_instruments, look_through
    from derive_bench.replay.venue.server import Limits, VenueServer
    from derive_bench.replay.venue.tape import at_rate, items_of
    from derive_bench.replay.venue.venue import Venue

    try:
        faults = Faults([parse_rule(text) for text in args.fault], args.fault_seed)
    except BadRule as error:
        raise Refusal(f"--fault: {error}") from None
    try:
        records, header = _session(args)
        protocol = PROTOCOLS[args.protocol or header.protocol or "v3"]
        if args.min_lifetime is not None:
            protocol = protocol.replace(min_lifetime_sec=args.min_lifetime)
        contents = look_through(items_of(records, args.connection))
        if not contents.items:
            part = "" if args.connection is None else f" of connection {args.connection}"
            raise Refusal(f"{args.file}: nothing in it can be played{part}")
        known = [_instruments(args.instruments) if args.instruments else [], header.instruments, _project_records(protocol.dialect)]
        known = known if args.instruments else known[1:]
        listing = list_instruments(contents, known, protocol.dialect)
    except (TapeError, ListingError) as error:
        raise Refusal(str(error)) from None
    except KeyError:
        raise Refusal(f"{args.file}: protocol {header.protocol!r} is not known; give --protocol") from None

    subaccounts = args.subaccount or sorted(contents.subaccounts) or [1]
    accounts = Accounts(subaccounts, time.time_ns, closed=args.closed, login_window_ms=args.login_window * 1000)
    for wallet, ids in args.account:
        accounts.open(wallet, ids)
    for key, wallet in args.session_key:
        accounts.register(key, wallet)

    def items() -> Iterator[Item]:
        played = items_of(records, args.connection)
        return at_rate(played, args.rate) if args.rate else played

    limits = Limits(
        clients=args.max_clients,
        message_bytes=args.max_message,
        queue_bytes=args.max_queue,
        heartbeat_sec=args.heartbeat,
        heartbeat_text=args.heartbeat_text,
        private_first=args.private_first,
    )
    venue = Venue(protocol, listing, accounts, faults)
    venue.expect(contents.topics)
    server = VenueServer(
        venue,
        items,
        limits,
        speed=args.speed,
        loop=args.loop,
        start_after=args.start,
        cut_as_recorded=args.disconnects,
    )
    return server, records


def _session(args: argparse.Namespace) -> tuple[Iterable[Record], Header]:
    """The records to play, as often as they are asked for, and their header."""
    if not args.synth:
        from derive_bench.replay.reader import open_tape

        tape = open_tape(args.file)
        return tape, tape.header
    from derive_bench.replay.synth import Plan, PlanRefused, synthesise

    try:
        plan = Plan(seed=args.seed, frames=args.frames, protocol=args.protocol or "v3")
    except PlanRefused as error:
        raise Refusal(str(error)) from None
    if not args.private:
        plan = replace(plan, mix=PUBLIC_MIX)
    return _Synthesised(plan), synthesise(plan)[0]


class _Synthesised:
    """The records of a synthesised session, made anew each time."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def __iter__(self) -> Iterator[Record]:
        from derive_bench.replay.synth import synthesise

        return synthesise(self._plan)[1]


def _instruments(path: Path) -> list[dict[str, Any]]:
    """Instrument records from a file: an array, or what the API answers with."""
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise Refusal(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise Refusal(f"{path}: not JSON: {error}") from None
    for key in ("result", "instruments"):
        document = document.get(key, document) if isinstance(document, dict) else document
    if not isinstance(document, list) or not all(isinstance(record, dict) and "instrument_name" in record for record in document):
        raise Refusal(f"{path}: not an array of instrument records, nor an answer of public/get_all_instruments")
    return document


def _project_records(dialect: str) -> list[dict[str, Any]]:
    """The instrument records that come with the project."""
    from derive_bench.measure.trees import find_tree

    name = "instruments.json" if dialect == "v3" else "instruments_v2.json"
    return [record for path in sorted(find_tree("test_data").glob(f"*/{name}")) for record in _instruments(path)]


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _port(text: str) -> int:
    port = not_negative(text)
    if port > 65_535:
        raise argparse.ArgumentTypeError(f"{text} is no port")
    return port


def _speed(text: str) -> float | None:
    return None if text == "max" else seconds(text)


def _start(text: str) -> int | None:
    return None if text == "control" else not_negative(text)


def _address(text: str) -> str:
    from derive_bench.replay.venue.accounts import is_address

    if not is_address(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no address: 0x and 40 hex digits")
    return text


def _account(text: str) -> tuple[str, list[int] | None]:
    wallet, colon, ids = text.partition(":")
    return _address(wallet), [not_negative(each) for each in ids.split(",")] if colon else None


def _key(text: str) -> tuple[str, str | None]:
    key, at, wallet = text.partition("@")
    return _address(key), _address(wallet) if at else None
