"""Refusals: what the venue answers in place of a result, a code with its message and, mostly, the particulars."""

from __future__ import annotations

from typing import Any, Final

from derive_bench.adapter.protocol import ERROR_CODES

__all__ = ["Refused"]

_TITLES: Final = {code: meaning[0].upper() + meaning[1:] for code, meaning in ERROR_CODES.items()}


class Refused(Exception):
    """A request is refused. `code` is one of the venue's; `data` says what is wrong."""

    def __init__(self, code: int, data: str | None = None) -> None:
        super().__init__(f"{code} {_TITLES.get(code, 'error')}: {data}")
        self.code = code
        self.data = data

    def document(self) -> dict[str, Any]:
        """The `error` member of the reply, whose three fields are always there."""
        return {"code": self.code, "message": _TITLES.get(self.code, "Error"), "data": self.data}
