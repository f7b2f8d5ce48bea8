"""One set of model names: compare, tune and train mean the same, and say how to go on."""

from __future__ import annotations

import html
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.comparison.entries import entry_of
from rankwright.models import MODELS, NAMES, make_model, name_and_params
from tests.interfaces.conftest import Cli

MATRIX = {"predtron-label-ranker", "predtron-multilabel"}  # need many labels for each document


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Tables as they come: string ids, an unsorted file, columns of other names, odd paths."""
    pytest.importorskip("pyarrow")
    data = rw.data.make_mslr_like(n_queries=36, n_features=6, mean_docs=9)
    rng = np.random.default_rng(0)
    folder = tmp_path / "my data"
    folder.mkdir()
    for name, part in zip(("train.csv", "test.csv"), data.split((0.7, 0.3)), strict=True):
        rows = [
            f"query {q},{y:g},shop {i % 3},{','.join(map(str, x))}"
            for i, (q, y, x) in enumerate(zip(part.qid, part.y, part.X.tolist(), strict=True))
        ]
        rng.shuffle(rows)
        head = "search term,grade,shop,a,b,c,d,e,f"
        (folder / name).write_text("\n".join([head, *rows]) + "\n")
    return tmp_path


TABLE = ["--qid", "search term", "--label", "grade", "--ignore", "shop,f"]


def lines(err: str) -> list[str]:
    return [line for line in err.splitlines() if line.startswith("rankwright ")]


def execute(line: str, run: Cli) -> tuple[int, str, str]:
    words = shlex.split(line)
    assert words[0] == "rankwright"
    return run(*words[1:])


def same_params(a: Any, b: Any) -> bool:
    left, right = (m.get_params() | {"n_jobs": None} for m in (a, b))
    return type(a) is type(b) and repr(left) == repr(right)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in MATRIX])
def test_train_and_compare_mean_the_same_model(name: str, run: Cli, tmp_path: Path) -> None:
    data = rw.data.make_mslr_like(n_queries=15, n_features=4, mean_docs=6)
    rw.write_letor(data, tmp_path / "data.txt")
    quick = ["-p", "n_estimators=3"] if "n_estimators" in make_model(name).get_params() else []
    code, _, err = run("train", "data.txt", "--model", name, *quick, "-o", "m.rw")
    assert code == 0, err
    entry = entry_of(name)
    assert entry.name == name
    trained = rw.load(tmp_path / "m.rw").get_params()
    trained |= {"n_estimators": entry.estimator.n_estimators} if quick else {}
    assert repr(trained) == repr(entry.estimator.get_params())


@pytest.mark.parametrize("name", NAMES)
def test_a_name_and_parameters_are_enough(name: str) -> None:
    assert name_and_params(make_model(name), name) == (name, {})
    known = make_model(name).get_params()
    changed = {
        k: v for k, v in {"alpha": 0.5, "n_epochs": 7, "num_leaves": 9}.items() if k in known
    }
    model = make_model(name, **changed)
    found = name_and_params(model, "a name of one's own")
    assert found is not None
    assert found[0] in MODELS
    assert same_params(make_model(found[0], **found[1]), model)
    assert name_and_params(model, name) == (name, changed)


def test_what_has_no_name_has_no_command() -> None:
    from sklearn.linear_model import Ridge

    from rankwright.cli.next_steps import train_command
    from rankwright.data.columns import Columns

    assert name_and_params(Ridge()) is None
    own = rw.LinearRanker(rw.losses.SLAM())
    assert train_command(own, "linear", ["a"], "m.rw", columns=Columns()) is None
    assert train_command(rw.LinearRanker(), "linear", ["-"], "m.rw", columns=Columns()) is None
    line = train_command(rw.LinearRanker(tol=0.5), "x", ["-a b"], "m.rw", columns=Columns())
    assert line == (
        "rankwright train './-a b' --model linear -p missing=error -p standardize=False "
        "-p tol=0.5 -o m.rw"
    )


@pytest.mark.parametrize("model", ["xendcg-linear", "lambdarank-trees"])
def test_compare_ends_with_commands_that_run(model: str, files: Path, run: Cli) -> None:
    words = ["compare", "my data/train.csv", "--test", "my data/test.csv", *TABLE]
    words += ["--models", f"{model},random", "--trials", "3", "-j", "1", "-o", "new/my out"]
    code, _, err = run(*words, "--refit", "new/models/best model.rw")
    assert code == 0
    (told,) = [line for line in err.splitlines() if "fitted to all" in line]
    n = sum(len(rw.read(files / "my data" / f, qid="search term", label="grade", ignore=["shop"]))
            for f in ("train.csv", "test.csv"))  # fmt: skip
    assert told == (
        f"new/models/best model.rw: {model}, fitted to all 36 queries (training, validation and "
        f"test), {n} documents"
    )
    code, _, err = run(*words)
    assert code == 0
    train, predict = lines(err)
    assert execute(train, run)[0] == 0
    assert execute(predict, run)[0] == 0
    refitted, trained = (
        rw.load(files / path) for path in ("new/models/best model.rw", "new/my out/model.rw")
    )
    assert same_params(refitted, trained)
    assert trained.feature_names() == ["a", "b", "c", "d", "e"]
    scores = np.loadtxt(files / "new/my out/scores.txt")
    test = rw.read(
        files / "my data/test.csv", qid="search term", label="grade", ignore=["shop", "f"]
    )
    np.testing.assert_allclose(scores, test.restore(refitted.predict(test.X)))
    page = (files / "new/my out/report.html").read_text(encoding="utf-8")
    assert html.escape(f"{train}\n{predict}") in page.replace("&#39;", "&#x27;")
    # The parameters are those of the search; trees are as many as validation queries let grow.
    (standing,) = [s for s in _result(files)["models"] if s["model"] == model]
    assert standing["params"][0].items() <= trained.get_params().items()
    if model == "lambdarank-trees":
        split = rw.load(files / f"new/my out/models/{model}/split/model.rw")
        assert trained.n_estimators == trained.n_iter_ == split.n_iter_


def _result(files: Path) -> Any:
    import json

    return json.loads((files / "new/my out/comparison.json").read_text(encoding="utf-8"))


def test_folds_are_refitted_with_what_was_best_on_average(files: Path, run: Cli) -> None:
    data = rw.data.make_mslr_like(n_queries=30, n_features=5, mean_docs=8)
    rw.write_letor(data, files / "all.txt")
    words: list[Any] = [
        "compare",
        "all.txt",
        "--folds",
        3,
        "--models",
        "xendcg-trees",
        "--trials",
        3,
    ]
    code, _, err = run(*words, "-j", 1)
    assert code == 0
    result = rw.compare(
        rw.evaluation.rotate(rw.read(files / "all.txt"), 3), ["xendcg-trees"], n_trials=3
    )
    facts = [result.outcomes["xendcg-trees", f"Fold{i}"].facts["trials"] for i in (1, 2, 3)]
    means = np.mean([[trial["valid"] for trial in fold] for fold in facts], axis=0)
    best = int(means.argmax())
    chosen = result.chosen()
    trees = [fold[best]["grown"]["n_estimators"] for fold in facts]
    assert chosen.n_estimators == np.median(trees)
    assert chosen.num_leaves == facts[0][best]["params"]["num_leaves"]
    model = result.refit()
    train, predict = lines(err)
    assert execute(train, run)[0] == 0
    assert execute(predict, run)[0] == 0
    again = rw.load(files / "comparison/model.rw")
    assert same_params(again, model)
    np.testing.assert_array_equal(again.predict(data.X), model.predict(data.X))


def test_a_folder_of_folds_and_a_line_up_of_ones_own(files: Path, run: Cli) -> None:
    data = rw.data.make_mslr_like(n_queries=30, n_features=5, mean_docs=8)
    for fold in rw.evaluation.rotate(data, 3):
        for part, name in zip(fold.parts().values(), ("train", "vali", "test"), strict=True):
            rw.write_letor(part, files / "letor" / fold.name / f"{name}.txt")
    (files / "mine.toml").write_text(
        '[models.mine]\nmodel = "linear"\nparams = { loss = "listnet", penalty = "l1" }\n'
    )
    code, _, err = run("compare", "letor", "--models", "mine.toml", "-j", 1)
    assert code == 0
    train, predict = lines(err)
    assert train == (
        "rankwright train letor/Fold1/train.txt letor/Fold1/vali.txt letor/Fold1/test.txt --model "
        "linear -p loss=listnet -p penalty=l1 -o comparison/model.rw"
    )
    assert execute(train, run)[0] == 0
    assert execute(predict, run)[0] == 0
    model = rw.LinearRanker("listnet", "l1", standardize=True).fit(data.X, data.y, data.qid)
    again = rw.load(files / "comparison/model.rw")
    np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("xendcg-linear", []),
        ("lambdarank-trees", ["-m", "ap", "-p", "n_estimators=20"]),
        ("linear", ["-s", "loss=listnet,slam", "-p", "penalty=l1"]),
        ("pamir", []),
    ],
)
def test_tune_prints_a_line_that_train_accepts(
    model: str, options: list[str], files: Path, run: Cli
) -> None:
    words = ["tune", "my data/train.csv", "--model", model, *options, *TABLE, "--trials", 3]
    code, out, _ = run(*words, "-j", 1, "-o", "by tune.rw")
    assert code == 0
    line = out.splitlines()[-1]
    assert line.startswith(f"rankwright train 'my data/train.csv' --model {model} ")
    assert execute(line.replace("by tune.rw", "by train.rw"), run)[0] == 0
    tuned, trained = (rw.load(files / f"by {name}.rw") for name in ("tune", "train"))
    assert same_params(tuned, trained)
    if model != "pamir":
        test = np.random.default_rng(0).normal(size=(20, 5))
        np.testing.assert_allclose(tuned.predict(test), trained.predict(test), atol=1e-9)


def test_trees_that_stop_early_put_queries_aside(run: Cli, tmp_path: Path) -> None:
    data = rw.data.make_mslr_like(n_queries=20, n_features=4, mean_docs=6)
    rw.write_letor(data, tmp_path / "data.txt")
    code, _, err = run("train", "data.txt", "--model", "xendcg-trees", "-o", "m.rw")
    assert code == 0
    kept, aside = rw.read(tmp_path / "data.txt").split((0.8, 0.2))
    note = f"{aside.n_queries} of 20 queries are put aside to stop by; --valid names others."
    assert err.splitlines()[0] == note
    ranker = make_model("xendcg-trees").fit(kept.X, kept.y, kept.qid, valid=aside)
    assert rw.load(tmp_path / "m.rw").n_iter_ == ranker.n_iter_
    words = ["train", "data.txt", "--model", "xendcg-trees", "-p", "early_stopping_rounds=None"]
    code, _, err = run(*words, "-p", "n_estimators=7", "-o", "m.rw")
    assert (code, "aside" in err) == (0, False)
    assert rw.load(tmp_path / "m.rw").n_iter_ == 7


def test_several_files_have_different_queries(files: Path, run: Cli) -> None:
    words = ["train", "my data/train.csv", "my data/test.csv", *TABLE, "-o", "m.rw"]
    assert run(*words)[0] == 0
    train = files / "my data/train.csv"
    (files / "again.csv").write_text(train.read_text(encoding="utf-8"))
    words = ["train", "my data/train.csv", "again.csv", *TABLE, "-o", "m.rw"]
    code, _, err = run(*words)
    assert code == 2
    assert "my data/train.csv and again.csv must have different queries, but query 'query " in err
    assert run(*words, "--allow-overlap", "-o", "twice.rw")[0] == 0
    assert run("train", "my data/train.csv", *TABLE, "-o", "once.rw")[0] == 0
    assert (rw.load(files / "twice.rw").coef_ == rw.load(files / "once.rw").coef_).all()
    code, _, err = run("train", "a.txt", "a.txt", "--stream", "--model", "pamir", "-o", "x.rw")
    assert (code, err) == (2, "rankwright: --stream learns from one file, but there are 2.\n")


def test_names_and_their_parameters() -> None:
    assert make_model("domination-rank-l1").alpha == 3e-2  # the variant's, not the model's 1e-2
    assert name_and_params(make_model("linear", n_jobs=3)) == ("linear", {})
    assert name_and_params(make_model("slam-perceptron", shuffle=1)) == (
        "slam-perceptron",
        {"shuffle": 1},
    )
    assert name_and_params(type("LinearRanker", (rw.LinearRanker,), {})()) is None
