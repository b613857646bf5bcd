"""The system's files under a root that can be replaced. What cannot be read or understood is :class:`Unread`, with a reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["System", "Unread", "cpu_list", "cpus_text", "number"]


class Unread(Exception):
    """A value is not there, may not be read, or is not what it should be; the message says which and why."""


@dataclass(frozen=True, slots=True)
class System:
    """Where ``proc`` and ``sys`` lie: ``/``, or a tree of a test."""

    root: Path = Path("/")

    def raw(self, name: str) -> str:
        """The text of ``name``, a path without a leading slash, as it stands there.

        Raises:
            Unread: also for a file of no bytes; a kernel file that means "none" holds at least the end of a line.
        """
        try:
            text = (self.root / name).read_text(encoding="utf-8")
        except OSError as error:
            raise Unread(f"/{name}: {error.strerror or error}") from None
        except ValueError:
            raise Unread(f"/{name}: not text") from None
        if not text:
            raise Unread(f"/{name}: empty")
        return text

    def text(self, name: str) -> str:
        """The same without blanks around it; nothing but blanks is Unread, too."""
        text = self.raw(name).strip()
        if not text:
            raise Unread(f"/{name}: empty")
        return text

    def number(self, name: str) -> int:
        """The whole number that ``name`` holds, and nothing else.

        Raises:
            Unread
        """
        return number(self.text(name), f"/{name}")

    def names(self, name: str) -> list[str]:
        """What the folder ``name`` holds, sorted.

        Raises:
            Unread
        """
        try:
            return sorted(entry.name for entry in (self.root / name).iterdir())
        except OSError as error:
            raise Unread(f"/{name}: {error.strerror or error}") from None

    def exists(self, name: str) -> bool:
        """Whether ``name`` is there.

        Raises:
            Unread: its folder may not be searched.
        """
        try:
            return (self.root / name).exists()
        except OSError as error:
            raise Unread(f"/{name}: {error.strerror or error}") from None


def number(text: str, place: str) -> int:
    """``text`` as a whole number; ``place`` is where it was read.

    Raises:
        Unread
    """
    if not (digits := text.removeprefix("-")).isdecimal() or not digits.isascii() or len(digits) > 20:
        raise Unread(f"{place}: {text[:40]!r} is not a number")
    return int(text)


def cpu_list(text: str, place: str) -> tuple[int, ...]:
    """CPUs in the kernel's notation (``0,4``, ``0-1``, ``0-3,8-11``), ascending; a blank text is no CPU.

    Raises:
        Unread
    """
    found: set[int] = set()
    for part in text.strip().split(",") if text.strip() else ():
        first, dash, last = part.partition("-")
        low = number(first.strip(), place)
        high = number(last.strip(), place) if dash else low
        if not 0 <= low <= high < 65_536:
            raise Unread(f"{place}: {text.strip()[:40]!r} is not a list of CPUs")
        found.update(range(low, high + 1))
    return tuple(sorted(found))


def cpus_text(cpus: Iterable[int]) -> str:
    """CPUs as the kernel writes them: ``0-3,8``."""
    ranges: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)
