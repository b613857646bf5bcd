"""Rows and suites: what is measured, as data.

A *row* is a statement in text, as :mod:`timeit` has it, and a function that builds the namespace the statement runs in.
Nothing is imported, read or built for a row before it is asked for, so a worker process pays for its own row only.
A *suite* is one file of ``benches/``; it holds a module-level ``suite = Suite(...)`` and its rows::

    suite = Suite("data", "frames to domain types")

    @suite.row("inbound_pipeline/quotes", "parse_quote(decode(x).data, instruments, 0)", cold="frames",
               summary="ticker frame -> QuoteTick", parts=("decode_only/ticker", "parse_only/ticker_quote"),
               control="control/orjson_loads_ticker")
    def _(inputs: Inputs) -> dict[str, Any]:
        from derive_bench.adapter import decode, parse_quote
        return {"decode": decode, "parse_quote": parse_quote, "instruments": ..., "x": inputs.frame("ticker"),
                "frames": lambda: inputs.frames_cold("ticker")}

The names of the namespace are local variables of the timed loop. Three kinds of row:

- plain: the statement, unrolled.
- ``each="frames"`` (cold): ``namespace["frames"]`` is a list of at least 1,000 inputs, or a function without arguments
  that builds it; the statement sees one after the other as ``x`` and the list is cycled, across values too. ``cold=``
  registers this beside a plain row whose statement reads its one input from ``x``: the twin has the name + ``_cold``.
  A statement may rely on the order, say of ids that it has not seen: a few inputs at the end of the list may be left out.
- ``fresh="make_state"``: ``namespace["make_state"]()`` builds, outside the timed region and in small batches, what the
  statement consumes as ``x``. The batch keeps a reference: the release of ``x`` is not
  timed unless the statement itself releases it (let ``make_state`` return ``[state]`` and the statement say
  ``x.clear()``); in the same way ``x.append(build())`` keeps a result alive that the statement made.

The timed loop has no call around the statement. A plain row's loop costs some 10 ns divided by the number of copies; the loop
of an ``each`` or ``fresh`` row is timed with an empty statement beforehand, and that is subtracted.
"""

from __future__ import annotations

import gc
import hashlib
import textwrap
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice, repeat
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from derive_bench.measure.inputs import Inputs

__all__ = ["COLD_MINIMUM", "INNER", "SECONDS", "Builder", "Meter", "Row", "RowError", "Suite", "Timed"]

COLD_MINIMUM = 1_000
"""Fewest inputs of a cold row: nothing repeats within this many."""

INNER = (1, 10, 50)
"""How often one loop may run the statement: copies of it (plain), inputs of a chunk (``each``), states of a batch (``fresh``)."""

Builder = Callable[["Inputs"], Mapping[str, Any]]


class RowError(ValueError):
    """A row or suite is defined wrongly; the message says which and how."""


@dataclass(frozen=True, slots=True)
class Meter:
    """What a loop is measured with.

    Attributes:
        read: a reading that rises; what lies between two of them is the cost, in seconds or in another unit.
        empty_passes: how often the loop around an empty statement is measured; the best of them counts.
        empty_calls: how many empty statements one pass of a ``fresh`` row runs, in one batch at least.
    """

    read: Callable[[], float]
    empty_passes: int
    empty_calls: int


SECONDS = Meter(perf_counter, empty_passes=7, empty_calls=1_000)
"""The meter of time."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A compiled row: ``run(loops)`` executes the statement ``loops * inner`` times and returns what the meter says of it."""

    run: Callable[[int], float]
    inner: int


@dataclass(frozen=True, slots=True)
class Row:
    """One measured statement.

    Attributes:
        name: ``group/row``, unique over all suites.
        statement: Python source, one or more lines.
        build: makes the namespace from the inputs.
        summary: one line for ``list``.
        parts: names of rows whose costs this row is made of.
        control: name of the row without our code that does the least possible for the same input.
        each, fresh: see the module's text.
        protocols: dialects ("v3", "v2") the row exists for; empty means all.
        suite: name of the suite it belongs to.
    """

    name: str
    statement: str
    build: Builder
    summary: str
    suite: str
    parts: tuple[str, ...] = ()
    control: str | None = None
    each: str | None = None
    fresh: str | None = None
    protocols: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """The part of the name before the slash."""
        return self.name.partition("/")[0]

    @property
    def fingerprint(self) -> str:
        """Eight hex digits over what is timed: a worker compares them with what it was asked for."""
        text = "\0".join((self.name, self.statement, self.each or "", self.fresh or ""))
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def applies_to(self, protocol_name: str) -> bool:
        """Whether the row exists for a protocol such as ``v3`` or ``v2-testnet``."""
        return not self.protocols or protocol_name.partition("-")[0] in self.protocols

    def namespace(self, inputs: Inputs) -> dict[str, Any]:
        """What the statement sees, with a cold row's inputs built.

        Raises:
            RowError: the namespace lacks what the row names, or a cold list is too short.
        """
        namespace = dict(self.build(inputs))
        for key in (self.each, self.fresh):
            if key is not None and key not in namespace:
                raise RowError(f"row {self.name!r}: its namespace has no {key!r}")
        if self.each is not None:
            items = namespace[self.each]
            namespace[self.each] = items = _Ring(items() if callable(items) else items)
            if len(items) < COLD_MINIMUM:
                raise RowError(f"row {self.name!r}: {self.each!r} has {len(items)} inputs; a cold row needs {COLD_MINIMUM:,}")
        return namespace

    def compile(self, namespace: Mapping[str, Any], inner: int, meter: Meter | None = None) -> Timed:
        """Compile the timed loop over what :meth:`namespace` returned.

        Args:
            inner: one of :data:`INNER`.
            meter: what the loop reads before and after; :data:`SECONDS` if not given.

        Raises:
            RowError: another number, or a name that cannot be bound.
        """
        if inner not in INNER:
            raise RowError(f"row {self.name!r}: a loop runs the statement {', '.join(map(str, INNER))} times, not {inner}")
        meter = meter or SECONDS
        if self.each is not None:
            return _compile_each(self, dict(namespace), self.each, inner, meter)
        if self.fresh is not None:
            return _compile_fresh(self, dict(namespace), self.fresh, inner, meter)
        return _compile_plain(self, dict(namespace), inner, meter)

    def compile_calls(self, namespace: Mapping[str, Any], clock: Callable[[], int]) -> Callable[[int], array[int]]:
        """A function that runs the statement so many times and returns by how much ``clock`` rose during each call.

        What a ``fresh`` row consumes is built before each call. Nothing is taken off for the clock.
        """
        names = {name: value for name, value in namespace.items() if name not in ("x", self.each)}
        if self.each is not None:
            source: Iterator[Any] = cycle(list(namespace[self.each]))
        elif self.fresh is not None:
            source = iter(namespace[self.fresh], object())
        else:
            source = repeat(namespace.get("x"))
        own = {"__islice": islice, "__source": source, "__clock": clock, "__array": array}
        calls: Callable[[int], array[int]] = _assemble(self, _CALLS, 8, self.statement, names, own)
        return calls


class Suite:
    """The rows of one file of ``benches/``, in the order they are written.

    Args:
        name: the file's name without ``.py``; the word given on the command line.
        summary: one line on what the suite covers.
    """

    def __init__(self, name: str, summary: str) -> None:
        self.name = name
        self.summary = summary
        self.rows: dict[str, Row] = {}

    def __repr__(self) -> str:
        return f"Suite({self.name!r}, {len(self.rows)} rows)"

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows.values())

    def row(
        self,
        name: str,
        statement: str,
        *,
        summary: str,
        parts: Sequence[str] = (),
        control: str | None = None,
        each: str | None = None,
        fresh: str | None = None,
        cold: str | None = None,
        protocols: Sequence[str] = (),
    ) -> Callable[[Builder], Builder]:
        """Register the decorated namespace builder as a row; decorators may be stacked on one builder.

        ``cold`` registers a second row, ``name`` + ``_cold``, with the same statement and ``each=cold``. Its parts and
        control are the ``_cold`` twins of the given ones where those exist; the catalogue sees to that.

        Raises:
            RowError: a name that is taken or has no group, a statement that does not compile, no summary, two kinds at once.
        """
        kinds = [kind for kind in (each, fresh, cold) if kind is not None]
        if len(kinds) > 1:
            raise RowError(f"row {name!r}: give one of each, fresh and cold")
        group, slash, rest = name.partition("/")
        if not (group and slash and rest):
            raise RowError(f"row {name!r}: a name has the form group/row")
        if not summary.strip() or "\n" in summary:
            raise RowError(f"row {name!r}: needs a summary of one line")
        try:
            compile(textwrap.dedent(statement), f"<row {name}>", "exec")
        except SyntaxError as error:
            raise RowError(f"row {name!r}: the statement does not compile: {error}") from None

        def register(build: Builder) -> Builder:
            row = Row(
                name=name,
                statement=textwrap.dedent(statement).strip(),
                build=build,
                summary=summary,
                suite=self.name,
                parts=tuple(parts),
                control=control,
                each=each,
                fresh=fresh,
                protocols=tuple(protocols),
            )
            self._add(row)
            if cold is not None:
                self._add(replace(row, name=f"{name}_cold", summary=f"{summary}, every input new", each=cold))
            return build

        return register

    def _add(self, row: Row) -> None:
        if row.name in self.rows:
            raise RowError(f"row {row.name!r} is defined twice in suite {self.name!r}")
        self.rows[row.name] = row


# The timed loops. Names with two leading underscores are the harness's own; the row's names are parameters with defaults,
# hence fast locals, as they would be in a function of a live adapter. The collector stays on, as in an adapter, but what was
# built beforehand is frozen out of its sight: the size of a row's inputs is no cost of its statement.

_PLAIN = """\
def __timed(__loops, {names}):
    __steps = __repeat(None, __loops)
    __begin = __clock()
    for __step in __steps:
{body}
    return __clock() - __begin
"""

_EACH = """\
def __timed(__loops, {names}):
    __chunks = __islice(__source, __loops)
    __begin = __clock()
    for __chunk in __chunks:
        for x in __chunk:
{body}
    return __clock() - __begin
"""

_FRESH = """\
def __timed(__loops, {names}):
    __total = 0.0
    for __step in __repeat(None, __loops):
        __batch = [__make() for __item in __numbers]
        __freeze()
        __begin = __clock()
        for x in __batch:
{body}
        __total += __clock() - __begin
    return __total
"""

_CALLS = """\
def __timed(__count, {names}):
    __found = __array("q")
    for x in __islice(__source, __count):
        __begin = __clock()
{body}
        __found.append(__clock() - __begin)
    return __found
"""

_Timer = Callable[[int], float]


class _Ring(list[Any]):
    """The inputs of a cold row, and which of them comes next: a loop that is compiled anew goes on there."""

    position = 0


def _compile_plain(row: Row, namespace: dict[str, Any], inner: int, meter: Meter) -> Timed:
    timer = _assemble(row, _PLAIN, 8, "\n".join([row.statement] * inner), namespace, {"__repeat": repeat, "__clock": meter.read})
    gc.freeze()
    return Timed(timer, inner)


def _compile_each(row: Row, namespace: dict[str, Any], each: str, inner: int, meter: Meter) -> Timed:
    ring: _Ring = namespace[each]
    items = ring[ring.position :] + ring[: ring.position]
    whole = len(items) - len(items) % inner
    names = {name: value for name, value in namespace.items() if name not in ("x", each)}
    chunks = [items[start : start + inner] for start in range(0, whole, inner)]
    own = {"__islice": islice, "__source": cycle(chunks), "__clock": meter.read}
    timer = _assemble(row, _EACH, 12, row.statement, names, own)
    empty = _assemble(row, _EACH, 12, "pass", names, own)
    # Whole passes: the empty loop leaves the source where it was.
    less_loop = _less_loop(timer, empty, len(chunks), meter.empty_passes)
    begin, used = ring.position, 0
    gc.freeze()

    def timed(loops: int) -> float:
        nonlocal used
        used = (used + loops * inner) % whole
        ring.position = (begin + used) % len(ring)
        return less_loop(loops)

    return Timed(timed, inner)


def _compile_fresh(row: Row, namespace: dict[str, Any], fresh: str, inner: int, meter: Meter) -> Timed:
    names = {name: value for name, value in namespace.items() if name != "x"}
    own = {"__repeat": repeat, "__make": namespace[fresh], "__numbers": range(inner), "__freeze": gc.freeze, "__clock": meter.read}
    timer = _assemble(row, _FRESH, 12, row.statement, names, own)
    empty = _assemble(row, _FRESH, 12, "pass", names, own | {"__make": object})
    gc.freeze()
    return Timed(_less_loop(timer, empty, max(1, meter.empty_calls // inner), meter.empty_passes), inner)


def _assemble(row: Row, template: str, depth: int, body: str, names: dict[str, Any], own: dict[str, Any]) -> Any:
    for name in names:
        if not name.isidentifier() or name.startswith("__"):
            raise RowError(f"row {row.name!r}: {name!r} cannot be a name of the namespace")
    parameters = ", ".join(f"{name}={name}" for name in names)
    source = template.format(names=parameters, body=textwrap.indent(body, " " * depth))
    scope = names | own
    exec(compile(source, f"<row {row.name}>", "exec"), scope)
    return scope["__timed"]


def _less_loop(timer: _Timer, empty: _Timer, loops: int, passes: int) -> _Timer:
    """The timer less what its loop costs around an empty statement, taken as the best of several passes."""
    per_loop = min(empty(loops) for _ in range(passes)) / loops

    def timed(loops: int) -> float:
        return timer(loops) - loops * per_loop

    return timed
