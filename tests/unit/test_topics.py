"""TopicRankers: the same as one ranker for each topic, its choices, files, messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.exceptions import DataError
from rankwright.linear import DominationRank, TopicRankers
from rankwright.linear.topics import _combinations, _left_out
from rankwright.metrics import AP

# Many data here are odd on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:this model ranks nothing")

Floats = Any


def make_topics(seed: int = 0, n: int = 300, d: int = 80) -> tuple[Any, Floats]:
    """Return sparse documents and three topics of different sizes, each told by a few words."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.1)
    columns = []
    for first, share in ((0, 0.3), (5, 0.1), (10, 0.05)):
        truth = X[:, first : first + 4].sum(axis=1) + 0.1 * rng.normal(size=n)
        columns.append(truth > np.quantile(truth, 1 - share))
    return sp.csr_array(X), np.column_stack(columns).astype(float)


def test_each_topic_is_a_ranker_of_its_own() -> None:
    X, Y = make_topics()
    params = {"penalty": "l1", "alpha": 0.02, "n_induced": 5}
    rankers = TopicRankers(params).fit(X, Y)
    scores = rankers.predict(X)
    assert scores.shape == (300, 3)
    for t in range(3):
        alpha = 0.02 * Y[:, t].sum()  # the topic's mean over its relevant documents
        one = DominationRank("l1", alpha, n_induced=5).fit(X, Y[:, t])
        np.testing.assert_array_equal(rankers.coef_[:, [t]].toarray().ravel(), one.coef_)
        np.testing.assert_allclose(scores[:, t], one.predict(X), atol=1e-12)
    assert rankers.topics_ == ["0", "1", "2"]
    expected = np.mean([AP().mean(Y[:, t], scores[:, t]) for t in range(3)])
    assert rankers.score(X, Y) == pytest.approx(expected)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_array])
def test_any_form_of_labels_and_any_number_of_threads(kind: Any) -> None:
    X, Y = make_topics()
    params = {"penalty": "l1", "alpha": 0.02, "negatives": 0.5}
    expected = TopicRankers(params, n_jobs=1).fit(X, Y).coef_
    found = TopicRankers(params, n_jobs=3).fit(X, kind(Y)).coef_
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


@pytest.mark.parametrize("select_by", ["ap", "loss"])
def test_choices_are_the_best_on_what_is_left_out(select_by: Any) -> None:
    X, Y = make_topics()
    grid: dict[str, list[Any]] = {"alpha": [0.001, 0.3, 0.03], "penalty": ["l1", "l2"]}
    rankers = TopicRankers({}, grid=grid, select_by=select_by).fit(X, Y)
    for t in range(3):
        y = Y[:, t]
        out = _left_out(y, 0.25, 0, t)
        qualities = {}
        for alpha in grid["alpha"]:
            for penalty in grid["penalty"]:
                ranker = DominationRank(penalty, alpha * y[~out].sum())
                scores = ranker.fit(X[~out], y[~out]).predict(X[out])
                loss = ranker.loss_for(y).value_and_grad(scores, y[out])[0] / y[out].sum()
                ap = AP().mean(y[out], scores)
                qualities[alpha, penalty] = ap if select_by == "ap" else -loss
        chosen = (rankers.choices_[t]["alpha"], rankers.choices_[t]["penalty"])
        best = max(qualities.values())
        assert qualities[chosen] == pytest.approx(best, abs=1e-4)
        sign = 1 if select_by == "ap" else -1
        assert rankers.validation_[t] == pytest.approx(sign * best, abs=1e-4)


def test_one_choice_for_all_by_some_topics() -> None:
    X, Y = make_topics()
    grid = {"alpha": [0.3, 0.01]}
    rankers = TopicRankers({"penalty": "l1"}, grid=grid, n_tuned=2).fit(X, Y)
    assert len({choice["alpha"] for choice in rankers.choices_}) == 1
    assert np.isnan(rankers.validation_).sum() == 1


def test_combinations_walk_alphas_down() -> None:
    found = _combinations({"tol": 1.0}, {"alpha": [1, 3, 2], "n_induced": [5, None]})
    assert [(c["n_induced"], c["alpha"]) for c in found] == [
        (5, 3),
        (5, 2),
        (5, 1),
        (None, 3),
        (None, 2),
        (None, 1),
    ]
    assert all(c["tol"] == 1.0 for c in found)


def test_something_relevant_is_left_out_and_something_is_kept() -> None:
    for n_relevant in (2, 3, 30):
        y = np.append(np.ones(n_relevant), np.zeros(50))
        out = _left_out(y, 0.25, 0, 1)
        assert 1 <= y[out].sum() < n_relevant
        assert 10 <= (1 - y[out]).sum() <= 15
    assert not np.array_equal(_left_out(y, 0.25, 0, 1), _left_out(y, 0.25, 1, 1))


def test_topics_without_documents() -> None:
    X, Y = make_topics()
    Y[:, 1] = 0
    rankers = TopicRankers(grid={"alpha": [0.1, 0.01]}).fit(X, Y)
    assert rankers.coef_[:, [1]].nnz == 0
    assert rankers.coef_[:, [0]].nnz > 0


@pytest.mark.parametrize("n_tuned", [None, 2])
def test_topics_without_documents_have_nothing_to_choose_by(n_tuned: int | None) -> None:
    X, Y = make_topics()
    rankers = TopicRankers(grid={"alpha": [0.3, 0.03]}, n_tuned=n_tuned).fit(X, 0 * Y)
    assert [choice["alpha"] for choice in rankers.choices_] == [0.3] * 3
    assert np.isnan(rankers.validation_).all()
    assert rankers.coef_.nnz == 0


def test_saved_together(tmp_path: Any) -> None:
    X, Y = make_topics()
    rankers = TopicRankers(grid={"alpha": [0.1, 0.01]}).fit(X, Y, ["oil", "wheat", "gold"])
    rw.save(rankers, tmp_path / "topics.rw")
    again = rw.load(tmp_path / "topics.rw")
    np.testing.assert_array_equal(again.predict(X), rankers.predict(X))
    assert again.topics_ == ["oil", "wheat", "gold"]
    assert again.choices_ == rankers.choices_


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("weights_", np.array([np.nan]), "weights_ must be finite."),
        ("features_", np.array([10**6]), "features_ must lie from 0 to 79."),
        ("features_", np.array([-1]), "features_ must lie from 0 to 79."),
        ("features_", np.array([0.5]), "features_ must be 1 integers."),
        ("offsets_", np.array([0, 2, 1, 1]), "offsets_ must rise from 0 to the number of weights."),
        ("offsets_", np.array([0, 1]), "offsets_ must be 4 integers."),
        ("topics_", "abc", "topics_ must be texts."),
        ("topics_", [1, 2, 3], "topics_ must be texts."),
    ],
)
def test_what_a_file_may_not_say(name: str, value: Any, line: str) -> None:
    X, Y = make_topics()
    rankers = TopicRankers({"penalty": "l1"}).fit(X, Y)
    rankers.weights_, rankers.features_ = np.ones(1), np.zeros(1, dtype=np.int64)
    rankers.offsets_ = np.array([0, 1, 1, 1])
    rankers.check_state()
    setattr(rankers, name, value)
    with pytest.raises(DataError) as caught:
        rankers.check_state()
    assert str(caught.value) == line


@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        ({"select_by": "f1"}, "select_by must be 'ap' or 'loss', but is 'f1'."),
        ({"valid_share": 0.0}, "valid_share must be a number between 0 and 1, but is 0.0."),
        ({"n_tuned": 0}, "n_tuned must be a positive integer or None, but is 0."),
        ({"params": {"depth": 3}}, "DominationRank has no parameter 'depth'."),
        ({"grid": {"depth": [3]}}, "DominationRank has no parameter 'depth'."),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], line: str) -> None:
    X, Y = make_topics()
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        TopicRankers(**parameters).fit(X, Y)
    assert str(caught.value) == line


def test_bad_shapes() -> None:
    X, Y = make_topics()
    with pytest.raises(ValueError, match=r"^Y must have a row for each of the 300 documents"):
        TopicRankers().fit(X, Y[:-1])
    with pytest.raises(ValueError, match=r"^topics must name 3 topics, but has 1\."):
        TopicRankers().fit(X, Y, ["oil"])
    with pytest.raises(ValueError, match="X has 79 features, but TopicRankers is expecting 80"):
        TopicRankers({"penalty": "l1"}).fit(X, Y).predict(X[:, :79])


def test_weights_of_documents_are_those_of_each_ranker() -> None:
    X, Y = make_topics()
    weight = 1.0 + np.arange(300) % 3
    params = {"penalty": "l1", "alpha": 0.02, "n_induced": 5}
    rankers = TopicRankers(params).fit(X, Y, sample_weight=weight)
    for t in range(3):
        one = DominationRank("l1", 0.02 * Y[:, t].sum(), n_induced=5)
        one.fit(X, Y[:, t], sample_weight=weight)
        np.testing.assert_array_equal(rankers.coef_[:, [t]].toarray().ravel(), one.coef_)
    grid = {"alpha": [0.1, 0.01]}
    plain, ones = (
        TopicRankers(params, grid=grid).fit(X, Y, sample_weight=given)
        for given in (None, np.ones(300))
    )
    np.testing.assert_array_equal(plain.coef_.toarray(), ones.coef_.toarray())
    weighted = TopicRankers(params, grid=grid).fit(X, Y, sample_weight=weight)
    assert (weighted.validation_ != plain.validation_).any()
    assert rankers.score(X, Y, sample_weight=np.ones(300)) == rankers.score(X, Y)
    with pytest.raises(ValueError, match=r"^sample_weight must be 1: average precision knows no"):
        rankers.score(X, Y, weight)
    with pytest.raises(ValueError, match=r"^sample_weight must have 300 values, one per row"):
        TopicRankers(params).fit(X, Y, sample_weight=weight[:-1])
