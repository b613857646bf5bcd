"""Instruments: which ones a recording is about, asked of the venue and gathered from its answers.

Contract: without I/O. `questions` are requests whose answers `take` reads; `records` are the venue's own, for a tape's header, in the
order of their names. What the venue does not tell stays out: a tape may have none.

Source: PROTOCOL.md; OpenAPI document, ``public/get_instrument`` and ``public/get_instruments``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from derive_bench.adapter import INSTRUMENT_TYPES, parse_channel

__all__ = ["Instruments"]

_FEW: Final = 10
"""Up to so many names of one currency are asked for one by one, more by the currency's lists."""

Question = tuple[str, dict[str, Any]]


class Instruments:
    """Those that `channels` name or span, and `names` besides."""

    def __init__(self, channels: Iterable[str], names: Iterable[str] = ()) -> None:
        parsed = [parse_channel(channel) for channel in channels]
        self._names = {channel.instrument_name for channel in parsed if channel.instrument_name} | set(names)
        self._classes = {(channel.currency, channel.instrument_type) for channel in parsed if channel.currency and channel.instrument_type}
        self._known: dict[str, dict[str, Any]] = {}

    @property
    def records(self) -> list[dict[str, Any]]:
        """What the venue told, by name."""
        return [self._known[name] for name in sorted(self._known)]

    @property
    def missing(self) -> list[str]:
        """Names of which it told nothing."""
        return sorted(self._names - self._known.keys())

    def questions(self) -> list[Question]:
        """What to ask."""
        by_currency: dict[str, list[str]] = {}
        for name in self.missing:
            by_currency.setdefault(name.partition("-")[0], []).append(name)
        lists = set(self._classes)
        single: list[Question] = []
        for currency, names in sorted(by_currency.items()):
            if len(names) > _FEW:
                lists |= {(currency, kind) for kind in INSTRUMENT_TYPES}
            else:
                single += [("public/get_instrument", {"instrument_name": name}) for name in names]
        return single + [
            ("public/get_instruments", {"currency": currency, "instrument_type": kind, "expired": False})
            for currency, kind in sorted(lists)
        ]

    def take(self, result: bytes | msgspec.Raw) -> None:
        """Gather from an answer; one that is no instrument is passed over."""
        try:
            told = msgspec.json.decode(result)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            return
        for record in told if isinstance(told, list) else [told]:
            if isinstance(record, dict) and isinstance(name := record.get("instrument_name"), str) and self._is_about(name, record):
                self._known[name] = record

    def _is_about(self, name: str, record: dict[str, Any]) -> bool:
        return name in self._names or (name.partition("-")[0], record.get("instrument_type")) in self._classes
