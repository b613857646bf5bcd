"""Lines: pieces of bytes to the lines in them, however the pieces are cut.

Contract: `Lines` yields each line without its newline (and a carriage return before it). A line beyond `LONGEST` bytes is left
out and counted, so that memory stays bounded in a file that is no text. What follows the last newline is `rest`, not a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

__all__ = ["LONGEST", "Lines"]

LONGEST: Final = 1 << 26


class Lines:
    """The lines of a stream. `number` is that of the line yielded last, from 1; `too_long` are numbers of lines left out."""

    def __init__(self, pieces: Iterable[bytes], longest: int = LONGEST) -> None:
        self.number = 0
        self.too_long: list[int] = []
        self.rest = b""
        self._pieces = pieces
        self._longest = longest

    def __iter__(self) -> Iterator[bytes]:
        parts: list[bytes] = []
        length, skipping = 0, False
        for piece in self._pieces:
            first, *more = piece.split(b"\n")
            if not skipping:
                parts.append(first)
                length += len(first)
                if length > self._longest:
                    skipping = True
                    parts.clear()
            if not more:
                continue
            self.number += 1
            if skipping:
                self.too_long.append(self.number)
            else:
                yield _without_return(parts[0] if len(parts) == 1 else b"".join(parts))
            last = more.pop()
            for line in more:
                self.number += 1
                yield _without_return(line)
            parts, length, skipping = [last], len(last), False
        if skipping:
            self.number += 1
            self.too_long.append(self.number)
        else:
            self.rest = b"".join(parts)


def _without_return(line: bytes) -> bytes:
    return line[:-1] if line.endswith(b"\r") else line
