"""Relaxed l1: the features that it chose, refitted with l2."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize as scipy_minimize
from sklearn.base import clone

import rankwright as rw
from rankwright.data import Dataset
from rankwright.exceptions import ConvergenceWarning
from rankwright.linear import TopicRankers, choose_alpha
from rankwright.losses import Domination

RANKERS: dict[str, Any] = {
    "domination": rw.DominationRank("l1", 0.5, tol=1e-9),
    "induced": rw.DominationRank("l1", 0.5, n_induced=2, tol=1e-9),
    "pooled": rw.DominationRank("l1", 1.0, pooled=True, negatives=0.5, tol=1e-9),
    "elasticnet": rw.DominationRank("elasticnet", 0.8, l1_ratio=0.6, tol=1e-9),
    "linear": rw.LinearRanker("xendcg", "l1", 0.05, tol=1e-9),
    "listnet": rw.LinearRanker("listnet", "elasticnet", 0.1, standardize=True, tol=1e-9),
    "logistic": rw.LinearRanker("rank_logistic", "l1", 0.8, tol=1e-9),
    "hinge": rw.LinearRanker("rank_hinge", "l1", 0.8),
}
every_ranker = pytest.mark.parametrize("ranker", RANKERS.values(), ids=RANKERS)


def sample(seed: int = 0, n_queries: int = 30) -> Dataset:
    """Return queries of which four of twelve features tell something."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(3, 9, n_queries))
    X = rng.normal(size=(len(qid), 12)) * rng.uniform(0.5, 2.0, 12)
    truth = X[:, :4] @ [2.0, -1.5, 1.0, 0.5] + 0.7 * rng.normal(size=len(qid))
    return Dataset(X, np.digitize(truth, [0.5, 2.0]).astype(float), qid)


def clone_with(ranker: Any, **params: Any) -> Any:
    return clone(ranker).set_params(**params)


def fitted(ranker: Any, data: Dataset, **more: Any) -> Any:
    return clone_with(ranker, **more).fit(data.X, data.y, data.qid)


def strength(first: Any, relax: float) -> float:
    """Return the weight of the l2 penalty of the refit: |w| becomes w^2 over the median."""
    l1 = {"l1": 1.0, "elasticnet": first.l1_ratio}[first.penalty]
    sizes = np.abs(first.coef_ * getattr(first, "scale_", np.ones(len(first.coef_))))
    median = float(np.median(sizes[sizes > 0]))
    return float(first.alpha * (1 - l1) + 2 * relax * first.alpha * l1 / median)


def near(ranker: Any) -> float:
    """Return how near the weights of two fits are that a bundle ends at a gap of 1e-4, or not."""
    return 0.03 if ranker is RANKERS["hinge"] else 2e-3


@every_ranker
def test_the_features_are_those_of_l1(ranker: Any) -> None:
    data = sample()
    first, relaxed = fitted(ranker, data), fitted(ranker, data, relax=True)
    chosen = np.flatnonzero(first.coef_)
    assert 0 < len(chosen) < 12
    np.testing.assert_array_equal(np.flatnonzero(relaxed.coef_), chosen)
    assert np.abs(relaxed.coef_ - first.coef_).max() > 1e-3
    if isinstance(ranker, rw.DominationRank):
        np.testing.assert_array_equal(relaxed.selected_features_, first.selected_features_)
        assert relaxed.sparsity_ == first.sparsity_
        assert relaxed.n_updates_ == first.n_updates_
    assert relaxed.n_iter_ > first.n_iter_


@every_ranker
@pytest.mark.parametrize("relax", [True, 0.25, 3])
def test_it_is_an_l2_fit_of_the_chosen_columns(ranker: Any, relax: Any) -> None:
    data = sample()
    relaxed = fitted(ranker, data, relax=relax)
    chosen = np.flatnonzero(relaxed.coef_)
    part = Dataset(data.X[:, chosen], data.y, data.qid)
    ridge = fitted(ranker, part, penalty="l2", alpha=strength(fitted(ranker, data), relax))
    np.testing.assert_allclose(relaxed.coef_[chosen], ridge.coef_, rtol=1e-2, atol=near(ranker))
    assert relaxed.objective_[-1] == pytest.approx(ridge.objective_[-1], rel=1e-3)
    # Starting from the weights of l1, it never rises.
    assert (np.diff(relaxed.objective_) <= 1e-9).all()
    assert relaxed.objective_[0] > relaxed.objective_[-1]


def test_against_an_optimiser_that_knows_nothing_of_ours() -> None:
    data = sample(1)
    relaxed = fitted(RANKERS["induced"], data, relax=True)
    chosen = relaxed.selected_features_
    X = data.X[:, chosen]

    def objective(w: Any) -> tuple[float, Any]:
        value, slope = Domination().value_and_grad(X @ w, data.y, data.groups)
        n, alpha = data.n_queries, strength(fitted(RANKERS["induced"], data), 1.0)
        return value / n + alpha / 2 * w @ w, X.T @ slope / n + alpha * w

    best = scipy_minimize(objective, np.zeros(len(chosen)), jac=True, options={"gtol": 1e-9})
    np.testing.assert_allclose(relaxed.coef_[chosen], best.x, atol=1e-5)
    # The certificate: how far the refit is from the best weights of these features.
    assert relaxed.objective_[-1] - best.fun <= relaxed.gap_ + 1e-12
    assert relaxed.gap_ < 1e-8


def test_tolerance_and_stop_are_those_of_the_refit() -> None:
    data = sample()
    loose, tight = (fitted(RANKERS["hinge"], data, relax=True, tol=tol) for tol in (1e-2, 1e-8))
    assert tight.gap_ < 1e-6 < 1e-2 < loose.gap_
    with pytest.warns(ConvergenceWarning, match="stopped after 8 iterations"):
        short = fitted(RANKERS["logistic"], data, relax=True, max_iter=8)
    assert short.stop_ == "converged"
    assert short.violation_ < 1e-8


@pytest.mark.parametrize("penalty", ["l2", None])
def test_without_l1_there_is_nothing_to_relax(penalty: Any) -> None:
    data = sample()
    ranker = rw.LinearRanker("xendcg", penalty, 0.1)
    plain, relaxed = fitted(ranker, data), fitted(ranker, data, relax=True)
    np.testing.assert_array_equal(relaxed.coef_, plain.coef_)
    assert relaxed.n_iter_ == plain.n_iter_


def test_nothing_chosen_is_nothing_refitted() -> None:
    data = sample()
    with pytest.warns(UserWarning, match="all weights are 0"):
        ranker = rw.DominationRank("l1", 1e3, relax=True).fit(data.X, data.y, data.qid)
    assert not ranker.coef_.any()


@every_ranker
def test_a_path_is_relaxed_point_by_point(ranker: Any) -> None:
    """Each point is what fit gives; warm starts come from l1's solution, not from the refit."""
    data = sample(n_queries=20)
    train, valid = data.split((0.7, 0.3))
    alphas = [ranker.alpha, 0.6 * ranker.alpha, 0.3 * ranker.alpha]
    arguments = {"alphas": alphas, "valid": valid}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain = ranker.path(train.X, train.y, train.qid, **arguments)
        relaxed = clone_with(ranker, relax=True).path(train.X, train.y, train.qid, **arguments)
        for a, b in zip(plain, relaxed, strict=True):
            one = fitted(clone_with(ranker, relax=True), train, alpha=b.alpha)
            if ranker is not RANKERS["hinge"]:  # a bundle leaves other features at 0 from elsewhere
                assert b.n_features == a.n_features
                assert one.coef_ == pytest.approx(b.coef, rel=1e-2, abs=1e-3)


@every_ranker
def test_weights_sparse_data_and_files(ranker: Any, tmp_path: Any) -> None:
    data, rng = sample(), np.random.default_rng(3)
    weight = rng.uniform(0.5, 2.0, data.n_docs)
    relaxed = clone_with(ranker, relax=0.5)
    relaxed.fit(data.X, data.y, data.qid, sample_weight=weight)
    chosen = np.flatnonzero(relaxed.coef_)
    first = clone_with(ranker).fit(data.X, data.y, data.qid, sample_weight=weight)
    ridge = clone_with(ranker, penalty="l2", alpha=strength(first, 0.5))
    ridge.fit(data.X[:, chosen], data.y, data.qid, sample_weight=weight)
    np.testing.assert_allclose(relaxed.coef_[chosen], ridge.coef_, rtol=1e-2, atol=near(ranker))
    rw.save(relaxed, tmp_path / "model.rw")
    loaded = rw.load(tmp_path / "model.rw")
    assert loaded.relax == 0.5
    np.testing.assert_array_equal(loaded.predict(data.X), relaxed.predict(data.X))
    sparse = clone_with(ranker, relax=0.5)
    sparse.fit(sp.csr_array(data.X), data.y, data.qid, sample_weight=weight)
    np.testing.assert_allclose(sparse.coef_, relaxed.coef_, atol=near(ranker))


def test_categories_are_columns_like_others() -> None:
    pd = pytest.importorskip("pandas")
    data = sample()
    frame = pd.DataFrame(data.X, columns=[f"f{i}" for i in range(12)])
    frame = frame.assign(label=data.y, qid=data.qid, kind=np.where(data.y > 0, "good", "bad"))
    typed = rw.from_frame(frame, categorical=["kind"])
    plain = rw.DominationRank("l1", 0.5).fit_dataset(typed)
    relaxed = rw.DominationRank("l1", 0.5, relax=True).fit_dataset(typed)
    assert 12 in plain.selected_features_
    np.testing.assert_array_equal(relaxed.selected_features_, plain.selected_features_)
    np.testing.assert_array_equal(np.flatnonzero(relaxed.coef_), np.flatnonzero(plain.coef_))


def test_the_scale_of_the_features_makes_no_difference() -> None:
    """Ten times the features, a tenth of the weights, ten times alpha: the same scores."""
    data = sample()
    small = rw.DominationRank("l1", 0.5, relax=True, tol=1e-9).fit(data.X, data.y, data.qid)
    large = rw.DominationRank("l1", 5.0, relax=True, tol=1e-9).fit(10 * data.X, data.y, data.qid)
    np.testing.assert_allclose(small.coef_, 10 * large.coef_, rtol=1e-4)


def test_a_weak_refit_gives_back_what_l1_took() -> None:
    data = sample(5, 60)
    ranker = rw.DominationRank("l1", 1.5)
    plain, relaxed = fitted(ranker, data), fitted(ranker, data, relax=1e-3)
    chosen = np.flatnonzero(plain.coef_)
    assert (np.abs(relaxed.coef_) > np.abs(plain.coef_))[chosen].all()
    losses = [
        Domination().value_and_grad(r.predict(data.X), data.y, data.groups)[0]
        for r in (relaxed, plain)
    ]
    assert losses[0] < losses[1]


def test_topics_relax_too() -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 60), density=0.15, rng=rng, format="csr")
    scores = X @ rng.normal(size=(60, 3)) * (rng.random(3) + 0.5)
    Y = scores > np.quantile(scores, 0.85, axis=0)
    params = {"penalty": "l1", "alpha": 0.03}
    plain, relaxed = TopicRankers(params).fit(X, Y), TopicRankers(params, relax=True).fit(X, Y)
    np.testing.assert_array_equal(plain.features_, relaxed.features_)
    np.testing.assert_array_equal(plain.offsets_, relaxed.offsets_)
    assert np.abs(plain.weights_ - relaxed.weights_).max() > 0.01
    said = TopicRankers({**params, "relax": True}).fit(X, Y)
    np.testing.assert_array_equal(said.weights_, relaxed.weights_)
    # What params or a grid say goes before; a grid may choose.
    grid: dict[str, list[Any]] = {"relax": [False, True], "alpha": [0.1, 0.03]}
    chosen = TopicRankers(params, grid=grid).fit(X, Y)
    assert all(set(choice) >= {"relax", "alpha"} for choice in chosen.choices_)
    assert {choice["relax"] for choice in chosen.choices_} <= {False, True}


def test_a_parameter_like_any_other(tmp_path: Any) -> None:
    wrong: tuple[Any, ...] = ("yes", 0, -1.0, float("nan"), None)
    for bad in wrong:
        for ranker in (rw.DominationRank(relax=bad), rw.LinearRanker(relax=bad)):
            with pytest.raises(ValueError, match=r"^relax must be True, False or a positive"):
                ranker.check_params()
        with pytest.raises(ValueError, match=r"^relax must be True, False or a positive number"):
            TopicRankers(relax=bad).check_params()
    data = sample()
    choice = choose_alpha(rw.DominationRank("l1", relax=True), data, alphas=[1.0, 0.1], n_folds=2)
    assert choice.alpha in (1.0, 0.1)
    entries = [
        rw.comparison.Entry("l1", rw.DominationRank("l1", 0.5)),
        rw.comparison.Entry("relaxed", rw.DominationRank("l1", 0.5, relax=True)),
    ]
    result = rw.compare(data, entries, n_trials=1)
    assert {standing.name for standing in result.standings} == {"l1", "relaxed"}


def test_from_the_command_line(tmp_path: Any) -> None:
    import json

    from typer.testing import CliRunner

    from rankwright.cli import app

    data, model = tmp_path / "data.txt", tmp_path / "model.rw"
    rw.write_letor(sample(), data)

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(app, list(arguments))
        assert result.exit_code == 0, result.output
        return str(result.stdout)

    chart = tmp_path / "path.svg"
    options = (str(data), "--n-alphas", "4", "--json", "-o", str(chart))
    plain = json.loads(run("path", *options))
    relaxed = json.loads(run("path", *options, "--param", "relax=true"))
    assert [p["n_features"] for p in plain] == [p["n_features"] for p in relaxed]
    assert plain[0] == relaxed[0]  # no feature, nothing to refit
    assert all(a["loss"] != b["loss"] for a, b in zip(plain[1:], relaxed[1:], strict=True))
    assert "relaxed" in chart.read_text(encoding="utf-8")
    options = ("--model", "domination-rank-l1", "--param", "relax=0.5", "-o", str(model))
    run("train", str(data), *options)
    assert rw.load(model).relax == 0.5
    search = ("--search", "relax=false,true", "--trials", "2", "--folds", "2", "--json", "-j", "1")
    found = json.loads(run("tune", str(data), "--model", "domination-rank-l1", *search))
    assert {type(trial["params"]["relax"]) for trial in found["trials"]} == {bool}
