"""Take the pictures of the docs: the report, a notebook, and the page of the service.

``make screenshot`` runs this after the demo; it needs playwright and Chromium.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from serve_screenshot import take_serve

import rankwright as rw

REPORT = Path("demo/comparison/report.html")
PICTURE = Path(__file__).parent / "_static" / "report.png"
NOTEBOOK = Path(__file__).parent / "_static" / "notebook.png"
# What the picture leaves out: it shows the leaderboard and one query.
HIDDEN = (
    "header, #tests, #why, #segments, #training, #data, #card, #theory, details, "
    "#leaderboard > p, #queries > p, .controls, #more, .legend, #copy"
)
WIDTH = 1240


def main() -> None:
    """Open the report, choose two models and a query, and write the picture."""
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=["--no-sandbox", "--disable-background-networking"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": 1400}, color_scheme="light")
        page.goto(REPORT.resolve().as_uri())
        page.wait_for_selector("html[data-ready]")
        page.locator("#model-a").select_option(label="lambdarank-trees")
        page.locator("#found button").nth(1).click()
        page.locator("#lists .right li button").first.click()
        page.add_style_tag(
            content=f"{HIDDEN} {{ display: none !important; }} h2 {{ margin-top: 1.2rem; }}"
            ".plot-and-list { grid-template-columns: 23rem 1fr; } main { padding-bottom: 0; }"
            ".found { max-height: 19rem; flex-basis: 10rem; }"
            "section { margin-top: 1rem; padding-top: 1rem; }"
        )
        page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
        box = page.locator("main").bounding_box()
        assert box is not None
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": box["y"] + box["height"] + 16}
        page.screenshot(path=PICTURE, clip=clip, full_page=True)
        take_notebook(browser)
        take_serve(browser)
        browser.close()


def take_notebook(browser: Browser) -> None:
    """Write what a notebook shows of a comparison, in its light and its dark theme."""
    ds = rw.data.make_mslr_like(n_queries=150, n_features=40, mean_docs=25)
    names = ["xendcg-linear", "domination-rank-l1", "slam-perceptron", "best-feature", "random"]
    shown = rw.compare(ds, names, metrics=["ndcg@10", "map"], n_trials=4)._repr_html_()
    themes = ("background: #fff; color: #111", "background: #111; color: #e6e6e6")
    body = "".join(f'<div style="{theme}; padding: 12px">{shown}</div>' for theme in themes)
    page = browser.new_page(viewport={"width": 900, "height": 400}, device_scale_factor=1.5)
    page.set_content(f'<body style="margin: 0; font: 14px sans-serif">{body}')
    page.screenshot(path=NOTEBOOK, full_page=True)


if __name__ == "__main__":
    main()
