"""The report, in a real browser: no errors, sorting, hover, drill-down, keyboard, contrast."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankwright.comparison import Comparison
from rankwright.report.report import payload, write_report
from tests.comparison_sample import make_comparison
from tests.systems.conftest import missing

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# As root in a container, without a network.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def result() -> Comparison:
    return make_comparison()


@pytest.fixture(scope="module")
def page_file(result: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(result, path, title="Demo <b>&</b>")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright import sync_api as api

    found = os.environ.get("RANKWRIGHT_BROWSER") or next(
        filter(None, map(shutil.which, BROWSERS)), None
    )
    if found is None:
        missing(f"a browser: none of {', '.join(BROWSERS)} is installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Any, page_file: Path) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    page = context.new_page()
    page.set_default_timeout(15_000)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.extend(re.findall(r"^(?!file:|data:).*", request.url)))
    page.goto(page_file.as_uri())
    page.wait_for_selector("html[data-ready]")
    yield page
    context.close()
    assert said == []  # no error, no warning, no request


def column(page: Any, n: int) -> list[str]:
    found: list[str] = page.locator(f"#board tbody tr :nth-child({n})[data-v]").evaluate_all(
        "cells => cells.map(c => c.dataset.v)"
    )
    return found


def test_the_leaderboard_sorts(page: Any, result: Comparison) -> None:
    names = [s.name for s in result.standings]
    assert column(page, 1) == names
    head = page.locator("#board thead th").first
    head.get_by_role("button").click()
    assert column(page, 1) == sorted(names)
    assert head.get_attribute("aria-sort") == "ascending"
    page.get_by_role("button", name="train").first.focus()
    page.keyboard.press("Enter")
    seconds = [float(v) for v in column(page, 8)]
    assert seconds == sorted(seconds, reverse=True)
    page.keyboard.press("Enter")
    assert [float(v) for v in column(page, 8)] == sorted(seconds)


def test_a_point_tells_and_opens_its_query(page: Any, result: Comparison) -> None:
    page.locator("#model-a").select_option(label="random")
    page.locator("#model-b").select_option(label="best-feature")
    by_name = {s.name: s for s in result.standings}
    x = by_name["random"].per_query["ndcg@10"]
    y = by_name["best-feature"].per_query["ndcg@10"]
    defined = ~np.isnan(x)
    assert page.locator("#scatter .dot").count() == defined.sum()
    won, lost = int((y > x + 1e-9).sum()), int((x > y + 1e-9).sum())
    assert (
        page.locator("#tally")
        .inner_text()
        .startswith(f"best-feature better on {won}, random on {lost}, equal on ")
    )
    # The query on which best-feature is better by most.
    q = int(np.nanargmax(y - x))
    queries = [i for fold in result.folds for i in fold.test.groups.names.tolist()]
    page.locator("#scatter").scroll_into_view_if_needed()
    page.locator(f"#scatter .dot[data-q='{q}']").hover()
    tip = page.locator("#tip").inner_text()
    assert f"Query {queries[q]} (Fold" in tip
    assert f"best-feature: {y[q]:.4f}" in tip
    page.locator(f"#scatter .dot[data-q='{q}']").click()
    assert page.locator("#drill-title").inner_text().startswith(f"Query {queries[q]} ")
    rows = page.locator("#lists .right li")
    assert rows.count() == 10
    labels = [int(v) for v in page.locator("#lists .right .chip").all_inner_texts()]
    found = payload(result)["lists"][q]
    k = [s.name for s in result.standings].index("best-feature")
    assert labels == [found["y"][d] for d in found["o"][k][:10]]
    # Lines join the documents that both lists show.
    left = {li.get_attribute("data-doc") for li in page.locator("#lists .left li").all()}
    right = {li.get_attribute("data-doc") for li in rows.all()}
    assert page.locator("#lists .link").count() == len(left & right)
    doc = (left & right).pop()
    page.locator(f"#lists .left li[data-doc='{doc}']").hover()
    assert page.locator(f"#lists [data-doc='{doc}'].lit").count() == 3
    page.locator("#more").click()
    assert rows.count() == len(found["o"][k])
    # Another metric, and the models swapped, keep the query.
    page.locator("#metric").select_option("rr")
    page.locator("#swap").click()
    assert page.locator("#drill-title").inner_text().startswith(f"Query {queries[q]} ")
    assert page.locator("#lists h4").last.inner_text().startswith("random")


def test_the_plot_works_with_the_keyboard(page: Any) -> None:
    page.locator("#scatter svg").focus()
    page.keyboard.press("End")
    first = page.locator("#announce").inner_text()
    assert first.startswith("Query ")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#announce").inner_text() != first
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    assert page.locator("#drill-title").evaluate("e => document.activeElement === e")
    assert page.locator("#drill-title").inner_text() == first.partition(",")[0]


def test_every_control_is_reached_by_tab(page: Any) -> None:
    page.locator("summary").first.click()
    page.locator("#extremes button").first.click()
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    wanted = page.evaluate(
        """() => {
          const all = [...document.querySelectorAll('a, button, select, summary, [tabindex="0"]')];
          const shown = all.filter(e => e.checkVisibility({visibilityProperty: true}));
          shown.forEach((e, i) => { e.dataset.stop = i; });
          return shown.length;
        }"""
    )
    assert wanted > 20
    seen = set()
    for _ in range(wanted + 5):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.dataset.stop"))
    assert {str(i) for i in range(wanted)} <= seen


CONTRAST = """
() => {
  const parse = c => (c.match(/[\\d.]+/g) || []).map(Number);
  const linear = v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = c => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
  const behind = e => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  const bad = [];
  for (const e of document.querySelectorAll('body *')) {
    const text = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!text || !e.checkVisibility() || e.closest('script, style, noscript')) continue;
    const style = getComputedStyle(e);
    const color = parse(e instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(color), light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) bad.push([e.outerHTML.slice(0, 80), ratio]);
  }
  return bad;
}
"""


def test_text_stands_out_in_light_and_dark(page: Any) -> None:
    page.locator("#extremes button").first.click()
    for details in page.locator("summary").all():
        details.click()
    for expected in ("light", "dark"):
        page.locator("#theme").click()
        assert page.locator("html").get_attribute("data-theme") == expected
        assert page.evaluate(CONTRAST) == []
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 23, 29)"
    page.locator("#theme").click()
    assert page.locator("html").get_attribute("data-theme") is None
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 23, 29)"
    assert page.evaluate(CONTRAST) == []


def test_it_fits_a_phone_and_paper(page: Any, tmp_path: Path) -> None:
    page.locator("#extremes button").first.click()
    page.set_viewport_size({"width": 375, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    wide = page.locator("#lists").evaluate("e => e.scrollWidth - e.clientWidth")
    assert wide <= 0
    for _ in range(2):
        page.evaluate("document.getElementById('theme').click()")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(CONTRAST) == []
    assert not page.locator("header").is_visible()
    assert page.locator("#board").is_visible()
    page.set_viewport_size({"width": 703, "height": 1000})  # A4 less its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 703
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_controls_have_names_and_headings_have_order(page: Any) -> None:
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, select, a')].filter(e =>
          !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).length"""
    )
    assert nameless == 0
    assert page.locator("h1").count() == 1
    assert page.locator("html").get_attribute("lang") == "en"
    ids = page.locator("[id]").evaluate_all("all => all.map(e => e.id)")
    assert len(ids) == len(set(ids))
    assert page.locator(".failed").inner_text().count("broken") >= 1
    assert page.locator("#charts .chart").count() >= 4


# ---- what must not run ----


def traces(browser: Any, path: Path, selector: str) -> tuple[list[str], list[str]]:
    """Return what ran of scripts that set ``window.ran``, and what the browser complained of."""
    context = browser.new_context()
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector(selector)
    ran = page.evaluate("window.ran || []")
    context.close()
    return ran, said


def test_only_the_scripts_of_the_report_run(browser: Any, page_file: Path, tmp_path: Path) -> None:
    text = page_file.read_text(encoding="utf-8")
    hostile = (
        "<script>(window.ran ||= []).push('script')</script>"
        "<img src=x onerror=\"(window.ran ||= []).push('handler')\">"
        "<base href='https://example.org/'>"
    )
    path = tmp_path / "report.html"
    path.write_text(text.replace("<h1", hostile + "<h1", 1), encoding="utf-8")
    ran, said = traces(browser, path, "html[data-ready]")  # its own script has run
    assert ran == []
    assert sum("Content Security Policy" in line for line in said) >= 3


HOSTILE = "</script><script>(window.ran ||= []).push(1)</script><!--<script>"


def test_names_in_a_chart_do_not_run(browser: Any, tmp_path: Path) -> None:
    from rankwright.report.charts import Series, line_chart, save_chart

    points = Series([1, 2], [1, 2], labels=[HOSTILE, "\u2028 & <b>"])
    chart = line_chart({HOSTILE: points}, x=HOSTILE, y="é <", title=HOSTILE)
    save_chart(chart, tmp_path / "chart.html")
    ran, said = traces(browser, tmp_path / "chart.html", "#vega-chart svg")
    assert (ran, said) == ([], [])
