"""The report, in a real browser: no errors, sorting, hover, drill-down, keyboard, contrast."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankwright.comparison import Comparison
from rankwright.report.content import content_of
from rankwright.report.payload import payload
from rankwright.report.rankings import ranked_lists
from rankwright.report.reasons import reasons_of
from rankwright.report.report import write_report
from tests.comparison_sample import make_comparison
from tests.systems.browsing import CONTRAST, FOCUS


@pytest.fixture(scope="module")
def result() -> Comparison:
    return make_comparison()


@pytest.fixture(scope="module")
def page_file(result: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(result, path, title="Demo <b>&</b>")
    return path


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


@pytest.fixture(scope="module")
def data(result: Comparison) -> dict[str, Any]:
    content = content_of(result)
    lists = ranked_lists(content)
    return payload(content, lists, reasons_of(content, lists))


def column(page: Any, n: int) -> list[str]:
    found: list[str] = page.locator(f"#board tbody tr :nth-child({n})[data-v]").evaluate_all(
        "cells => cells.map(c => c.dataset.v)"
    )
    return found


def test_the_leaderboard_sorts(page: Any, result: Comparison) -> None:
    models = [s.name for s in result.standings if s.family != "baseline"]
    baselines = [s.name for s in result.standings if s.family == "baseline"]
    assert column(page, 1) == models + baselines
    head = page.locator("#board thead th").first
    head.get_by_role("button").click()
    assert column(page, 1) == sorted(models) + sorted(baselines)  # groups stay apart
    assert head.get_attribute("aria-sort") == "ascending"
    page.get_by_role("button", name="train").first.focus()
    page.keyboard.press("Enter")
    seconds = [float(v) for v in column(page, 8)]
    n = len(models)
    assert seconds == sorted(seconds[:n]) + sorted(seconds[n:])  # what is cheap first
    page.keyboard.press("Enter")
    falling = [float(v) for v in column(page, 8)]
    assert falling == sorted(seconds[:n], reverse=True) + sorted(seconds[n:], reverse=True)


def test_intervals_have_an_axis_and_numbers(page: Any, result: Comparison) -> None:
    assert page.locator("#board .ticks text").count() >= 2
    best = result.standings[0]
    text = page.locator("#board tbody tr").first.locator(".ends").inner_text()
    assert text.strip() == f"{best.low['ndcg@10']:.4f} – {best.high['ndcg@10']:.4f}"


def test_quality_against_cost_is_reached_by_keyboard(page: Any, result: Comparison) -> None:
    models = [s for s in result.standings if s.family != "baseline"]
    costs, main = {s.name: s.score_us or 0.0 for s in models}, "ndcg@10"
    points = page.locator("#tradeoff .system")
    assert points.count() == len(models)
    for s, point in zip(models, points.all(), strict=True):
        point.focus()
        tip = page.locator("#tip").inner_text()
        assert f"ndcg@10 {s.means['ndcg@10']:.4f}" in tip
        better = [
            o for o in models if costs[o.name] < costs[s.name] and o.means[main] >= s.means[main]
        ]
        assert ("no other is both better and cheaper" in tip) == (not better)


def test_a_point_tells_and_opens_its_query(
    page: Any, result: Comparison, data: dict[str, Any]
) -> None:
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
    found = data["lists"][q]
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


def open_first(page: Any) -> None:
    page.locator("#found button").first.click()


def test_a_document_tells_why(page: Any, data: dict[str, Any]) -> None:
    names = [model["name"] for model in data["models"]]
    page.locator("#model-a").select_option(label="sparse")
    page.locator("#model-b").select_option(label="xendcg-trees")
    open_first(page)
    document = page.locator("#lists .right li button").nth(2)
    document.focus()
    page.keyboard.press("Enter")
    assert document.get_attribute("aria-pressed") == "true"
    name = document.locator(".name").inner_text()
    said = page.locator("#reasons h4").inner_text()
    assert said.startswith(f"Why {name} is number ")
    assert said.endswith(" and 3 for xendcg-trees")
    rows = page.locator("#reasons .why tbody tr")
    assert rows.count() >= 7  # five features or more, the others, the sum
    asked = [data["why"]["systems"].index(names.index(name)) for name in ("sparse", "xendcg-trees")]
    known = {feature for k in asked for feature in data["why"]["features"][k]}
    assert set(rows.locator("th").all_inner_texts()[:-2]) <= known
    # What is shown adds up, but for what a step of 0.05 leaves.
    for k in (0, 1):
        cells = [row.locator("td.n").nth(k).inner_text() for row in rows.all()]
        values = [float(v.replace("−", "-")) for v in cells if v != "small"]
        assert sum(values[:-1]) == pytest.approx(values[-1], abs=0.02)
    page.locator("#model-a").select_option(label="random")
    assert "Nothing is known of random" in page.locator("#reasons").inner_text()


def test_queries_are_searched_filtered_and_ordered(page: Any, data: dict[str, Any]) -> None:
    n = len(data["queries"])
    shown = page.locator("#found button")
    names = shown.locator(".name")
    a, b = data["start"]
    xs, ys = data["values"]["ndcg@10"][a], data["values"]["ndcg@10"][b]
    defined = [q for q in range(n) if xs[q] is not None]
    assert shown.count() == len(defined)
    page.locator("#order").select_option(label="worst of the vertical model")
    texts = [float(t) for t in page.locator("#found .b:not(.d)").all_inner_texts()]
    assert texts == sorted(texts)
    assert texts[0] == pytest.approx(min(ys[q] for q in defined), abs=6e-4)
    page.locator("#search").fill("Q1")
    wanted = {q for q in defined if "q1" in data["queries"][q]}
    assert {int(e) for e in shown.evaluate_all("all => all.map(e => e.dataset.q)")} == wanted
    assert page.locator("#scatter .dot").count() == len(wanted)
    assert f"of {len(wanted)} queries" in page.locator("#tally").inner_text()
    assert all("q1" in text for text in names.all_inner_texts())
    page.locator("#search").fill("")
    kinds = data["segments"]["list-length"]
    page.locator("#length").select_option(label=kinds["names"][-1])
    wanted = {q for q in defined if kinds["of"][q] == len(kinds["names"]) - 1}
    assert {int(e) for e in shown.evaluate_all("all => all.map(e => e.dataset.q)")} == wanted
    low, _, high = kinds["names"][-1].partition(" to ")
    assert all(int(low) <= data["lengths"][q] <= int(high or low) for q in wanted)
    page.locator("#search").fill("no such query")
    assert page.locator("#found").inner_text() == "No query is like that."


def test_a_link_leads_back_to_a_query(page: Any, page_file: Path, data: dict[str, Any]) -> None:
    page.locator("#model-a").select_option(label="random")
    page.locator("#model-b").select_option(label="sparse")
    page.locator("#metric").select_option("rr")
    page.locator("#found button").nth(3).click()
    title = page.locator("#drill-title").inner_text()
    left = page.locator("#lists").inner_text()
    page.locator("#copy").click()
    page.locator("#copy", has_text=re.compile("Link copied|The link is in the")).wait_for()
    link = page.url
    assert re.search(r"#q=q\d+&fold=Fold\d&a=random&b=sparse&metric=rr$", link)
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector("html[data-ready]")
    assert page.locator("#drill-title").inner_text() == title
    assert page.locator("#lists").inner_text() == left
    page.goto(page_file.as_uri() + "#q=%E0%A4&a=x")  # no text, no such model
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert not page.locator("#drill").is_visible()


def test_theory_is_folded_at_the_end(page: Any) -> None:
    last = page.locator("main > section").last
    assert last.get_attribute("id") == "theory"
    assert not page.locator("#theory-charts").is_visible()
    last.locator("summary").click()
    assert page.locator("#theory-charts .chart").count() >= 1
    assert page.locator("#charts").inner_text().count("Guarantee") == 0
    assert page.locator("#charts .best").count() == 1  # the best alpha of the path


def test_the_leaderboard_can_be_taken_along(page: Any, result: Comparison) -> None:
    for name, beginning in (
        ("leaderboard.csv", "model,family,ndcg@10"),
        ("leaderboard.tex", "% needs"),
    ):
        with page.expect_download() as caught:
            page.get_by_role("link", name=name).click()
        assert caught.value.suggested_filename == name
        assert Path(caught.value.path()).read_text(encoding="utf-8").startswith(beginning)


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
    open_first(page)
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    page.locator("#lists li button").first.click()
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    wanted = page.evaluate(
        """() => {
          const kinds = 'a, button, select, input, summary, [tabindex="0"]';
          const all = [...document.querySelectorAll(kinds)];
          const shown = all.filter(e => e.checkVisibility({visibilityProperty: true}));
          shown.forEach((e, i) => { e.dataset.stop = i; });
          return shown.length;
        }"""
    )
    assert wanted > 20
    seen = set()
    unseen = set()
    for _ in range(wanted + 5):
        page.keyboard.press("Tab")
        stop = page.evaluate("document.activeElement.dataset.stop")
        seen.add(stop)
        if not page.evaluate(FOCUS):
            unseen.add(stop)
    assert unseen == set()  # of what has the focus one sees that it has
    assert {str(i) for i in range(wanted)} <= seen


def test_text_stands_out_in_light_and_dark(page: Any) -> None:
    open_first(page)
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
    open_first(page)
    page.locator("#lists .right li button").first.click()
    page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    for width in (375, 390):
        page.set_viewport_size({"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        wide = page.locator("#lists").evaluate("e => e.scrollWidth - e.clientWidth")
        assert wide <= 0
        # Equal ranks stand level, however long the names of the models are.
        page.locator("#lists h4 span").first.evaluate(
            "e => { e.textContent = 'a-very-long-name-'.repeat(4); }"
        )
        tops = [
            page.locator(f"#lists .{side} li").evaluate_all(
                "all => all.map(e => e.getBoundingClientRect().top)"
            )
            for side in ("left", "right")
        ]
        assert tops[0] == tops[1]
    # What scrolls sideways has a shadow at its edge.
    scroll = page.locator("#leaderboard .scroll").first
    assert scroll.evaluate("e => e.scrollWidth > e.clientWidth")
    assert "linear-gradient" in scroll.evaluate("e => getComputedStyle(e).backgroundImage")
    for _ in range(2):
        page.evaluate("document.getElementById('theme').click()")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(CONTRAST) == []
    assert not page.locator("header").is_visible()
    assert page.locator("#board").is_visible()
    page.set_viewport_size({"width": 703, "height": 1000})  # A4 less its margins
    page.evaluate(  # as if there were nine models
        """() => { for (const row of document.querySelectorAll('.by-segment tr'))
          for (let i = 0; i < 5; i++) row.append(row.lastElementChild.cloneNode(true)); }"""
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 703
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_controls_have_names_and_headings_have_order(page: Any) -> None:
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, select, input, a')].filter(e =>
          !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).length"""
    )
    assert nameless == 0
    assert page.locator("h1").count() == 1
    assert page.locator("html").get_attribute("lang") == "en"
    ids = page.locator("[id]").evaluate_all("all => all.map(e => e.id)")
    assert len(ids) == len(set(ids))
    assert page.locator(".failed").inner_text().count("broken") >= 1
    assert page.locator("#charts .chart").count() >= 3


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
