"""The report, in a real browser: no errors, sorting, hover, drill-down, keyboard, contrast."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.comparison import Comparison, Entry, compare
from rankwright.comparison.job import Outcome
from rankwright.comparison.result import query_ids
from rankwright.evaluation import Fold, rotate
from rankwright.report.report import payload, report_html, write_report

pytest.importorskip("jinja2", reason="needs the extra report")

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
HOSTILE = "<img src=x onerror=alert(1)></script>"


@pytest.fixture(scope="module")
def result() -> Comparison:
    data = rw.data.make_mslr_like(n_queries=45, n_features=10, mean_docs=14)
    assert data.doc_ids is not None
    names = data.doc_ids.astype(object)
    names[0] = HOSTILE
    data = rw.Dataset(data.X, data.y, [f"q{q}" for q in data.qid], doc_ids=names.astype(str))
    models = ["xendcg-linear", "slam-linear", "xendcg-trees", "best-feature", "random"]
    sparse = Entry("sparse", rw.LinearRanker("listnet", "l1", 0.01, standardize=True), {}, "linear")
    broken = Entry("broken", rw.LinearRanker(HOSTILE))
    return compare(rotate(data, 3), [*models, sparse, broken], n_trials=2)


@pytest.fixture(scope="module")
def page_file(result: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(result, path, title="Demo <b>&</b>")
    return path


# ---- without a browser ----


def test_the_page_is_alone(page_file: Path) -> None:
    text = page_file.read_text()
    assert not re.search(r"(src|href)=[\"']?(https?:|//)", text)
    assert "@import" not in text
    assert "url(" not in text
    assert HOSTILE not in text
    assert "Demo &lt;b&gt;&amp;&lt;/b&gt;" in text


def test_the_lists_are_the_rankings(result: Comparison) -> None:
    data = payload(result)
    names = [s.name for s in result.standings]
    position = 0
    for fold in result.folds:
        for q, rows in enumerate(fold.test.groups):
            found = data["lists"][position + q]
            labels = fold.test.y[rows]
            for k, name in enumerate(names):
                scores = result.outcomes[name, fold.name].scores[rows]
                order = np.argsort(-scores, kind="stable")
                assert [found["y"][d] for d in found["o"][k]] == labels[order].tolist()
                assert fold.test.doc_ids is not None
                shown = [found["d"][d] for d in found["o"][k]]
                assert shown == [n[:48] for n in fold.test.doc_ids[rows][order].tolist()]
        position += fold.test.n_queries
    assert data["guarantees"]["slam-linear"]["holds"]
    assert data["paths"]["sparse"][0]["n_features"] == 0
    assert "valid ndcg@10" in data["curves"]["xendcg-trees"]


def synthetic(n_queries: int, n_docs: int, n_models: int, name: str) -> Comparison:
    rng = np.random.default_rng(0)
    rows = n_queries * n_docs
    y = rng.integers(0, 5, rows).astype(float)
    ids = np.array([f"{name}{rng.integers(10**8):08d}" for _ in range(rows)])
    qid = np.repeat(np.arange(10_000, 10_000 + n_queries), n_docs)
    data = rw.Dataset(rng.random((rows, 2)), y, qid, doc_ids=ids)
    few = data.select(np.arange(5))
    curve = {"valid ndcg@10": np.linspace(0.2, 0.6, 300).tolist()}
    values = rng.random(1000).tolist()
    guarantee = {
        "promise": "1 - ndcg",
        "mean_loss": 1.0,
        "mean_bound": 0.5,
        "holds": True,
        "loss": values,
        "bound": values,
        "queries": [str(i) for i in range(1000)],
    }
    facts = {
        "train_seconds": 1.0,
        "search_seconds": 1.0,
        "score_us": 1.0,
        "model_bytes": 1000,
        "features_used": 2,
        "params": {"alpha": 0.1},
        "curves": curve,
        "guarantee": guarantee,
    }
    entries = [Entry(f"model-{i}", rw.LinearRanker(), {}, "linear") for i in range(n_models)]
    outcomes = {
        (entry.name, "split"): Outcome(facts, y + rng.normal(size=rows) * (1 + i))
        for i, entry in enumerate(entries)
    }
    return Comparison.build(
        entries,
        [Fold("split", few, few, data)],
        ["ndcg@10", "ndcg@5", "ap", "rr"],
        outcomes,
        [],
        settings={"trials": 8, "random_state": 0, "processes": 1},
        seconds=1.0,
    )


def test_a_large_comparison_stays_below_5_mb() -> None:
    result = synthetic(1000, 100, 10, "GX001-02-")
    assert len(report_html(result)) < 5e6
    assert all(payload(result)["lists"])


def test_of_a_larger_one_the_most_different_queries_are_kept() -> None:
    result = synthetic(3000, 40, 2, "a-very-long-name-of-a-document-in-a-collection-")
    text = report_html(result)
    assert len(text) < 5e6
    lists = payload(result)["lists"]
    kept = np.array([found is not None for found in lists])
    assert 0 < kept.sum() < 3000
    a, b = (s.per_query["ndcg@10"] for s in result.standings)
    assert np.abs(a - b)[kept].min() >= np.abs(a - b)[~kept].max()
    assert f"of {kept.sum():,} of 3,000 queries" in text


def test_one_model_and_none() -> None:
    data = rw.data.make_mslr_like(n_queries=15, n_features=4, mean_docs=8)
    assert "there is nothing to compare it with" in report_html(compare(data, ["random"]))
    broken = Entry("broken", rw.LinearRanker("no loss"))
    assert "Every model failed." in report_html(compare(data, [broken]))


def test_without_jinja_it_is_named(result: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"needs the package jinja2.*rankwright\[report\]"):
        report_html(result)


# ---- in a browser ----


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    found = os.environ.get("RANKWRIGHT_BROWSER") or next(
        filter(None, map(shutil.which, BROWSERS)), None
    )
    if found is None:
        pytest.skip(f"needs a browser: none of {', '.join(BROWSERS)} is installed")
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
    queries = [i for fold in result.folds for i in query_ids(fold)]
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
