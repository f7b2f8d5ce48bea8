"""What holds for every online learner, and the kernels beside their plain twins."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import rankwright as rw
from rankwright.data import Groups
from rankwright.losses import SLAM
from rankwright.online import SLAMPerceptron
from tests.reference import online as reference
from tests.reference.online import Floats

RANKERS: dict[str, Any] = {
    "slam": SLAMPerceptron(),
    "slam-averaged": SLAMPerceptron("map", variant="averaged", n_epochs=2),
    "slam-voted": SLAMPerceptron("ndcg@3", variant="voted", n_epochs=2, shuffle=True),
    "slam-paper": SLAMPerceptron(update="paper", radius=10.0, max_docs=50, v_max=100.0),
    "slam-printed": SLAMPerceptron("map-uniform", "printed"),
    "slam-rbf": SLAMPerceptron(kernel="rbf", variant="averaged"),
}
every_ranker = pytest.mark.parametrize("name", RANKERS)


def make_data(seed: int = 0, n_queries: int = 30, d: int = 5) -> tuple[Floats, Any, Any]:
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(1, 12, n_queries))
    X = rng.normal(size=(len(qid), d)).round(1)
    y = np.clip(np.round(X @ rng.normal(size=d) + 0.5 * rng.normal(size=len(qid)) + 1), 0, 3)
    return X, y, qid


def queries_of(X: Floats, y: Floats, qid: Any) -> list[tuple[Floats, Floats]]:
    return [(X[qid == q], y[qid == q]) for q in dict.fromkeys(qid.tolist())]


def state(model: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def assert_same_state(a: Any, b: Any) -> None:
    mine, theirs = state(a), state(b)
    assert mine.keys() == theirs.keys()
    for name, value in mine.items():
        np.testing.assert_array_equal(value, theirs[name], err_msg=name)


# --- the twins ---------------------------------------------------------------------------------

METRICS: dict[str, Any] = {
    "ndcg": lambda y, s: reference.ndcg_loss(y, s, None),
    "ndcg@3": lambda y, s: reference.ndcg_loss(y, s, 3),
    "map": lambda y, s: reference.ap_loss(y >= 1, s),
    "map-uniform": lambda y, s: reference.ap_loss(y >= 1, s),
}


@pytest.mark.parametrize("update", ["misordered", "paper", "printed"])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_slam_perceptron_is_its_twin(metric: str, update: Any, kind: Any) -> None:
    for seed in range(5):
        X, y, qid = make_data(seed)
        u = np.random.default_rng(seed).normal(size=(X.shape[1],))
        eta = 0.01 if update == "paper" else 1.0
        if "map" in metric:  # of equal grades any may have any of their weights
            y = (y >= 1).astype(float)
        queries = queries_of(X, y, qid)
        loss = SLAM(metric)
        run = reference.slam_perceptron(
            queries,
            lambda y, loss=loss: loss.weights(y, Groups.one_query(len(y))),
            METRICS[metric],
            update=update,
            eta=eta,
            u=u,
        )
        expected = {"last": run.w, "averaged": run.averaged(), "voted": run.voted()}
        for variant in ("last", "averaged", "voted"):
            model = SLAMPerceptron(metric, update, variant=variant, eta=eta)
            (rounds,) = model._fit(kind(X), y, qid, comparator=u)
            np.testing.assert_allclose(rounds.losses, run.losses, atol=1e-10)
            np.testing.assert_allclose(rounds.comparator, run.comparator, atol=1e-10)
            np.testing.assert_allclose(model.coef_, expected[variant], atol=1e-10)
            assert model.n_updates_ == run.n_updates
            assert model.cumulative_loss_ == pytest.approx(sum(run.losses), abs=1e-10)


def test_the_kernel_form_of_slam_makes_the_same_updates() -> None:
    X, y, qid = make_data()
    X = np.round(10 * X)
    for variant in ("last", "averaged"):
        primal = SLAMPerceptron(variant=variant, n_epochs=2).fit(X, y, qid)
        for kernel, data in (("linear", X), ("precomputed", X @ X.T)):
            dual = SLAMPerceptron(variant=variant, n_epochs=2, kernel=kernel).fit(data, y, qid)
            assert dual.n_updates_ == primal.n_updates_
            assert dual.cumulative_loss_ == primal.cumulative_loss_
            np.testing.assert_allclose(dual.predict(data), primal.predict(X), rtol=1e-9, atol=1e-9)


def test_the_step_of_the_paper_is_measured() -> None:
    X, y, qid = make_data()
    model = SLAMPerceptron(update="paper").fit(X, y, qid)
    groups = Groups.from_qid(qid)
    v = SLAM().weights(y, groups)
    ratios = [max(v[q]) / min(v[q][v[q] > 0]) for q in groups if v[q].any()]
    r = max(np.linalg.norm(X, axis=1))
    assert model.eta_ == pytest.approx(1 / (4 * max(groups.sizes) * r**2 * max(ratios)))
    kernel = SLAMPerceptron(update="paper", kernel="linear").fit(X, y, qid)
    assert kernel.eta_ == pytest.approx(model.eta_)
    cut = SLAMPerceptron("ndcg@3", "paper", radius=1.0, v_max=1.0).fit(X, y, qid)
    assert cut.eta_ == pytest.approx(1 / 12)  # Corollary 7: k instead of m


# --- rounds and streams ------------------------------------------------------------------------


@every_ranker
def test_pieces_of_a_stream_may_be_cut_anywhere(name: str) -> None:
    X, y, qid = make_data()
    model = clone(RANKERS[name]).set_params(n_epochs=1, shuffle=False)
    whole = clone(model).fit(X, y, qid)
    for size in (1, 7, 29):
        pieces = clone(model)
        for first in range(0, 30, size):
            rows = (qid >= first) & (qid < first + size)
            assert pieces.partial_fit(X[rows], y[rows], qid[rows]) is pieces
        if model.kernel is None:
            assert_same_state(pieces, whole)
        else:  # sums over blocks of documents
            np.testing.assert_allclose(pieces.predict(X), whole.predict(X), atol=1e-9)


@every_ranker
def test_epochs_are_passes_over_the_data(name: str) -> None:
    X, y, qid = make_data()
    model = clone(RANKERS[name]).set_params(n_epochs=3, shuffle=False).fit(X, y, qid)
    passes = clone(RANKERS[name])
    for _ in range(3):
        passes.partial_fit(X, y, qid)
    assert_same_state(passes, model)
    assert model.n_rounds_ == 90


@every_ranker
def test_a_learner_goes_on_after_saving_and_pickling(name: str, tmp_path: Any) -> None:
    X, y, qid = make_data()
    half = qid < 15
    whole = clone(RANKERS[name]).partial_fit(X[half], y[half], qid[half])
    rw.save(whole, tmp_path / "model.rw")
    again, copy = rw.load(tmp_path / "model.rw"), pickle.loads(pickle.dumps(whole))
    for model in (whole, again, copy):
        model.partial_fit(X[~half], y[~half], qid[~half])
    assert_same_state(again, whole)
    assert_same_state(copy, whole)
    np.testing.assert_array_equal(again.predict(X), whole.predict(X))


@every_ranker
def test_shuffling_is_a_function_of_the_seed(name: str) -> None:
    X, y, qid = make_data()
    model = clone(RANKERS[name]).set_params(shuffle=True, random_state=3, n_epochs=2)
    first, second = clone(model).fit(X, y, qid), clone(model).fit(X, y, qid)
    assert_same_state(first, second)
    other = clone(model).set_params(random_state=4).fit(X, y, qid)
    assert other.cumulative_loss_ != first.cumulative_loss_


@every_ranker
def test_score_is_mean_ndcg_at_10(name: str) -> None:
    X, y, qid = make_data()
    model = clone(RANKERS[name]).fit(X, y, qid)
    data = rw.Dataset(X, y, qid)
    expected = rw.metrics.NDCG(k=10).mean(data.y, model.predict(X), data.groups)
    assert model.score(X, y, qid) == pytest.approx(expected)
    order = np.random.default_rng(0).permutation(len(y))
    assert model.score(X[order], y[order], qid[order]) == pytest.approx(expected)


@every_ranker
def test_queries_without_a_pair_change_nothing(name: str) -> None:
    X = np.random.default_rng(0).normal(size=(6, 3))
    model = clone(RANKERS[name]).fit(X, [0, 0, 2, 2, 2, 1], ["a", "a", "b", "b", "b", "c"])
    assert model.n_updates_ == 0
    assert model.cumulative_loss_ == 0
    np.testing.assert_array_equal(model.predict(X), np.zeros(6))


def test_large_queries_and_scores() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 3)) * 1e6
    y = (X[:, 0] > 1e6).astype(float)
    model = SLAMPerceptron("map", n_epochs=5).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.score(X, y) > 0.9


# --- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"metric": "dcg"}, "metric must be one of ndcg, map, map-uniform"),
        ({"update": "all"}, "update must be one of misordered, paper, printed, but is 'all'"),
        ({"variant": "mean"}, "variant must be one of last, averaged, voted, but is 'mean'"),
        ({"eta": 0.0}, "eta must be a positive number, but is 0.0"),
        ({"radius": -1}, "radius must be a positive number"),
        ({"kernel": "cosine"}, "kernel must be None, one of linear, poly, rbf, precomputed"),
        ({"kernel": "rbf", "variant": "voted"}, "variant='voted' needs the lengths"),
        ({"n_epochs": 0}, "n_epochs must be a positive integer, but is 0"),
    ],
)
def test_parameters_that_cannot_be(params: dict[str, Any], message: str) -> None:
    X, y, qid = make_data()
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=message):
            getattr(SLAMPerceptron(**params), method)(X, y, qid)


def test_what_a_stream_cannot_know() -> None:
    X, y, qid = make_data()
    model = SLAMPerceptron(update="paper")
    with pytest.raises(ValueError, match="needs radius, max_docs and v_max, or eta, before"):
        model.partial_fit(X, y, qid)
    model.set_params(eta=0.01).partial_fit(X, y, qid)
    assert model.eta_ == 0.01
    with pytest.raises(ValueError, match="partial_fit cannot take kernel='precomputed'"):
        SLAMPerceptron(kernel="precomputed").partial_fit(X @ X.T, y, qid)
    with pytest.raises(ValueError, match="X must be square with kernel='precomputed'"):
        SLAMPerceptron(kernel="precomputed").fit(X, y, qid)


def test_more_features_than_before() -> None:
    X, y, qid = make_data()
    model = SLAMPerceptron().partial_fit(X, y, qid)
    with pytest.raises(ValueError, match="X has 4 features, but SLAMPerceptron is expecting 5"):
        model.partial_fit(X[:, :4], y, qid)
