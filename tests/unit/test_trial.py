"""One ranker, one set of parameters, one fold."""

from __future__ import annotations

import time
import warnings
from typing import Any, Literal

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

import rankwright as rw
from rankwright.comparison import Choice, Entry, Range, tune
from rankwright.comparison.trial import run_trial
from rankwright.evaluation import Fold, split

SEEN: list[dict[str, Any]] = []


class Watcher(BaseEstimator):
    """A linear model that remembers what it was given."""

    def __init__(self, n_jobs: Any = 4, eval_metric: str = "rr", weight: float = 1.0) -> None:
        self.n_jobs = n_jobs
        self.eval_metric = eval_metric
        self.weight = weight

    def fit(self, X: Any, y: Any, qid: Any, valid: rw.Dataset | None = None) -> Watcher:
        warnings.warn("slow", UserWarning, stacklevel=2)
        SEEN.append({"X": X, "y": y, "qid": qid, "valid": valid, **self.get_params()})
        self.coef_ = np.full(X.shape[1], self.weight)
        return self

    def predict(self, X: Any) -> Any:
        return np.asarray(X @ self.coef_)


@pytest.fixture
def fold() -> Fold:
    SEEN.clear()
    return split(rw.data.make_mslr_like(n_queries=30, n_features=6, mean_docs=10))[0]


def test_a_trial_is_a_fit_and_its_measure(fold: Fold) -> None:
    entry = Entry("mine", Watcher(), {"weight": Range(0.1, 1.0)})
    places: list[Literal["valid", "test"]] = ["valid", "test"]
    for on in places:
        part = fold.parts()[on]
        begin = time.perf_counter()
        result = run_trial(entry, {"weight": 0.5}, fold, "ndcg@5", on=on)
        expected = rw.evaluate(part.X @ np.full(6, 0.5), part, "ndcg@5")
        assert result.value == expected["ndcg@5"]
        np.testing.assert_array_equal(result.per_query, expected.results["ndcg@5"].per_query)
        assert result.params == {"weight": 0.5}
        assert result.warnings == ["slow"]
        assert result.model.weight == 0.5
        assert 0 < result.seconds < time.perf_counter() - begin
    assert entry.estimator.weight == 1.0  # a clone was fitted
    assert not hasattr(entry.estimator, "coef_")


@pytest.mark.parametrize("n_jobs", [1, 2, None])
def test_a_model_has_the_threads_and_the_metric_that_it_is_given(n_jobs: Any, fold: Fold) -> None:
    run_trial(Entry("mine", Watcher()), {}, fold, rw.metrics.AP(), n_jobs=n_jobs)
    assert (SEEN[-1]["n_jobs"], SEEN[-1]["eval_metric"]) == (n_jobs or 4, "ap")
    run_trial(Entry("mine", Watcher()), {}, fold, "ap", watch=False)
    assert SEEN[-1]["eval_metric"] == "rr"


def test_the_validation_queries_are_the_folds_own(fold: Fold) -> None:
    run_trial(Entry("mine", Watcher()), {}, fold, "ndcg@10")
    assert SEEN[0]["valid"] is fold.valid
    assert SEEN[0]["X"] is fold.train.X


def test_trees_of_a_search_stop_by_the_metric_that_is_asked_for() -> None:
    data = rw.data.make_mslr_like(n_queries=48, n_features=12, mean_docs=14, random_state=3)
    trees = rw.BoostedRanker(n_estimators=40, early_stopping_rounds=5, min_child_samples=5)
    study = tune(trees, data, {"num_leaves": Choice((5,))}, n_trials=1, metric="ap")
    pooled: dict[str, list[Any]] = {"ap": [], "ndcg@10": []}
    for train, left_out in data.folds(3, 0):
        kept, watched = train.split((0.8, 0.2), 0)
        for name, values in pooled.items():
            model = clone(trees).set_params(eval_metric=name)
            model.fit(kept.X, kept.y, kept.qid, valid=watched)
            values.append(rw.evaluate(model, left_out, "ap").results["ap"].per_query)
    means = {name: np.nanmean(np.concatenate(values)) for name, values in pooled.items()}
    assert study.best.value == pytest.approx(means["ap"], abs=1e-12)
    assert abs(means["ap"] - means["ndcg@10"]) > 1e-3
    assert study.fit_best(data).eval_metric == "ap"
