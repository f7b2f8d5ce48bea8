"""Weights of online rankers, round by round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from rankwright.online import PAMIR, OnlineRanker, SLAMPerceptron
from rankwright.predtron import PredtronRanker
from tests.one_pass import one_pass
from tests.reference import losses, online
from tests.reference.weights import WEIGHTED

RANKERS: dict[str, Any] = {
    "online-ranker": OnlineRanker("domination", 0.1, variant="averaged"),
    "slam-perceptron": SLAMPerceptron("map", variant="averaged"),
    "slam-perceptron-kernel": SLAMPerceptron(kernel="rbf"),
    "predtron": PredtronRanker(variant="averaged"),
    "predtron-driven": PredtronRanker(mode="loss_driven", norm="l1"),
}


def make_data(seed: int = 0) -> tuple[Any, Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(12), rng.integers(2, 9, 12))
    X = rng.normal(size=(len(qid), 3))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=len(qid)), [-0.5, 0.5]).astype(float)
    a = rng.uniform(0.1, 3, len(qid))
    return X, y, qid, a, rng.integers(0, 4, 12)[qid].astype(float)


def test_the_slam_perceptron_multiplies_v() -> None:
    X, y, qid, a, c = make_data()
    rows = [qid == q for q in range(12)]
    queries = [(X[r], y[r]) for r in rows]
    given = iter([a[r] * c[r] for r in rows])
    times = iter([float(c[r][0]) for r in rows])
    run = online.slam_perceptron(
        queries,
        lambda labels: losses.ndcg_weights(labels) * next(given),
        lambda labels, s: next(times) * online.ndcg_loss(labels, s, None),
    )
    ranker = one_pass(SLAMPerceptron())
    (rounds,) = ranker.fit_rounds(X, y, qid, sample_weight=a, query_weight=c)
    np.testing.assert_allclose(ranker.coef_, run.w, atol=1e-12)
    np.testing.assert_allclose(rounds.losses, run.losses, atol=1e-12)
    assert ranker.n_updates_ == run.n_updates
    assert ranker.cumulative_loss_ == pytest.approx(sum(run.losses))


@pytest.mark.parametrize("loss", ["listnet", "domination", "slam", "rank_logistic"])
def test_the_online_ranker_descends_the_weighted_loss(loss: str) -> None:
    X, y, qid, a, c = make_data()
    rows = [qid == q for q in range(12)]

    def value_and_grad(s: Any, labels: Any, t: int) -> tuple[float, Any]:
        def value(scores: Any) -> float:
            return float(c[rows[t]][0]) * WEIGHTED[loss](scores, labels, a[rows[t]])

        moves = 1e-6 * np.eye(len(s))
        return value(s), np.array([(value(s + e) - value(s - e)) / 2e-6 for e in moves])

    start = 0.1 * X[rows[0]].T @ y[rows[0]]  # at weights 0 all is tied
    queries = [(X[r], y[r]) for r in rows]
    run = online.gradient_descent(queries, value_and_grad, [0.1] * 12, start)
    ranker = OnlineRanker(loss, 0.1)
    ranker.partial_fit(X[:1], y[:1], qid[:1])  # which teaches nothing
    ranker.coef_ = start
    rounds = ranker.partial_fit_rounds(X, y, qid, sample_weight=a, query_weight=c)
    np.testing.assert_allclose(ranker.coef_, run.w, atol=1e-6)
    np.testing.assert_allclose(rounds.losses, run.losses, atol=1e-6)


@pytest.mark.parametrize("mode", ["predicted", "augmented", "loss_driven"])
@pytest.mark.parametrize("kernel", [None, "linear"])
def test_predtron_multiplies_loss_and_direction(mode: Any, kernel: Any) -> None:
    # One query of one-hot documents: the first step is the direction itself.
    y, a = np.array([2.0, 0, 1, 0, 1]), np.array([1.0, 0.5, 2.0, 0.0, 3.0])
    plain = PredtronRanker(mode=mode, eta=1.0, kernel=kernel).fit(np.eye(5), y)
    found = PredtronRanker(mode=mode, eta=1.0, kernel=kernel)
    found.fit(np.eye(5), y, sample_weight=a, query_weight=np.full(5, 3.0))
    np.testing.assert_allclose(found.predict(np.eye(5)), 3 * a * plain.predict(np.eye(5)))
    assert found.cumulative_loss_ == pytest.approx(3 * plain.cumulative_loss_)


def test_predtron_with_equal_weights_takes_longer_steps() -> None:
    # The slow form with weights is the fast one without.
    X, y, qid, *_ = make_data()
    for mode in ("predicted", "augmented", "loss_driven"):
        which: Any = mode
        plain = PredtronRanker(mode=which, eta=0.2).fit(X, y, qid)
        twice = PredtronRanker(mode=which, eta=0.1).fit(
            X, y, qid, query_weight=np.full(len(y), 2.0)
        )
        np.testing.assert_allclose(twice.coef_, plain.coef_, rtol=1e-12)
        assert twice.cumulative_loss_ == pytest.approx(2 * plain.cumulative_loss_)
        assert twice.n_updates_ == plain.n_updates_


@pytest.mark.parametrize("name", RANKERS)
def test_pieces_of_a_stream_keep_their_weights(name: str) -> None:
    X, y, qid, a, c = make_data()
    ranker = one_pass(clone(RANKERS[name]))
    whole = ranker.fit(X, y, qid, sample_weight=a, query_weight=c).predict(X)
    pieces = type(ranker)(**ranker.get_params())
    for part in (qid < 5, qid >= 5):
        pieces.partial_fit(X[part], y[part], qid[part], sample_weight=a[part], query_weight=c[part])
    np.testing.assert_allclose(pieces.predict(X), whole, rtol=1e-12)
    assert pieces.cumulative_loss_ == pytest.approx(ranker.cumulative_loss_)


def test_a_learner_that_knows_no_weights_refuses_them() -> None:
    class Plain(PAMIR):
        takes_weights = False

    X, y, qid, a, _ = make_data()
    np.testing.assert_array_equal(
        Plain().fit(X, y, qid, sample_weight=np.ones(len(y))).coef_, PAMIR().fit(X, y, qid).coef_
    )
    with pytest.raises(TypeError, match=r"^Plain learns without weights: leave out sample_weight"):
        Plain().fit(X, y, qid, sample_weight=a)


# --- guarantees --------------------------------------------------------------------------------


def test_the_bound_of_a_loss_holds_with_weights() -> None:
    X, y, qid, a, c = make_data()
    u = np.array([1.0, 0.0, 0.0])
    for loss in ("listnet", "slam", "domination"):
        ranker = OnlineRanker(loss, 0.05)
        bound = ranker.bound(u, X, y, qid, sample_weight=a, query_weight=c)
        ranker.fit(X, y, qid, sample_weight=a, query_weight=c)
        assert bound.terms["loss"] == pytest.approx(ranker.cumulative_loss_)
        assert bound.terms["loss"] <= float(bound) + 1e-9
        assert float(bound) != float(ranker.bound(u, X, y, qid))


@pytest.mark.parametrize("ranker", [SLAMPerceptron(), PredtronRanker(), PAMIR()])
@pytest.mark.parametrize("name", ["sample_weight", "query_weight"])
def test_the_bound_of_a_metric_knows_no_weights(ranker: Any, name: str) -> None:
    X, y, qid, _, c = make_data()
    with pytest.raises(ValueError, match=f"^{name} must be 1 for a bound on a metric, which knows"):
        ranker.bound(np.ones(3), X, y, qid, **{name: c})
    if not isinstance(ranker, PAMIR):
        u, ones = np.array([1.0, 0.0, 0.0]), np.ones(len(y))
        same = ranker.bound(u, X, y, qid, **{name: ones})
        assert float(same) == float(ranker.bound(u, X, y, qid))
