"""The engine's builds: the sweep in Rust as it stands, and builds that change one thing at a time.

Contract: `engine(BUILDS[name])` returns the program, built with `rustc` on first use into the user's cache and kept under a name that
says which sources, flags and compiler made it. `BuildUnavailable` where it cannot be had here, with what to do about it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from derive_bench.cache import cache_folder

__all__ = ["BUILDS", "Build", "BuildUnavailable", "compiler", "engine"]

SOURCES: Final = Path(__file__).parent / "engine"
_COMMON: Final = ("-O", "--edition", "2021")
_UNFINISHED: Final = ".build-"
_ABANDONED_AFTER: Final = 3600
"""Seconds after which a folder that is not done is nobody's any more."""


class BuildUnavailable(RuntimeError):
    """A build cannot be had on this machine; the message says why, and what to do where something can be done."""


@dataclass(frozen=True)
class Build:
    """One way to build the engine.

    Attributes:
        flags: for rustc, besides ``-O``.
        summary: what it changes.
        machine: the only processor family it is for, or None.
    """

    name: str
    summary: str
    flags: tuple[str, ...] = ()
    machine: str | None = None


BUILDS: Final = {
    build.name: build
    for build in (
        Build("rust", "line for line as in Python"),
        Build("rust_unchecked", "indexing without bounds checks", ("--cfg", "unchecked")),
        Build("rust_alloc", "a new array for each average", ("--cfg", "alloc")),
        Build("rust_shape", "the inner loop over a slice's iterator", ("--cfg", "shape")),
        Build("rust_native", "for this very processor", ("-C", "target-cpu=native")),
        Build("rust_reassoc", "additions reordered: four partial sums", ("--cfg", "reassoc")),
        Build("rust_reassoc_native", "the same, for this very processor", ("--cfg", "reassoc", "-C", "target-cpu=native")),
        Build("rust_simd", "the four sums in AVX2 registers, by hand", ("--cfg", "simd"), "x86_64"),
        Build("rust_threads", "combinations over all processors", ("--cfg", "threads")),
    )
}


def compiler() -> str:
    """What ``rustc`` calls itself. `BuildUnavailable` where there is none."""
    program = shutil.which("rustc")
    if program is None:
        raise BuildUnavailable("no rustc here, so the Rust engine is left out; to have it: apt install rustc")
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildUnavailable(f"{program} --version fails: {done.stderr.strip()}")
    return done.stdout.strip()


def engine(build: Build) -> Path:
    """Return the program of a build, made now if it is not there yet.

    Raises:
        BuildUnavailable
    """
    version = compiler()
    if build.machine not in (None, platform.machine()):
        raise BuildUnavailable(f"{build.name} is for {build.machine}, and this is {platform.machine()}")
    folder = cache_folder("engines")
    program = folder / f"{build.name}-{_digest(build, version)}"
    if not program.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _compile(build, program)
        except OSError as error:
            raise BuildUnavailable(f"{program} cannot be made: {error.strerror}") from error
    return program


def _digest(build: Build, version: str) -> str:
    found = hashlib.sha256(repr((version, platform.processor(), platform.node(), build.flags)).encode())
    for source in sorted(SOURCES.glob("*.rs")):
        found.update(source.read_bytes())
    return found.hexdigest()[:12]


def _compile(build: Build, program: Path) -> None:
    _clear(program.parent)
    with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=program.parent) as folder:
        made = Path(folder) / "engine"
        command = ["rustc", *_COMMON, *build.flags, str(SOURCES / "main.rs"), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": folder})
        if done.returncode:
            reason = next((line for line in done.stderr.splitlines() if "error" in line), f"exit code {done.returncode}")
            raise BuildUnavailable(f"rustc does not build {build.name}: {reason}")
        made.rename(program)


def _clear(folder: Path) -> None:
    """Remove what builds have left that were killed."""
    for left in folder.glob(f"{_UNFINISHED}*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED_AFTER:
                shutil.rmtree(left, ignore_errors=True)
