"""``capture``: record a live session."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from derive_bench.cli.options import INTERRUPTED, PROTOCOL_NAMES, Parser, Refusal

if TYPE_CHECKING:
    from derive_bench.adapter import Credentials

__all__ = ["KEY_VARIABLE", "run"]

KEY_VARIABLE = "DERIVE_SESSION_KEY"
"""Environment variable that holds the private key for ``--login``."""

EPILOG = f"""\
examples:
  python -m derive_bench capture --channels orderbook.ETH-PERP.10.10 trades.perp.ETH -o eth.jsonl.zst --for 1h
  python -m derive_bench capture --channels ticker_slim.BTC-PERP.100 -o btc.jsonl.gz --rotate-every 1d --rotate-size 500MB
  {KEY_VARIABLE}=0x… python -m derive_bench capture --login --wallet 0x… --channels 1234.orders 1234.trades -o mine.jsonl

It records until Ctrl-C (exit code {INTERRUPTED}), SIGTERM or --for (exit code 0), and connects again whenever the connection is lost. What
is on the tape, and what is not, stands in docs/capture.md.
"""

_UNITS_SEC = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_UNITS_BYTES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def run(words: Sequence[str]) -> int:
    """``capture``: record a live session."""
    args = _parser().parse_args(words)
    channels = _channels(args.channels)
    if args.wallet is not None and not args.login:
        raise Refusal("--wallet is for --login, which was not given")
    try:
        from derive_bench.cli.capturing import capture
        from derive_bench.replay.capture.driver import Plan
        from derive_bench.replay.capture.recorder import check_place
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "aiohttp":
            raise
        raise Refusal("capturing needs aiohttp: pip install 'derive_bench[capture]'") from None
    from derive_bench.adapter.protocol import PROTOCOLS
    from derive_bench.replay.compression import encoder
    from derive_bench.replay.records import TapeError

    credentials = _credentials(args.wallet) if args.login else None
    try:
        check_place(args.output, rotates=args.rotate_size is not None or args.rotate_every is not None)
        encoder(args.output)
    except TapeError as error:
        raise Refusal(str(error)) from None
    plan = Plan(
        protocol=PROTOCOLS[args.protocol],
        channels=channels,
        path=args.output,
        url=args.url,
        duration_sec=args.duration,
        rotate_bytes=args.rotate_size,
        rotate_sec=args.rotate_every,
        instruments=None if args.no_instruments else tuple(args.instruments),
        tool=f"derive_bench {_version()}",
    )
    return capture(plan, credentials)


def _parser() -> Parser:
    parser = Parser(
        prog="python -m derive_bench capture",
        description="Record a live session of the venue: every frame, both ways, as it came.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--channels", nargs="+", required=True, metavar="CHANNEL", help="what to subscribe to")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="the tape; .gz or .zst at its end compress it; an existing one is refused",
    )
    parser.add_argument("--protocol", choices=PROTOCOL_NAMES, default="v3", help="dialect and network (default: v3)")
    parser.add_argument("--url", type=_url, metavar="URL", help="another WebSocket (default: the protocol's)")
    parser.add_argument("--login", action="store_true", help=f"log in, with the private key in the environment variable {KEY_VARIABLE}")
    parser.add_argument("--wallet", metavar="ADDRESS", help="with --login: whose wallet it is (default: the key's own)")
    parser.add_argument("--for", dest="duration", type=_duration, metavar="TIME", help="stop after 90s, 30m, 1h, 1h30m, 2d …")
    parser.add_argument("--rotate-size", type=_size, metavar="SIZE", help="begin another tape, FILE-0002 …, after 500MB, 2GB …")
    parser.add_argument("--rotate-every", type=_duration, metavar="TIME", help="begin another tape after so long")
    parser.add_argument(
        "--instruments", nargs="+", default=[], metavar="NAME", help="describe these in the header too (default: those of the channels)"
    )
    parser.add_argument("--no-instruments", action="store_true", help="ask for none")
    return parser


def _channels(words: Sequence[str]) -> tuple[str, ...]:
    channels = dict.fromkeys(channel for word in words for channel in word.split(",") if channel)
    if not channels:
        raise Refusal("--channels: none is named")
    return tuple(channels)


def _credentials(wallet: str | None) -> Credentials:
    from derive_bench.adapter import Credentials, Signer, SigningError

    # Taken out of the environment, which whatever is started from here would get.
    key = os.environ.pop(KEY_VARIABLE, None)
    if not key:
        raise Refusal(f"--login needs the private key in the environment variable {KEY_VARIABLE}, which is not set")
    try:
        return Credentials(Signer(key), wallet)
    except SigningError as error:
        raise Refusal(str(error)) from None


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not a URL: {error}") from None
    if parts.scheme not in ("ws", "wss") or not host:
        raise argparse.ArgumentTypeError(f"{text!r} is not a WebSocket's URL, which begins with ws:// or wss:// and a host")
    if parts.username or parts.password:
        raise argparse.ArgumentTypeError("a URL with a user name or password would stand on the tape; leave them out")
    return text


def _duration(text: str) -> float:
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)([dhms])", text, re.ASCII)
    if not parts or "".join(f"{number}{unit}" for number, unit in parts) != text:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write 90s, 30m, 1h, 1h30m or 2d")
    total = sum(float(number) * _UNITS_SEC[unit] for number, unit in parts)
    if not 0 < total < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is too short or too long")
    return total


def _size(text: str) -> int:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kmg]?)b?", text.lower(), re.ASCII)
    size = int(float(match[1]) * _UNITS_BYTES[match[2]]) if match else 0
    if size < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write 500MB, 2GB or a number of bytes")
    return size


def _version() -> str:
    try:
        return version("derive_bench")
    except PackageNotFoundError:
        return "from a checkout"
