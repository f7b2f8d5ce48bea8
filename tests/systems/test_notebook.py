"""A real notebook: what its cells show, and models that they define in other processes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.comparison_sample import make_comparison
from tests.systems.conftest import missing
from tests.unit.test_notebook_code import CELLS

SHOWN = ["results[1]", "rw.BoostedRanker(n_estimators=3).fit(ds.X, ds.y, ds.qid, verbose=True)"]
# The same name, another body: what was kept is not its.
OTHER = """
import tempfile
folder = tempfile.mkdtemp()
def measured():
    result = compare(ds, [Entry("mine", Mine())], metrics=["ndcg@5"], folder=folder)
    return result.standings[0].means
one = measured()
assert measured() == one
class Mine(Mine):
    def predict(self, X):
        return -helper(X)
import warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    other = measured()
assert other != one
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    try:
        import nbformat
        from nbclient import NotebookClient
    except ImportError:
        missing("nbclient and ipykernel")
    cells = [*CELLS.strip().split("\n\n"), *SHOWN, OTHER]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    folder = tmp_path_factory.mktemp("notebook")
    NotebookClient(book, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return [cell["outputs"] for cell in book["cells"]]


def test_what_cells_define_runs_in_other_processes(outputs: list[Any]) -> None:
    printed = "".join(out.get("text", "") for cell in outputs for out in cell)
    assert "all is well" in printed


def test_a_comparison_is_shown(outputs: list[Any]) -> None:
    (result,) = outputs[-3]
    assert "<table" in result["data"]["text/html"]
    assert result["data"]["text/plain"].startswith("model ")


def test_progress_is_drawn_in_its_place(outputs: list[Any]) -> None:
    progress, estimator = outputs[-2]
    assert progress["output_type"] == "display_data"
    assert "tree 3 of 3" in progress["data"]["text/plain"]
    assert "BoostedRanker" in estimator["data"]["text/plain"]


@pytest.mark.parametrize("doctype", ["<!doctype html>", ""])
@pytest.mark.parametrize("theme", [("#ffffff", "#111111"), ("#111111", "#eeeeee")])
def test_the_colours_are_those_of_the_theme(
    theme: tuple[str, str],
    doctype: str,
    browser: Any,
) -> None:
    back, text = theme
    comparison = make_comparison()
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    body = f'<body style="background: {back}; color: {text}">{comparison._repr_html_()}'
    page.set_content(doctype + body)
    colours = page.locator("td, th, div, summary, svg, b").evaluate_all(
        "found => [...new Set(found.map(e => getComputedStyle(e).color))]"
    )
    backs = page.locator("td, th, tr, table, div").evaluate_all(
        "found => [...new Set(found.map(e => getComputedStyle(e).backgroundColor))]"
    )
    assert colours == [page.evaluate("getComputedStyle(document.body).color")]
    assert backs == ["rgba(0, 0, 0, 0)"]
    ends = page.locator("svg").evaluate_all(
        "found => [...new Set(found.map(e => Math.round(e.getBoundingClientRect().right)))]"
    )
    assert len(ends) == 1  # columns are level
    assert asked == []
    page.close()
