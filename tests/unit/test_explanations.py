"""explain and permutation_importance."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwright as rw
from rankwright.data import Dataset, make_mslr_like
from rankwright.evaluation import explain, permutation_importance
from rankwright.metrics import NDCG, DominationError, PairwiseError

DATA = make_mslr_like(n_queries=60, n_features=9, mean_docs=20, random_state=2)
LINEAR = rw.LinearRanker("listnet", standardize=True).fit(DATA.X, DATA.y, DATA.qid)
TREES = rw.BoostedRanker(n_estimators=20, num_leaves=7).fit(DATA.X, DATA.y, DATA.qid)
QUERY = DATA.X[: DATA.groups.indptr[1]]


class Fixed:
    """A linear model that was not fitted."""

    def __init__(self, *weights: float) -> None:
        self.coef_ = np.array(weights)

    def predict(self, X: Any) -> Any:
        return np.asarray(X @ self.coef_)


# --- explain -----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [LINEAR, TREES], ids=["linear", "trees"])
@settings(max_examples=30, deadline=None)
@given(st.data())
def test_reasons_sum_to_the_difference_of_the_scores(model: Any, data: st.DataObject) -> None:
    found = explain(model, QUERY)
    a, b = (data.draw(st.integers(0, len(QUERY) - 1)) for _ in range(2))
    reasons = found.why(a, b)
    scores = model.predict(QUERY)
    assert sum(r.difference for r in reasons) == pytest.approx(scores[a] - scores[b], abs=1e-9)
    assert sorted(abs(r.difference) for r in reasons)[::-1] == [abs(r.difference) for r in reasons]


def test_a_linear_model_is_explained_exactly() -> None:
    found = explain(Fixed(2.0, -1.0, 0.5), [[1.0, 3.0, 0.0], [0.0, 0.0, 4.0]], ["a", "b", "c"])
    assert [(r.feature, r.difference) for r in found.why(0, 1)] == [
        ("b", -1.0 * 3 - 0),
        ("a", 2.0 * 1 - 0),
        ("c", 0.5 * 0 - 0.5 * 4),
    ]
    assert found.scores.tolist() == [2 - 3, 2]
    assert found.order.tolist() == [1, 0]
    assert repr(found) == (
        "row 1 stands above row 0: 2.0000 against -1.0000\n"
        "  +3.0000  b (0 against 3)\n"
        "  -2.0000  a (0 against 1)\n"
        "  +2.0000  c (4 against 0)"
    )
    assert found.text(0, 1, n_reasons=1) == (
        "row 0 stands below row 1: -1.0000 against 2.0000\n"
        "  -3.0000  b (3 against 0)\n"
        "  +0.0000  2 other features"
    )
    assert "level with" in found.text(0, 0)


def test_contributions_of_trees_are_what_lightgbm_says() -> None:
    found = explain(TREES, QUERY)
    booster = lightgbm.Booster(model_str=TREES.model_text_)
    expected = np.asarray(booster.predict(QUERY, pred_contrib=True))
    np.testing.assert_allclose(found.contributions, expected[:, :-1])
    np.testing.assert_allclose(found.start, expected[:, -1])
    np.testing.assert_allclose(found.start + found.contributions.sum(axis=1), found.scores)


def test_a_feature_that_no_tree_uses_is_no_reason() -> None:
    X = np.column_stack([DATA.X, np.zeros(DATA.n_docs)])
    trees = rw.BoostedRanker(n_estimators=5).fit(X, DATA.y, DATA.qid)
    X[:, -1] = np.arange(len(X))
    assert not explain(trees, X[:10]).contributions[:, -1].any()


@pytest.mark.parametrize("model", [LINEAR, TREES], ids=["linear", "trees"])
def test_sparse_documents(model: Any) -> None:
    dense, sparse = explain(model, QUERY), explain(model, sp.csr_array(QUERY))
    np.testing.assert_allclose(sparse.contributions, dense.contributions)


def test_names_of_the_features() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(DATA.X, columns=[f"f{j}" for j in range(9)])
    model = rw.LinearRanker().fit(frame, DATA.y, DATA.qid)
    assert {r.feature for r in explain(model, frame[:5]).why(0, 1)} == {f"f{j}" for j in range(9)}
    assert explain(LINEAR, QUERY).feature_names[0] == "feature 1"
    with pytest.raises(ValueError, match="feature_names must name 9 features, but has 1 names"):
        explain(LINEAR, QUERY, ["x"])


def test_what_cannot_be_explained() -> None:
    class Opaque:
        def predict(self, X: Any) -> Any:
            return np.zeros(len(X))

    with pytest.raises(TypeError, match="must be linear or have a method contributions"):
        explain(Opaque(), QUERY)
    with pytest.raises(IndexError, match="rows must be below 2, but one is 2"):
        explain(Fixed(1.0), [[1.0], [2.0]]).why(0, 2)
    assert repr(explain(Fixed(1.0), [[1.0]])) == "Explanation(1 document)"


# --- permutation importance --------------------------------------------------------------------


def test_shuffles_stay_within_the_query() -> None:
    seen: list[Any] = []

    class Recorder(Fixed):
        def predict(self, X: Any) -> Any:
            seen.append(np.array(X))
            return super().predict(X)

    before = DATA.X.copy()
    permutation_importance(Recorder(*np.ones(9)), DATA, n_repeats=2)
    np.testing.assert_array_equal(DATA.X, before)
    changed = 0
    for X in seen[1:]:
        columns = np.flatnonzero((before != X).any(axis=0))
        assert len(columns) == 1
        changed += 1
        for rows in DATA.groups:
            np.testing.assert_array_equal(
                np.sort(X[rows, columns[0]]), np.sort(before[rows, columns[0]])
            )
    assert changed == 8 * 2  # feature 7 belongs to the query, and stays


def test_the_drop_is_that_of_the_metric() -> None:
    X, qid = np.random.default_rng(0).normal(size=(400, 2)), np.repeat(np.arange(40), 10)
    data = Dataset(X, (X[:, 0] > 0).astype(float) + (X[:, 0] > 1), qid, feature_names=["a", "b"])
    found = permutation_importance(Fixed(1.0, 0.0), data, n_repeats=20)
    assert found.value == NDCG(k=10).mean(data.y, X[:, 0], data.groups)
    noise = np.mean(
        [
            NDCG(k=10).mean(data.y, np.random.default_rng(s).normal(size=400), data.groups)
            for s in range(20)
        ]
    )
    assert found.mean[0] == pytest.approx(found.value - noise, abs=0.02)
    assert not found.drops[1].any()
    assert found.std[0] > 0
    text = repr(found)
    assert text.startswith(f"ndcg@10 {found.value:.4f}; with a feature shuffled within its query:")
    assert re_line(text, 1).startswith("a  -")


def re_line(text: str, n: int) -> str:
    return text.splitlines()[n].strip()


def test_less_may_be_better() -> None:
    X, qid = np.random.default_rng(0).normal(size=(200, 1)), np.repeat(np.arange(20), 10)
    data = Dataset(X, (X[:, 0] > 0).astype(float), qid)
    for metric in (DominationError(), PairwiseError()):
        found = permutation_importance(Fixed(1.0), data, metric, n_repeats=2)
        assert found.value == 0.0  # nothing is wrong, and then something is
        assert (found.drops > 0).all()


def test_it_depends_on_the_seed_only() -> None:
    one = permutation_importance(TREES, DATA, n_repeats=2, random_state=1)
    two = permutation_importance(TREES, DATA, n_repeats=2, random_state=1)
    np.testing.assert_array_equal(one.drops, two.drops)
    shuffled = DATA.select(np.random.default_rng(0).permutation(DATA.n_queries))
    three = permutation_importance(TREES, shuffled, n_repeats=2, random_state=1)
    np.testing.assert_allclose(three.drops, one.drops, atol=1e-12)
    other = permutation_importance(TREES, DATA, n_repeats=2, random_state=2)
    assert (other.drops != one.drops).any()


def test_sparse_features() -> None:
    X = DATA.X * (np.random.default_rng(0).random(DATA.X.shape) < 0.5)
    dense, sparse = Dataset(X, DATA.y, DATA.qid), Dataset(sp.csr_array(X), DATA.y, DATA.qid)
    np.testing.assert_allclose(
        permutation_importance(LINEAR, sparse, n_repeats=2).drops,
        permutation_importance(LINEAR, dense, n_repeats=2).drops,
        atol=1e-12,
    )


def test_at_least_one_shuffle() -> None:
    with pytest.raises(ValueError, match="n_repeats must be a positive integer, but is 0"):
        permutation_importance(LINEAR, DATA, n_repeats=0)


def test_some_features_are_shuffled_as_all_are() -> None:
    data = rw.data.make_mslr_like(n_queries=30, n_features=6, mean_docs=10)
    model = rw.LinearRanker("listnet", standardize=True).fit(data.X, data.y, data.qid)
    all_of_them = rw.evaluation.permutation_importance(model, data, n_repeats=2)
    some = rw.evaluation.permutation_importance(model, data, n_repeats=2, features=[4, 1])
    assert some.feature_names == ["feature 5", "feature 2"]
    np.testing.assert_array_equal(some.drops, all_of_them.drops[[4, 1]])


def test_documents_of_a_data_set_are_called_by_their_ids() -> None:
    one = DATA.select(np.arange(1))
    found = explain(LINEAR, one)
    assert one.doc_ids is not None
    first, last = found.order[[0, -1]].tolist()
    assert found.text(first, last).startswith(
        f"{one.doc_ids[first]} stands above {one.doc_ids[last]}:"
    )
    assert (
        explain(LINEAR, one.X).text(first, last).startswith(f"row {first} stands above row {last}:")
    )
