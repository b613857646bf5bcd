"""The wall: what it costs to put the hot path, or a backtest kernel, behind a process.

For a payload of one's own: `round_trips` sends it over a transport and back, `codec_cost` takes it through a codec, `fit` and `advise` say
what follows. `open_engine` gives the connection itself. The study is `python -m derive_bench boundary`; docs/boundary.md describes both.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

_MODULE_OF: Final = {
    "Advice": "breakeven",
    "advise": "breakeven",
    "ARRAY_CODECS": "codecs",
    "Codec": "codecs",
    "EVENT_CODECS": "codecs",
    "CodecCost": "trials",
    "RoundTrips": "trials",
    "codec_cost": "trials",
    "round_trips": "trials",
    "Fit": "echo",
    "fit": "echo",
    "Client": "engines",
    "EngineFailed": "engines",
    "EngineRefused": "frames",
    "TRANSPORTS": "engines",
    "open_engine": "engines",
    "engine_command": "architectures",
    "Missing": "session",
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
