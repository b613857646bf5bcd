"""Puts CPython's small-object allocator into a state in which what it costs depends little on what was allocated before.

The allocator serves each size from pools. When all pools of a size are full, every call of a statement may take a new pool and give
it back: some percent of the instructions of a short row, present or absent by the number of objects that happen to live. With
pools of each size that are half full and stay so, a statement neither takes nor empties one.
"""

from __future__ import annotations

import sys

__all__ = ["half_filled"]

_POOL_BYTES = 16_384
_POOLS = 4
_STEP, _LARGEST = 16, 512


def half_filled() -> list[object]:
    """Objects of every size that the allocator serves, every second of them freed again; pools stay half full as long as they live."""
    kept: list[object] = []
    for size in range(_STEP, _LARGEST + 1, _STEP):
        some = [_sized(size, number) for number in range(_POOLS * _POOL_BYTES // size)]
        kept += some[::2]
    return kept


def _sized(size: int, number: int) -> object:
    """A new object that takes a block of ``size`` bytes; nothing shorter than 33 bytes is a ``bytes``."""
    if size == _STEP:
        return object()
    if size == 2 * _STEP:
        return number + (1 << 31)
    return bytes(size - sys.getsizeof(b""))
