"use strict";
(() => {
  const PAPER = 680;   // CSS pixels: the width of A4 and letter within the margins of a browser
  const ONE_PAGE = 900;
  const charts = [...document.querySelectorAll(".chart")];
  const settings = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: false };
  const draw = (chart) => {
    if (chart.dataset.drawn) return;
    chart.dataset.drawn = "yes";
    const { data, layout } = JSON.parse(document.querySelector(`script[data-for="${chart.id}"]`).textContent);
    Plotly.newPlot(chart, data, layout, settings);
  };
  const watch = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) if (isIntersecting) { draw(target); watch.unobserve(target); }
  }, { rootMargin: "900px" });
  for (const chart of charts) {
    chart.parentElement.classList.toggle("short", chart.clientHeight < ONE_PAGE);
    watch.observe(chart);
  }
  let opened = null;
  const toPaper = () => {
    if (opened) return;
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const each of opened) each.open = true;
    for (const chart of charts) { draw(chart); Plotly.relayout(chart, { width: PAPER }); }
  };
  const toScreen = () => {
    if (!opened) return;
    for (const each of opened) each.open = false;
    opened = null;
    for (const chart of charts) Plotly.relayout(chart, { width: null, autosize: true });
  };
  addEventListener("beforeprint", toPaper);
  addEventListener("afterprint", toScreen);
  matchMedia("print").addEventListener("change", ({ matches }) => (matches ? toPaper() : toScreen()));
})();
