"""What holds for boosted trees whatever the loss."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import rankwright as rw
from rankwright.data import Dataset, make_mslr_like
from rankwright.ensemble import EnsembleRanker
from rankwright.linear import LinearRanker
from rankwright.losses import SLAM, XENDCG, LambdaRank, StochasticLambdaRank
from rankwright.metrics import NDCG
from rankwright.trees import BoostedRanker
from tests.contracts.expected import weights_differ

FEW: dict[str, Any] = {"n_estimators": 8, "num_leaves": 7, "min_child_samples": 5}
RANKERS: dict[str, Any] = {
    "xendcg": BoostedRanker(**FEW),
    "xendcg-exact": BoostedRanker(newton="exact", subsample=0.7, **FEW),
    "xendcg-neumann": BoostedRanker(newton="neumann", colsample=0.5, skip_empty=False, **FEW),
    "listnet": BoostedRanker("listnet", **FEW),
    "lambdarank": BoostedRanker("lambdarank", **FEW),
    "lambdarank-norm": BoostedRanker(LambdaRank(norm=True, k=10), **FEW),
    "stochastic-lambdarank": BoostedRanker("stochastic-lambdarank", leaf_l2=1.0, **FEW),
    "stochastic-extra": BoostedRanker(
        StochasticLambdaRank(noise=0.5, draws=1), extra_trees=True, **FEW
    ),
    "regularised": BoostedRanker(
        colsample_bynode=0.5, path_smooth=2.0, min_gain=0.001, leaf_l2=0.5, **FEW
    ),
    "own-loss": BoostedRanker(SLAM("map"), **FEW),
    "graft": BoostedRanker(base="linear", **FEW),
    "graft-lambdarank": BoostedRanker(
        "lambdarank", base=rw.DominationRank(missing="median", standardize=True), **FEW
    ),
    "domination": BoostedRanker("domination", lightgbm_params={"max_depth": 3}, **FEW),
}
LIGHTGBM = {
    name: BoostedRanker(name, **FEW) for name in ("lightgbm:rank_xendcg", "lightgbm:lambdarank")
}
AVERAGE = EnsembleRanker(
    [("trees", BoostedRanker(min_child_samples=2)), ("linear", LinearRanker(missing="median"))],
    n_models=2,
    n_estimators=3,
)
every_ranker = pytest.mark.parametrize("name", RANKERS)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return make_mslr_like(n_queries=60, n_features=12, mean_docs=25, random_state=3)


def fit(ranker: Any, data: Dataset, **options: Any) -> Any:
    return clone(ranker).fit(data.X, data.y, data.qid, **options)


@parametrize_with_checks(
    [RANKERS["xendcg"], RANKERS["lambdarank"], RANKERS["graft"], AVERAGE],
    expected_failed_checks=weights_differ,
)
def test_scikit_learn_agrees(estimator: Any, check: Callable[[Any], None]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@every_ranker
def test_threads_change_nothing(name: str, data: Dataset) -> None:
    one = fit(RANKERS[name].set_params(n_jobs=1), data)
    two = fit(RANKERS[name].set_params(n_jobs=2), data)
    assert one.model_text_ == two.model_text_


@every_ranker
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_queries_changes_nothing(name: str, seed: int, data: Dataset) -> None:
    order = np.random.default_rng(seed).permutation(data.n_queries)
    shuffled = data.select(order)
    assert fit(RANKERS[name], shuffled).model_text_ == fit(RANKERS[name], data).model_text_


@every_ranker
@pytest.mark.parametrize("way", ["force_row_wise", "force_col_wise"])
def test_the_layout_of_the_histograms_changes_nothing(name: str, way: str, data: Dataset) -> None:
    ranker = RANKERS[name]
    more = {**(ranker.lightgbm_params or {}), way: True}
    forced = fit(clone(ranker).set_params(lightgbm_params=more), data)
    assert forced.model_text_ == fit(ranker, data).model_text_


@every_ranker
def test_rows_of_a_query_need_not_be_adjacent(name: str, data: Dataset) -> None:
    mixed = np.argsort(np.random.default_rng(0).random(data.n_docs), kind="stable")
    # Rows of a query keep their order, so that nothing but their places changes.
    mixed = mixed[np.argsort(np.argsort(data.groups.query_of_rows()[mixed], kind="stable"))]
    rows = np.empty(data.n_docs, dtype=int)
    for q in range(data.n_queries):
        places = np.flatnonzero(data.groups.query_of_rows()[mixed] == q)
        rows[places] = np.arange(data.groups.indptr[q], data.groups.indptr[q + 1])
    found = clone(RANKERS[name]).fit(data.X[rows], data.y[rows], data.qid[rows])
    np.testing.assert_array_equal(found.predict(data.X), fit(RANKERS[name], data).predict(data.X))


@pytest.mark.parametrize("name", [*RANKERS, *LIGHTGBM])
def test_it_learns(name: str, data: Dataset) -> None:
    ranker = fit({**RANKERS, **LIGHTGBM}[name], data)
    scores = ranker.predict(data.X)
    assert scores.dtype == np.float64
    assert scores.shape == (data.n_docs,)
    ndcg = NDCG(k=10)
    untrained = ndcg.mean(data.y, np.zeros(data.n_docs), data.groups)
    assert ranker.score(data.X, data.y, data.qid) > untrained + 0.1
    assert ranker.score(data.X, data.y, data.qid) == ndcg.mean(data.y, scores, data.groups)


@pytest.mark.parametrize("name", [*RANKERS, *LIGHTGBM])
def test_saved_loaded_and_pickled_it_is_the_same(name: str, data: Dataset, tmp_path: Path) -> None:
    train, valid = data.split((0.7, 0.3))
    ranker = fit({**RANKERS, **LIGHTGBM}[name], train, valid=valid)
    rw.save(ranker, tmp_path / "model.rw")
    for again in (rw.load(tmp_path / "model.rw"), pickle.loads(pickle.dumps(ranker))):
        np.testing.assert_array_equal(again.predict(data.X), ranker.predict(data.X))
        assert repr(again.get_params()) == repr(ranker.get_params())
        assert again.evals_result_ == ranker.evals_result_
        assert (again.n_iter_, again.best_score_) == (ranker.n_iter_, ranker.best_score_)
    rw.save(rw.load(tmp_path / "model.rw"), tmp_path / "again.rw")
    assert (tmp_path / "again.rw").read_bytes() == (tmp_path / "model.rw").read_bytes()


@every_ranker
def test_stages_end_with_the_prediction(name: str, data: Dataset) -> None:
    ranker = fit(RANKERS[name], data)
    stages = list(ranker.staged_predict(data.X))
    assert len(stages) == ranker.n_iter_ == 8
    np.testing.assert_array_equal(stages[-1], ranker.predict(data.X))
    shorter = fit(clone(RANKERS[name]).set_params(n_estimators=3), data)
    np.testing.assert_array_equal(stages[2], shorter.predict(data.X))


@every_ranker
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_sparse_features_give_the_same_scores(name: str, kind: Any, data: Dataset) -> None:
    X = data.X * (np.random.default_rng(3).random(data.X.shape) < 0.5)
    dense = clone(RANKERS[name]).fit(X, data.y, data.qid)
    sparse = clone(RANKERS[name]).fit(kind(X), data.y, data.qid)
    # A base of the same data, sparse or not, is the same up to the last digits.
    near: Any = {"rtol": 1e-12} if dense.base is None else {"atol": 1e-5}
    np.testing.assert_allclose(sparse.predict(kind(X)), dense.predict(X), **near)


@every_ranker
def test_a_hopeless_leader_does_not_stop_training(name: str) -> None:
    """LightGBM's rank_xendcg becomes NaN where one document is 40 points ahead."""
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(400, 3)), np.repeat(np.arange(20), 20)
    y = (X[:, 0] + rng.normal(size=400) > 0.5).astype(float)
    X[::20, 1] = 5.0  # the first document of each query stands out ...
    y[::20] = 3.0  # ... and is far the best
    steps = clone(RANKERS[name]).set_params(learning_rate=60.0, n_estimators=30)
    fitted = steps.fit(X, y, qid)
    scores = fitted.predict(X)
    assert np.isfinite(scores).all()
    assert fitted.stop_ in ("n_estimators", "no_split")


@pytest.mark.parametrize(
    "name", ["xendcg", "xendcg-neumann", "lambdarank", "listnet", "stochastic-extra"]
)
def test_training_goes_on_behind_a_leader_100_points_ahead(name: str) -> None:
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(1000, 3)), np.repeat(np.arange(50), 20)
    y = (X[:, 0] + 0.3 * rng.normal(size=1000) > 0.5).astype(float)
    start = np.zeros(1000)
    start[0] = 100.0
    ranker = clone(RANKERS[name]).set_params(n_estimators=20, num_leaves=7, min_child_samples=5)
    # A feature that is the leader's alone, and a first tree that lifts it: the scores of a fit.
    grown = _fit_from(ranker, X, y, qid, start)
    assert grown == 20


def _fit_from(ranker: Any, X: Any, y: Any, qid: Any, start: Any) -> int:
    """Train with scores that start somewhere; return the number of trees with a split."""
    import lightgbm

    from rankwright.trees.machine import Machine
    from rankwright.trees.machines import OneMachine
    from rankwright.trees.objective import TreeObjective, choose_loss

    groups = Dataset(X, y, qid).groups
    objective = TreeObjective(
        choose_loss(ranker.loss, ranker.newton, 0),
        y,
        groups,
        doc_weights=None,
        query_weights=None,
        skip_empty=True,
        subsample=1.0,
        random_state=0,
        n_jobs=1,
    )
    params = {"objective": "none", "num_leaves": 7, "min_data_in_leaf": 5, "verbosity": -1}
    train = lightgbm.Dataset(X, init_score=start, params=params)
    booster = lightgbm.Booster(params, train)
    machine = Machine(booster, [objective], {}, NDCG(), 1)
    machines = OneMachine(machine, 1.0)
    return sum(machines.grow(iteration) is not None for iteration in range(20))


@every_ranker
def test_a_query_of_50_000_documents(name: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 2)).astype(np.float32)
    y = np.where(X[:, 0] > 2, 40.0, 0.0) + (X[:, 1] > 1) * 0.5  # above 31, and fractions
    few = clone(RANKERS[name]).set_params(n_estimators=2)
    fitted = few.fit(X, y, np.zeros(len(y), int))
    assert np.isfinite(fitted.predict(X)).all()
    assert fitted.score(X, y) > NDCG(k=10).mean(y, np.zeros(len(y)))


def test_grid_search_routes_the_queries(data: Dataset) -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = BoostedRanker(**FEW).set_fit_request(qid=True).set_score_request(qid=True)
        grid = {"loss": ["listnet", XENDCG(gamma=0.5), LambdaRank()], "num_leaves": [3, 7]}
        search = GridSearchCV(ranker, grid, cv=GroupKFold(2))
        search.fit(data.X, data.y, qid=data.qid, groups=data.qid)
    assert len(search.cv_results_["params"]) == 6
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
