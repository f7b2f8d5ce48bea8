"""Estimators of others in a comparison: which argument of theirs tells the queries."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwright as rw
from rankwright.adapters import query_arguments
from rankwright.comparison import Entry, compare
from rankwright.estimator import as_model


def make_data(n_queries: int = 30) -> rw.Dataset:
    data = rw.data.make_mslr_like(n_queries=n_queries, n_features=5, mean_docs=8)
    return rw.Dataset(data.X, data.y, data.qid.astype(np.int64) * 1000)


class Other(BaseEstimator):  # type: ignore[misc]
    """Ranks by the first feature, and remembers what it was told."""

    def predict(self, X: Any) -> Any:
        return np.asarray(X)[:, 0]


class WithGroupId(Other):
    def fit(self, X: Any, y: Any = None, group_id: Any = None, sample_weight: Any = None) -> Any:
        self.told = group_id
        return self


class OfXGBoost(Other):
    def fit(self, X: Any, y: Any, *, group: Any = None, qid: Any = None) -> Any:
        self.told = qid
        return self


OfXGBoost.__module__ = "xgboost.sklearn"


class WithWeight(Other):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        assert sample_weight is None
        return self


def test_query_ids_are_no_weights() -> None:
    data = make_data()
    fitted: Any = as_model(Ridge()).fit_dataset(data)
    np.testing.assert_array_equal(fitted.coef_, Ridge().fit(data.X, data.y).coef_)
    as_model(WithWeight()).fit_dataset(data)


def test_each_argument_by_its_name() -> None:
    data = make_data()
    numbers = data.groups.query_of_rows()
    np.testing.assert_array_equal(as_model(WithGroupId()).fit_dataset(data).told, numbers)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(as_model(OfXGBoost()).fit_dataset(data).told, numbers)  # type: ignore[attr-defined]
    (found,) = query_arguments(rw.LinearRanker(), data).values()
    np.testing.assert_array_equal(found, data.qid)
    (found,) = query_arguments(lightgbm.LGBMRanker(), data).values()
    np.testing.assert_array_equal(found, data.groups.sizes)
    assert query_arguments(HistGradientBoostingRegressor(), data) == {}


def test_the_last_step_of_a_pipeline_is_told() -> None:
    data = make_data()
    pipeline = make_pipeline(StandardScaler(), rw.LinearRanker())
    assert list(query_arguments(pipeline, data)) == ["linearranker__qid"]
    fitted: Any = as_model(pipeline).fit_dataset(data)
    X = StandardScaler().fit_transform(data.X)
    expected = rw.LinearRanker().fit(X, data.y, data.qid)
    np.testing.assert_array_equal(fitted.predict(data.X), expected.predict(X))
    nested = Pipeline([("a", StandardScaler()), ("b", pipeline)])
    assert list(query_arguments(nested, data)) == ["b__linearranker__qid"]
    assert query_arguments(make_pipeline(StandardScaler(), Ridge()), data) == {}


def test_all_of_them_can_be_compared() -> None:
    entries = [
        Entry("ridge", Ridge()),
        Entry("lightgbm", lightgbm.LGBMRanker(n_estimators=5, min_child_samples=2, verbose=-1)),
        Entry("pipeline", make_pipeline(StandardScaler(), rw.LinearRanker())),
        Entry("group-id", WithGroupId()),
    ]
    result = compare(make_data(60), entries, n_trials=1)
    assert not result.failures
    values = {s.name: s.means["ndcg@10"] for s in result.standings}
    assert min(values["ridge"], values["lightgbm"], values["pipeline"]) > values["group-id"] - 0.05


class Bare:
    def fit(self, X: Any, y: Any) -> Bare:
        return self

    def predict(self, X: Any) -> Any:
        return X[:, 0]


def test_what_is_missing_is_said_before_anything_is_fitted() -> None:
    message = (
        r"^bare: an estimator must have fit, predict, get_params, but Bare has no get_params\. "
    )
    with pytest.raises(
        TypeError, match=message + r"Derive it from sklearn\.base\.BaseEstimator\.$"
    ):
        Entry("bare", Bare())
    with pytest.raises(TypeError, match=r"^ridge: the estimator must be an object, but is a class"):
        Entry("ridge", Ridge)
    with pytest.raises(TypeError, match="but StandardScaler has no predict"):
        Entry("scaler", StandardScaler())
