"""What holds for every model of the library, and for any estimator beside them."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Ridge

import rankwright as rw
from rankwright.comparison import Entry, Range, tune
from rankwright.estimator import Estimator, Model, Ranker, as_model
from rankwright.evaluation import explain, permutation_importance
from rankwright.exceptions import DataWarning
from rankwright.linear import feature_names, formula
from rankwright.losses import Loss
from rankwright.models import CLASSES, MODELS, make_model, model_class

SOURCE = Path(rw.__file__).parent
MATRIX = {"predtron-label-ranker"}  # a data set has one label for each row, not many
every_model = pytest.mark.parametrize("name", [name for name in MODELS if name not in MATRIX])
NAMES = ["title", "body", "age", "clicks"]
SMALL: dict[str, dict[str, Any]] = {
    "boosted": {"n_estimators": 3, "min_child_samples": 1},
    "ensemble": {
        "members": rw.BoostedRanker(min_child_samples=1),
        "n_models": 2,
        "n_estimators": 3,
    },
}


def make_data(names: list[str] | None = None) -> rw.Dataset:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = (X @ [1.0, 0.5, 0.0, -1.0] + 0.3 * rng.normal(size=80) > 0).astype(float)
    return rw.Dataset(X, y, np.repeat(np.arange(8), 10), feature_names=names)


class Plain(BaseEstimator):
    """An estimator that knows nothing of this library but its three arguments."""

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def fit(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> Plain:
        self.inner = Ridge(self.alpha).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.inner.predict(X)


class PlainRidge(Ridge):
    """scikit-learn's own, with an argument that it does not look at."""

    def fit(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> PlainRidge:
        super().fit(X, y)
        return self


# --- every model -------------------------------------------------------------------------------


@every_model
def test_every_model_answers_the_protocol(name: str) -> None:
    model = make_model(name, **SMALL.get(name, {}))
    assert as_model(model) is model
    assert isinstance(model, Estimator)
    model.check_params()
    data = make_data(NAMES)
    assert model.fit_dataset(data) is model
    assert model.feature_names() == NAMES
    model.check_state()
    loss = model.loss_for(data.y)
    assert loss is None or loss.value_and_grad(data.y, data.y, data.groups)[0] >= 0
    strength = model.feature_strength()
    assert (strength is None) == (name == "random")
    assert strength is None or (strength.shape == (4,) and (strength >= 0).all())
    weights = model.linear_weights()
    assert weights is None or weights.shape == (4,)
    assert all(len(curve) > 0 for curve in model.curves().values())
    assert all(isinstance(key, str) for key in model.summary())
    assert model.has_path == callable(getattr(model, "path", None))
    assert model.takes_valid() == (name in ("boosted", "ensemble"))


@every_model
def test_names_of_a_data_set_are_kept_in_files_and_dropped_by_another_fit(
    name: str, tmp_path: Path
) -> None:
    model = make_model(name, **SMALL.get(name, {})).fit_dataset(make_data(NAMES))
    rw.save(model, tmp_path / "model.rw")
    assert rw.load(tmp_path / "model.rw").feature_names() == NAMES
    data = make_data()
    assert model.fit(data.X, data.y, data.qid).feature_names()[0] == "feature 1"
    model.fit_dataset(make_data(NAMES)).fit_dataset(data)
    assert model.feature_names() == [f"feature {j}" for j in (1, 2, 3, 4)]


@every_model
def test_names_of_a_frame_are_known(name: str) -> None:
    pandas = pytest.importorskip("pandas")
    data = make_data()
    model = make_model(name, **SMALL.get(name, {}))
    model.fit(pandas.DataFrame(data.X, columns=NAMES), data.y, data.qid)
    assert model.feature_names() == NAMES


@every_model
def test_progress_is_reported_by_those_that_say_so(name: str) -> None:
    seen: list[Any] = []
    model = make_model(name, **SMALL.get(name, {})).fit_dataset(make_data(), seen.append)
    assert bool(seen) == model.reports_progress
    if model.stops_on_request:
        stopped = make_model(name, **SMALL.get(name, {}))
        stopped.fit_dataset(make_data(), lambda progress: True)
        assert stopped.n_iter_ == 1


@every_model
def test_models_that_are_not_fitted_say_so(name: str) -> None:
    model, data = make_model(name), make_data()
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        model.predict(data.X)
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        model.predict_dataset(data)


def test_rankers_score_by_ndcg_at_10_and_want_labels_from_0() -> None:
    kinds = [model_class(name) for name in MODELS]
    rankers = [kind for kind in kinds if issubclass(kind, Ranker)]
    assert len(rankers) >= 9
    for kind in rankers:
        assert kind.score is Ranker.score
        assert kind().__sklearn_tags__().target_tags.positive_only
    for kind in kinds:
        assert kind().__sklearn_tags__().input_tags.sparse
        assert kind().__sklearn_tags__().target_tags.required


def test_models_in_files_check_themselves() -> None:
    for kind, package in CLASSES.items():
        assert callable(getattr(import_module(package), kind).check_state)


def test_no_private_name_of_a_model_is_used_from_another_file() -> None:
    private = re.compile(r"(?<!self)(?<!\))(?<!cls)\._(check_params|check_state|loss_for|fit)\b")
    for path in SOURCE.rglob("*.py"):
        assert not private.search(path.read_text(encoding="utf-8")), path


# --- weights -----------------------------------------------------------------------------------


def test_a_kernel_leaves_no_weights_of_an_earlier_fit() -> None:
    data = make_data()
    model = rw.SLAMPerceptron().fit(data.X, data.y, data.qid)
    assert model.linear_weights() is not None
    model.set_params(kernel="rbf").fit(data.X, data.y, data.qid)
    assert model.linear_weights() is None
    assert model.feature_strength() is None


# --- explanations ------------------------------------------------------------------------------


def test_explanations_formulas_and_importances_have_the_names_that_were_fitted() -> None:
    data = make_data(NAMES)
    model = rw.LinearRanker("listnet").fit_dataset(data)
    assert explain(model, data.X[:10]).feature_names == NAMES
    assert feature_names(model) == NAMES
    assert "clicks" in formula(model)
    assert permutation_importance(model, data, n_repeats=1).feature_names == NAMES
    other = rw.LinearRanker("listnet").fit(data.X, data.y, data.qid)
    assert "'feature 4'" in formula(other)
    assert explain(other, data.X[:10]).feature_names[0] == "feature 1"
    with pytest.warns(DataWarning, match="columns are taken by position"):
        assert permutation_importance(other, data, n_repeats=1).feature_names == NAMES


def test_explanations_of_a_plain_model_start_from_its_intercept() -> None:
    data = make_data()
    model = LinearRegression().fit(data.X, data.y + 5)
    found = explain(model, data.X[:10])
    assert found.start == model.intercept_
    np.testing.assert_allclose(found.contributions.sum(axis=1) + found.start, found.scores)
    with pytest.raises(
        TypeError, match="must be linear or have a method contributions, but is a Pl"
    ):
        explain(Plain().fit(data.X, data.y), data.X)


# --- any estimator -----------------------------------------------------------------------------


def test_a_plain_estimator_has_safe_answers() -> None:
    data = make_data()
    model = as_model(Plain().fit(data.X, data.y), n_features=4)
    model.check_params()
    assert model.feature_names() == [f"feature {j}" for j in (1, 2, 3, 4)]
    assert (model.linear_weights(), model.feature_strength(), model.loss_for(data.y)) == (
        None,
        None,
        None,
    )
    assert (model.has_path, model.reports_progress, model.takes_valid()) == (False, False, False)
    assert (model.curves(), model.summary()) == ({}, {"alpha": 1.0})
    ridge = Ridge().fit(data.X, data.y)
    np.testing.assert_array_equal(as_model(ridge).linear_weights(), ridge.coef_)
    np.testing.assert_array_equal(as_model(ridge).feature_strength(), np.abs(ridge.coef_))


@pytest.mark.parametrize(
    ("loss", "known"), [("listnet", True), ("squared_error", False), (None, False), (7, False)]
)
def test_the_loss_of_a_plain_estimator_counts_if_it_is_a_ranking_loss(
    loss: Any, known: bool
) -> None:
    estimator: Any = Plain()
    estimator.loss = loss
    found = as_model(estimator).loss_for(np.zeros(2))
    assert (found is not None) == known
    own: Loss = rw.losses.ListNet()
    estimator.loss = own
    assert as_model(estimator).loss_for(np.zeros(2)) is own


def test_a_plain_estimator_is_compared_tuned_and_evaluated() -> None:
    train, test = make_data().split((0.6, 0.4))
    entries = [Entry("plain", Plain(), {"alpha": Range(0.1, 10.0)}), Entry("ridge", PlainRidge())]
    found = rw.compare(train, entries, test=test, n_trials=2)
    assert sorted(standing.name for standing in found.standings) == ["plain", "ridge"]
    study = tune(Plain(), train, {"alpha": Range(0.1, 10.0)}, n_trials=2, n_folds=2)
    assert len(study.trials) == 2
    evaluation = rw.evaluate(Plain().fit(train.X, train.y), test, ["ndcg@10"])
    assert "ndcg@10" in str(evaluation)


def test_the_protocol_is_what_its_classes_have() -> None:
    asked = {name for name in vars(Model) if not name.startswith("_")}
    for name in asked:
        assert all(hasattr(model_class(model), name) for model in MODELS)
