"""Objects of which there must be one only: they hold secrets, or hand out what must not be handed out twice."""

from __future__ import annotations

from typing import NoReturn

from derive_bench.adapter.errors import SigningError

__all__ = ["CopyError", "Uncopyable"]


class CopyError(SigningError, TypeError):
    """An attempt to pickle or copy an object of which there must be one only."""


class Uncopyable:
    """Base of a class whose objects refuse `pickle`, `copy.copy` and `copy.deepcopy` with `CopyError`."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise CopyError(f"a {type(self).__name__} cannot be pickled or copied; make another, or share this one")

    def __getstate__(self) -> NoReturn:
        self.__reduce_ex__(2)
