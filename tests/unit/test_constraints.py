"""Constraints on trees, and trees as LightGBM's Booster."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import rankwright as rw
from rankwright import BoostedRanker, Dataset
from rankwright.data.alignment import Features
from rankwright.trees.constraints import constraints
from rankwright.trees.forest import Forest

NAMES = ["price", "stock", "clicks", "age"]


def made(n_queries: int = 40, names: list[str] | None = NAMES) -> Dataset:
    """Return queries with labels that no feature orders alone."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_queries * 15, 4))
    y = np.clip(np.round(np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(size=len(X))), 0, 4)
    return Dataset(X, y, np.repeat(np.arange(n_queries), 15), feature_names=names)


DATA = made()


def fit(data: Dataset = DATA, **params: Any) -> BoostedRanker:
    ranker = BoostedRanker(n_estimators=30, min_child_samples=5, num_leaves=15, **params)
    return ranker.fit_dataset(data)


def sweep(ranker: BoostedRanker, feature: int, data: Dataset = DATA) -> Any:
    """Return scores along rising values of a feature, everything else as in some documents."""
    values = np.linspace(-4, 4, 401)
    rows = np.repeat(data.X[:50, None, :], len(values), axis=1)
    rows[:, :, feature] = values
    return ranker.predict(rows.reshape(-1, data.n_features)).reshape(50, -1)


# ---- monotone ----


@pytest.mark.parametrize("loss", ["xendcg", "lambdarank", "lightgbm:lambdarank"])
@pytest.mark.parametrize("method", ["basic", "intermediate", "advanced"])
def test_scores_never_turn_back_along_a_monotone_feature(loss: str, method: str) -> None:
    ranker = fit(
        loss=loss,
        monotone_constraints={"price": -1, "clicks": 1},
        lightgbm_params={"monotone_constraints_method": method},
    )
    falling, rising, free = (np.diff(sweep(ranker, j), axis=1) for j in (0, 2, 1))
    assert (falling <= 0).all()
    assert (rising >= 0).all()
    assert falling.any()
    assert rising.any()
    assert (free < 0).any()
    assert (free > 0).any()


def test_without_the_constraint_they_do() -> None:
    change = np.diff(sweep(fit(), 0), axis=1)
    assert (change < 0).any()
    assert (change > 0).any()


@pytest.mark.parametrize(
    "constraints", [{"price": -1}, {0: -1}, {np.int64(0): -1}, [-1, 0, 0, 0], (-1, 0, 0, 0)]
)
def test_names_positions_and_lists_are_the_same(constraints: Any) -> None:
    assert fit(monotone_constraints=constraints).model_text_ == (
        fit(monotone_constraints={"price": -1, "age": 0}).model_text_
    )


def test_features_without_names_have_their_numbers() -> None:
    unnamed = made(names=None)
    ranker = fit(unnamed, monotone_constraints={"feature 1": -1})
    assert ranker.model_text_ == fit(unnamed, monotone_constraints={0: -1}).model_text_


# ---- interactions ----


def pairs_in_branches(ranker: BoostedRanker) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()

    def walk(node: dict[str, Any], above: set[int]) -> None:
        if "split_feature" in node:
            here = above | {node["split_feature"]}
            found.update((a, b) for a in here for b in here if a < b)
            walk(node["left_child"], here)
            walk(node["right_child"], here)

    for tree in ranker.booster_.dump_model()["tree_info"]:
        walk(tree["tree_structure"], set())
    return found


def test_only_features_of_a_list_meet_in_a_branch() -> None:
    ranker = fit(interaction_constraints=[["price", "age"], ["stock", "clicks"]])
    assert pairs_in_branches(ranker) == {(0, 3), (1, 2)}
    assert pairs_in_branches(fit()) > {(0, 3), (1, 2)}
    by_position = fit(interaction_constraints=[[0, 3], (1, "clicks")])
    assert by_position.model_text_ == ranker.model_text_


def test_a_feature_of_no_list_is_not_used() -> None:
    ranker = fit(interaction_constraints=[["price"], ["stock", "clicks"]])
    assert (ranker.importance("split") > 0).tolist() == [True, True, True, False]


# ---- what is refused ----


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"monotone_constraints": {"pirce": -1}},
            "monotone_constraints: there is no feature 'pirce'. Did you mean 'price'?",
        ),
        (
            {"interaction_constraints": [["price", "stok"]]},
            "interaction_constraints: there is no feature 'stok'. Did you mean 'stock'?",
        ),
        (
            {"monotone_constraints": {4: 1}},
            "monotone_constraints must name features from 0 to 3, but there is 4.",
        ),
        (
            {"monotone_constraints": [1, 0]},
            "monotone_constraints must be 4 numbers, one for each feature, but are 2. Or name "
            "features: {'price': -1}.",
        ),
        (
            {"monotone_constraints": {"price": 2}},
            "monotone_constraints must be a dict of features or a list, with -1, 0 and 1 as values "
            "or None, but is {'price': 2}.",
        ),
        ({"monotone_constraints": "price"}, "monotone_constraints must be a dict of feat"),
        ({"interaction_constraints": ["price"]}, "interaction_constraints must be lists of f"),
        (
            {"lightgbm_params": {"mc": [1, 0, 0, 0]}},
            "lightgbm_params must not have 'mc': use monotone_constraints.",
        ),
        (
            {"lightgbm_params": {"monotone_constraint_method": "basic"}},
            "LightGBM has no parameter 'monotone_constraint_method'. Did you mean "
            "'monotone_constraints_method'?",
        ),
    ],
)
def test_bad_constraints_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        fit(**params)
    assert str(caught.value).startswith(message)


def with_categories() -> Dataset:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(DATA.X, columns=NAMES).assign(
        label=DATA.y, qid=DATA.qid, land=np.array(["de", "us", "fr"])[np.arange(DATA.n_docs) % 3]
    )
    return rw.from_frame(frame, categorical=["land"])


def test_categories_have_no_order() -> None:
    with pytest.raises(ValueError, match=r"must not have 'land': categories have no order\.$"):
        fit(with_categories(), monotone_constraints={"land": 1})


# ---- everywhere ----


@pytest.mark.parametrize("constraints", [{"price": -1}, {0: -1}, [-1, 0, 0, 0]])
def test_constraints_are_saved(constraints: Any, tmp_path: Path) -> None:
    ranker = fit(monotone_constraints=constraints, interaction_constraints=[[0, "stock"]])
    rw.save(ranker, tmp_path / "model.rw")
    again = rw.load(tmp_path / "model.rw")
    assert again.get_params() == ranker.get_params()
    scorer = rw.load(tmp_path / "model.rw", scorer=True)
    np.testing.assert_array_equal(scorer.predict(DATA.X), ranker.predict(DATA))


def test_constraints_of_entries() -> None:
    entry = rw.comparison.Entry(
        "falling", BoostedRanker(n_estimators=5, monotone_constraints={"price": -1})
    )
    model = rw.compare(DATA, [entry], n_trials=1).model("falling")
    assert (np.diff(sweep(model, 0), axis=1) <= 0).all()


# ---- as LightGBM's ----


def test_the_booster_has_the_names_and_the_scores(tmp_path: Path) -> None:
    ranker = fit()
    rw.save(ranker, tmp_path / "model.rw")
    for each in (ranker, rw.load(tmp_path / "model.rw")):
        booster = each.booster_
        assert booster.feature_name() == NAMES
        np.testing.assert_array_equal(booster.predict(DATA.X), ranker.predict(DATA))
        gains = booster.feature_importance("gain")
        np.testing.assert_allclose(gains, ranker.feature_importances_)


def test_a_booster_of_features_without_names() -> None:
    assert fit(made(names=None)).booster_.feature_name()[0] == "Column_0"
    with pytest.raises(NotFittedError):
        BoostedRanker().booster_  # noqa: B018


def test_names_that_lightgbm_does_not_allow_are_told() -> None:
    odd = made(names=["in stock", "a:b", "a,b", "größe"])
    with pytest.warns(rw.DataWarning) as caught:
        booster = fit(odd).booster_
    assert [str(each.message) for each in caught] == [
        "LightGBM has no spaces and no \"[]{},: in names of features: 'in stock' is 'in_stock', "
        "'a:b' is 'a_b', 'a,b' is 'a_b_2'."
    ]
    assert booster.feature_name() == ["in_stock", "a_b", "a_b_2", "größe"]
    json.loads(json.dumps(booster.dump_model()))
    many = made(names=["a b", "a c", "a d", "a e"])
    with pytest.warns(rw.DataWarning, match=r"'a d' is 'a_d' and 1 more\.$"):
        fit(many).booster_  # noqa: B018


def test_the_booster_knows_the_categories() -> None:
    data = with_categories()
    ranker = fit(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        booster = ranker.booster_
    np.testing.assert_array_equal(booster.predict(data.X), ranker.predict(data))
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(data.X[:, :4], columns=NAMES)
    texts = np.array(["de", "us", "fr"])[np.arange(data.n_docs) % 3]
    frame["land"] = pd.Categorical(texts, categories=["us", "fr", "de"])  # in another order
    np.testing.assert_array_equal(booster.predict(frame), ranker.predict(data))
    assert Forest.from_text(ranker.model_text_, 5).n_trees == 30


def test_positions_from_the_end_are_refused_and_0_says_nothing_of_categories() -> None:
    known = Features(2, ["price", "brand"], categories={"brand": ["a", "b"]})
    with pytest.raises(ValueError, match="must name features from 0 to 1, but there is -1"):
        constraints({-1: 1}, None, known)
    assert constraints({"price": -1, "brand": 0}, None, known) == {"monotone_constraints": [-1, 0]}
