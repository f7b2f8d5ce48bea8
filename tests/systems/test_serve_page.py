"""The page of the service, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from time import time
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.persistence import packed
from rankwright.serve.http.ranking_ids import new_ranking_id
from rankwright.serve.http.service import Service
from rankwright.serve.http.tokens import parse_tokens
from rankwright.serve.records import RankingRecord
from tests.page_sample import N_FEATURES, fill, open_service, serving, two_arms
from tests.systems.browsing import CONTRAST, FOCUS

HOSTILE = '<img src=x onerror="(window.ran ||= []).push(1)"><script>window.ran = [2]</script>'
ADMIN, READER = "an-admin-token-of-letters", "a-reading-token-of-letters"


class Site:
    """A service that can be stopped and begun again on the same port."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._running: Any = None
        self.port = 0
        self.begin()

    def begin(self) -> None:
        self._running = serving(self.service, self.port)
        self.port = self._running.__enter__()

    def stop(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.__exit__(None, None, None)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"


def hostile_log(service: Service) -> None:
    """Let every text that a caller chooses be markup."""
    store = service.store
    assert service.drift is not None
    service.drift.names = [HOSTILE, *(f"<b>{j}</b>" for j in range(1, N_FEATURES))]
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, N_FEATURES))
    third = rw.SLAMPerceptron().partial_fit(X, X[:, 1] > 0, np.repeat(np.arange(3), 10))
    store.add_model(packed(third), "SLAMPerceptron", True, time(), HOSTILE)
    store.begin_experiment(HOSTILE, 1, 2, 0.5, time(), "begin")
    service.board.refresh()
    fill(service, 100, HOSTILE, 1)
    model = service.board.look.models[1]
    ids = [HOSTILE, "</td><b>2</b>", "javascript:alert(1)"]
    ranking = RankingRecord(
        new_ranking_id(time()), time(), HOSTILE, model.version, "a", ids, model.rank(X[:3]), X[:3]
    )
    store.write([ranking], [])


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    service = open_service(tmp_path)
    fill(service, 300)
    site = Site(service)
    yield site
    site.stop()
    service.close()


class Told(list[str]):
    """What the browser complained of, and what it asked elsewhere."""

    def listen(self, page: Any, url: str) -> None:
        page.on("console", lambda message: self.append(message.text))
        page.on("pageerror", lambda error: self.append(str(error)))
        page.on("request", lambda request: self.extend(_elsewhere(request.url, url)))


def _elsewhere(asked: str, url: str) -> list[str]:
    return [] if asked.startswith((url, "data:")) else [asked]


@pytest.fixture
def told() -> Told:
    return Told()


def opened(context: Any, site: Site, told: Told) -> Any:
    page = context.new_page()
    page.set_default_timeout(15_000)
    told.listen(page, site.url)
    page.goto(site.url)
    page.wait_for_selector("html[data-ready]")
    return page


@pytest.fixture
def page(browser: Any, site: Site, told: Told) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1320, "height": 900}, color_scheme="light")
    yield opened(context, site, told)
    context.close()
    # No error, no breach of the policy, no request to elsewhere; only of a service that is away.
    assert [line for line in told if "ERR_CONNECTION_REFUSED" not in line] == []


def eventually(page: Any, expression: str) -> None:
    """Wait until this is so; playwright's own way is against the page's policy."""
    for _ in range(100):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(100)
    raise AssertionError(expression)


def tile(page: Any, n: int) -> str:
    text: str = page.locator("#answers .answer span:nth-child(2)").nth(n).inner_text()
    return text


# ---- what is seen ----


def test_the_five_questions_are_answered(page: Any, site: Site) -> None:
    assert page.locator("h1").inner_text().startswith("SLAMPerceptron 1+300")
    learner = site.service.store.learner(1)
    assert learner is not None
    assert learner.bound is not None
    assert tile(page, 0).startswith("Yes, for ")
    assert tile(page, 1) == "Yes"
    assert tile(page, 2) == f"Yes, at {100 * learner.loss / learner.bound:.0f} %"
    assert tile(page, 3) == "Nothing is compared"
    assert tile(page, 4) == "1 feature"
    assert page.locator("#loss .curve").count() == 2
    assert page.locator("#promise").is_visible()
    assert page.locator("#models tbody tr").count() == 2
    assert page.locator("#drift tbody th").first.inner_text() == "price"
    assert page.locator("#rankings tbody tr").count() == 20
    assert page.locator("#rates .curve").count() == 2


def test_charts_are_sentences_and_tables_too(page: Any, site: Site) -> None:
    learner = site.service.store.learner(1)
    assert learner is not None
    label = page.locator("#loss .plot").get_attribute("aria-label")
    assert label.startswith("Cumulative loss after 300 events: ")
    page.locator("#loss summary").click()
    first = page.locator("#loss tbody tr").first
    assert first.locator("th").inner_text() == "300"
    bound, loss = (float(text) for text in first.locator("td").all_inner_texts())
    assert loss == pytest.approx(learner.loss, rel=5e-3)
    assert bound == pytest.approx(learner.bound, rel=5e-3)
    # It stays open, and goes on, when there is more.
    fill(site.service, 50, "more", 3)
    eventually(page, "document.querySelector('#loss tbody th').textContent === '350'")
    box = page.locator("#loss svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert re.search(
        r"after \d+ events\s*bound: [\d.]+\s*loss: [\d.]+", page.locator("#tip").inner_text()
    )


def test_what_passes_through_is_drawn(page: Any, site: Site) -> None:
    documents = [{"id": f"d{i}", "features": [float(i)] * N_FEATURES} for i in range(5)]
    for i in range(30):
        answer = page.request.post(
            f"{site.url}v1/rank", data={"query": f"shoes {i}", "documents": documents}
        )
        assert answer.ok
    page.wait_for_selector("#routes tbody th:text('POST /v1/rank')")
    eventually(page, "document.querySelector('#routes tbody tr').textContent.includes('30')")
    assert "ms" in page.locator("#latencies .plot").get_attribute("aria-label")
    assert re.search(r"p99 [\d.]+ ms", page.locator("#answers .detail").first.inner_text())
    page.wait_for_selector("#rankings th button:text('shoes 29')")


def test_a_ranking_opens_with_its_reasons(page: Any, site: Site) -> None:
    button = page.locator("#rankings button").nth(2)
    query = button.inner_text()
    button.click()
    page.wait_for_selector("#ranking .why")
    assert page.locator("#ranking-title").inner_text() == f"Query {query}"
    assert page.locator("#ranking-title").evaluate("e => e === document.activeElement")
    assert page.locator("#ranking-content > table tbody tr").count() == 8
    caption = page.locator("#ranking .why caption")
    before = caption.inner_text()
    page.locator("#ranking-content > table button").nth(3).click()
    assert caption.inner_text() != before
    total = float(caption.inner_text().rpartition(" ")[2].replace("−", "-"))
    adds = page.locator("#ranking .why td.n").all_inner_texts()
    assert sum(float(a.replace("−", "-")) for a in adds) == pytest.approx(total, abs=5e-3)
    page.locator("#ranking-close").click()
    assert not page.locator("#ranking").is_visible()
    assert page.evaluate("document.activeElement.textContent") == query


# ---- what must not run ----


def test_hostile_texts_stay_texts(browser: Any, tmp_path: Path) -> None:
    service, told = open_service(tmp_path), Told()
    fill(service, 260)
    hostile_log(service)
    site = Site(service)
    context = browser.new_context(viewport={"width": 390, "height": 800})
    try:
        page = opened(context, site, told)
        assert page.locator("#models td.note").first.inner_text() == HOSTILE
        assert HOSTILE in page.locator("#experiments h3").inner_text()
        assert HOSTILE in page.locator("#drift").inner_text()
        page.locator("#rankings button").first.click()
        page.wait_for_selector("#ranking .why")
        assert HOSTILE in page.locator("#ranking-content").inner_text()
        page.locator("#models button").first.click()
        page.locator("#confirm-no").click()
        page.locator("#experiments button").click()
        assert HOSTILE in page.locator("#confirm-question").inner_text()
        page.locator("#confirm-no").click()
        assert page.evaluate("window.ran") is None
        assert page.locator("img, main b, main script, a[href^='javascript']").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert told == []
    finally:
        context.close()
        site.stop()
        service.close()


# ---- changes ----


def tab_to(page: Any, name: str) -> None:
    """Press Tab until a control of this name has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        found = page.evaluate(
            "() => { const e = document.activeElement;"
            " return e.getAttribute('aria-label') || e.textContent.trim(); }"
        )
        if found == name:
            return
    raise AssertionError(f"{name!r} is not reached by Tab")


def focused(page: Any) -> str:
    found: str = page.evaluate("document.activeElement.id || document.activeElement.dataset.key")
    return found


def test_promote_and_roll_back_by_keyboard(page: Any, site: Site) -> None:
    store = site.service.store

    def promoted() -> int:
        serving = store.serving()
        assert serving is not None
        return serving.promoted

    tab_to(page, "Promote model 2")
    page.keyboard.press("Enter")
    assert page.locator("#confirm").evaluate("e => e.matches(':modal')")
    assert page.locator("#confirm-question").inner_text() == "Serve model 2?"
    assert focused(page) == "confirm-no"  # what changes nothing comes first
    page.keyboard.press("Escape")
    assert not page.locator("#confirm").is_visible()
    eventually(page, "document.activeElement.dataset.key === 'promote 2'")
    assert promoted() == 1

    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    assert focused(page) == "confirm-yes"
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('SLAMPerceptron 2')")
    assert promoted() == 2
    # The page may look by itself before it hears that its request was granted.
    eventually(page, "document.getElementById('announce').textContent === 'Model 2 is served.'")
    # The button is gone; the next Tab goes on from here.
    eventually(page, "document.activeElement.id === 'models-title'")
    assert page.locator("tr.serving th").inner_text().startswith("2")

    tab_to(page, "Roll back to model 1")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('SLAMPerceptron 1')")
    assert promoted() == 1


@pytest.fixture
def refusals(page: Any, told: Told) -> Iterator[None]:
    """Take away what the browser tells of answers that are not 2xx."""
    yield
    told[:] = [line for line in told if "Failed to load resource" not in line]


@pytest.mark.usefixtures("refusals")
def test_an_experiment_begins_and_ends(page: Any, site: Site) -> None:
    page.locator("#experiment-begin summary").click()
    page.locator("#experiment-name").fill("new features")
    page.locator("#experiment-a").select_option("1")
    page.locator("#experiment-b").select_option("1")
    page.locator("#experiment-form button").click()
    page.wait_for_selector("#experiment-error:visible")
    assert "must be two models" in page.locator("#experiment-error").inner_text()
    page.locator("#experiment-b").select_option("2")
    page.locator("#experiment-share").fill("20")
    page.locator("#experiment-name").press("Enter")
    page.wait_for_selector("#experiments h3:has-text('new features')")
    serving = site.service.store.serving()
    assert serving is not None
    assert serving.experiment is not None
    assert (serving.experiment.b, serving.experiment.share) == (2, 0.2)
    assert "shares the queries" in page.locator("h1").inner_text()
    assert not page.locator("#experiment-begin").is_visible()
    fill(site.service, 400, "judged", 8)
    page.wait_for_selector("#experiments .interval")
    eventually(
        page, "document.querySelector('#experiments .verdict').textContent.includes('Model 2 is')"
    )
    page.locator("#experiments button").click()
    page.locator("#confirm-yes").click()
    page.wait_for_selector("#experiments .badge:text('ended')")
    serving = site.service.store.serving()
    assert serving is not None
    assert serving.experiment is None


# ---- tokens ----


def test_a_token_is_asked_for_and_kept_for_the_tab(browser: Any, tmp_path: Path) -> None:
    tokens = parse_tokens(f"admin {ADMIN}\nrank {READER}", "tokens")
    service, told = open_service(tmp_path, tokens), Told()
    fill(service, 30)
    site = Site(service)
    context = browser.new_context()
    try:
        page = opened(context, site, told)
        assert page.locator("html").get_attribute("data-ready") == "locked"
        assert page.locator("#connection-text").inner_text() == "Needs a token"
        assert page.locator("#token-error").inner_text() == "This service asks for a token."
        assert focused(page) == "token"
        for wrong, words in (("not-a-token", "is not known"), ("ä ö", "letters, digits")):
            page.locator("#token").fill(wrong)
            page.keyboard.press("Enter")
            eventually(
                page, f"document.getElementById('token-error').textContent.includes('{words}')"
            )
        page.locator("#token").fill(READER)
        page.keyboard.press("Enter")
        page.wait_for_selector("h1:has-text('SLAMPerceptron')")
        assert not page.locator("#token-form").is_visible()
        assert focused(page) == "token-button"
        # A reader sees, and is told why nothing changes.
        page.locator("#models button").first.click()
        page.locator("#confirm-yes").click()
        page.wait_for_selector("#confirm-error:visible")
        assert "scope 'admin'" in page.locator("#confirm-error").inner_text()
        page.keyboard.press("Escape")
        page.locator("#token-button").click()
        page.locator("#token").fill(ADMIN)
        page.locator("#token-form button[type=submit]").click()
        page.wait_for_selector("#token-form", state="hidden")
        page.locator("#models button").first.click()
        page.locator("#confirm-yes").click()
        page.wait_for_selector("h1:has-text('SLAMPerceptron 2')")
        # Kept over a reload, for this tab, and nowhere else.
        page.reload()
        page.wait_for_selector("h1:has-text('SLAMPerceptron 2')")
        assert page.evaluate("Object.values(sessionStorage)") == [ADMIN]
        assert page.evaluate("Object.values(localStorage)") == []
        assert page.evaluate("document.cookie") == ""
        other = opened(context, site, told)
        assert other.locator("html").get_attribute("data-ready") == "locked"
        page.locator("#token-button").click()
        page.locator("#token-forget").click()
        page.wait_for_selector("#connection-text:text('Needs a token')")
        assert page.evaluate("sessionStorage.length") == 0
        assert all(t not in asked for t in (ADMIN, READER) for asked in told)
        assert [line for line in told if "Failed to load resource" not in line] == []
    finally:
        context.close()
        site.stop()
        service.close()


# ---- when the service is away ----


def test_the_page_recovers_when_the_service_does(page: Any, site: Site) -> None:
    site.stop()
    page.wait_for_selector("#connection[data-mood=bad]")
    first = page.locator("#connection-text").inner_text()
    assert re.fullmatch(r"No connection since \d\d:\d\d:\d\d", first)
    assert page.locator("#announce").inner_text() == "No connection to the service."
    assert page.locator("h1").is_visible()  # the last figures stay
    assert page.locator("main").evaluate("e => e.classList.contains('stale')")
    page.wait_for_timeout(2500)
    assert page.locator("#connection-text").inner_text() == first  # since the beginning
    fill(site.service, 20, "meanwhile", 9)
    site.begin()
    page.wait_for_selector("#connection-text:text('Live')")
    page.wait_for_selector("h1:has-text('1+320')")
    assert page.locator("#announce").inner_text() == "Connected again."
    assert not page.locator("main").evaluate("e => e.classList.contains('stale')")


def test_nobody_asks_while_nobody_looks(page: Any) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    hide = """hidden => {
      Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }"""
    page.evaluate(hide, True)
    page.wait_for_timeout(500)
    asked.clear()
    page.wait_for_timeout(4500)
    assert asked == []
    page.evaluate(hide, False)
    page.wait_for_timeout(500)
    assert len(asked) == 1  # at once
    page.wait_for_timeout(4500)
    assert 2 <= len(asked) <= 4


def test_the_focus_stays_when_figures_change(page: Any, site: Site) -> None:
    page.locator("#models button").first.focus()
    fill(site.service, 30, "more", 4)
    page.wait_for_selector("h1:has-text('1+330')")
    assert focused(page) == "promote 2"
    page.locator("#experiment-begin summary").click()
    page.locator("#experiment-name").fill("half a na")
    fill(site.service, 30, "yet more", 5)
    page.wait_for_selector("h1:has-text('1+360')")
    assert page.locator("#experiment-name").input_value() == "half a na"
    assert focused(page) == "experiment-name"


# ---- for everybody ----


def everything_open(page: Any) -> None:
    page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    page.locator("#rankings button").first.click()
    page.wait_for_selector("#ranking .why")
    page.locator("#token-button").click()


def test_text_stands_out_in_light_and_dark(page: Any, site: Site) -> None:
    two_arms(site.service)
    fill(site.service, 150, "judged", 8)
    page.wait_for_selector("#experiments .interval")
    everything_open(page)
    assert page.evaluate(CONTRAST) == []
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 23, 29)"
    assert page.evaluate(CONTRAST) == []
    for expected in ("light", "dark"):
        page.locator("#theme").click()
        assert page.locator("html").get_attribute("data-theme") == expected
        assert page.evaluate(CONTRAST) == []
    page.locator("#models button").first.click()
    assert page.evaluate(CONTRAST) == []
    page.locator("#confirm-no").click()
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == "dark"


@pytest.mark.parametrize("width", [320, 390, 768, 1024])
def test_no_width_scrolls_sideways(page: Any, site: Site, width: int) -> None:
    two_arms(site.service)
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_selector("#experiments article")
    everything_open(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for chart in page.locator(".plot svg").all():
        box = chart.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


def test_every_control_is_reached_by_tab_and_seen(page: Any) -> None:
    everything_open(page)
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    mark = """() => {
      const kinds = 'a, button, select, input, summary, [tabindex="0"]';
      const shown = [...document.querySelectorAll(kinds)].filter((e) => e.checkVisibility());
      shown.forEach((e, i) => { e.dataset.stop = i; });
      return shown.length;
    }"""
    wanted = page.evaluate(mark)
    assert wanted > 40
    seen, unseen = [], set()
    for _ in range(wanted + 10):
        page.keyboard.press("Tab")
        stop = page.evaluate("document.activeElement.dataset.stop ?? null")
        if stop is not None:
            seen.append(int(stop))
        if not page.evaluate(FOCUS):
            unseen.add(stop)
    assert unseen == set()
    assert set(range(wanted)) - set(seen) == set()
    first = list(dict.fromkeys(seen))
    turn = first.index(0)
    order = first[turn:] + first[:turn]
    assert order == sorted(order)  # as it stands on the page


FACTS = """
() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const named = (e) =>
    e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length;
  const references = ['aria-labelledby', 'aria-describedby', 'aria-controls'];
  const targets = (e) =>
    references.flatMap((a) => (e.getAttribute(a) ?? '').split(' ').filter(Boolean));
  return {
    captions: all('table').filter((t) => !t.caption?.textContent).length,
    scopes: all('th:not([scope])').length,
    nameless: all('button, select, input, a, summary').filter((e) => !named(e)).length,
    ids: all('[id]').map((e) => e.id),
    levels: all('h1, h2, h3').filter((e) => e.checkVisibility()).map((e) => +e.tagName[1]),
    refs: all('*').flatMap(targets).filter((id) => !document.getElementById(id)),
    drawings: all('svg').filter((s) => !s.closest('[aria-hidden=true], [role=img]')).length,
    live: all('[aria-live], [role=status], [role=alert]').length,
  };
}
"""
SPOKEN = """
async () => {
  const said = [];
  const place = document.getElementById('announce');
  new MutationObserver(() => said.push(place.textContent))
    .observe(place, { childList: true, characterData: true, subtree: true });
  await new Promise((done) => setTimeout(done, 5000));
  return said;
}
"""


def test_tables_headings_and_names(page: Any, site: Site) -> None:
    two_arms(site.service)
    fill(site.service, 150, "judged", 8)
    page.wait_for_selector("#experiments .interval")
    everything_open(page)
    facts = page.evaluate(FACTS)
    assert (facts["captions"], facts["scopes"], facts["nameless"]) == (0, 0, 0)
    assert len(facts["ids"]) == len(set(facts["ids"]))
    assert facts["levels"][0] == 1
    assert facts["levels"].count(1) == 1
    assert all(b - a <= 1 for a, b in zip(facts["levels"], facts["levels"][1:], strict=False))
    assert facts["refs"] == []
    assert facts["drawings"] == 0
    assert facts["live"] == 4  # one for changes of state, and one for each error
    for role in ("banner", "navigation", "main", "contentinfo"):
        assert page.get_by_role(role).count() == 1
    assert page.locator("html").get_attribute("lang") == "en"
    said = page.evaluate(SPOKEN)
    assert said == []  # nothing is spoken while nothing changes
