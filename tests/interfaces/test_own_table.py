"""A stranger's own tables, from the first look to a model that scores tomorrow's.

The tables look as such tables do: ids that are texts, queries in any order, the index of a pandas
frame, texts, categories, missing values, features of very different sizes.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankwright as rw
from tests.interfaces.conftest import Cli

COLUMNS = ["--label", "relevance", "--qid", "query", "--doc-id", "sku"]
CATEGORIES = ["--categorical", "country"]
ONLINE = ["slam-perceptron", "online", "pamir", "predtron-ranker"]


def shop(n_queries: int, seed: int) -> pd.DataFrame:
    """Return judgements of a shop; revenue is a large number that tells nothing."""
    rng = np.random.default_rng(seed)
    n = 12 * n_queries
    country = rng.choice(["de", "fr", "us"], n)
    bm25, review = rng.normal(size=n) * 4, rng.normal(size=n) * 0.01 + 4
    good = bm25 / 4 + 100 * (review - 4) + (country == "de") + 0.3 * rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "query": np.repeat([f"running shoes {seed}/{i:03d}" for i in range(n_queries)], 12),
            "sku": [f"{seed:02d}-{i:05d}" for i in range(n)],
            "relevance": np.digitize(good, [-1.5, 0, 1.5]),
            "bm25": bm25,
            "review_mean": np.where(rng.random(n) < 0.1, np.nan, review),
            "revenue": np.exp(10 + 3 * rng.normal(size=n)),
            "country": country,
            "title": [f"a shoe, no. {i}" for i in range(n)],
        }
    )
    return frame.sample(frac=1, random_state=seed)


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    shop(100, 1).to_csv(tmp_path / "train.csv")
    shop(50, 2).to_csv(tmp_path / "test.csv")
    new = shop(20, 3).drop(columns=["relevance", "title"])
    new[new.columns[::-1]].to_parquet(tmp_path / "new.parquet")
    return tmp_path


def quality(run: Cli, model: str, path: str = "test.csv") -> float:
    assert run("predict", model, path, *COLUMNS, "-o", "scores.csv")[0] == 0
    code, out, _ = run("evaluate", path, "scores.csv", *COLUMNS, "-m", "ndcg@10")
    assert code == 0
    return float(out.splitlines()[1].split()[1])


def test_a_first_look(tables: Path, run: Cli) -> None:
    code, out, err = run("info", "train.csv", *COLUMNS, *CATEGORIES)
    assert code == 0
    assert "queries       100\nfeatures      4 (" in out
    assert "  real        'bm25', 'review_mean', 'revenue'\n  category    'country'\n" in out
    assert "missing       review_mean " in out
    assert "'' is left out: it looks like the index of a pandas frame" in err
    assert "'title' is left out: features must be numbers, not text" in err


@pytest.mark.parametrize("model", ["linear", "domination-rank", "boosted", *ONLINE])
def test_from_a_table_to_scores_of_another(model: str, tables: Path, run: Cli) -> None:
    words = ["train", "train.csv", *COLUMNS, *CATEGORIES, "--model", model, "-o", "deep/er/m.rw"]
    code, out, err = run(*words)
    assert code == 0
    assert ("standardized features" in out) == (model != "boosted")
    assert ("review_mean 9." in err and "(--missing)" in err) == (model != "boosted")
    assert quality(run, "deep/er/m.rw") > 0.85
    # Tomorrow's table: no labels, other columns first.
    words = ["predict", "deep/er/m.rw", "new.parquet", *COLUMNS]
    code, out, err = run(*words, "--top", 3, "-o", "o.csv")
    assert (code, out) == (0, "")
    assert err.startswith("rankwright: warning: new.parquet: '__index_level_0__' is left out: ")
    assert err.count("\n") == 1
    found = pd.read_csv(tables / "o.csv")
    assert list(found) == ["qid", "doc_id", "score", "rank"]
    assert found.groupby("qid")["rank"].apply(list).map(lambda ranks: ranks == [1, 2, 3]).all()
    scores = map(float, run(*words)[1].split())
    by_sku = dict(zip(pd.read_parquet(tables / "new.parquet")["sku"], scores, strict=True))
    assert [by_sku[sku] for sku in found["doc_id"]] == found["score"].tolist()


def test_online_learners_from_the_shell_are_better_than_chance(tables: Path, run: Cli) -> None:
    """Features of deviations from 0.01 to 10^6, as LETOR text, in a stream."""
    for name in ("train", "test"):
        frame = pd.read_csv(tables / f"{name}.csv", index_col=0)
        frame["query"] = frame["query"].str.replace(" ", "_")
        frame.sort_values("query").to_csv(tables / f"{name}.csv", index=False)
        words = [*COLUMNS, "--ignore", "country,title"]
        assert run("convert", f"{name}.csv", f"{name}.txt", *words)[0] == 0
    stream = ["train", "train.txt", "--stream", "--model", "slam-perceptron", "--missing", "median"]
    code, out, _ = run(*stream, "-o", "s.rw")
    assert code == 0
    assert "standardized features" in out
    assert run(*stream, "--no-standardize", "-o", "raw.rw")[0] == 0
    values = []
    for model in ("s.rw", "raw.rw"):
        assert run("predict", model, "test.txt", "-o", "s.txt")[0] == 0
        code, out, _ = run("evaluate", "test.txt", "s.txt", "-m", "ndcg@10")
        values.append(float(out.splitlines()[1].split()[1]))
    assert values[0] > 0.8 > values[1] + 0.1


def test_the_winner_is_fitted_to_all_and_scores(tables: Path, run: Cli) -> None:
    models = ["--models", "xendcg-linear,pamir", "--trials", 2]
    words = ["compare", "train.csv", "--test", "test.csv", *COLUMNS, *CATEGORIES, *models]
    code, _, err = run(*words, "--missing-indicator", "-o", "cmp")
    assert code == 0
    lines = [line for line in err.splitlines() if line.startswith("rankwright ")]
    train, predict = (shlex.split(line)[1:] for line in lines)
    assert run(*train)[0] == 0
    assert run(*predict)[0] == 0
    fitted = rw.load(tables / "cmp" / "model.rw")
    assert fitted.feature_names()[-1] == "review_mean is missing"
    assert quality(run, "cmp/model.rw") > 0.9
    code, _, err = run(*words, "--missing-indicator", "--refit", "refit.rw", "-o", "cmp2")
    assert code == 0
    again = rw.load(tables / "refit.rw")
    np.testing.assert_allclose(again.coef_, fitted.coef_, rtol=1e-4, atol=1e-6)


def test_what_is_missing_may_be_refused(tables: Path, run: Cli) -> None:
    first = shop(100, 1)["review_mean"].isna().to_numpy().argmax()
    code, out, err = run("train", "train.csv", *COLUMNS, "--missing", "error", "-o", "m.rw")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith(
        f"rankwright: train.csv, line {first + 2}, review_mean: must be a finite number, but"
    )
    code, _, err = run("train", "train.csv", *COLUMNS, "--missing", "mean", "-o", "m.rw")
    assert (code, err) == (
        2,
        "rankwright: --missing must be one of error, median, zero, but is 'mean'.\n",
    )
    assert not (tables / "m.rw").exists()


def test_zero_is_another_model_than_the_median(tables: Path, run: Cli) -> None:
    for missing in ("zero", "median"):
        words = ["train", "train.csv", *COLUMNS, "--missing", missing, "-o", f"{missing}.rw"]
        assert run(*words)[0] == 0
    zero, median = (rw.load(tables / f"{name}.rw") for name in ("zero", "median"))
    assert zero.missing == "zero"
    assert zero.fill_.tolist() == [0, 0, 0]
    np.testing.assert_allclose(median.fill_[1], 4, atol=0.01)


@pytest.mark.parametrize("command", ["tune", "noise-study", "path"])
def test_every_command_that_fits_takes_such_tables(command: str, tables: Path, run: Cli) -> None:
    more: dict[str, list[Any]] = {
        "tune": ["--trials", 2, "--folds", 2],
        "noise-study": ["--noise", "labels", "--models", "pamir", "--levels", "0", "--trials", 2],
        "path": ["--n-alphas", 3],
    }
    code, out, err = run(command, "train.csv", *COLUMNS, *CATEGORIES, *more[command])
    assert (code, "Traceback" in err) == (0, False), err
    assert out
    assert "(--missing)" in err


def test_testing_on_training_queries_is_refused(tables: Path, run: Cli) -> None:
    words = ["compare", "train.csv", "--test", "train.csv", *COLUMNS, "--models", "random"]
    code, _, err = run(*words)
    assert code == 2
    assert "--allow-overlap" in err.splitlines()[-1]


@pytest.mark.parametrize("model", ["linear", "boosted", "slam-perceptron"])
@pytest.mark.parametrize(
    "levels", [["01", "1", "2"], ["True", "False"], ["true", "false", "maybe"]]
)
def test_categories_are_texts_whatever_they_look_like(
    model: str, levels: list[str], tmp_path: Path, run: Cli
) -> None:
    rng = np.random.default_rng(0)
    c = rng.choice(levels, 240)
    label = (c == levels[0]) * 2 + (rng.random(240) < 0.3)
    frame = pd.DataFrame({"qid": np.arange(240) // 8, "label": label, "c": c, "x": rng.random(240)})
    frame.to_csv("train.csv", index=False)
    assert run("train", "train.csv", "--categorical", "c", "--model", model, "-o", "m.rw")[0] == 0
    expected = rw.load("m.rw").predict_dataset(rw.read("train.csv", categorical=["c"]))
    for words in ([], ["--categorical", "c"]):
        code, out, err = run("predict", "m.rw", "train.csv", *words)
        assert (code, err) == (0, "")
        np.testing.assert_array_equal(np.array(out.split(), dtype=float), expected)
    # A file with some of the levels only is read in the same way.
    some = frame[frame["c"] != levels[-1]]
    some.drop(columns="label").to_csv("some.csv", index=False)
    code, out, err = run("predict", "m.rw", "some.csv")
    assert (code, err) == (0, "")
    np.testing.assert_array_equal(np.array(out.split(), dtype=float), expected[some.index])
    # As are the parts of a table, whose types Arrow would guess differently.
    Path("parts").mkdir()
    for i, part in enumerate((some, frame[frame["c"] == levels[-1]])):
        part.to_csv(f"parts/{i}.csv", index=False)
    assert run("predict", "m.rw", "parts")[0] == 0


def test_what_is_read_is_not_written(tables: Path, run: Cli) -> None:
    assert run("train", "train.csv", *COLUMNS, "-o", "m.rw")[0] == 0
    Path("parts").mkdir()
    Path("train.csv").rename("parts/a.csv")
    before = {path: Path(path).read_bytes() for path in ("test.csv", "parts/a.csv", "m.rw")}
    cases = [
        (["predict", "m.rw", "test.csv", *COLUMNS], "test.csv", "is what is read"),
        (["predict", "m.rw", "parts", *COLUMNS], "parts/s.csv", "lies in the folder that is read"),
        (["train", "test.csv", *COLUMNS], "test.csv", "is what is read"),
        (["tune", "test.csv", *COLUMNS], "test.csv", "is what is read"),
    ]
    for words, out, why in cases:
        code, _, err = run(*words, "-o", out)
        assert (code, err) == (2, f"rankwright: {out}: {why}: write to another place.\n")
    code, _, err = run("convert", "test.csv", "test.csv", *COLUMNS)
    assert (code, "is what is read" in err) == (2, True)
    code, _, err = run("compare", "test.csv", *COLUMNS, "--refit", "test.csv")
    assert (code, "is what is read" in err) == (2, True)
    assert before == {path: Path(path).read_bytes() for path in before}
    assert sorted(path.name for path in Path("parts").iterdir()) == ["a.csv"]


def test_a_stream_has_no_names_to_make_indicators_of(tables: Path, run: Cli) -> None:
    Path("a.txt").write_text("1 qid:1 1:nan\n0 qid:1 1:2\n")
    words = ["train", "a.txt", "--stream", "--model", "slam-perceptron", "--missing-indicator"]
    assert run(*words, "-o", "m.rw") == (
        2,
        "",
        "rankwright: --missing-indicator needs names of features: a stream has none.\n",
    )
