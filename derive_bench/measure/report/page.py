"""The page: sections as one HTML file with its style, its script and plotly's in it; nothing is loaded from anywhere.

A content security policy forbids every connection. Charts are drawn when they come near the window, so that the page opens at once,
and all of them before printing. Their figures stand in the page as JSON.
"""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from derive_bench.measure.report.figures import Chart
from derive_bench.measure.report.files import Material
from derive_bench.measure.report.section import Section
from derive_bench.measure.report.sections import SECTIONS
from derive_bench.measure.results import OutputError
from derive_bench.measure.tables import Table

__all__ = ["PlotlyMissing", "render", "require_plotly", "write"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"

HERE = Path(__file__).parent


class PlotlyMissing(Exception):
    """The library that draws is not installed; the message says how to install it."""


def require_plotly() -> None:
    """See to it, before anything is read, that charts can be drawn.

    Raises:
        PlotlyMissing
    """
    if find_spec("plotly") is None:
        raise PlotlyMissing("the report is drawn by plotly, which is not installed: pip install 'derive_bench[report]'")


def render(material: Material, script: str) -> str:
    """The page.

    Args:
        script: plotly's JavaScript.
    """
    sections = [section for make in SECTIONS if (section := make(material))]
    links = "".join(f'<a href="#{section.key}">{html.escape(section.title)}</a>' for section in sections)
    title = "derive_bench" + (f", {material.latest.label}" if material.latest else "")
    style, own = ((HERE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">',
            f"<title>{html.escape(title)}</title><style>{style}</style></head><body>",
            f'<header><h1>{html.escape(title)}</h1><nav aria-label="Sections">{links}</nav></header><main>',
            *(_section(section) for section in sections),
            f"</main><script>{script}</script><script>{own}</script></body></html>",
        ]
    )


def write(material: Material, path: Path) -> None:
    """Write the page under a temporary name and rename it; a report that is there is replaced.

    Raises:
        OutputError
    """
    from plotly.offline import get_plotlyjs

    temporary = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        temporary.write_text(render(material, get_plotlyjs()), encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        if path.parent.is_dir():
            temporary.unlink(missing_ok=True)


def _section(section: Section) -> str:
    texts = "".join(f"<p>{html.escape(text)}</p>" for text in section.texts)
    charts = "".join(_chart(f"{section.key}-{number}", chart) for number, chart in enumerate(section.charts))
    tables = "".join(_table(table) for table in section.tables)
    if tables and not section.open_tables:
        tables = f"<details><summary>{html.escape(section.title)} as tables</summary>{tables}</details>"
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in section.notes)
    below = f'<ul class="notes">{notes}</ul>' if notes else ""
    return f'<section id="{section.key}"><h2>{html.escape(section.title)}</h2>{texts}{charts}{tables}{below}</section>'


def _chart(key: str, chart: Chart) -> str:
    # "<" would end the script element if a name held "</script>".
    figure = json.dumps(chart.figure, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<figure><figcaption>{html.escape(chart.title)}</figcaption><div class="chart" id="{key}" role="img" '
        f'aria-label="{html.escape(chart.alternative, quote=True)}" data-marks="{chart.marks}" style="height:{chart.height}px"></div>'
        f'<script type="application/json" data-for="{key}">{figure}</script></figure>'
    )


def _table(table: Table) -> str:
    title = html.escape(table.title)
    head = _line(table.headings, "th", ' scope="col"')
    body = "".join(_line(row, "td", "") for row in table.rows)
    return (
        f'<div class="table" tabindex="0" role="region" aria-label="{html.escape(table.title, quote=True)}"><table>'
        f"<caption>{title}</caption><thead>{head}</thead><tbody>{body}</tbody></table></div>"
    )


def _line(cells: Sequence[str], element: str, scope: str) -> str:
    return f"<tr>{''.join(_cells(cells, element, scope))}</tr>"


def _cells(cells: Sequence[str], element: str, scope: str) -> Iterable[str]:
    for cell in cells:
        yield f"<{element}{scope}>{html.escape(cell)}</{element}>"
