"""Queries without a relevant document: what cross entropies learn from them, which is nothing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from rankwright.data import Dataset, Groups
from rankwright.losses import XENDCG, ListNet, Loss
from rankwright.losses.loss import is_empty
from rankwright.losses.own import prepare_loss
from rankwright.theory import certificate
from rankwright.theory.gradients import score_gradient_norms

CROSS_ENTROPIES: dict[str, Any] = {
    "listnet": ListNet(),
    "xendcg": XENDCG(),
    "xendcg-eps": XENDCG(gamma=0.5, eps=0.3),
    "xendcg-normalized": XENDCG(normalize="ideal_dcg"),
    "xendcg-neumann": XENDCG(newton="neumann"),
}
every_cross_entropy = pytest.mark.parametrize("loss", CROSS_ENTROPIES.values(), ids=CROSS_ENTROPIES)
every_name = pytest.mark.parametrize("name", ["xendcg", "listnet"])


def mixed(n_empty: int = 25, seed: int = 0) -> Dataset:
    """Return forty queries, the first of which have no relevant document."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(40), rng.integers(2, 9, 40))
    X = rng.normal(size=(len(qid), 6))
    y = np.clip(np.round(X @ rng.normal(size=6) / 2 + 0.5 * rng.normal(size=len(qid))), 0, 2)
    y[np.flatnonzero(np.diff(qid, prepend=-1))] = 1.0
    y[qid < n_empty] = 0.0
    return Dataset(X, y, qid)


def full_part(data: Dataset) -> Dataset:
    """Return the queries that are left if the empty ones go."""
    rows = np.repeat(~is_empty(data.y, data.groups), data.groups.sizes)
    return Dataset(data.X[rows], data.y[rows], data.qid[rows])


def fitted(ranker: Any, data: Dataset) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that all weights are 0
        return ranker.fit(data.X, data.y, data.qid)


def test_which_queries_are_empty() -> None:
    groups = Groups(np.array([0, 2, 2, 4, 6, 8, 10, 11]))
    y = np.array([0.0, 0.5, 0.0, 0.0, -1.0, -1.0, -2.0, -1.0, 3.0, 3.0, -0.0])
    expected = [False, True, True, True, False, False, True]
    assert is_empty(y, groups).tolist() == expected


@every_cross_entropy
def test_a_skipped_query_has_no_value_gradient_or_curvature(loss: Any) -> None:
    data = mixed()
    scores = np.random.default_rng(1).normal(size=data.n_docs)
    empty = is_empty(data.y, data.groups)
    rows = np.repeat(empty, data.groups.sizes)
    assert not loss.per_query(scores, data.y, data.groups)[empty].any()
    assert not loss.value_and_grad(scores, data.y, data.groups)[1][rows].any()
    for terms in loss.grad_and_hess(scores, data.y, data.groups, draw=3):
        assert not terms[rows].any()
    # The others are as they were.
    paper: Any = rw.losses.from_name(loss, skip_empty=False)
    assert paper.skip_empty is False
    for mine, theirs in zip(
        loss.grad_and_hess(scores, data.y, data.groups),
        paper.grad_and_hess(scores, data.y, data.groups),
        strict=True,
    ):
        np.testing.assert_array_equal(mine[~rows], theirs[~rows])


@every_cross_entropy
def test_weights_do_not_wake_it(loss: Any) -> None:
    data, rng = mixed(), np.random.default_rng(2)
    weights = rng.random(data.n_docs)
    prepared = prepare_loss(loss, data.y, data.groups, weights)
    values, grad = prepared.values_and_grad(rng.normal(size=data.n_docs))
    empty = is_empty(data.y, data.groups)
    assert not values[empty].any()
    assert not grad[np.repeat(empty, data.groups.sizes)].any()
    assert (values[~empty] > 0).all()


@every_name
def test_labels_of_0_teach_nothing(name: str) -> None:
    data = mixed(n_empty=40)
    assert not data.y.any()
    for ranker in (rw.LinearRanker(name), rw.OnlineRanker(name), rw.OnlineRanker(name, eta=1.0)):
        assert not fitted(ranker, data).coef_.any()
    assert not fitted(rw.BoostedRanker(name, min_child_samples=1), data).predict(data.X).any()


def test_the_papers_way_learns_chance() -> None:
    data = mixed(n_empty=40)
    for kind in (rw.LinearRanker, rw.OnlineRanker):
        assert fitted(kind("xendcg", skip_empty=False), data).coef_.any()
        assert fitted(kind(XENDCG(skip_empty=False)), data).coef_.any()


@pytest.mark.parametrize("solver", ["prox_newton", "coordinate_descent", "lbfgs"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@every_name
def test_it_is_training_without_them_up_to_the_mean(name: str, penalty: str, solver: Any) -> None:
    """Empty queries count in Q: the same penalty weighs as much as Q / Q' of it without them."""
    data = mixed()
    rest = full_part(data)
    share = rest.n_queries / data.n_queries
    options: dict[str, Any] = {"solver": solver, "tol": 1e-7}
    whole = rw.LinearRanker(name, penalty, 0.01, **options).fit(data.X, data.y, data.qid)
    part = rw.LinearRanker(name, penalty, 0.01 / share, **options)
    part.fit(rest.X, rest.y, rest.qid)
    assert whole.objective_[-1] == pytest.approx(share * part.objective_[-1], rel=1e-6)
    np.testing.assert_allclose(whole.coef_, part.coef_, atol=2e-3)
    # The certificate is one of the objective that was minimised.
    assert whole.gap_ < 1e-5
    paper = rw.LinearRanker(name, penalty, 0.01, skip_empty=False, **options)
    assert np.abs(paper.fit(data.X, data.y, data.qid).coef_ - whole.coef_).max() > 1e-2


@every_name
def test_an_online_round_without_a_relevant_document_does_not_move(name: str) -> None:
    data = mixed()
    ranker = rw.OnlineRanker(rw.losses.from_name(name), eta=0.1)
    u = np.ones(6)
    for rows in data.groups:
        before = ranker.coef_.copy() if hasattr(ranker, "coef_") else np.zeros(6)
        ranker.partial_fit(data.X[rows], data.y[rows], data.qid[rows])
        assert (ranker.coef_ == before).all() == (not data.y[rows].any())
    assert ranker.n_rounds_ == 40
    assert ranker.n_updates_ == 15
    # The bound holds of the loss that was stepped on, also the paper's.
    for skip in (True, False):
        bound = rw.OnlineRanker(name, 0.1, skip_empty=skip).bound(u, data.X, data.y, data.qid)
        assert bound.terms["loss"] <= bound.value


@pytest.mark.parametrize("gamma", ["random", 0.0, 0.5, 1.0])
@pytest.mark.parametrize("skip_empty", [True, False])
@pytest.mark.parametrize("normalize", [None, "ideal_dcg"])
def test_the_bound_holds_either_way(gamma: Any, skip_empty: bool, normalize: Any) -> None:
    data = mixed()
    loss = XENDCG(gamma, skip_empty=skip_empty, normalize=normalize)
    for seed in range(20):
        scores = 3 * np.random.default_rng(seed).normal(size=data.n_docs)
        found = certificate(loss, scores, data.y, data.groups)
        assert found.holds
        assert found.n_queries == 40
        if normalize is None:
            assert score_gradient_norms(loss, scores, data.y, data.groups).max() <= 2


def test_a_parameter_like_any_other(tmp_path: Any) -> None:
    data = mixed()
    for ranker in (
        rw.LinearRanker("listnet", skip_empty=False),
        rw.OnlineRanker(skip_empty=False),
        rw.LinearRanker(XENDCG(gamma=0.5, skip_empty=False)),
        rw.BoostedRanker(skip_empty=False, n_estimators=2),
    ):
        rw.save(fitted(ranker, data), tmp_path / "model.rw")
        loaded = rw.load(tmp_path / "model.rw")
        assert loaded.loss_for(data.y) == ranker.loss_for(data.y)
        assert loaded.loss_for(data.y).skip_empty is False
    kinds: tuple[Any, ...] = (rw.LinearRanker, rw.OnlineRanker, rw.BoostedRanker)
    for kind in kinds:
        with pytest.raises(ValueError, match=r"^skip_empty must be True or False, but is 'no'"):
            fitted(kind(skip_empty="no"), data)
    losses: tuple[Any, ...] = (XENDCG, ListNet)
    for loss in losses:
        with pytest.raises(ValueError, match=r"^skip_empty must be True or False, but is 2"):
            loss(skip_empty=2)


def test_losses_that_learn_nothing_there_are_left_alone() -> None:
    for name in ("domination", "slam", "rank_hinge", "rank_logistic"):
        loss: Loss = rw.losses.from_name(name)
        assert rw.losses.from_name(loss, skip_empty=False) is loss
        assert loss.value_and_grad([1.0, -2.0], [0.0, 0.0])[0] == 0


def test_from_the_command_line(tmp_path: Any) -> None:
    from typer.testing import CliRunner

    from rankwright.cli import app

    data, model = tmp_path / "data.txt", tmp_path / "model.rw"
    rw.write_letor(mixed(), data)
    for name in ("linear", "online", "boosted", "xendcg-linear"):
        found = []
        for given in ("true", "false"):
            options = ["--model", name, "--param", f"skip_empty={given}", "-o", str(model)]
            if name == "boosted":
                options += ["--param", "min_child_samples=2"]
            result = CliRunner().invoke(app, ["train", str(data), *options])
            assert result.exit_code == 0, result.output
            loaded = rw.load(model)
            assert loaded.skip_empty is (given == "true")
            found.append(loaded.predict(rw.read(data).X))
        assert np.abs(found[0] - found[1]).max() > 1e-3
