"""Environments: each peer lives in a virtual environment of its own, in the user's cache, made when asked for.

``$XDG_CACHE_HOME/derive_bench/peers/NAME-VERSION`` (default ``~/.cache``). It is made under a temporary name and renamed when
everything is in it, so that whatever has its name is whole. To make one anew, delete it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from derive_bench.cache import cache_folder
from derive_bench.measure.peers.adapters import Adapter

__all__ = ["InstallFailed", "environment", "install", "interpreter"]


class InstallFailed(Exception):
    """An environment could not be made; the message says why. Nothing is left of it."""


def environment(adapter: Adapter) -> Path:
    """The folder of a peer's environment, whether it is there or not."""
    return cache_folder("peers") / f"{adapter.name}-{adapter.version}"


def interpreter(adapter: Adapter) -> Path | None:
    """The Python of a peer's environment, None if it is not installed."""
    python = environment(adapter) / "bin" / "python"
    return python if python.exists() else None


def install(adapter: Adapter) -> None:
    """Make a peer's environment, with pip and from its index, at the versions the adapter pins.

    Raises:
        InstallFailed
    """
    place = environment(adapter)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{adapter.name}-", dir=place.parent))
    except OSError as error:
        raise InstallFailed(f"{place}: cannot be made: {error.strerror}") from None
    try:
        _run([sys.executable, "-m", "venv", str(temporary)])
        pip = [str(temporary / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
        _run([*pip, *adapter.requirements])
        if interpreter(adapter) is None:  # or else somebody else has made it meanwhile
            shutil.rmtree(place, ignore_errors=True)  # what is left of one whose Python is gone
            temporary.rename(place)
    except OSError as error:
        raise InstallFailed(f"{place}: cannot be made: {error.strerror or error}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()
        reason = next((line for line in lines if "error" in line.lower()), lines[-1])
        raise InstallFailed(f"{' '.join(command[1:4])} failed: {reason.strip()}")
