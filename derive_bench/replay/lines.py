"""Lines: pieces of bytes, or a plain file, to the lines in them.

Contract: `Lines` yields each line without its newline (and a carriage return before it), however the pieces are cut; `FileLines` reads
a plain file in half the time: it leaves the newlines, and tells lines from what is none when asked. A line beyond `LONGEST` bytes is left
out and counted, so that memory stays bounded in a file that is no text. What follows the last newline is `rest`, not a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import BinaryIO, Final

__all__ = ["LONGEST", "FileLines", "Lines"]

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
        for batch in self.batches():
            first = self.number + 1 - len(batch)
            for self.number, line in enumerate(batch, first):
                yield line

    @property
    def rest_number(self) -> int:
        """The number that `rest` has as a line."""
        return self.number + 1

    def whole(self, _line: bytes, _index: int) -> int | None:
        """Return the number of the line just given, None where it is none: never here."""
        return self.number

    def batches(self) -> Iterator[list[bytes]]:
        """Yield the same lines in lists; `number` is that of the last in the list."""
        parts: list[bytes] = []
        length, skipping = 0, False
        for piece in self._pieces:
            lines = piece.split(b"\n")
            if b"\r" in piece or (parts and parts[-1].endswith(b"\r")):
                lines = [line.removesuffix(b"\r") for line in lines[:-1]] + lines[-1:]
            last = lines.pop()
            if not lines:
                parts.append(last)
                length += len(last)
                if skipping or length > self._longest:
                    skipping = True
                    parts.clear()
                continue
            if skipping:
                del lines[0]
                self.number += 1
                self.too_long.append(self.number)
            elif parts:
                lines[0] = b"".join((*parts, lines[0])).removesuffix(b"\r")
            parts, length, skipping = [last], len(last), False
            self.number += len(lines)
            if lines:
                yield lines
        if skipping:
            self.number += 1
            self.too_long.append(self.number)
        else:
            self.rest = b"".join(parts)


class FileLines:
    """The same of a file that is not compressed, each line with its newline; what lacks one is to be shown to `whole`."""

    def __init__(self, file: BinaryIO, longest: int = LONGEST) -> None:
        self.too_long: list[int] = []
        self.rest = b""
        self.rest_number = 0
        self._read = partial(file.readline, longest)
        self._longest = longest

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._read, b"")

    def whole(self, line: bytes, index: int) -> int | None:
        """Return the number of the line just given, the `index`th, or None: it is `rest`, or too long and the whole of it passed over."""
        if line.endswith(b"\n"):
            return index
        if len(line) < self._longest:
            self.rest, self.rest_number = line, index
            return None
        while line and not line.endswith(b"\n"):
            line = self._read()
        self.too_long.append(index)
        return None
