"""What holds for every estimator: scikit-learn's checks, and ours about queries."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankwright.data import Dataset
from rankwright.estimator import Ranker
from rankwright.linear import DominationRank, LinearRanker
from rankwright.losses import XENDCG, Domination
from rankwright.metrics import NDCG
from rankwright.models import CLASSES
from rankwright.online import (
    PAMIR,
    MulticlassPerceptron,
    OnlineRanker,
    PRank,
    SLAMPerceptron,
    WidrowHoff,
)
from rankwright.predtron import (
    PredtronClassifier,
    PredtronLabelRanker,
    PredtronMultilabel,
    PredtronOrdinal,
    PredtronRanker,
)
from tests.contracts.expected import weights_differ

# Many data here are odd on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:this model ranks nothing")

ESTIMATORS: dict[str, Any] = {
    "xendcg-l2": LinearRanker(),
    "xendcg-l1": LinearRanker("xendcg", "l1"),
    "listnet-elasticnet": LinearRanker("listnet", "elasticnet", 0.01, standardize=True),
    "domination-l1": LinearRanker("domination", "l1", solver="coordinate_descent"),
    "slam-l2": LinearRanker("slam", "l2", 0.1, standardize=True, tol=1e-2),
    "rank-logistic-l2": LinearRanker("rank_logistic", "l2"),
    "domination-rank-l2": DominationRank(alpha=0.01),
    "domination-rank-induced": DominationRank("l1", n_induced=2),
    "domination-rank-pooled": DominationRank("elasticnet", 0.01, pooled=True, standardize=True),
    "own-loss": LinearRanker(Domination(margin=1.0), "l2", 0.01),
}
ONLINE: dict[str, Any] = {  # what else holds for them is in test_online.py
    "slam-perceptron": SLAMPerceptron(),
    "slam-perceptron-averaged": SLAMPerceptron("map", variant="averaged", n_epochs=2),
    "slam-perceptron-voted": SLAMPerceptron("ndcg@3", variant="voted", shuffle=True),
    "slam-perceptron-paper": SLAMPerceptron(update="paper", eta=0.01),
    "slam-perceptron-kernel": SLAMPerceptron(kernel="rbf"),
    "online-ranker": OnlineRanker(),
    "pamir": PAMIR(),
    "pamir-averaged": PAMIR(0.1, variant="averaged", n_epochs=2),
    "prank": PRank(),
    "prank-voted": PRank("voted", kernel="poly"),
    "widrow-hoff": WidrowHoff(),
    "widrow-hoff-kernel": WidrowHoff(kernel="rbf"),
    "multiclass-perceptron": MulticlassPerceptron(variant="averaged"),
    "multiclass-perceptron-kernel": MulticlassPerceptron("max", kernel="rbf"),
    "multiclass-perceptron-voted": MulticlassPerceptron(variant="voted", n_epochs=3),
    "multiclass-perceptron-budget": MulticlassPerceptron(kernel="rbf", budget=30),
    "slam-perceptron-kernel-voted": SLAMPerceptron(kernel="rbf", variant="voted"),
}
PREDTRON: dict[str, Any] = {  # and in test_predtron.py
    "predtron-classifier": PredtronClassifier(),
    "predtron-classifier-augmented": PredtronClassifier(mode="augmented", radius=10.0),
    "predtron-classifier-kernel": PredtronClassifier(kernel="rbf", variant="averaged"),
    "predtron-classifier-l1": PredtronClassifier(norm="l1", variant="averaged", n_epochs=3),
    "predtron-classifier-voted": PredtronClassifier(variant="voted", n_epochs=3),
    "predtron-ordinal": PredtronOrdinal(),
    "predtron-multilabel": PredtronMultilabel(),
    "predtron-multilabel-trace": PredtronMultilabel("subset", norm="trace", variant="voted"),
    "predtron-ranker": PredtronRanker(),
    "predtron-ranker-augmented": PredtronRanker(mode="augmented", eta=0.01, variant="averaged"),
    "predtron-label-ranker": PredtronLabelRanker(),
    "predtron-label-ranker-group": PredtronLabelRanker(norm="group", variant="averaged"),
}
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)


# --- scikit-learn's checks ---------------------------------------------------------------------


@parametrize_with_checks(
    [*ESTIMATORS.values(), *ONLINE.values(), *PREDTRON.values()],
    expected_failed_checks=weights_differ,
)
def test_scikit_learn_agrees(estimator: Any, check: Callable[[Any], None]) -> None:
    # Each check is on data of its own; that no warning of ours appears is tested elsewhere.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


# --- queries -----------------------------------------------------------------------------------


def make_data(seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    qid = rng.integers(0, 12, 200)
    X = rng.normal(size=(200, 4)) * [1, 10, 0.1, 1] + [0, 5, 0, 100]
    truth = X @ [1, 0.1, -10, 0] + 0.5 * rng.normal(size=200)
    return X, np.digitize(truth, [0.0, 1.0, 2.0]), qid


@every_estimator
def test_the_order_of_the_queries_changes_nothing(name: str) -> None:
    X, y, qid = make_data()
    fitted = clone(ESTIMATORS[name]).fit(X, y, qid)
    # Queries in another order, rows of a query in theirs.
    by_query = np.argsort(np.random.default_rng(0).permutation(12)[qid], kind="stable")
    other = clone(ESTIMATORS[name]).fit(X[by_query], y[by_query], qid[by_query])
    tight = name not in ("slam-l2", "rank-hinge-l1")
    np.testing.assert_allclose(other.coef_, fitted.coef_, rtol=1e-3, atol=1e-8 if tight else 1e-2)
    if not tight:  # what these stop at is the objective
        assert other.objective_[-1] == pytest.approx(fitted.objective_[-1], rel=2e-4)


@every_estimator
def test_the_names_of_the_queries_change_nothing(name: str) -> None:
    X, y, qid = make_data()
    if name.startswith("xendcg"):
        pytest.skip("gamma is drawn by the query's name")
    fitted = clone(ESTIMATORS[name]).fit(X, y, qid)
    names = np.array([f"query {q}" for q in qid])
    np.testing.assert_allclose(clone(ESTIMATORS[name]).fit(X, y, names).coef_, fitted.coef_)


@every_estimator
def test_predictions_have_the_order_of_the_rows(name: str) -> None:
    X, y, qid = make_data()
    fitted = clone(ESTIMATORS[name]).fit(X, y, qid)
    scores = fitted.predict(X)
    assert scores.shape == (200,)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, X @ fitted.coef_)
    order = np.random.default_rng(1).permutation(200)
    np.testing.assert_allclose(fitted.predict(X[order]), scores[order])


@every_estimator
def test_score_is_mean_ndcg_at_10(name: str) -> None:
    X, y, qid = make_data()
    fitted = clone(ESTIMATORS[name]).fit(X, y, qid)
    data = Dataset(X, y, qid)
    expected = NDCG(k=10).mean(data.y, data.X @ fitted.coef_, data.groups)
    assert fitted.score(X, y, qid) == pytest.approx(expected, abs=1e-12)
    shuffled = np.random.default_rng(2).permutation(200)
    assert fitted.score(X[shuffled], y[shuffled], qid[shuffled]) == pytest.approx(expected)
    assert fitted.score(X, y) == pytest.approx(NDCG(k=10).mean(y, X @ fitted.coef_))
    assert fitted.score(X, y, qid) > 0.9


@every_estimator
def test_without_qid_there_is_one_query(name: str) -> None:
    X, y, _ = make_data()
    one = clone(ESTIMATORS[name]).fit(X, y, np.zeros(200, dtype=int))
    np.testing.assert_array_equal(clone(ESTIMATORS[name]).fit(X, y).coef_, one.coef_)


@every_estimator
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_sparse_features_give_the_same_model(name: str, kind: Any) -> None:
    X, y, qid = make_data()
    X = X * (np.random.default_rng(3).random(X.shape) < 0.5)
    dense = clone(ESTIMATORS[name]).set_params(tol=1e-8).fit(X, y, qid)
    sparse = clone(ESTIMATORS[name]).set_params(tol=1e-8).fit(kind(X), y, qid)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=0, atol=1e-3)
    assert sparse.objective_[-1] == pytest.approx(dense.objective_[-1], rel=1e-6)
    np.testing.assert_allclose(sparse.predict(kind(X)), X @ sparse.coef_)


def test_repeated_entries_of_a_sparse_matrix_are_added() -> None:
    X, y, qid = make_data()
    entries = sp.coo_array(X)
    rows, columns = entries.coords
    halves = sp.coo_array(
        (np.tile(entries.data / 2, 2), (np.tile(rows, 2), np.tile(columns, 2))), shape=X.shape
    )
    twice = sp.csr_array(
        (np.repeat(X.ravel() / 2, 2), np.repeat(np.tile(np.arange(4), 200), 2), 8 * np.arange(201)),
        shape=X.shape,
    )
    before = twice.data.copy()
    for standardize in (False, True):
        ranker = LinearRanker("domination", alpha=0.01, standardize=standardize, tol=1e-9)
        expected = clone(ranker).fit(sp.csr_array(X), y, qid).coef_
        for matrix in (halves, twice):
            found = clone(ranker).fit(matrix, y, qid)
            np.testing.assert_allclose(found.coef_, expected, rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(found.predict(matrix), X @ found.coef_, rtol=1e-9)
    np.testing.assert_array_equal(twice.data, before)  # the caller's matrix is as it was


@every_estimator
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.float16])
def test_other_types_of_features(name: str, dtype: Any) -> None:
    X, y, qid = make_data()
    X = np.round(4 * X / [1, 10, 0.1, 100])  # whole numbers
    expected = clone(ESTIMATORS[name]).fit(X, y, qid)
    found = clone(ESTIMATORS[name]).fit(X.astype(dtype), y, qid)
    assert found.coef_.dtype == np.float64
    assert found.objective_[-1] == pytest.approx(expected.objective_[-1], rel=1e-3)


# --- scikit-learn's tools ----------------------------------------------------------------------


@every_estimator
def test_clone_and_parameters(name: str) -> None:
    estimator = ESTIMATORS[name]
    copy = clone(estimator)
    assert copy is not estimator
    assert copy.get_params() == estimator.get_params()
    copy.set_params(alpha=0.25, penalty="l2")
    assert (copy.alpha, copy.penalty) == (0.25, "l2")
    X, y, qid = make_data()
    before = copy.get_params()
    copy.fit(X, y, qid)
    assert copy.get_params() == before  # fit changes no parameter


@every_estimator
def test_pickles(name: str) -> None:
    X, y, qid = make_data()
    fitted = clone(ESTIMATORS[name]).fit(X, y, qid)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict(X), fitted.predict(X))
    assert copy.get_params() == fitted.get_params()


@every_estimator
def test_fitting_again_gives_the_same_bits(name: str) -> None:
    X, y, qid = make_data()
    first = clone(ESTIMATORS[name]).fit(X, y, qid)
    second = clone(ESTIMATORS[name]).fit(X, y, qid)
    np.testing.assert_array_equal(first.coef_, second.coef_)
    once = first.coef_.copy()
    np.testing.assert_array_equal(first.fit(X, y, qid).coef_, once)  # nothing is left of a fit


def test_grid_search_routes_the_queries() -> None:
    X, y, qid = make_data()
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = LinearRanker("listnet").set_fit_request(qid=True).set_score_request(qid=True)
        search = GridSearchCV(ranker, {"alpha": [1e-3, 0.1, 100.0]}, cv=GroupKFold(3))
        search.fit(X, y, qid=qid, groups=qid)
    # By hand.
    scores = []
    for train, test in GroupKFold(3).split(X, y, qid):
        fitted = LinearRanker("listnet", alpha=0.1).fit(X[train], y[train], qid[train])
        scores.append(fitted.score(X[test], y[test], qid[test]))
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(np.mean(scores))
    best = LinearRanker("listnet", alpha=search.best_params_["alpha"]).fit(X, y, qid)
    np.testing.assert_allclose(search.best_estimator_.coef_, best.coef_)
    np.testing.assert_allclose(search.predict(X), X @ best.coef_)


def test_grid_search_over_losses() -> None:
    X, y, qid = make_data()
    grid = {"loss": ["listnet", Domination(), XENDCG(gamma=0.5)], "penalty": ["l1", "l2"]}
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = LinearRanker().set_fit_request(qid=True).set_score_request(qid=True)
        search = GridSearchCV(ranker, grid, cv=GroupKFold(2)).fit(X, y, qid=qid, groups=qid)
    assert len(search.cv_results_["params"]) == 6
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_cross_validate_routes_the_queries() -> None:
    X, y, qid = make_data()
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = LinearRanker("domination").set_fit_request(qid=True).set_score_request(qid=True)
        result = cross_validate(ranker, X, y, cv=GroupKFold(4), params={"qid": qid, "groups": qid})
    assert result["test_score"].shape == (4,)
    assert (result["test_score"] > 0.9).all()


def test_qid_needs_to_be_asked_for() -> None:
    X, y, qid = make_data()
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(ValueError, match=r"\[qid\] are passed but are not explicitly set"),
    ):
        cross_validate(LinearRanker(), X, y, cv=GroupKFold(4), params={"qid": qid, "groups": qid})


def test_pipeline_with_a_scaler() -> None:
    X, y, qid = make_data()
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = LinearRanker("listnet", alpha=0.01, tol=1e-9)
        ranker.set_fit_request(qid=True).set_score_request(qid=True)
        pipeline = make_pipeline(StandardScaler(), ranker).fit(X, y, qid=qid)
    # What the ranker does by itself: a shift of the features changes no ranking.
    alone = LinearRanker("listnet", alpha=0.01, tol=1e-9, standardize=True).fit(X, y, qid)
    np.testing.assert_allclose(pipeline[-1].coef_ / X.std(axis=0), alone.coef_, atol=1e-6)
    ranks = np.argsort(pipeline.predict(X))
    np.testing.assert_array_equal(ranks, np.argsort(alone.predict(X)))


def test_grid_search_over_a_pipeline() -> None:
    # Pipeline.score passes a sample_weight to its last step, whether there is one or not
    # (scikit-learn issue 30937).
    X, y, qid = make_data()
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = LinearRanker("listnet").set_fit_request(qid=True).set_score_request(qid=True)
        search = GridSearchCV(
            make_pipeline(StandardScaler(), ranker),
            {"linearranker__alpha": [1e-3, 100.0]},
            cv=GroupKFold(3),
        ).fit(X, y, qid=qid, groups=qid)
    scores = []
    for train, test in GroupKFold(3).split(X, y, qid):
        scale = X[train].std(axis=0)
        fitted = LinearRanker("listnet").fit(X[train] / scale, y[train], qid[train])
        scores.append(fitted.score(X[test] / scale, y[test], qid[test]))
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(scores), abs=1e-6)
    assert search.best_score_ > 0.9


def test_grid_search_over_a_pipeline_without_queries() -> None:
    X, y, _ = make_data()
    for estimator in (LinearRanker("listnet"), SLAMPerceptron(), PredtronRanker(), PRank()):
        (name,) = make_pipeline(estimator).named_steps
        grid = {f"{name}__alpha": [1e-3, 0.1]} if hasattr(estimator, "alpha") else {}
        search = GridSearchCV(make_pipeline(StandardScaler(), estimator), grid, cv=3).fit(X, y)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_grid_search_routes_weights() -> None:
    X, y, qid = make_data()
    weight = 1.0 + np.arange(200) % 3
    by_query = 1.0 + qid
    names = {"qid": True, "sample_weight": True}
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = LinearRanker("listnet").set_fit_request(**names, query_weight=True)
        pipeline = make_pipeline(StandardScaler(), ranker.set_score_request(**names))
        pipeline[0].set_fit_request(sample_weight=False)
        search = GridSearchCV(pipeline, {"linearranker__alpha": [0.1]}, cv=GroupKFold(3))
        search.fit(X, y, qid=qid, groups=qid, sample_weight=weight, query_weight=by_query)
    scores = []
    for train, test in GroupKFold(3).split(X, y, qid):
        scale, weights = X[train].std(axis=0), (weight[train], by_query[train])
        fitted = LinearRanker("listnet", alpha=0.1).fit(
            X[train] / scale,
            y[train],
            qid[train],
            sample_weight=weights[0],
            query_weight=weights[1],
        )
        scores.append(fitted.score(X[test] / scale, y[test], qid[test], weight[test]))
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(scores), abs=1e-6)


@pytest.mark.parametrize("name", [*ONLINE, *PREDTRON])
def test_score_of_rows_is_a_weighted_mean(name: str) -> None:
    X, y, _ = make_data()
    estimator = clone((ONLINE | PREDTRON)[name])
    if isinstance(estimator, PredtronMultilabel | PredtronLabelRanker):
        y = np.column_stack([y > 0, y > 1, y > 2]).astype(int)
    if isinstance(estimator, Ranker):
        pytest.skip("its score is a mean over queries")
    fitted = estimator.fit(X, y)
    weight = 1.0 + np.arange(200) % 3
    copies = np.repeat(np.arange(200), weight.astype(int))
    found = fitted.score(X, y, sample_weight=weight)
    assert fitted.score(X, y, np.arange(200), weight) == found  # the third argument is no weight
    assert found == pytest.approx(fitted.score(X[copies], y[copies]))
    if not isinstance(estimator, PredtronLabelRanker):  # which makes no mistake here
        assert found != fitted.score(X, y)


def test_feature_names() -> None:
    pandas = pytest.importorskip("pandas")
    X, y, qid = make_data()
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    fitted = LinearRanker().fit(frame, y, qid)
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_allclose(fitted.predict(frame), X @ fitted.coef_)
    with pytest.raises(ValueError, match="but 'a' is missing"):
        fitted.predict(frame.rename(columns={"a": "e"}))


# --- very large features -----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # those of numpy, beside the error, and of convergence
@pytest.mark.parametrize("scale", [1e160, 1e200, 1.7e308])
@pytest.mark.parametrize("name", CLASSES)
def test_scores_are_finite_or_a_clear_error(name: str, scale: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    X *= scale / np.abs(X).max()
    y = np.arange(60) % 3
    if name in ("TopicRankers", "PredtronMultilabel", "PredtronLabelRanker"):
        y = np.column_stack([y > 0, y > 1]).astype(int)
    model = getattr(import_module(CLASSES[name]), name)()
    for kernel in (None, "linear") if hasattr(model, "kernel") else (None,):
        if kernel is not None:
            model.set_params(kernel=kernel)
        answers, message = [], "scale the features"
        try:
            model.fit(X, y)
            answers.append(model.predict(X))
            if hasattr(model, "decision_function"):
                answers.append(model.decision_function(X))
        except ValueError as error:
            message = str(error)
        assert "scale the features" in message or "infs or NaNs" in message
        assert all(np.isfinite(answer).all() for answer in answers)


@pytest.mark.filterwarnings("ignore")
def test_the_row_of_an_infinite_score_is_named() -> None:
    X, y, qid = make_data()
    for model in (SLAMPerceptron(), PredtronRanker(), PRank(), PRank("voted"), LinearRanker()):
        fitted = model.fit(X, y, qid)
        far = X.copy()
        far[7] = -np.sign(fitted.coef_.ravel()) * 1.7e308 if hasattr(fitted, "coef_") else 1.7e308
        with pytest.raises(ValueError, match=r"^the score of row 7 is not finite: scale the feat"):
            fitted.predict(far)
