"""Adapters: what ``benches/peers/`` says about each library, and the stages they are compared in.

Adapters are loaded here for their constants alone: their libraries are imported in their own environments, by ``driver.py``.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from derive_bench.measure.catalogue import SelectionError
from derive_bench.measure.trees import find_tree

if TYPE_CHECKING:
    from derive_bench.measure.inputs import Inputs

__all__ = ["DRIVER", "Adapter", "AdapterError", "Comparison"]

DRIVER = "driver.py"

OURS = "ours"


class AdapterError(ValueError):
    """A file of ``benches/peers/`` is not as it should be; the message names it."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """One library.

    Attributes:
        path: its module.
        dialect: ``v3`` or ``v2``, as it speaks.
        requirements: what pip installs for it.
        lacks: why it has no stage of a group, or not this stage, in words: by group or stage.
    """

    path: Path
    name: str
    version: str
    dialect: str
    requirements: tuple[str, ...]
    about: str
    lacks: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is compared: see ``benches/peers/stages.py``.

    Attributes:
        stages: name -> one line on it.
        signed: stages whose results carry a signature.
        echoed: stage -> the fact that holds the input a library took on its own.
        reference: stage -> the row of the Rust reference that does the same.
    """

    ours: Path
    peers: tuple[Adapter, ...]
    stages: Mapping[str, str]
    signed: frozenset[str]
    echoed: Mapping[str, str]
    reference: Mapping[str, str]
    material: Callable[[Inputs], dict[str, Any]]

    @classmethod
    def load(cls, benches: Path | None = None) -> Comparison:
        """Read ``benches/peers/``, by default the project's own.

        Raises:
            AdapterError
        """
        folder = (benches or find_tree("benches")) / "peers"
        stages = _module(folder / "stages.py")
        try:
            return cls(
                ours=folder / f"{OURS}.py",
                peers=tuple(_adapter(folder / f"{name}.py") for name in stages.PEERS),
                stages={stage: summary for stage, (_, summary) in stages.STAGES.items()},
                signed=stages.SIGNED,
                echoed=stages.ECHOED,
                reference=stages.REFERENCE,
                material=stages.material,
            )
        except AttributeError as error:
            raise AdapterError(f"{folder / 'stages.py'}: {error}") from None

    def chosen(self, names: Sequence[str]) -> list[Adapter]:
        """The peers of these names, all if there are none.

        Raises:
            SelectionError: there is no such peer.
        """
        there = [peer.name for peer in self.peers]
        for name in names:
            if name not in there:
                raise SelectionError(f"no peer {name!r}; there are: {' '.join(there)}")
        return [peer for peer in self.peers if not names or peer.name in names]


def _adapter(path: Path) -> Adapter:
    module = _module(path)
    try:
        return Adapter(path, module.NAME, module.VERSION, module.DIALECT, tuple(module.REQUIREMENTS), module.ABOUT, module.LACKS)
    except AttributeError as error:
        raise AdapterError(f"{path}: {error}") from None


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"derive_bench_peers_{path.stem}", path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise AdapterError(f"{path}: missing")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
