"""Where things lie that were made once and can be made again: ``$XDG_CACHE_HOME/derive_bench`` (default ``~/.cache``)."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_folder"]


def cache_folder(part: str) -> Path:
    """The folder for one kind of thing, whether it is there or not. To have everything in it made anew, delete it."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "derive_bench" / part
