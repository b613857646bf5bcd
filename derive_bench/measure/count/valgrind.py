"""valgrind: where it is, whether it will do, and how a Python process is started under callgrind so that its counts repeat.

Two calls that a process makes at will and otherwise never, :func:`os.getppid` and :func:`os.getpgrp`, are the signals: at the first
callgrind writes what was executed since the last dump, at the second it begins anew. So one process counts many rows, no client
request has to be compiled, and nothing is signalled from outside.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ASLR", "HASH_SEED", "OLDEST", "Valgrind", "ValgrindUnfit", "environ"]

OLDEST = (3, 15)
"""The oldest release that knows the instructions of today's wheels (AVX2 and the like) and every option used here."""

HASH_SEED = "0"
"""PYTHONHASHSEED of counted processes."""

ASLR = "No randomization"
"""What is recorded of counted processes: valgrind lays out their memory itself, the same each time, whatever the system does."""

_INSTALL = "install it (Debian, Ubuntu: apt-get install valgrind; Fedora: dnf install valgrind; Alpine: apk add valgrind)"


class ValgrindUnfit(Exception):
    """There is no valgrind, or one that will not do; the message says how to get one."""


@dataclass(frozen=True, slots=True)
class Valgrind:
    """An installed valgrind.

    Attributes:
        path: the program.
        version: as it says itself, such as ``3.19.0``.
    """

    path: str
    version: str

    @classmethod
    def find(cls) -> Valgrind:
        """The valgrind on the PATH.

        Raises:
            ValgrindUnfit: none, too old, or one that does not start.
        """
        path = shutil.which("valgrind")
        if path is None:
            raise ValgrindUnfit(f"counting needs valgrind, which is not on the PATH; {_INSTALL}")
        try:
            done = subprocess.run([path, "--version"], capture_output=True, text=True, check=True, timeout=30)
        except (OSError, subprocess.SubprocessError) as error:
            raise ValgrindUnfit(f"{path} does not start: {error}; {_INSTALL}") from None
        found = re.match(r"valgrind-((\d+)\.(\d+)\S*)", done.stdout.strip())
        if found is None:
            raise ValgrindUnfit(f"{path} --version says {done.stdout.strip()[:80]!r}, not a valgrind's version; {_INSTALL}")
        if (int(found[2]), int(found[3])) < OLDEST:
            raise ValgrindUnfit(f"{path} is valgrind {found[1]}; counting needs {'.'.join(map(str, OLDEST))} or newer; {_INSTALL}")
        return cls(path, found[1])

    def command(self, program: list[str]) -> list[str]:
        """The command line that runs ``program`` under callgrind; dumps go to ``out.1``, ``out.2`` … in its working directory."""
        options = ["--dump-before=getppid", "--zero-before=getpgrp", "--dump-line=no", "--callgrind-out-file=out"]
        return [self.path, "--tool=callgrind", "-q", *options, *program]


def environ(root: Path) -> dict[str, str]:
    """The environment of a counted process that imports from ``root``: little, and the same each time, since it lies on its stack."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    path = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    return kept | {"LC_ALL": "C.UTF-8", "PYTHONHASHSEED": HASH_SEED, "PYTHONPATH": path}
