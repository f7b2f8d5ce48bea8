"""Take the picture of the service's page: a service, a minute of a simulated shop, a browser.

``make screenshot`` runs this after the others; it needs the extra ``serve``, playwright and
Chromium. The loss of a ranker that begins with little is compared with a ranker that knows.
"""

from __future__ import annotations

import math
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
from playwright.sync_api import Browser, sync_playwright

import rankwright as rw

PICTURE = Path(__file__).parent / "_static" / "serve.png"
NAMES = ["bm25_title", "bm25_text", "clicks_7d", "rating", "price", "age_days", "stock", "brand"]
TASTE = np.array([1.0, 0.4, 0.9, 0.5, -0.6, -0.2, 0.3, 0.1])
THINGS = ["red shoes", "tent", "desk lamp", "usb cable", "rain jacket", "kids bike", "coffee mill"]
SECONDS = 64
COMMAND = ["serve", "monday.rw", "--comparator", "best.rw", "--port", "0"]
WIDTH = 1320


class Shop:
    """Asks for rankings, and judges them with some noise."""

    def __init__(self, url: str) -> None:
        self.client = httpx.Client(base_url=url, timeout=10)
        self.rng = np.random.default_rng(3)
        self.n = 0

    def ask(self, price: float = 0.0) -> tuple[str, dict[str, float]]:
        """Ask for a ranking; return its id and labels for it."""
        X = self.rng.normal(size=(20, len(NAMES)))
        X[:, NAMES.index("price")] += price
        ids = [f"sku-{n}" for n in self.rng.choice(90_000, size=len(X), replace=False)]
        documents = [{"id": i, "features": x.tolist()} for i, x in zip(ids, X, strict=True)]
        self.n += 1
        query = f"{THINGS[self.n % len(THINGS)]} {self.n % 911}"
        answer = self.client.post("/v1/rank", json={"query": query, "documents": documents})
        answer.raise_for_status()
        liked = X @ TASTE + self.rng.normal(scale=0.7, size=len(X))
        labels = np.digitize(liked, [1.0, 2.2]).tolist()
        return answer.json()["ranking_id"], dict(zip(ids, labels, strict=True))

    def judge(self, ranking_id: str, labels: dict[str, float]) -> None:
        """Send labels for a ranking."""
        body = {"event_id": f"e{self.n}", "ranking_id": ranking_id, "labels": labels}
        self.client.post("/v1/feedback", json=body).raise_for_status()


def trained(n_queries: int, noise: float, seed: int) -> rw.SLAMPerceptron:
    """Return a ranker that has seen so many queries."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20 * n_queries, len(NAMES)))
    y = np.digitize(X @ TASTE + rng.normal(scale=noise, size=len(X)), [1.0, 2.2])
    frame = pd.DataFrame(X, columns=NAMES)
    return rw.SLAMPerceptron(standardize=False).fit(frame, y, np.repeat(np.arange(n_queries), 20))


def simulate(url: str, folder: Path) -> None:
    """Upload a second model, let both share the queries, and rank and judge for a minute."""
    shop = Shop(url)
    content = (folder / "candidate.rw").read_bytes()
    added = shop.client.post("/v1/models?note=candidate.rw", content=content).raise_for_status()
    for _ in range(400):
        shop.judge(*shop.ask())
    body = {"name": "candidate", "a": 1, "b": added.json()["model"], "share": 0.5}
    shop.client.post("/v1/experiments", json=body).raise_for_status()
    begin = time.monotonic()
    while (since := time.monotonic() - begin) < SECONDS:
        ranking_id, labels = shop.ask(price=0.9 * (since > SECONDS / 3))
        if shop.n % 3:
            shop.judge(ranking_id, labels)
        time.sleep(0.012 + 0.008 * math.sin(since / 4) + 0.004 * shop.rng.random())


def take_serve(browser: Browser) -> None:
    """Start a service, use it, and write the picture of its page."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rw.save(trained(2, 3.0, 1), folder / "monday.rw")
        rw.save(trained(30, 1.5, 2), folder / "candidate.rw")
        rw.save(trained(400, 0.7, 3), folder / "best.rw")
        process = subprocess.Popen(
            [sys.executable, "-m", "rankwright", *COMMAND],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            lines = (re.search(r"http://[\w.:]+", line) for line in process.stdout)
            url = next(found.group() for found in lines if found)
            simulate(url, folder)
            page = browser.new_page(viewport={"width": WIDTH, "height": 1000}, color_scheme="light")
            page.goto(url)
            page.wait_for_selector("html[data-ready=yes]")
            box = page.locator("#ranked").bounding_box()
            assert box is not None
            clip = {"x": 0, "y": 0, "width": WIDTH, "height": box["y"]}
            page.screenshot(path=PICTURE, clip=clip, full_page=True)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def main() -> None:
    """Take this picture alone."""
    found = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        take_serve(browser)
        browser.close()


if __name__ == "__main__":
    main()
