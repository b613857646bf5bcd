"""Tables of a run, as text for a terminal and as Markdown for BENCHMARKS.md; both from the same cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from derive_bench.measure import depth, reference
from derive_bench.measure.checks.verdict import MARK, MEANWHILE
from derive_bench.measure.results import Result, Results

__all__ = ["Column", "Table", "depth_table", "group_tables", "notes", "seconds_text", "share_table"]

SPREAD = "± is the median absolute deviation of all values, as a share of the median."
ELSEWHERE = (
    f"Reference: {reference.SOURCE} of {reference.MEASURED}, {reference.STATISTIC}, on ANOTHER MACHINE ({reference.MACHINE}): "
    "the ratio to it says how far apart two programs on two machines are, no more."
)
HERE = "† Reference: the medians of a Criterion run on THIS MACHINE, with their confidence interval, in place of the published."
CONTROL = "× control is the row's median over that of its control row, which does the least possible for the same input without our code."
LINE = (
    "fixed and per level: ordinary least squares over books of 1, 10, 20 and 100 levels a side, a level being a bid and an ask; ± are "
    "standard errors, on two degrees of freedom; the last column is the row farthest from the line."
)


def notes(results: Results) -> list[str]:
    """What a reader of the tables must know, a sentence each; those about the reference begin with the mark that its figures carry."""
    here = [HERE] if any(row.reference for row in results.rows.values()) else []
    line = [LINE] if depth_table(results) else []
    marked = [f"{MARK} Published in spite of: {', '.join(results.marks)}."] if results.marks else []
    slowed = str(results.metadata.get(MEANWHILE, "none"))
    if slowed != "none":
        marked.append(f"The machine was slowed down DURING THE RUN ({', '.join(slowed.split())}): measure again.")
    return [*marked, SPREAD, *here, f"* {ELSEWHERE}", CONTROL, *line]


@dataclass(frozen=True, slots=True)
class Column:
    """A further column: its heading and a cell for each row."""

    heading: str
    cell: Callable[[Result], str]


@dataclass(frozen=True, slots=True)
class Table:
    """A title, headings and rows of cells; the first column is text, the others are numbers, but for ``remarks`` at the end."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: int = 0

    def without(self, *headings: str) -> Table:
        """The table without the columns of these headings, and without those in which no cell says anything."""
        columns = [column for column in zip(self.headings, *self.rows, strict=True) if column[0] not in headings and any(column[1:])]
        kept, *rows = zip(*columns, strict=True)
        return Table(self.title, kept, rows)

    def text(self) -> str:
        """Aligned columns under the title."""
        widths = [max(map(len, column)) for column in zip(self.headings, *self.rows, strict=True)]
        numbers = range(1, len(widths) - self.remarks)
        lines = [self.title]
        for cells in (self.headings, *self.rows):
            padded = [
                cell.rjust(width) if at in numbers else cell.ljust(width)
                for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
            ]
            lines.append("  ".join(("", *padded)).rstrip())
        return "\n".join(lines)

    def markdown(self) -> str:
        """A Markdown table under a third-level heading."""
        numbers = ["---:"] * (len(self.headings) - 1 - self.remarks)
        lines = [f"### {self.title}", "", _line(self.headings), _line(["---", *numbers, *["---"] * self.remarks])]
        lines += [_line([f"`{cells[0]}`", *cells[1:]]) for cells in self.rows]
        return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def group_tables(results: Results, further: Sequence[Column] = ()) -> list[Table]:
    """One table per group of rows (the name before the slash), in order of first appearance."""
    order = list(dict.fromkeys(row.group for row in results.rows.values()))
    ordered = sorted(results.rows.values(), key=lambda row: order.index(row.group))
    mark = "" if any(row.reference for row in results.rows.values()) else "*"
    headings = ["row", _marked("median", results), "±", "per second", "× control", f"reference{mark}", f"ratio{mark}"]
    headings += [column.heading for column in further]
    return [
        Table(group, headings, [[*_cells(row, results), *(column.cell(row) for column in further)] for row in rows])
        for group, rows in groupby(ordered, key=lambda row: row.group)
    ]


def _marked(heading: str, results: Results) -> str:
    """The heading of a column of times, with the mark if the run carries one."""
    return f"{heading} {MARK}" if results.marks else heading


def _cells(row: Result, results: Results) -> list[str]:
    control = results.rows.get(row.control) if row.control else None
    return [
        row.name,
        seconds_text(row.median),
        f"{row.mad / row.median:.1%}",
        rate_text(1 / row.median),
        f"{row.median / control.median:.2f}" if control else "",
        *_reference_cells(row, marked=any(other.reference for other in results.rows.values())),
    ]


def _reference_cells(row: Result, marked: bool) -> tuple[str, str]:
    """The reference and the ratio to it; where some figures come from this machine, each says where it is from."""
    if figure := row.reference:
        spread = (figure.high - figure.low) / 2 / figure.median
        return f"{seconds_text(figure.median)} ± {spread:.1%} †", f"{row.median / figure.median:.3g} †"
    if row.name not in reference.PUBLISHED:
        return "", ""
    published = reference.PUBLISHED[row.name] * 1e-9
    mark = " *" if marked else ""
    return f"{seconds_text(published)}{mark}", f"{row.median / published:.3g}{mark}"


def share_table(results: Results) -> Table | None:
    """What the decode and parse rows make up of each inbound row that names them, in percent; None if there is no such row."""
    rows = []
    for row in results.rows.values():
        if row.group != "inbound_pipeline":
            continue
        decode = results.total(part for part in row.parts if part.startswith("decode_only/"))
        parse = results.total(part for part in row.parts if part.startswith("parse_only/"))
        if decode and parse:
            share = f"{(decode + parse) / row.median:.0%}"
            rows.append([row.name, seconds_text(row.median), seconds_text(decode), seconds_text(parse), share])
    if not rows:
        return None
    return Table(
        "decode_only + parse_only as a share of the pipeline", ["row", _marked("median", results), "decode", "parse", "share"], rows
    )


def depth_table(results: Results) -> Table | None:
    """Fixed and per-level cost of each kind of row that was measured at all four depths; None if there is none."""
    rows = []
    for name, points in depth.families({name: row.median for name, row in results.rows.items()}).items():
        line = depth.fit(points)
        rows.append(
            [
                name,
                *(_signed(line.fixed), _signed(line.fixed_error), _signed(line.per_level), _signed(line.per_level_error)),
                *(f"{line.r_squared:.5f}", f"{line.worst:.1%}"),
            ]
        )
    if not rows:
        return None
    return Table(
        "cost over the depth of the book", ["rows", _marked("fixed", results), "±", "per level", "±", "R²", "off by at most"], rows
    )


def _signed(seconds: float) -> str:
    # A fixed cost within its error of nothing may come out negative.
    return f"-{seconds_text(-seconds)}" if seconds < 0 else seconds_text(seconds)


def seconds_text(seconds: float) -> str:
    """Three significant digits and a unit: ``41.5 ns``, ``1.23 µs``, ``25.6 ms``."""
    return _scaled(seconds, (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)))


def rate_text(per_second: float) -> str:
    """Three significant digits and a magnitude: ``24.1 k``, ``2.41 M``."""
    return _scaled(per_second, (("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9))).rstrip()


def _scaled(value: float, units: Sequence[tuple[str, float]]) -> str:
    # 999.5 and above would print as 1000 of the smaller unit.
    unit, scale = next(((unit, scale) for unit, scale in units if value / scale < 999.5), units[-1])
    number = value / scale
    digits = 2 if number < 9.995 else 1 if number < 99.95 else 0
    return f"{number:.{digits}f} {unit}"
