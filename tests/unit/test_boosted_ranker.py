"""BoostedRanker: parameters, weights, early stopping, curves, limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from rankwright.data import Dataset, Groups, make_mslr_like
from rankwright.losses import XENDCG, Domination, LambdaRank, ListNet, StochasticLambdaRank
from rankwright.metrics import NDCG, DominationError, Metric, PairwiseError
from rankwright.trees import BoostedRanker, BoostingProgress
from rankwright.trees.boosting import Boosting
from rankwright.trees.forest import Forest
from rankwright.trees.objective import TreeObjective, choose_loss, terms_of

# Many data here are odd on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:this model ranks nothing")

FEW: dict[str, Any] = {"n_estimators": 5, "num_leaves": 5, "min_child_samples": 5}


@pytest.fixture(scope="module")
def data() -> Dataset:
    return make_mslr_like(n_queries=50, n_features=8, mean_docs=20, random_state=1)


def fit(data: Dataset, loss: Any = "xendcg", **options: Any) -> BoostedRanker:
    extra = {k: options.pop(k) for k in list(options) if k in FIT}
    ranker = BoostedRanker(loss, **{**FEW, **options})
    return ranker.fit(data.X, data.y, data.qid, **extra)


FIT = ("valid", "sample_weight", "query_weight", "callback")


# --- against LightGBM --------------------------------------------------------------------------


def test_lambdarank_grows_the_trees_of_lightgbm(data: Dataset) -> None:
    """The same gradients, up to LightGBM's table of sigmoids, give nearly the same scores."""
    ours = fit(data, LambdaRank(norm=True), n_estimators=3)
    theirs = fit(data, "lightgbm:lambdarank", n_estimators=3)
    assert np.corrcoef(ours.predict(data.X), theirs.predict(data.X))[0, 1] > 0.99


def test_one_leaf_is_a_newton_step() -> None:
    """-eta sum(g) / sum(h) on both sides of the only split."""
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0.0, 0.0, 1.0, 1.0])
    options = {"min_sum_hessian_in_leaf": 0.0, "min_data_in_bin": 1}
    ranker = BoostedRanker(
        XENDCG(gamma=0.0), n_estimators=1, min_child_samples=1, lightgbm_params=options
    ).fit(X, y)
    # phi = (1, 1, 2, 2)/6, rho = 1/4: g = (1/12, -1/12), h = 3/16.
    np.testing.assert_allclose(
        ranker.predict([[0.0], [1.0]]), [-0.1 * (1 / 12) / (3 / 16), 0.1 * (1 / 12) / (3 / 16)]
    )


def test_lightgbm_refuses_what_ours_takes() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10_001, 2)), rng.integers(0, 3, 10_001)
    one = np.zeros(len(y), int)
    with pytest.raises(ValueError, match=r"^LightGBM: .*10000"):
        BoostedRanker("lightgbm:lambdarank", n_estimators=1).fit(X, y, one)
    assert BoostedRanker("lambdarank", n_estimators=1).fit(X, y + 40.5, one).n_iter_ == 1
    with pytest.raises(ValueError, match=r"^LightGBM: "):
        BoostedRanker("lightgbm:lambdarank", n_estimators=1).fit(X[:100], y[:100] + 40)


# --- weights -----------------------------------------------------------------------------------


def objective(data: Dataset, loss: Any, **options: Any) -> TreeObjective:
    given: dict[str, Any] = {
        "doc_weights": None,
        "query_weights": None,
        "skip_empty": False,
        "subsample": 1.0,
        "random_state": 0,
        "n_jobs": 1,
    }
    return TreeObjective(loss, data.y, data.groups, **{**given, **options})


def pair(objective: TreeObjective, scores: Any, iteration: int = 0) -> tuple[Any, Any]:
    """Return gradients and curvatures of an iteration, on one machine."""
    return objective.rounded(objective.found(scores, iteration))


@pytest.mark.parametrize("loss", [XENDCG(), LambdaRank(), ListNet()])
def test_a_query_of_weight_2_has_twice_the_gradient(loss: Any, data: Dataset) -> None:
    scores = np.random.default_rng(0).normal(size=data.n_docs)
    weights = np.where(np.arange(data.n_queries) % 3 == 0, 2.0, 1.0)
    of_row = np.repeat(weights, data.groups.sizes)
    plain = pair(objective(data, loss), scores)
    weighted = pair(objective(data, loss, query_weights=weights), scores)
    for a, b in zip(plain, weighted, strict=True):
        np.testing.assert_allclose(b, of_row * a, rtol=1e-6, atol=1e-12)


def test_a_query_of_weight_0_does_not_count(data: Dataset) -> None:
    weight = (data.qid > 10).astype(float)
    other = data.y.copy()
    other[data.qid <= 10] = 0.0
    changed = Dataset(data.X, other, data.qid)
    for loss in ("xendcg", "lambdarank"):
        a, b = fit(data, loss, query_weight=weight), fit(changed, loss, query_weight=weight)
        assert a.model_text_ == b.model_text_


@pytest.mark.parametrize("loss", [ListNet(), XENDCG(gamma=0.5), XENDCG(newton="exact")])
def test_weights_of_documents_weigh_the_terms_of_a_cross_entropy(loss: Any) -> None:
    rng = np.random.default_rng(0)
    y, s, w = rng.integers(0, 3, 9).astype(float), rng.normal(size=9), rng.uniform(0, 3, 9)
    y[-1] = 1.0  # or the second query would be empty
    groups = Groups(np.array([0, 4, 9]))
    grad, _ = terms_of(loss, y, groups, w, 1)(s, 5)
    phi = loss.prepare(y, groups, draw=5).phi

    def value(scores: Any) -> float:
        total = 0.0
        for rows in groups:
            log_rho = scores[rows] - np.log(np.exp(scores[rows]).sum())
            total -= float(w[rows] * phi[rows] @ log_rho)
        return total

    step = 1e-6 * np.eye(9)
    slopes = [(value(s + e) - value(s - e)) / 2e-6 for e in step]
    np.testing.assert_allclose(grad, slopes, atol=1e-8)


def test_weights_of_documents_multiply_other_gradients() -> None:
    rng = np.random.default_rng(0)
    y, s, w = rng.integers(0, 3, 9).astype(float), rng.normal(size=9), rng.uniform(0, 3, 9)
    groups = Groups(np.array([0, 4, 9]))
    grad, hess = LambdaRank().grad_and_hess(s, y, groups)
    found = terms_of(LambdaRank(), y, groups, w, 1)(s, 0)
    np.testing.assert_array_equal(found[0], w * grad)
    np.testing.assert_array_equal(found[1], w * hess)


def test_weights_of_one_change_nothing(data: Dataset) -> None:
    ones = np.ones(data.n_docs)
    for loss in ("xendcg", "lambdarank", "domination"):
        plain = fit(data, loss).predict(data.X)
        found = fit(data, loss, sample_weight=ones, query_weight=ones).predict(data.X)
        np.testing.assert_allclose(found, plain, rtol=1e-9)


def test_weights_follow_their_rows(data: Dataset) -> None:
    w = np.random.default_rng(0).uniform(0.5, 2, data.n_docs)
    order = np.argsort(np.arange(data.n_docs) % 7, kind="stable")  # takes queries apart
    keeps = np.argsort(data.groups.query_of_rows()[order], kind="stable")
    gathered = order[keeps]
    a = BoostedRanker("lambdarank", **FEW)
    a.fit(data.X[order], data.y[order], data.qid[order], sample_weight=w[order])
    b = BoostedRanker("lambdarank", **FEW)
    b.fit(data.X[gathered], data.y[gathered], data.qid[gathered], sample_weight=w[gathered])
    np.testing.assert_array_equal(a.predict(data.X), b.predict(data.X))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("sample_weight", lambda w: w[:-1], "sample_weight must have"),
        ("sample_weight", lambda w: -w, "sample_weight must not be negative"),
        ("query_weight", lambda w: w + np.arange(len(w)), "same in all rows of a query, but row 1"),
    ],
)
def test_bad_weights(name: str, change: Any, message: str, data: Dataset) -> None:
    with pytest.raises(ValueError, match=message):
        fit(data, **{name: change(np.ones(data.n_docs))})


# --- validation --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "values"),
    [(NDCG(10), [0.5, 0.7, 0.6, 0.7, 0.7]), (PairwiseError(), [0.5, 0.3, 0.4, 0.3, 0.3])],
    ids=str,
)
def test_of_equal_values_the_first_is_the_best(metric: Metric, values: list[float]) -> None:
    boosting = Boosting(metric, 100, 5)
    for iteration, value in enumerate(values, 1):
        boosting._compare(iteration, value, measured=True)
    assert (boosting.best_iteration, boosting.best) == (2, values[1])


def test_early_stopping_keeps_the_best_iteration(data: Dataset) -> None:
    train, valid = data.split((0.6, 0.4))
    ranker = fit(
        train, n_estimators=200, early_stopping_rounds=5, eval_train=True, valid=valid, num_leaves=9
    )
    curve = ranker.evals_result_["valid"]["ndcg@10"]
    assert ranker.stop_ == "early_stopping"
    assert ranker.n_iter_ == int(np.argmax(curve)) + 1
    assert len(curve) == len(ranker.evals_result_["train"]["ndcg@10"]) == ranker.n_iter_ + 5
    assert ranker.best_score_ == max(curve)
    assert ranker.score(valid.X, valid.y, valid.qid) == pytest.approx(ranker.best_score_)
    stages = [s for s in ranker.staged_predict(valid.X)]
    assert len(stages) == ranker.n_iter_
    # The model is the beginning of the one that was not stopped.
    whole = fit(train, n_estimators=ranker.n_iter_, num_leaves=9)
    assert whole.model_text_ == ranker.model_text_


def test_a_metric_where_less_is_better(data: Dataset) -> None:
    train, valid = data.split((0.6, 0.4))
    ranker = fit(
        train,
        n_estimators=60,
        early_stopping_rounds=5,
        eval_metric=DominationError(),
        valid=valid,
    )
    curve = ranker.evals_result_["valid"]["domination_error"]
    assert ranker.n_iter_ == int(np.argmin(curve)) + 1
    assert ranker.best_score_ == min(curve)


def test_curves_are_those_of_the_stages(data: Dataset) -> None:
    from rankwright.metrics import parse

    train, valid = data.split((0.6, 0.4))
    ranker = fit(train, eval_metric="err", valid=valid)
    curve = ranker.evals_result_["valid"]["err"]
    for scores, value in zip(ranker.staged_predict(valid.X), curve, strict=False):
        assert parse("err").mean(valid.y, scores, valid.groups) == pytest.approx(value)


def test_without_validation_queries(data: Dataset) -> None:
    ranker = fit(data)
    assert ranker.evals_result_ == {}
    assert math.isnan(ranker.best_score_)
    assert (ranker.n_iter_, ranker.stop_) == (5, "n_estimators")
    with pytest.raises(ValueError, match="early_stopping_rounds needs validation queries"):
        fit(data, early_stopping_rounds=5)


def test_bad_validation_queries(data: Dataset) -> None:
    with pytest.raises(ValueError, match=r"valid: there must be the 8 features of X, but there"):
        fit(data, valid=Dataset([[1.0, 2.0]], [1]))
    nothing = Dataset(data.X, np.zeros(data.n_docs), data.qid)
    with pytest.raises(ValueError, match=r"valid must have a query that counts in ndcg@10"):
        fit(data, valid=nothing)
    with pytest.raises(TypeError, match=r"valid must be a Dataset, but is a tuple\."):
        fit(data, valid=(data.X, data.y))


def test_the_callback_sees_the_progress_and_can_stop(data: Dataset) -> None:
    train, valid = data.split((0.6, 0.4))
    seen: list[BoostingProgress] = []

    def callback(progress: BoostingProgress) -> bool:
        seen.append(progress)
        return progress.iteration == 3

    ranker = fit(train, eval_train=True, valid=valid, callback=callback)
    assert [p.iteration for p in seen] == [1, 2, 3]
    assert ranker.stop_ == "interrupted"
    assert [p.valid for p in seen] == ranker.evals_result_["valid"]["ndcg@10"]
    assert [p.train for p in seen] == ranker.evals_result_["train"]["ndcg@10"]
    assert ranker.n_iter_ == seen[-1].best_iteration
    assert seen[-1].best == max(p.valid for p in seen)
    assert (seen[0].n_estimators, seen[0].metric) == (5, "ndcg@10")
    assert seen[0].seconds_left == pytest.approx(4 * seen[0].seconds)


def test_ctrl_c_leaves_a_model_that_can_be_used(data: Dataset) -> None:
    def callback(progress: BoostingProgress) -> None:
        if progress.iteration == 3:
            raise KeyboardInterrupt

    ranker = BoostedRanker(**FEW)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(data.X, data.y, data.qid, callback=callback)
    assert (ranker.n_iter_, ranker.stop_) == (3, "interrupted")
    np.testing.assert_array_equal(ranker.predict(data.X), fit(data, n_estimators=3).predict(data.X))


def test_ctrl_c_before_the_first_tree_leaves_nothing(data: Dataset) -> None:
    class Interrupted:
        def value_and_grad(self, scores: Any, y: Any, groups: Any) -> Any:
            raise KeyboardInterrupt

    loss: Any = Interrupted()
    ranker = BoostedRanker(loss, **FEW)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(data.X, data.y, data.qid)
    with pytest.raises(NotFittedError):
        ranker.predict(data.X)


# --- losses ------------------------------------------------------------------------------------


class Squared:
    """A loss of one's own: half the squared distance of scores and labels."""

    def value_and_grad(self, scores: Any, y: Any, groups: Groups) -> tuple[float, Any]:
        return float((scores - y) @ (scores - y)) / 2, scores - y


def test_a_loss_of_ones_own(data: Dataset) -> None:
    """The curvature is 1, so that leaves hold means of residuals: regression trees."""
    import lightgbm

    ranker = fit(data, Squared(), skip_empty=False)
    params = {"objective": "l2", "boost_from_average": False, "num_leaves": 5, "verbosity": -1}
    train = lightgbm.Dataset(data.X, data.y, params={"min_data_in_leaf": 5, **params})
    theirs = lightgbm.train({"min_data_in_leaf": 5, **params}, train, num_boost_round=5)
    np.testing.assert_allclose(ranker.predict(data.X), theirs.predict(data.X), rtol=1e-5)


def test_a_gradient_that_is_not_finite_names_its_row(data: Dataset) -> None:
    class Broken(Squared):
        def value_and_grad(self, scores: Any, y: Any, groups: Groups) -> tuple[float, Any]:
            value, grad = super().value_and_grad(scores, y, groups)
            grad[7] = np.nan
            return value, grad

    with pytest.raises(ValueError, match=r"in iteration 1 the gradient of row 7 is nan\."):
        fit(data, Broken())


def test_a_gradient_of_the_wrong_size(data: Dataset) -> None:
    class Short(Squared):
        def value_and_grad(self, scores: Any, y: Any, groups: Groups) -> tuple[float, Any]:
            return 0.0, scores[1:]

    with pytest.raises(ValueError, match=r"must return a gradient for each of \d+ documents"):
        fit(data, Short())


def test_names_of_losses() -> None:
    assert choose_loss("xendcg", "exact", 4) == XENDCG(newton="exact", random_state=4)
    assert choose_loss("lambdarank", "plain", 0) == LambdaRank()
    assert choose_loss("listnet", "plain", 0) == ListNet()
    drawn = StochasticLambdaRank(random_state=4)
    assert choose_loss("stochastic-lambdarank", "plain", 4) == drawn
    assert choose_loss("lightgbm:lambdarank", "plain", 0) == "lightgbm:lambdarank"
    with pytest.raises(ValueError, match=r"^loss must be one of xendcg, .*, but is 'nope'\.$"):
        choose_loss("nope", "plain", 0)
    with pytest.raises(ValueError, match="newton='exact' is for loss='xendcg'"):
        choose_loss(XENDCG(), "exact", 0)
    with pytest.raises(TypeError, match="loss must be a name or have value_and_grad"):
        choose_loss(3, "plain", 0)


def test_gamma_is_drawn_anew_for_each_tree(data: Dataset) -> None:
    terms = objective(data, XENDCG(), subsample=1.0, random_state=0)
    scores = np.zeros(data.n_docs)
    first, second = (pair(terms, scores, iteration) for iteration in (0, 1))
    for draw, found in enumerate((first, second)):
        grad, hess = XENDCG().grad_and_hess(scores, data.y, data.groups, draw)
        np.testing.assert_allclose(found[0], grad, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(found[1], hess, rtol=1e-6, atol=1e-9)
    assert not np.array_equal(first[0], second[0])


def test_the_seed_of_xendcg_is_that_of_the_ranker(data: Dataset) -> None:
    assert fit(data, random_state=1).model_text_ != fit(data, random_state=2).model_text_
    seeded = fit(data, XENDCG(random_state=1))
    assert fit(data, random_state=1).model_text_ == seeded.model_text_


def test_queries_without_relevant_documents_are_skipped() -> None:
    """Whatever the loss; one that has no curvatures would have a curvature of 1 there."""
    part = Dataset(np.zeros((4, 1)), [0, 1, 0, 0], [1, 1, 2, 2])
    for loss in (XENDCG(), ListNet(), Domination(), LambdaRank(), StochasticLambdaRank()):
        grad, hess = pair(objective(part, loss, skip_empty=True), np.zeros(4))
        assert (grad[:2] != 0).all()
        assert (hess[:2] != 0).all()
        assert not grad[2:].any()
        assert not hess[2:].any()


def test_skipping_them_is_a_choice(data: Dataset) -> None:
    y = data.y.copy()
    y[data.qid < 20] = 0.0
    part = Dataset(data.X, y, data.qid)
    skipping, learning = fit(part), fit(part, skip_empty=False)
    assert skipping.model_text_ != learning.model_text_
    # Here or in the loss, with the loss's own seed that of the ranker by default.
    assert fit(part, XENDCG(skip_empty=False)).model_text_ == learning.model_text_
    assert fit(part, XENDCG()).model_text_ == skipping.model_text_
    assert learning.loss_for(part.y) == XENDCG(skip_empty=False)


def test_a_sample_of_queries(data: Dataset) -> None:
    terms = objective(data, ListNet(skip_empty=False), subsample=0.3, random_state=5)
    seen = []
    for iteration in range(200):
        _, hess = pair(terms, np.zeros(data.n_docs), iteration)
        of_query = np.add.reduceat(hess, data.groups.indptr[:-1]) > 0
        seen.append(of_query)
    sizes = data.groups.sizes > 1  # a single document has no curvature
    assert np.mean(seen, axis=0)[sizes].min() > 0.15
    assert np.mean(seen, axis=0)[sizes].max() < 0.45


def test_one_query_is_always_in_the_sample(data: Dataset) -> None:
    few = data.select([3, 8])
    ranker = fit(few, subsample=1e-9, n_estimators=3, min_child_samples=1)
    assert ranker.n_iter_ == 3
    assert Forest.from_text(ranker.model_text_, 8).gain.min() > 0


# --- parameters --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_estimators": 0}, "n_estimators must be a positive integer, but is 0."),
        ({"num_leaves": 1}, "num_leaves must be an integer of at least 2, but is 1."),
        ({"learning_rate": 0.0}, "learning_rate must be a positive number, but is 0.0."),
        ({"subsample": 1.5}, "subsample must be a number in (0, 1], but is 1.5."),
        ({"colsample": 0}, "colsample must be a number in (0, 1], but is 0."),
        ({"colsample_bynode": 2}, "colsample_bynode must be a number in (0, 1], but is 2."),
        ({"leaf_l2": -1.0}, "leaf_l2 must be a number >= 0, but is -1.0."),
        ({"path_smooth": "x"}, "path_smooth must be a number >= 0, but is 'x'."),
        ({"min_gain": math.nan}, "min_gain must be a number >= 0, but is nan."),
        ({"extra_trees": 1}, "extra_trees must be True or False, but is 1."),
        ({"random_state": None}, "random_state must be an integer of at least 0, but is None."),
        ({"early_stopping_rounds": 0}, "early_stopping_rounds must be a positive integer or None"),
        ({"lightgbm_params": {"eta": 1}}, "must not have 'eta': use learning_rate."),
        ({"lightgbm_params": {"lambda_l2": 1}}, "must not have 'lambda_l2': use leaf_l2."),
        ({"lightgbm_params": {"reg_lambda": 1}}, "must not have 'reg_lambda': use leaf_l2."),
        ({"lightgbm_params": {"min_split_gain": 1}}, "'min_split_gain': use min_gain."),
        ({"lightgbm_params": {"extra_tree": True}}, "'extra_tree': use extra_trees."),
        ({"lightgbm_params": {"colsample_bynode": 1}}, "'colsample_bynode': use colsample_bynode."),
        ({"lightgbm_params": {"boosting": "dart"}}, "must not have 'boosting'"),
        ({"eval_metric": "nope"}, "there is no metric 'nope'"),
        ({"lightgbm_params": {"max_depth": "x"}}, "LightGBM: "),
    ],
)
def test_bad_parameters(params: dict[str, Any], message: str, data: Dataset) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        fit(data, **params)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_lightgbm_params_must_be_a_dict(data: Dataset) -> None:
    with pytest.raises(TypeError, match="lightgbm_params must be a dict, but is a list"):
        fit(data, lightgbm_params=["x"])


def test_lightgbm_params_arrive(data: Dataset) -> None:
    stump = fit(data, num_leaves=31, lightgbm_params={"max_depth": 1})
    assert "num_leaves=2\n" in stump.model_text_
    assert "num_leaves=3\n" not in stump.model_text_


class Even:
    """Directions that add up to nothing, with the same curvature for all."""

    def grad_and_hess(self, scores: Any, y: Any, groups: Groups, draw: int = 0) -> Any:
        return y.mean() - y, np.ones(len(y))


def one_step(data: Dataset, loss: Any = "listnet", **params: Any) -> tuple[Any, Any, Any]:
    """Return the leaves of one step: values, and sums of gradients and curvatures."""
    ranker = fit(
        data, loss, n_estimators=1, learning_rate=1.0, skip_empty=loss == "listnet", **params
    )
    leaf = np.ravel(np.asarray(ranker.booster_.predict(data.X, pred_leaf=True)))
    known = ListNet() if loss == "listnet" else loss
    grad, hess = known.grad_and_hess(np.zeros(data.n_docs), data.y, data.groups)
    values = np.zeros(leaf.max() + 1)
    values[leaf] = ranker.predict(data.X)
    return values, np.bincount(leaf, grad), np.bincount(leaf, hess)


def test_leaf_l2_is_added_to_the_curvature(data: Dataset) -> None:
    for penalty in (0.0, 0.7, 20.0):
        values, grad, hess = one_step(data, leaf_l2=penalty)
        assert len(values) == 5
        np.testing.assert_allclose(values, -grad / (hess + penalty), rtol=1e-5)


def test_path_smooth_is_a_mean_with_the_node_above(data: Dataset) -> None:
    # LightGBM counts documents by curvatures: equal ones count exactly. Above two leaves there is
    # the root, whose value is 0.
    for c in (1.0, 30.0, 1000.0):
        values, grad, n = one_step(data, Even(), path_smooth=c, num_leaves=2)
        np.testing.assert_allclose(values, -grad / n * n / (n + c), rtol=1e-5)


def test_a_split_must_gain_enough(data: Dataset) -> None:
    values, grad, hess = one_step(data, num_leaves=2)
    gain = (grad**2 / hess).sum()  # the root's is 0
    assert len(one_step(data, num_leaves=2, min_gain=0.999 * gain)[0]) == len(values) == 2
    ranker = fit(data, "listnet", num_leaves=2, min_gain=1.001 * gain)
    assert ranker.stop_ == "no_split"


@pytest.mark.parametrize("chance", [{"colsample_bynode": 0.5}, {"extra_trees": True}])
def test_splits_at_random(chance: dict[str, Any], data: Dataset) -> None:
    """ListNet draws nothing, so that nothing else depends on the seed."""
    assert fit(data, "listnet").model_text_ == fit(data, "listnet", random_state=1).model_text_
    drawn = {fit(data, "listnet", random_state=seed, **chance).model_text_ for seed in range(3)}
    assert len(drawn) == 3


def test_missing_values(data: Dataset) -> None:
    X = np.where(np.random.default_rng(0).random(data.X.shape) < 0.2, np.nan, data.X)
    ranker = BoostedRanker(**FEW).fit(X, data.y, data.qid)
    assert ranker.score(X, data.y, data.qid) > 0.6
    with pytest.raises(ValueError, match="X must be finite, but row 0, feature 1 is inf"):
        ranker.predict(np.full((1, 8), np.inf))


def test_nothing_to_learn() -> None:
    ranker = BoostedRanker().fit(np.ones((30, 2)), np.arange(30) % 2)
    assert ranker.stop_ == "no_split"
    np.testing.assert_array_equal(ranker.predict([[1.0, 2.0]]), [0.0])
    ranker = BoostedRanker().fit([[1.0]], [1.0])
    np.testing.assert_array_equal(ranker.predict([[1.0]]), [0.0])


# --- importances -------------------------------------------------------------------------------


def test_importances(data: Dataset) -> None:
    ranker = fit(data, n_estimators=20)
    gain, split = ranker.importance("gain"), ranker.importance("split")
    assert gain.shape == split.shape == (8,)
    np.testing.assert_array_equal(ranker.feature_importances_, gain)
    assert split.sum() == 20 * 4
    assert ((gain > 0) == (split > 0)).all()
    with pytest.raises(
        ValueError, match="kind must be 'gain', 'split' or 'deviation', but is 'cover'"
    ):
        ranker.importance("cover")
    with pytest.raises(NotFittedError):
        BoostedRanker().importance()


def test_contributions_sum_to_the_score(data: Dataset) -> None:
    ranker = fit(data, n_estimators=20)
    parts, start = ranker.contributions(data.X)
    assert parts.shape == data.X.shape
    np.testing.assert_allclose(parts.sum(axis=1) + start, ranker.predict(data.X), atol=1e-12)
