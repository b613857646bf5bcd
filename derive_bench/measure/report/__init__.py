"""The report: one HTML file with charts and tables of one or more results, which opens offline.

:mod:`files` reads what is given, each module of :mod:`sections` turns it into charts (figures of plotly, as plain values) and tables,
and :mod:`page` puts them into one file together with plotly's script. A section is a function ``make(material) -> Section | None``,
entered in ``sections.SECTIONS``.
"""
