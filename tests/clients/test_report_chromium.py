"""The report in a headless Chromium: three widths, dark, printed; nothing loaded, nothing cut off, everything drawn and legible."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from derive_bench.measure.report.files import load
from derive_bench.measure.report.page import write
from tests.measure.report import given

pytestmark = pytest.mark.clients

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]

CONTRAST = """() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).map((each) => {
      const c = each / 255;
      return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const back = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (colour !== "rgba(0, 0, 0, 0)") return colour;
    }
    return "rgb(255, 255, 255)";
  };
  let worst = 21;
  for (const node of document.querySelectorAll("h1, h2, p, a, figcaption, summary, th, td, li, .chart text")) {
    const style = getComputedStyle(node);
    const [one, two] = [light(node.closest("svg") ? style.fill : style.color), light(back(node))].sort((a, b) => b - a);
    worst = Math.min(worst, (one + 0.05) / (two + 0.05));
  }
  return worst;
}"""

DRAWN = """() => [...document.querySelectorAll(".chart")].map((chart) => [
  chart.id, Number(chart.dataset.marks), chart.querySelectorAll(".point path, path.point, path.box, .lines path").length,
  chart.querySelectorAll("svg.main-svg").length])"""

OVERLAPS = """() => [...document.querySelectorAll(".chart")].filter((chart) => {
  const boxes = [...chart.querySelectorAll(".annotation")].map((each) => each.getBoundingClientRect()).sort((a, b) => a.top - b.top);
  return boxes.some((box, at) => at && box.top < boxes[at - 1].bottom - 2);
}).map((chart) => chart.id)"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no Chromium here: apt install chromium, or name one in CHROMIUM")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("report")
    runs = [
        given.times(place / f"{number}.json", date=f"2026-01-0{number} 00:00:00", factor=1 + number / 20, more=60) for number in (1, 2, 3)
    ]
    write(
        load([*runs, given.counts(place / "c"), given.tail(place / "t"), given.peers(place / "p.details.json"), given.replay(place / "r")]),
        place / "report.html",
    )
    return place / "report.html"


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (360, "dark"), (800, "light"), (1400, "dark")])
def test_on_a_screen(browser: Any, report: Path, width: int, scheme: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    said, asked = _watch(page)
    page.goto(report.as_uri())
    _draw_all(page)
    assert not said
    assert asked == [report.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    _assert_drawn(page)
    assert not page.evaluate(OVERLAPS)
    assert page.evaluate(CONTRAST) >= 4.5
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "A"
    page.close()


def test_printed_it_is_light_and_whole(browser: Any, report: Path) -> None:
    page = browser.new_page(viewport={"width": 1000, "height": 800}, color_scheme="dark")
    said, _ = _watch(page)
    page.goto(report.as_uri())
    page.emulate_media(media="print")
    page.wait_for_function("document.querySelectorAll('.chart:not([data-drawn])').length === 0")
    page.set_viewport_size({"width": 718, "height": 1000})
    _assert_drawn(page)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(CONTRAST) >= 4.5
    assert page.evaluate("document.querySelectorAll('details:not([open])').length") == 0
    assert (
        page.evaluate("Math.max(...[...document.querySelectorAll('.main-svg')].map((each) => each.getBoundingClientRect().right))") <= 718
    )
    assert len(page.pdf(format="A4")) > 50_000
    assert not said
    page.close()


def _watch(page: Any) -> tuple[list[str], list[str]]:
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    return said, asked


def _draw_all(page: Any) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for number in range(page.locator(".chart").count()):
        page.locator(".chart").nth(number).scroll_into_view_if_needed()
    page.wait_for_function("document.querySelectorAll('.chart:not([data-drawn])').length === 0")


def _assert_drawn(page: Any) -> None:
    charts = page.evaluate(DRAWN)
    assert len(charts) >= 12
    assert not [chart for chart in charts if chart[2] < chart[1] or chart[3] == 0]
