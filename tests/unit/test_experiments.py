"""The papers' experiments: small, fast, and with the orderings that they are about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankwright.experiments import PAPERS, Context, Findings, Finished, Row, chosen, reproduce
from rankwright.experiments.findings import difference_row, mean_of
from rankwright.experiments.page import paper_page, proof_table, records, replace_part

ALL = [(paper, e.name) for paper, found in PAPERS.items() for e in found]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Any]:
    """All experiments at quick scale, without any data set."""
    out = tmp_path_factory.mktemp("reproduce")
    found: list[Finished] = []
    for paper in PAPERS:
        found += reproduce(chosen(paper), Context(cache=out / "cache"), out)
    return {(f.experiment.paper, f.experiment.name): f.result for f in found} | {("", ""): out}


def rows_of(result: Findings, words: str) -> list[Row]:
    return [row for row in result.rows if words in row.what]


@pytest.mark.parametrize("which", ALL, ids=str)
def test_every_experiment_says_something_or_lacks_its_data(
    which: tuple[str, str], results: dict[tuple[str, str], Any]
) -> None:
    result = results[which]
    if result is None:
        return
    assert result.rows
    out: Path = results[("", "")]
    record = json.loads((out / which[0] / f"{which[1]}.json").read_text())
    assert record["command"].startswith(f"rankwright reproduce {which[0]}")
    for figure in result.figures:
        assert (out / which[0] / f"{figure.name}.svg").read_text().startswith("<svg")


def test_theorems_of_slam(results: dict[tuple[str, str], Any]) -> None:
    bounds = results[("slam", "upper_bounds")].rows
    assert [row.verdict for row in bounds] == ["holds"] * 4 + ["fails"] * 2
    scale = {row.what.split("=")[-1]: row.verdict for row in results[("slam", "scale")].rows}
    assert scale == {'"printed"': "fails", '"paper"': "holds", '"misordered"': "holds"}
    assert results[("slam", "cumulative")].rows[0].verdict == "holds"


def test_prank_is_below_the_multiclass_perceptrons(results: dict[tuple[str, str], Any]) -> None:
    rows = rows_of(results[("prank", "figure2_left")], "perceptron")
    assert len(rows) == 2
    assert {row.verdict for row in rows} == {"reproduced"}


def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    calls = []

    def work(value: int) -> int:
        calls.append(value)
        return 2 * value

    for _ in range(2):
        context = Context(cache=tmp_path / "cache")
        assert [context.once({"piece": i}, work, i) for i in range(3)] == [0, 2, 4]
    assert calls == [0, 1, 2]


def test_what_does_not_exist_is_named() -> None:
    with pytest.raises(ValueError, match=r"^PAPER must be one of slam, .* or all, but is 'x'\.$"):
        chosen("x")
    with pytest.raises(ValueError, match=r"^prank has no Table 7; it has Figure 2"):
        chosen("prank", "Table 7")
    assert {e.name for e in chosen("xendcg", "Table 1")} == {"table1"}
    assert {e.paper for e in chosen("all", "Figure 2")} == {"prank", "xendcg"}


def test_intervals() -> None:
    mean, (low, high) = mean_of([1.0, 2.0, 3.0])
    assert mean == 2
    assert (low, high) == pytest.approx((2 - 2.4841, 2 + 2.4841), abs=1e-3)
    assert difference_row("", "", [0.0, 0.0, 0.0]).verdict == "undecided"
    assert difference_row("", "", [0.1, 0.1, 0.1]).verdict == "reproduced"
    assert difference_row("", "", [0.1, 0.11, 0.1, 0.09]).verdict == "reproduced"
    assert difference_row("", "", [-0.1, -0.11, -0.1, -0.09]).verdict == "differs"
    assert difference_row("", "", [0.1, -0.11, 0.1, -0.09]).verdict == "undecided"


def test_pages(results: dict[tuple[str, str], Any], tmp_path: Path) -> None:
    found = records(results[("", "")])
    assert "| slam | " not in proof_table(found)
    assert "[slam](docs/papers/slam.md)" in proof_table(found)
    page = paper_page([record for record in found if record["paper"] == "slam"], "results/slam")
    assert "### Theorem 5, Algorithm 1: the printed step size" in page
    assert "](results/slam/scale.svg)" in page
    path = tmp_path / "slam.md"
    path.write_text("# SLAM\n\nWords.\n")
    replace_part(path, "first")
    replace_part(path, "second")
    text = path.read_text()
    assert text.startswith("# SLAM\n\nWords.\n")
    assert "second" in text
    assert "first" not in text
