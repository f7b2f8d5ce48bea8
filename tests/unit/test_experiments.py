"""The papers' experiments: small, fast, and with the orderings that they are about."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import numpy as np
import pytest

from rankwright.exceptions import DataError
from rankwright.experiments import PAPERS, Context, Findings, Row, chosen, reproduce
from rankwright.experiments.findings import difference_row, mean_of
from rankwright.experiments.page import (
    highlights,
    in_a_sentence,
    paper_page,
    proof_table,
    records,
    replace_part,
)
from rankwright.experiments.prank_learners import rows as compared_rows
from rankwright.experiments.prank_ratings import COLLECTIONS
from rankwright.experiments.xendcg_trials import LINEAR, WEB, sources

ALL = [(paper, e.name) for paper, found in PAPERS.items() for e in found]
_KEPT = TemporaryDirectory()  # until the process ends
FOLDER = _KEPT.name


@cache
def result_of(paper: str, name: str) -> tuple[Findings | None, Path]:
    """One experiment at quick scale, without any data set, and where it was written."""
    out = Path(mkdtemp(dir=FOLDER))
    (wanted,) = (experiment for experiment in chosen(paper) if experiment.name == name)
    (finished,) = reproduce([wanted], Context(cache=out / "cache"), out)
    return finished.result, out / paper


def findings(paper: str, name: str) -> Findings:
    result, _ = result_of(paper, name)
    assert result is not None
    return result


def rows_of(result: Findings, words: str) -> list[Row]:
    return [row for row in result.rows if words in row.what]


@pytest.mark.parametrize(("paper", "name"), ALL)
def test_every_experiment_says_something_or_lacks_its_data(paper: str, name: str) -> None:
    result, out = result_of(paper, name)
    if result is None:
        assert not (out / f"{name}.json").exists()
        return
    assert result.rows
    record = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
    assert record["command"].startswith(f"rankwright reproduce {paper}")
    for figure in result.figures:
        assert (out / f"{figure.name}.svg").read_text(encoding="utf-8").startswith("<svg")


def test_theorems_of_slam() -> None:
    bounds = findings("slam", "upper_bounds").rows
    assert [row.verdict for row in bounds] == ["holds"] * 6 + ["refuted"] * 2
    scale = {row.what.split("=")[-1]: row.verdict for row in findings("slam", "scale").rows}
    assert scale == {'"printed"': "refuted", '"paper"': "holds", '"misordered"': "holds"}
    assert findings("slam", "cumulative").rows[0].verdict == "holds"


def test_prank_is_below_the_multiclass_perceptrons() -> None:
    rows = rows_of(findings("prank", "figure2_left"), "rounds, multiclass perceptron")
    assert len(rows) == 2
    assert {row.verdict for row in rows} == {"reproduced"}


def test_paired_differences_decide_what_intervals_do_not() -> None:
    # Two learners on viewers who differ far more among each other than the learners do.
    rng = np.random.default_rng(0)
    viewers = rng.normal(1.0, 0.3, 150)
    prank = (viewers + 0.01 * rng.normal(size=150)).tolist()
    other = (viewers + 0.02).tolist()
    (_, ours), (_, theirs) = mean_of(prank), mean_of(other)
    assert ours[1] > theirs[0]  # unpaired intervals overlap
    first, second, third = compared_rows("", "", {"PRank": prank, "other": other, "same": prank})
    assert (first.verdict, second.verdict, third.verdict) == ("reported", "reproduced", "undecided")
    (_, lower) = compared_rows("", "", {"PRank": other, "other": prank}, "because")
    assert lower.verdict == "not reproduced"
    assert lower.note.startswith("because; minus PRank's: -0.0")
    _, elsewhere = compared_rows("", "", {"PRank": prank, "other": other}, other_data=True)
    assert elsewhere.verdict == "other data"


def test_theorems_of_slam_beyond_the_first() -> None:
    rows = findings("slam", "norms").rows
    verdicts: dict[str, set[str]] = {}
    for row in rows:
        verdicts.setdefault(row.source, set()).add(row.verdict)
    assert verdicts["Proposition 4"] == verdicts["Corollary 9"] == {"holds"}
    assert verdicts["Theorem 10"] == {"refuted"}
    refuted = [row.what for row in rows if row.verdict == "refuted" and "6.1" in row.source]
    assert len(refuted) == 1
    assert "RankSVM" in refuted[0]
    assert {row.verdict for row in findings("slam", "excess").rows} == {"holds"}


def test_predtron_of_costs_rejection_and_norms() -> None:
    rows = findings("predtron", "bounds").rows
    refuted = [row for row in rows if row.verdict == "refuted"]
    assert [row.note[:3] for row in refuted] == ["P4:"]
    for words in ("with costs", "reject", ", l1,", ", group,", ", trace,"):
        assert {row.verdict for row in rows if words in row.what} == {"holds"}
    corollaries = [row for row in rows if row.note.startswith("P11")]
    assert [row.source for row in corollaries] == [f"Corollary {n}" for n in (5, 6, 7, 8)]
    assert all(row.paper is not None and row.ours < 1e-4 * row.paper for row in corollaries)


def test_figure_1_of_predtron_falls_where_the_paper_rises() -> None:
    rows = findings("predtron", "figure1").rows
    (row,) = rows_of(findings("predtron", "figure1"), "generators, of 9")
    assert (row.ours, row.verdict) == (0, "not reproduced")
    assert {"Algorithm 1", "predicted"} == {
        name for row in rows for name in ("Algorithm 1", "predicted") if name in row.what
    }


def test_every_seed_draws_another_web() -> None:
    web, linear = sources(Context())
    assert (web.name, linear.name) == (WEB, LINEAR)
    first, again, other = (web.load(seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.X, again.X)
    assert first.n_docs != other.n_docs or not np.array_equal(first.X, other.X)
    np.testing.assert_array_equal(linear.load(0).X, linear.load(1).X)
    train, valid, test = (part.n_queries for part in web.split(0))
    assert (train, valid, test) == (48, 16, 16)


def test_xendcg_is_held_against_both_other_losses() -> None:
    rows = findings("xendcg", "figure2").rows
    for level in ("augmentation 0.3", "label perturbation 0"):
        mine = [row.what.split(": ")[1] for row in rows if f"{WEB}, {level}:" in row.what]
        assert mine == ["XE-NDCG MART - lambdaMART", "XE-NDCG MART - ListNet"]
    table = findings("xendcg", "table1").rows
    assert {row.what.split()[0] for row in table} == {WEB, LINEAR}


def test_ratings_are_read_and_compared(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    taste = rng.normal(size=(12, 2)) @ rng.normal(size=(2, 260))
    ratings = np.clip(np.rint(3.5 + taste), 1, 6).astype(int)
    folder = tmp_path / "ratings" / "eachmovie"
    folder.mkdir(parents=True)
    lines = (f"{i}\t{j}\t{ratings[i, j]}" for i in range(12) for j in range(260))
    (folder / "ratings.tsv").write_text("\n".join(lines))
    (experiment,) = (e for e in PAPERS["prank"] if e.name == "figure2_right")
    result = experiment.run(Context(data=tmp_path))
    assert result is not None
    assert len(result.rows) == 2 * 3 * 5  # features, settings, learners
    assert all("EachMovie, at least 200 ratings (12 viewers)" in row.what for row in result.rows)
    averaged = [row for row in result.rows if "scaled, batch, averaged" in row.what]
    assert averaged[0].ours == min(row.ours for row in averaged[:3])


@pytest.mark.parametrize(
    "text", ["", "0\t0\n", "0\t0\t7\n", "0\tx\t1\n", "0 0 1\n0 1\n", "-1 0 1\n"]
)
def test_ratings_that_cannot_be_are_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "ratings.tsv"
    path.write_text(text)
    message = r"ratings\.tsv must have lines of whole numbers: .* and a rating from 1 to 6\.$"
    with pytest.raises(DataError, match=message):
        COLLECTIONS[0].read(path)


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
    assert difference_row("", "", [-0.1, -0.11, -0.1, -0.09]).verdict == "not reproduced"
    assert difference_row("", "", [0.1, -0.11, 0.1, -0.09]).verdict == "undecided"


def test_pages(tmp_path: Path) -> None:
    _, folder = result_of("slam", "scale")
    found = records(folder.parent)
    assert "| slam | " not in proof_table(found)
    assert "[slam](slam.md)" in proof_table(found)
    page = paper_page([record for record in found if record["paper"] == "slam"], "results/slam")
    assert "### Theorem 5, Algorithm 1: the printed step size" in page
    assert "](results/slam/scale.svg)" in page
    barred = {**found[0], "rows": [{**found[0]["rows"][0], "what": "|z|^2"}]}
    assert "| \\|z\\|^2 |" in paper_page([barred], "")  # a table's cell, not three
    assert in_a_sentence(found).startswith("Of all claims, 2 hold or are reproduced, 1 are refuted")
    claims = highlights(found, "docs/papers").splitlines()
    assert len(claims) == 3  # of one paper, the others have no results here
    assert claims[2].startswith("| [slam](docs/papers/slam.md) | cumulative loss of Algorithm 1")
    assert claims[2].endswith("| 2,418 | as printed 5,000, only misordered 1.08 | refuted |")
    undecided = [{**row, "verdict": "undecided"} for row in found[0]["rows"]]
    assert len(highlights([{**found[0], "rows": undecided}], "").splitlines()) == 2
    path = tmp_path / "slam.md"
    path.write_text("# SLAM\n\nWords.\n")
    replace_part(path, "first")
    replace_part(path, "second")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# SLAM\n\nWords.\n")
    assert "second" in text
    assert "first" not in text
