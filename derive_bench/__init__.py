"""derive_bench: the hot path of a Derive exchange adapter, and the instrument that measures it.

The public names of `derive_bench.adapter` can be imported from here; each is loaded when it is asked for.
"""

from __future__ import annotations

from typing import Any

from derive_bench import adapter

__all__ = [name for names in adapter.PUBLIC.values() for name in names]


def __getattr__(name: str) -> Any:
    return getattr(adapter, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
