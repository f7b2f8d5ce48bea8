"""Pipelines of scikit-learn and constraints on trees, from the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import rankwright as rw
from tests.interfaces.conftest import Cli

FEATURES = ["price", "stock", "country"]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Return a table that is in the current folder, beside a pipeline that was fitted to it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "qid": np.repeat(np.arange(30), 10),
            "price": rng.lognormal(3, 1, 300),
            "stock": np.where(rng.random(300) < 0.1, np.nan, rng.poisson(4, 300)),
            "country": rng.choice(["de", "fr", "us"], 300),
        }
    )
    table["label"] = (table["price"] < 20).astype(int) + (table["country"] == "fr")
    table.to_csv("shop.csv", index=False)
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = ColumnTransformer(
        [("n", numbers, ["price", "stock"]), ("c", OneHotEncoder(), ["country"])]
    )
    pipeline = Pipeline([("columns", columns), ("rank", rw.LinearRanker("listnet"))])
    rw.save(pipeline.fit(table[FEATURES], table["label"], rank__qid=table["qid"]), "shop.rw")
    return table


def test_predict_finds_columns_and_texts(shop: pd.DataFrame, run: Cli) -> None:
    expected = rw.load("shop.rw").predict(shop[FEATURES])
    code, out, err = run("predict", "shop.rw", "shop.csv")
    assert (code, err) == (0, "")
    np.testing.assert_array_equal([float(line) for line in out.split()], expected)
    shop[["country", "label", "stock", "qid", "price"]].to_parquet("other.parquet")
    assert run("predict", "shop.rw", "other.parquet") == (0, out, "")


def test_evaluate_takes_a_pipeline(shop: pd.DataFrame, run: Cli) -> None:
    code, out, err = run("evaluate", "shop.csv", "shop.rw", "-m", "ndcg@10")
    assert code == 0, err
    scores = rw.load("shop.rw").predict(shop[FEATURES])
    data = rw.read("shop.csv", features=["price"])
    assert f"{rw.evaluate(scores, data, 'ndcg@10')['ndcg@10']:.4f}" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bounds", "shop.rw", "shop.csv"], "must be a linear model with a loss, but is a Pipel"),
        (["formula", "shop.rw"], "a formula needs one weight for each feature, which Pipeline h"),
        (["export", "shop.rw", "--to", "sql", "-o", "x.sql"], "ColumnTransformer cannot be folded"),
    ],
)
def test_what_a_pipeline_cannot_do_is_one_line(
    shop: pd.DataFrame, run: Cli, words: list[str], message: str
) -> None:
    code, out, err = run(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_trees_are_trained_with_constraints(shop: pd.DataFrame, run: Cli) -> None:
    told = ["train", "shop.csv", "--ignore", "country", "--model", "boosted", "-o", "trees.rw"]
    more = ["-p", "n_estimators=10", "-p", "interaction_constraints=[['price'], ['stock']]"]
    code, _, err = run(*told, *more, "-p", 'monotone_constraints={"price": -1}')
    assert code == 0, err
    ladder = pd.DataFrame({"price": np.arange(1.0, 200.0), "stock": 3.0})
    change = np.diff(rw.load("trees.rw").predict(ladder))
    assert (change <= 0).all()
    assert change.any()
    code, _, err = run(*told, "-p", "monotone_constraints={'prise': -1}")
    assert code == 2
    assert err.endswith("there is no feature 'prise'. Did you mean 'price'?\n")
