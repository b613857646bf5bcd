"""Progress: a line that rewrites itself on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import io

import pytest

from derive_bench.measure import progress as module
from derive_bench.measure.progress import ProgressLine
from derive_bench.measure.runner import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def at(done: int, left: float | None = 130.4) -> Progress:
    return Progress("inbound_pipeline/quotes", done, 190, round=2, rounds=8, seconds_left=left)


def test_terminal_line_is_rewritten_and_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    stream = Terminal()
    line = ProgressLine(stream)
    line(at(36))
    line(at(37))
    line.clear()
    assert stream.getvalue().split("\r\x1b[K") == [
        "",
        "[37/190] round 2/8, 2:10 left: inbound_pipeline/quotes",
        "[38/190] round 2/8, 2:10 left: inbound_pipeline/quotes",
        "",
    ]


def test_terminal_line_fits_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    stream = Terminal()
    ProgressLine(stream)(at(36))
    assert stream.getvalue() == "\r\x1b[K[37/190] round 2/8,"


def test_plain_lines_come_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(module, "monotonic", lambda: now)
    stream = io.StringIO()
    line = ProgressLine(stream)
    for done, now in enumerate((100.0, 105.0, 109.9, 110.0)):  # noqa: B007
        line(at(done, None))
    line.clear()
    assert stream.getvalue().splitlines() == [
        "[1/190] round 2/8: inbound_pipeline/quotes",
        "[4/190] round 2/8: inbound_pipeline/quotes",
    ]


def test_a_warm_up_pass_is_told() -> None:
    progress = Progress("inbound_pipeline/quotes", 3, 190, round=0, rounds=8, seconds_left=None)
    assert module.describe(progress) == "[4/190] warm-up pass: inbound_pipeline/quotes"
