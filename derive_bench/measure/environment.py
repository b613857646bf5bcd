"""What a run must say about itself: the code, the libraries and the machine, as pyperf metadata.

pyperf's workers already record interpreter, CPU model, load and affinity where they differ from the usual, and ours correct what pyperf
says of ASLR, which it takes from the system's setting alone; :func:`describe` adds what pyperf does not know and spells out what it
leaves unsaid. Values that cannot be read are the word ``unknown``.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from derive_bench.measure.checks import aslr
from derive_bench.measure.checks.plan import allowed_cpus
from derive_bench.measure.checks.system import System, Unread
from derive_bench.measure.trees import checkout_root

__all__ = ["LIBRARIES", "Revision", "complete", "describe", "revision"]

LIBRARIES = (
    "msgspec",
    "orjson",
    "coincurve",
    "wallycore",
    "tiny-keccak",
    "pycryptodome",
    "safe-pysha3",
    "eth-account",
    "uuid_utils",
    "pyperf",
)
"""Distributions whose versions are part of a result; those that are not installed are left out."""

UNKNOWN = "unknown"

Metadata = dict[str, str | int | float]


class Revision(NamedTuple):
    """The full commit hash or ``unknown``, and whether tracked files differ from it: ``yes``, ``no`` or ``unknown``."""

    commit: str
    dirty: str


def revision(root: Path | None) -> Revision:
    """The commit the code at ``root`` stands at and whether tracked files differ from it; unknown outside a checkout."""
    if root is None:
        return Revision(UNKNOWN, UNKNOWN)
    try:
        commit = _git(root, "rev-parse", "HEAD")
        changes = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return Revision(UNKNOWN, UNKNOWN)
    return Revision(commit, "yes" if changes else "no")


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True, timeout=20)
    return done.stdout.strip()


def describe(
    *,
    protocol: str,
    profile: str,
    data_hash: str,
    hash_seed: str | None,
    libraries: Iterable[str] = LIBRARIES,
    system: System | None = None,
) -> Metadata:
    """Metadata of the whole run.

    Args:
        data_hash: hex digest of the input files.
        hash_seed: PYTHONHASHSEED of the workers; None: each makes up its own.
        libraries: distributions whose versions are told, those of them that are installed.
        system: where ``proc`` and ``sys`` lie (default: the machine's); tests give a tree of their own.
    """
    commit, dirty = revision(checkout_root())
    root = system or System()
    metadata: Metadata = {
        "derive_bench_version": _version("derive_bench") or UNKNOWN,
        "protocol": protocol,
        "profile": profile,
        "commit": commit,
        "dirty": dirty,
        "data_hash": data_hash,
        "hash_seed": hash_seed or "random per process",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": platform.platform(),
        "cpu_model_name": _cpu_model(root),
        "cpu_count": os.cpu_count() or 1,
        "governor": _read(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "aslr": aslr.recorded(root),
        "affinity": ",".join(map(str, allowed_cpus())) or UNKNOWN,
        "load_before": _read(root, "proc/loadavg").partition(" ")[0],
    }
    for name in libraries:
        if found := _version(name):
            metadata[f"lib_{name.replace('-', '_')}"] = found
    return metadata


def complete(own: Mapping[str, str | int | float], worker: Mapping[str, object]) -> Metadata:
    """``own`` without the keys the workers have recorded themselves: what was found where it was measured counts."""
    return {key: value for key, value in own.items() if key not in worker}


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _read(system: System, name: str) -> str:
    try:
        return system.text(name)
    except Unread:
        return UNKNOWN


def _cpu_model(system: System) -> str:
    for line in _read(system, "proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name" and value.strip():
            return value.strip()
    return platform.machine() or UNKNOWN
