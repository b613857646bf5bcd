"""The tape: sessions recorded, made up, played through the adapter and served to clients.

`open_tape` reads any supported file, `TapeWriter` writes one; `records` says what stands in them. The format is described in
docs/capture-format.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

_MODULE_OF: Final = {
    "Filter": "selection",
    "Report": "report",
    "Session": "player",
    "Connect": "records",
    "Disconnect": "records",
    "Frame": "records",
    "Header": "records",
    "Record": "records",
    "TapeError": "records",
    "Tape": "reader",
    "open_tape": "reader",
    "RotatingWriter": "rotation",
    "TapeWriter": "writer",
}

__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
