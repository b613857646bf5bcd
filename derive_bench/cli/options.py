"""What the verbs share: the parser, the refusal, and options that mean the same everywhere."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import NoReturn

from derive_bench.measure.catalogue import DEFAULT_SUITES

__all__ = [
    "DATA_VARIABLE",
    "INTERRUPTED",
    "PROFILE_NAMES",
    "PROTOCOL_NAMES",
    "PUBLISH",
    "Parser",
    "Refusal",
    "add_places",
    "add_reference",
    "add_selection",
    "not_negative",
    "positive",
    "seconds",
]

DATA_VARIABLE = "DERIVE_BENCH_DATA"
"""Environment variable for the default of ``--data``."""

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""

PROTOCOL_NAMES = ("v3", "v3-testnet", "v2", "v2-testnet")
"""``--protocol``; the names of ``derive_bench.adapter.protocol.PROTOCOLS``, which the harness does not import."""

PUBLISH = "publish"
"""The profile that refuses an environment which is not fit."""

PROFILE_NAMES = ("quick", "standard", "rigorous", PUBLISH)


class Refusal(Exception):
    """What was asked for cannot be done; one line for standard error, exit code 2."""


class Parser(argparse.ArgumentParser):
    """Wrong usage is one line on standard error and exit code 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"derive-bench: {message}; see {self.prog} --help\n")


def add_selection(parser: argparse.ArgumentParser) -> None:
    """SUITE, ``--filter``, ``--protocol`` and the places."""
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"any of: {' '.join(DEFAULT_SUITES)} (default: all four)")
    parser.add_argument("--filter", action="append", default=[], metavar="GLOB", help="only rows whose name matches; repeatable")
    parser.add_argument("--protocol", choices=PROTOCOL_NAMES, default="v3", help="dialect and its inputs (default: v3)")
    add_places(parser)


def add_places(parser: argparse.ArgumentParser) -> None:
    """``--benches`` and ``--data``."""
    parser.add_argument("--benches", type=Path, metavar="DIR", help="folder with row definitions of your own")
    default = os.environ.get(DATA_VARIABLE)
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        default=Path(default) if default else None,
        help=f"folder laid out like test_data/, with your own captures (default: ${DATA_VARIABLE}, or what comes with the project)",
    )


def add_reference(parser: argparse.ArgumentParser) -> None:
    """``--reference``."""
    parser.add_argument(
        "--reference",
        type=Path,
        metavar="DIR",
        help="target/criterion of a NautilusTrader checkout: its figures from this machine in place of the published ones",
    )


def positive(text: str) -> int:
    """The type of an option that counts from 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return value


def not_negative(text: str) -> int:
    """The type of an option that counts from 0."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return value


def seconds(text: str) -> float:
    """The type of an option that is a duration in seconds."""
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is not a duration")
    return value
