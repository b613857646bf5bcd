"""The catalogue: which suites and rows there are, and which of them a command line means.

A suite is a file ``benches/NAME.py`` with a module-level ``suite``. Files are loaded by path, so that the same code serves a
checkout, an editable install and a wheel, and a worker loads the one file its row stands in.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from derive_bench.measure.rows import Row, RowError, Suite
from derive_bench.measure.trees import find_tree

__all__ = ["DEFAULT_SUITES", "Catalogue", "SelectionError", "load_suite", "suite_names"]

DEFAULT_SUITES = ("data", "exec", "micros", "signing")


class SelectionError(ValueError):
    """The command line asks for a suite or a row that there is not; the message says what there is."""


def suite_names(folder: Path | None = None) -> list[str]:
    """Names of all suites in ``folder`` (default: the project's ``benches/``), the default four first."""
    found = {path.stem for path in (folder or find_tree("benches")).glob("*.py") if not path.stem.startswith("_")}
    return [name for name in DEFAULT_SUITES if name in found] + sorted(found - set(DEFAULT_SUITES))


def load_suite(name: str, folder: Path | None = None) -> Suite:
    """Load ``benches/NAME.py`` and return its suite.

    Raises:
        SelectionError: there is no such file.
        RowError: it holds no suite, or one of another name.
    """
    folder = folder or find_tree("benches")
    path = folder / f"{name}.py"
    if not path.is_file():
        raise SelectionError(f"no suite {name!r}; there are: {' '.join(suite_names(folder))}")
    module_name = f"derive_bench_suite_{name}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise RowError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    suite = getattr(module, "suite", None)
    if not isinstance(suite, Suite) or suite.name != name:
        raise RowError(f'{path} must hold suite = Suite("{name}", …)')
    return suite


@dataclass(frozen=True)
class Catalogue:
    """All rows of some suites for one protocol, by name, in the order they are written."""

    suites: tuple[Suite, ...]
    rows: dict[str, Row]

    @classmethod
    def load(cls, protocol: str, folder: Path | None = None, names: Iterable[str] | None = None) -> Catalogue:
        """Load suites (default: all that there are) and keep the rows that exist for ``protocol``.

        Raises:
            SelectionError: a name is no suite.
            RowError: a suite is ill-defined, or two suites define one row.
        """
        return cls.of([load_suite(name, folder) for name in (names or suite_names(folder))], protocol)

    @classmethod
    def of(cls, suites: Sequence[Suite], protocol: str) -> Catalogue:
        """The catalogue of suites that are already loaded; links cold rows to their cold parts and controls."""
        rows: dict[str, Row] = {}
        for suite in suites:
            for row in suite:
                if row.name in rows:
                    raise RowError(f"row {row.name!r} is defined in suite {rows[row.name].suite!r} and in {suite.name!r}")
                if row.applies_to(protocol):
                    rows[row.name] = row
        linked = {name: _link_cold(row, rows) for name, row in rows.items()}
        return cls(tuple(suites), linked)

    def select(self, suites: Sequence[str] = (), filters: Sequence[str] = ()) -> list[Row]:
        """The rows of the named suites (default: the default four) whose names match one of the globs, if any.

        Without a filter the controls of the chosen rows come along, whichever suite they stand in: a ratio needs both sides
        in one run.

        Raises:
            SelectionError: an unknown suite, a glob that matches nothing, or nothing to measure at all.
        """
        known = [suite.name for suite in self.suites]
        for name in suites:
            if name not in known:
                raise SelectionError(f"no suite {name!r}; there are: {' '.join(known)}")
        wanted = set(suites) or {name for name in known if name in DEFAULT_SUITES} or set(known)
        chosen = [row for row in self.rows.values() if row.suite in wanted]
        if not chosen:
            raise SelectionError(f"no row of {' '.join(sorted(wanted)) or 'any suite'} exists for this protocol")
        for pattern in filters:
            if not any(fnmatchcase(row.name, pattern) for row in chosen):
                raise SelectionError(f"no row matches {pattern!r} in {' '.join(sorted(wanted))}; see: python -m derive_bench list")
        if filters:
            return [row for row in chosen if any(fnmatchcase(row.name, pattern) for pattern in filters)]
        names = {row.name for row in chosen} | {row.control for row in chosen}
        return [row for row in self.rows.values() if row.name in names]


def _link_cold(row: Row, rows: dict[str, Row]) -> Row:
    """A cold row is compared with cold parts and a cold control where there are such rows."""
    if row.each is None:
        return row

    def twin(name: str) -> str:
        return f"{name}_cold" if f"{name}_cold" in rows else name

    return replace(row, parts=tuple(twin(part) for part in row.parts), control=row.control and twin(row.control))
