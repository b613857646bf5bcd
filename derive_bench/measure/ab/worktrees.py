"""Worktrees: a git revision laid out in a temporary folder, and gone afterwards, whatever happens in between.

The checkout itself is never touched: its files, its index and its branches stay as they are, and it may be dirty.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

__all__ = ["SIDES", "WORKTREE", "Revision", "RevisionUnknown", "Terminated", "laid_out", "resolve"]

WORKTREE = "WORKTREE"
"""In place of a revision: the working tree as it is, with all that is not committed."""


SIDES = ("base", "head")

ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


class Terminated(BaseException):
    """The process was told to end, by this signal; like an interrupt it is no error."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class RevisionUnknown(Exception):
    """Git does not know a revision, or there is no repository; the message says which."""


@dataclass(frozen=True, slots=True)
class Revision:
    """What was asked for.

    Attributes:
        name: as it was given.
        commit: full hash; of the working tree, that of the commit it stands on.
        tree: hash of the project's folder in it: revisions that agree in this hold the same files. Empty for the working tree.
    """

    name: str
    commit: str
    tree: str

    @property
    def label(self) -> str:
        """Name and short hash."""
        return self.name if self.commit.startswith(self.name) else f"{self.name} ({self.commit[:10]})"


def resolve(project: Path, name: str) -> Revision:
    """The revision ``name`` of the repository that holds ``project``.

    Raises:
        RevisionUnknown
    """
    if name == WORKTREE:
        return Revision(name, _git(project, "rev-parse", "HEAD"), "")
    try:
        commit = _git(project, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except RevisionUnknown as error:
        raise RevisionUnknown(f"{name!r} is no revision of {project}: see git branch --all{_because(error)}") from None
    prefix = _prefix(project)
    try:
        tree = _git(project, "rev-parse", "--verify", "--quiet", f"{commit}:{prefix}")
    except RevisionUnknown:
        raise RevisionUnknown(f"{name} does not hold the folder {prefix}") from None
    return Revision(name, commit, tree)


@contextmanager
def laid_out(project: Path, revisions: Sequence[Revision]) -> Iterator[list[Path]]:
    """Folders that hold the project as of each revision, in order; the working tree is used where it lies.

    SIGTERM and SIGHUP end the block as an interrupt does, with :class:`Terminated`; while the folders are taken away signals wait.

    Raises:
        RevisionUnknown: git could not lay one out.
    """
    prefix = _prefix(project)
    with _terminable(), ExitStack() as stack:
        try:
            stack.callback(_quietly, project, "worktree", "prune")
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="derive_bench-ab-", ignore_cleanup_errors=True)))
            folders = []
            for revision, side in zip(revisions, SIDES, strict=True):
                if revision.name == WORKTREE:
                    folders.append(project)
                    continue
                place = home / side
                stack.callback(_quietly, project, "worktree", "remove", "--force", "--force", str(place))
                # A hook of the user's that prepares checkouts has no business here.
                _git(project, "-c", "core.hooksPath=/dev/null", "worktree", "add", "--quiet", "--detach", str(place), revision.commit)
                folders.append(place / prefix)
            yield folders
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)


@contextmanager
def _terminable() -> Iterator[None]:
    def end(number: int, _: FrameType | None) -> NoReturn:
        raise Terminated(number)

    # Only the main thread may set a handler, and only it is interrupted.
    chosen = ENDING - {signal.SIGINT} if threading.current_thread() is threading.main_thread() else set()
    before = {number: signal.signal(number, end) for number in chosen}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _prefix(project: Path) -> str:
    return _git(project, "rev-parse", "--show-prefix")


def _because(error: Exception) -> str:
    return f" ({error})" if str(error) else ""


def _quietly(project: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(project), *words], env=_environ(), capture_output=True, check=False)


def _git(project: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(project), *words], env=_environ(), capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        raise RevisionUnknown("git is not installed") from None
    except subprocess.CalledProcessError as error:
        raise RevisionUnknown(error.stderr.strip().rpartition("\n")[2]) from None
    return done.stdout.strip()


def _environ() -> dict[str, str]:
    """Without what git sets for its hooks, which would lead to another repository or index."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
