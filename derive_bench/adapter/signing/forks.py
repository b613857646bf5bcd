"""What must not be shared with a forked child: one hook for every object that has such state.

`os.register_at_fork` cannot be undone, so it is called once, and objects register here by weak reference.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, Protocol
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["forget_in_child"]


class _Forgetful(Protocol):
    @property
    def _after_fork(self) -> Callable[[], None]: ...


_objects: Final[WeakSet[_Forgetful]] = WeakSet()


def forget_in_child(thing: _Forgetful) -> None:
    """Have ``thing._after_fork()`` called in every child that `os.fork` makes, as long as `thing` lives."""
    _objects.add(thing)


def _in_child() -> None:
    for thing in list(_objects):
        thing._after_fork()


# Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
