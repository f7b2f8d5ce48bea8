"""``rankwright path`` and ``formula``, and the strongest features of ``train``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rankwright as rw
from rankwright.linear import LinearRanker, feature_names, formula, strongest_features
from tests.interfaces.conftest import Cli


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rw.write_letor(rw.data.make_mslr_like(n_queries=30, mean_docs=8), tmp_path / "data.txt")
    return tmp_path / "data.txt"


def test_path_is_that_of_python(data: Path, run: Cli) -> None:
    code, out, _ = run("path", data, "--n-alphas", "4", "-p", "n_induced=3", "--json")
    assert code == 0
    rows = json.loads(out)
    train, valid = rw.read(data).split((0.7, 0.3))
    ranker = rw.DominationRank("l1", standardize=True, n_induced=3)
    points = ranker.path(train.X, train.y, train.qid, n_alphas=4, valid=valid)
    assert [row["n_features"] for row in rows] == [point.n_features for point in points]
    np.testing.assert_allclose(
        [[row["alpha"], row["loss"], row["valid_loss"], row["quality"]] for row in rows],
        [[point.alpha, point.loss, point.valid_loss, point.quality] for point in points],
    )


def test_path_prints_a_table_and_draws(data: Path, run: Cli) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    for name in ("path.svg", "path.png"):
        chart = data.with_name(name)
        code, out, _ = run(
            *("path", data, "--valid", data, "-o", chart, "--n-alphas", "3", "--metric", "map")
        )
        assert code == 0
        assert out.splitlines()[0].split() == [
            *("alpha", "features", "loss", "validation", "loss", "map")
        ]
        assert len(out.splitlines()) == 4
        content = chart.read_bytes()
        assert content.startswith(b"<svg" if name.endswith("svg") else b"\x89PNG")
        if name.endswith("svg"):
            for text in (b"features in use", b"mean loss", b"map", b"alpha"):
                assert text in content


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["-o", "path.pdf"], "--out must be *.svg, *.png or *.html, but is 'path.pdf'."),
        (["--n-alphas", "0"], "--n-alphas must be a positive integer, but is 0."),
        (["--model", "pamir"], "path needs a model with a path of penalties, not pamir."),
        (["--penalty", "l3"], "penalty must be 'l1', 'l2', 'elasticnet' or None, but is 'l3'."),
        (
            ["-p", "penalty=l2"],
            "the penalty of a path must be given by --penalty, but came by -p. Use --penalty l2.",
        ),
        (["--metric", "f7"], "there is no metric 'f7'. There are "),
        (["-p", "layers=1"], "layers must be at least 2, or cut points, but is 1."),
    ],
)
def test_bad_options_are_one_line(options: list[str], line: str, data: Path, run: Cli) -> None:
    code, out, err = run("path", data, *options)
    assert (code, out) == (2, "")
    assert err.startswith(f"rankwright: {line}")
    assert err.count("\n") == 1


def test_train_shows_the_strongest_features_by_name(data: Path, run: Cli) -> None:
    ds, model = rw.read(data), data.with_name("model.rw")
    names = [f"feature {j}" for j in range(ds.n_features)]
    table = data.with_name("data.csv")
    columns = ["label", "qid", *names]
    rows = np.column_stack([ds.y, ds.qid, ds.X]).tolist()
    text = "\n".join([",".join(columns), *(",".join(map(repr, row)) for row in rows)])
    table.write_text(text + "\n")
    options = ["--model", "domination-rank", "--penalty", "l1", "--alpha", "1", "-o", model]
    code, out, _ = run("train", table, *options)
    assert code == 0
    ranker = rw.load(model)
    assert ranker.standardize  # as for linear models, files have features of any scale
    strongest = strongest_features(ranker)
    lines = out.splitlines()
    assert lines[0].startswith(f"{model}: DominationRank, standardized features, objective ")
    assert "gap at most" in lines[0]
    assert lines[2].split() == ["strongest", "feature", "weight"]
    assert [line.rsplit(None, 1)[0].strip() for line in lines[3:]] == [n for n, _ in strongest]
    assert strongest[0][0].startswith("feature ")
    code, out, _ = run("train", table, *options, "--json")
    assert json.loads(out)["strongest"] == [list(pair) for pair in strongest]
    code, out, _ = run("formula", model, "--digits", "17")
    assert code == 0
    assert out.rstrip("\n") == formula(ranker, digits=17)


def test_a_formula_is_the_model() -> None:
    ds = rw.data.make_mslr_like(n_queries=20, mean_docs=8)
    ranker = rw.DominationRank("l1", 1.0, standardize=True).fit(ds.X, ds.y, ds.qid)
    assert feature_names(ranker)[:2] == ["feature 1", "feature 2"]
    terms = formula(ranker, digits=17).splitlines()
    assert terms[0] == "score ="
    scores = np.zeros(ds.n_docs)
    for term in terms[1:]:
        weight, name = term.replace(" ", "").split("*'feature")
        scores += float(weight) * ds.X[:, int(name.rstrip("'")) - 1]
    np.testing.assert_allclose(scores, ranker.predict(ds.X), rtol=1e-6, atol=1e-6)
    weights = np.abs([weight for _, weight in strongest_features(ranker, None)])
    assert (np.diff(weights) <= 0).all()
    assert len(strongest_features(ranker, 3)) == 3


@pytest.mark.filterwarnings("ignore:this model ranks nothing")
def test_what_has_no_formula() -> None:
    ds = rw.data.make_mslr_like(n_queries=20, mean_docs=8)
    nothing = LinearRanker("domination", "l1", 1e9).fit(ds.X, ds.y, ds.qid)
    assert formula(nothing) == "score = 0"
    with pytest.raises(ValueError, match=r"^digits must be a positive integer, but is 0\.$"):
        formula(nothing, digits=0)
    labels = rw.MulticlassPerceptron().fit(ds.X, ds.y)
    with pytest.raises(TypeError, match=r"^a formula needs one weight for each feature, which "):
        formula(labels)


def test_names_with_blanks_are_quoted() -> None:
    data = rw.Dataset([[1.0, 0], [0, 1]], [1, 0], None, feature_names=["page rank", "age"])
    text = formula(rw.DominationRank(alpha=0.1).fit_dataset(data), digits=2)
    assert "* 'page rank'" in text
    assert "* age" in text
