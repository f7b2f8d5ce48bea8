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
from rankwright.losses import SLAM, XENDCG, ListNet
from rankwright.online import (
    MulticlassPerceptron,
    OnlineRanker,
    PRank,
    SLAMPerceptron,
    WidrowHoff,
)
from rankwright.online.ledger import Ledger
from tests.one_pass import one_pass
from tests.reference import online as reference
from tests.reference.online import Floats

# Many data here are odd on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:this model ranks nothing")

RANKERS: dict[str, Any] = {
    "slam": SLAMPerceptron(),
    "slam-averaged": SLAMPerceptron("map", variant="averaged", n_epochs=2),
    "slam-voted": SLAMPerceptron("ndcg@3", variant="voted", n_epochs=2, shuffle=True),
    "slam-paper": SLAMPerceptron(update="paper", radius=10.0, max_docs=50, v_max=100.0),
    "slam-printed": SLAMPerceptron("map-uniform", "printed"),
    "slam-rbf": SLAMPerceptron(kernel="rbf", variant="averaged"),
    "slam-rbf-voted": SLAMPerceptron(kernel="rbf", variant="voted"),
    "slam-rbf-budget": SLAMPerceptron(kernel="rbf", variant="last", budget=60),
    "online-xendcg": OnlineRanker("xendcg", 0.1, schedule="sqrt"),
    "online-listnet": OnlineRanker(ListNet(), 0.1, variant="averaged", n_epochs=2),
    "online-domination": OnlineRanker("domination", schedule="inverse", variant="voted"),
}
LABELERS: dict[str, Any] = {
    "prank": PRank(),
    "prank-averaged": PRank("averaged", n_epochs=2),
    "prank-voted": PRank("voted"),
    "prank-poly": PRank(kernel="poly", degree=2, gamma=1.0),
    "prank-rbf-averaged": PRank("averaged", kernel="rbf"),
    "prank-rbf-voted": PRank("voted", kernel="rbf"),
    "widrow-hoff": WidrowHoff(),
    "widrow-hoff-averaged": WidrowHoff(0.02, variant="averaged"),
    "widrow-hoff-poly": WidrowHoff(kernel="poly", degree=2),
    "multiclass": MulticlassPerceptron(),
    "multiclass-max": MulticlassPerceptron("max", variant="averaged"),
    "multiclass-rbf": MulticlassPerceptron(kernel="rbf", variant="averaged"),
    "multiclass-voted": MulticlassPerceptron(variant="voted"),
    "multiclass-rbf-voted": MulticlassPerceptron(kernel="rbf", variant="voted"),
    "multiclass-rbf-budget": MulticlassPerceptron(kernel="rbf", variant="last", budget=20),
}
LEARNERS = RANKERS | LABELERS
for learner in LEARNERS.values():
    one_pass(learner)  # the papers' algorithms
LEARNERS["slam-voted"].set_params(shuffle=True)
every_ranker = pytest.mark.parametrize("name", RANKERS)
every_learner = pytest.mark.parametrize("name", LEARNERS)
every_labeler = pytest.mark.parametrize("name", LABELERS)


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
        if "map" in metric:  # the twin compares labels, not grades
            y = (y >= 1).astype(float)
        queries = queries_of(X, y, qid)
        weights: Any = "printed" if seed % 2 and metric != "map-uniform" else "group"
        loss = SLAM(metric, weights=weights)
        run = reference.slam_perceptron(
            queries,
            lambda y, loss=loss: loss.document_weights(y, Groups.one_query(len(y))),
            METRICS[metric],
            update=update,
            eta=eta,
            u=u,
        )
        expected = {"last": run.w, "averaged": run.averaged(), "voted": run.voted()}
        for variant in ("last", "averaged", "voted"):
            model = SLAMPerceptron(metric, update, variant=variant, eta=eta, weights=weights)
            model = one_pass(model)
            (rounds,) = model.fit_rounds(kind(X), y, qid, Ledger(u))
            np.testing.assert_allclose(rounds.losses, run.losses, atol=1e-10)
            np.testing.assert_allclose(rounds.terms["comparator"], run.comparator, atol=1e-10)
            np.testing.assert_allclose(model.coef_, expected[variant], atol=1e-10)
            assert model.n_updates_ == run.n_updates
            assert model.cumulative_loss_ == pytest.approx(sum(run.losses), abs=1e-10)


def test_online_gradient_descent_is_its_twin() -> None:
    X, y, qid = make_data()
    queries = queries_of(X, y, qid)
    ids = list(dict.fromkeys(qid.tolist()))
    for loss in (ListNet(), SLAM("map"), XENDCG(random_state=3), XENDCG(gamma=0.5)):

        def value_and_grad(s: Floats, y: Floats, t: int, loss: Any = loss) -> tuple[float, Floats]:
            one = Groups(np.array([0, len(y)]), np.array(ids[t : t + 1]))
            values, grad = loss.prepare(y, one, draw=t).values_and_grad(s)
            return float(values[0]), grad

        for schedule, power in (("constant", 0.0), ("sqrt", 0.5), ("inverse", 1.0)):
            steps = [0.3 / t**power for t in range(1, 31)]
            run = reference.gradient_descent(queries, value_and_grad, steps)
            expected = {"last": run.w, "averaged": run.averaged(), "voted": run.voted()}
            for variant, coef in expected.items():
                kind: Any = {"schedule": schedule, "variant": variant}
                model = one_pass(OnlineRanker(loss, 0.3, **kind))
                model.fit(sp.csr_array(X) if variant == "voted" else X, y, qid)
                np.testing.assert_allclose(model.coef_, coef, atol=1e-10)
                assert model.cumulative_loss_ == pytest.approx(sum(run.losses), abs=1e-9)
                assert model.n_updates_ == run.n_updates


def test_a_loss_of_your_own() -> None:
    class Squares:
        def value_and_grad(self, scores: Any, y: Any, groups: Any) -> tuple[float, Floats]:
            return float(((scores - y) ** 2).sum() / 2), scores - y

    X, y, qid = make_data()
    run = reference.gradient_descent(
        queries_of(X, y, qid), lambda s, y, t: (((s - y) ** 2).sum() / 2, s - y), [0.01] * 30
    )
    own: Any = Squares()
    model = one_pass(OnlineRanker(own, 0.01)).fit(X, y, qid)
    np.testing.assert_allclose(model.coef_, run.w, atol=1e-10)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_prank_is_its_twin(kind: Any) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.integers(-3, 4, (80, 3)).astype(float)  # many exact ties
        ranks = np.clip(np.round(X @ [1, -1, 0.5] + 3 + rng.normal(size=80)), 1, 5).astype(int)
        twin = reference.prank(X, ranks, 5)
        model = one_pass(PRank(classes=[1, 2, 3, 4, 5], standardize=False)).fit(kind(X), ranks)
        np.testing.assert_array_equal(model.coef_, twin.w)
        np.testing.assert_array_equal(model.thresholds_, twin.b)
        assert model.cumulative_loss_ == sum(twin.losses)
        assert model.n_updates_ == np.count_nonzero(twin.losses)
        np.testing.assert_array_equal(model.predict(X), [twin.rank(x) for x in X])
        np.testing.assert_array_equal(model.decision_function(X), X @ twin.w)
        mean = one_pass(PRank("averaged", classes=[1, 2, 3, 4, 5], standardize=False)).fit(
            kind(X), ranks
        )
        np.testing.assert_allclose(mean.coef_, np.mean([w for w, _ in twin.history], 0), atol=1e-10)
        thresholds = np.mean([b for _, b in twin.history], 0)
        np.testing.assert_allclose(mean.thresholds_, thresholds, atol=1e-10)


def test_votes_of_prank_are_medians() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (60, 3)).astype(float)
    ranks = np.clip(np.round(X @ [1, -1, 0.5] + 3 + rng.normal(size=60)), 1, 5).astype(int)
    twin = reference.prank(X, ranks, 5)
    votes = []
    for w, b in twin.history:  # one vote for each round
        machine = reference.Thresholds(w, b)
        votes.append([machine.rank(x) for x in X])
    median = np.sort(votes, axis=0)[(len(votes) - 1) // 2]
    for kernel in (None, "linear"):
        model = one_pass(
            PRank("voted", kernel=kernel, classes=[1, 2, 3, 4, 5], standardize=False)
        ).fit(X, ranks)
        np.testing.assert_array_equal(model.predict(X), median)


@pytest.mark.parametrize("update", ["uniform", "max"])
def test_multiclass_perceptron_is_its_twin(update: Any) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(80, 3))
        ranks = rng.integers(1, 5, 80)
        run = reference.multiclass(X, ranks, 4, update)
        for kind in (np.asarray, sp.csr_array):
            model = one_pass(MulticlassPerceptron(update)).fit(kind(X), ranks)
            np.testing.assert_allclose(model.coef_, run.w, atol=1e-10)
            assert model.cumulative_loss_ == sum(run.losses)
            assert model.n_updates_ == run.n_updates
        mean = one_pass(MulticlassPerceptron(update, variant="averaged")).fit(X, ranks)
        np.testing.assert_allclose(mean.coef_, run.averaged(), atol=1e-10)
        dual = one_pass(MulticlassPerceptron(update, kernel="linear")).fit(X, ranks)
        np.testing.assert_allclose(dual.decision_function(X), X @ run.w.T, atol=1e-9)


@pytest.mark.parametrize("eta", [None, 0.05])
def test_widrow_hoff_is_its_twin(eta: float | None) -> None:
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=(80, 3)), np.ones(80)]
    ranks = rng.integers(1, 5, 80)
    run = reference.widrow_hoff(X, ranks, 4, eta)
    for kind in (np.asarray, sp.csr_array):
        model = one_pass(WidrowHoff(eta)).fit(kind(X), ranks)
        np.testing.assert_allclose(model.coef_, run.w, atol=1e-10)
        assert model.cumulative_loss_ == sum(run.losses)
    mean = one_pass(WidrowHoff(eta, variant="averaged")).fit(X, ranks)
    np.testing.assert_allclose(mean.coef_, run.averaged(), atol=1e-10)
    dual = one_pass(WidrowHoff(eta, kernel="linear")).fit(X, ranks)
    np.testing.assert_allclose(dual.decision_function(X), X @ run.w, atol=1e-9)
    expected = np.clip(np.floor(X @ run.w + 0.5), 1, 4)
    np.testing.assert_array_equal(model.predict(X), expected)


@pytest.mark.parametrize("variant", ["last", "averaged", "voted"])
def test_primal_and_kernel_forms_of_prank_agree_on_every_prediction(variant: Any) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.integers(-9, 10, (600, 4)).astype(float)  # sums of these are exact
        y = rng.integers(0, 5, 600)
        test = rng.integers(-9, 10, (200, 4)).astype(float)
        primal = PRank.paper(variant=variant).fit(X, y)
        for kernel in ("linear", "poly", lambda a, b: a @ b.T):
            params: Any = {"degree": 1, "gamma": 1.0, "coef0": 0.0}
            dual = PRank.paper(variant=variant, kernel=kernel, **params).fit(X, y)
            assert dual.cumulative_loss_ == primal.cumulative_loss_
            np.testing.assert_array_equal(dual.predict(test), primal.predict(test))
        gram = PRank.paper(variant=variant, kernel="precomputed").fit(X @ X.T, y)
        np.testing.assert_array_equal(gram.predict(test @ X.T), primal.predict(test))


def test_the_kernel_form_of_slam_makes_the_same_updates() -> None:
    X, y, qid = make_data()
    X = np.round(10 * X)
    for variant in ("last", "averaged"):
        primal = SLAMPerceptron(variant=variant, n_epochs=2, standardize=False).fit(X, y, qid)
        for kernel, data in (("linear", X), ("precomputed", X @ X.T)):
            dual = SLAMPerceptron(
                variant=variant, n_epochs=2, kernel=kernel, standardize=False
            ).fit(data, y, qid)
            assert dual.n_updates_ == primal.n_updates_
            assert dual.cumulative_loss_ == primal.cumulative_loss_
            np.testing.assert_allclose(dual.predict(data), primal.predict(X), rtol=1e-9, atol=1e-9)


def test_the_step_of_the_paper_is_measured() -> None:
    X, y, qid = make_data()
    model = SLAMPerceptron.paper().fit(X, y, qid)
    groups = Groups.from_qid(qid)
    v = SLAM(weights="printed").document_weights(y, groups)
    ratios = [max(v[q]) / min(v[q][v[q] > 0]) for q in groups if v[q].any()]
    r = max(np.linalg.norm(X, axis=1))
    assert model.eta_ == pytest.approx(1 / (4 * max(groups.sizes) * r**2 * max(ratios)))
    kernel = SLAMPerceptron.paper(kernel="linear").fit(X, y, qid)
    assert kernel.eta_ == pytest.approx(model.eta_)
    cut = SLAMPerceptron.paper(metric="ndcg@3", radius=1.0, v_max=1.0).fit(X, y, qid)
    assert cut.eta_ == pytest.approx(1 / 12)  # Corollary 7: k instead of m


# --- rounds and streams ------------------------------------------------------------------------


@every_learner
def test_pieces_of_a_stream_may_be_cut_anywhere(name: str) -> None:
    X, y, qid = make_data()
    model = clone(LEARNERS[name]).set_params(n_epochs=1, shuffle=False)
    if name in LABELERS:
        model.set_params(classes=[0, 1, 2, 3])
    whole = clone(model).fit(X, y, qid)
    for size in (1, 7, 29):
        pieces = clone(model)
        for first in range(0, 30, size):
            rows = (qid >= first) & (qid < first + size)
            assert pieces.partial_fit(X[rows], y[rows], qid[rows]) is pieces
        if model.get_params().get("kernel") is None:
            assert_same_state(pieces, whole)
        else:  # sums over blocks of documents
            np.testing.assert_allclose(pieces.predict(X), whole.predict(X), atol=1e-9)


@every_learner
def test_epochs_are_passes_over_the_data(name: str) -> None:
    X, y, qid = make_data()
    model = clone(LEARNERS[name]).set_params(n_epochs=3, shuffle=False).fit(X, y, qid)
    passes = clone(LEARNERS[name])
    for _ in range(3):
        passes.partial_fit(X, y, qid)
    assert_same_state(passes, model)
    assert model.n_rounds_ == 3 * (30 if name in RANKERS else len(y))


@every_learner
def test_a_learner_goes_on_after_saving_and_pickling(name: str, tmp_path: Any) -> None:
    X, y, qid = make_data()
    half = qid < 15
    whole = clone(LEARNERS[name])
    if name in LABELERS:
        whole.set_params(classes=[0, 1, 2, 3])
    whole.partial_fit(X[half], y[half], qid[half])
    rw.save(whole, tmp_path / "model.rw")
    again, copy = rw.load(tmp_path / "model.rw"), pickle.loads(pickle.dumps(whole))
    for model in (whole, again, copy):
        model.partial_fit(X[~half], y[~half], qid[~half])
    assert_same_state(again, whole)
    assert_same_state(copy, whole)
    np.testing.assert_array_equal(again.predict(X), whole.predict(X))


@every_learner
def test_shuffling_is_a_function_of_the_seed(name: str) -> None:
    X, y, qid = make_data()
    model = clone(LEARNERS[name]).set_params(shuffle=True, random_state=3, n_epochs=2)
    first, second = clone(model).fit(X, y, qid), clone(model).fit(X, y, qid)
    assert_same_state(first, second)
    other = clone(model).set_params(random_state=4).fit(X, y, qid)
    assert other.cumulative_loss_ != first.cumulative_loss_


@every_learner
def test_every_epoch_has_an_order_of_its_own(name: str) -> None:
    X, y, qid = make_data()
    model = clone(LEARNERS[name]).set_params(shuffle=True, random_state=3, n_epochs=3)
    if name in LABELERS:
        model.set_params(classes=[0, 1, 2, 3])
    rounds = qid if name in RANKERS else np.arange(len(y))
    n = len(set(rounds.tolist()))
    orders = [np.random.default_rng([3, epoch]).permutation(n) for epoch in range(3)]

    def passes_in(orders: list[Any]) -> Any:
        learner = clone(model)
        for order in orders:
            rows = np.concatenate([np.flatnonzero(rounds == at) for at in order.tolist()])
            learner.partial_fit(X[rows], y[rows], qid[rows])
        return learner

    whole = clone(model).fit(X, y, qid)
    assert_same_state(passes_in(orders), whole)
    with pytest.raises(AssertionError):
        assert_same_state(passes_in([orders[0]] * 3), whole)


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
    model = clone(RANKERS[name])
    if isinstance(model, OnlineRanker):
        model.set_params(loss="slam")  # ListNet has an opinion on equal labels
    model.fit(X, [0, 0, 2, 2, 2, 1], ["a", "a", "b", "b", "b", "c"])
    assert model.n_updates_ == 0
    assert model.cumulative_loss_ == 0
    np.testing.assert_array_equal(model.predict(X), np.zeros(6))


def test_large_queries_and_scores() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 3)) * 1e6
    y = (X[:, 0] > 1e6).astype(float)
    model = SLAMPerceptron("map", n_epochs=5).fit(X, y, np.zeros(len(y), int))
    assert np.isfinite(model.coef_).all()
    assert model.score(X, y) > 0.9


# --- labels ------------------------------------------------------------------------------------


@every_labeler
def test_any_ordered_set_of_labels(name: str) -> None:
    X, y, _ = make_data()
    X = np.c_[X, np.ones(len(X))]
    names = np.array(["poor", "fair", "good", "best"])
    texts = clone(LABELERS[name]).set_params(classes=names.tolist()).fit(X, names[y.astype(int)])
    numbers = clone(LABELERS[name]).fit(X, y)
    sparse = clone(LABELERS[name]).fit(X, np.array([-7.5, 0, 0.25, 1e6])[y.astype(int)])
    np.testing.assert_array_equal(texts.predict(X), names[numbers.predict(X).astype(int)])
    assert texts.score(X, names[y.astype(int)]) == numbers.score(X, y)
    assert texts.cumulative_loss_ == numbers.cumulative_loss_ == sparse.cumulative_loss_
    assert set(sparse.predict(X)) <= {-7.5, 0, 0.25, 1e6}
    assert numbers.score(X, y) == -np.abs(numbers.predict(X) - y).mean()
    assert numbers.score(X, y) > -1.2


ORDINAL = [PRank, WidrowHoff, MulticlassPerceptron, rw.PredtronOrdinal]


@pytest.mark.parametrize("kind", ORDINAL)
def test_texts_need_an_order(kind: Any) -> None:
    pandas = pytest.importorskip("pandas")
    X, y, _ = make_data()
    ranks, names = y.astype(int), np.array(["poor", "fair", "good", "best"])
    with pytest.raises(ValueError, match=r"^texts as labels need classes, all of them, worst"):
        kind().fit(X, names[ranks])
    with pytest.raises(ValueError, match=r"needs? classes"):
        kind().partial_fit(X, names[ranks])
    unordered = pandas.Categorical.from_codes(ranks, names)
    with pytest.raises(ValueError, match=r"^texts as labels need classes"):
        kind().fit(X, unordered)
    numbers = kind().fit(X, ranks)
    ordered = unordered.as_ordered()
    for given in (ordered, pandas.Series(ordered), names[ranks]):
        model = kind(classes=names.tolist() if given is not ordered else None).fit(X, given)
        assert model.classes_.tolist() == names.tolist()
        np.testing.assert_array_equal(model.predict(X), names[numbers.predict(X)])
        assert model.score(X, given) == numbers.score(X, ranks)
    column = kind().fit(X, pandas.Series(ordered))
    assert column.classes_.tolist() == names.tolist()


@pytest.mark.parametrize("kind", ORDINAL)
def test_texts_that_look_like_numbers_are_texts(kind: Any) -> None:
    pandas = pytest.importorskip("pandas")
    X, y, _ = make_data()
    ranks, grades = y.astype(int), np.array(["6", "10", "2", "1"])  # worst first
    numbers = kind().fit(X, ranks)
    ordered = pandas.Categorical.from_codes(ranks, grades, ordered=True)
    for given in (pandas.Series(grades[ranks], dtype=object), grades[ranks], ordered):
        model = kind(classes=None if given is ordered else grades.tolist()).fit(X, given)
        assert model.classes_.tolist() == grades.tolist()
        np.testing.assert_array_equal(model.predict(X), grades[numbers.predict(X)])


@pytest.mark.parametrize("kind", ORDINAL)
def test_scores_have_one_label_for_each_row(kind: Any) -> None:
    X, y, _ = make_data()
    model = kind().fit(X, y)
    assert model.score(X, y[:, None]) == model.score(X, y)
    for labels, message in (
        (y[:1], f"^y must have a label for each row of X, but has 1 for {len(y)} rows"),
        (np.where(np.arange(len(y)) == 3, np.nan, y), "^y must not contain NaN or infinity, but"),
        (np.full(len(y), "good"), "^y must be numbers, as the classes are, but is texts"),
    ):
        with pytest.raises(ValueError, match=message):
            model.score(X, labels)


@pytest.mark.parametrize("kind", ORDINAL)
def test_half_steps_are_labels(kind: Any) -> None:
    X, y, _ = make_data()
    stars = 0.5 + 0.5 * y
    halves, numbers = kind().fit(X, stars), kind().fit(X, y)
    np.testing.assert_array_equal(halves.predict(X), 0.5 + 0.5 * numbers.predict(X))
    expected = -np.abs(halves.predict(X) - stars).mean()
    assert halves.score(X, stars) == pytest.approx(expected) == 0.5 * numbers.score(X, y)


@pytest.mark.parametrize("kind", ORDINAL)
def test_classes_of_any_kind_can_be_saved(kind: Any, tmp_path: Any) -> None:
    pandas = pytest.importorskip("pandas")
    X, y, _ = make_data()
    names = ["poor", "fair", "good", "best"]
    numbers = [range(4), (0, 1, 2, 3), [0, 1, 2, 3], np.arange(4), pandas.Index([0, 1, 2, 3])]
    texts = [tuple(names), names, np.array(names), np.array(names, object), pandas.Index(names)]
    for classes in [*numbers, pandas.RangeIndex(4), *texts]:
        labels = np.asarray(classes)[y.astype(int)]
        model = kind(classes=classes).fit(X, labels)
        rw.save(model, tmp_path / "model.rw")
        again = rw.load(tmp_path / "model.rw")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert list(again.classes) == list(classes)
        again.partial_fit(X, labels)


@every_labeler
def test_labels_of_text_come_back_from_a_file(name: str, tmp_path: Any) -> None:
    X, y, _ = make_data()
    names = np.array(["poor", "fair", "good", "best"])
    model = clone(LABELERS[name]).partial_fit(X, names[y.astype(int)], classes=names)
    rw.save(model, tmp_path / "model.rw")
    again = rw.load(tmp_path / "model.rw")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert_same_state(again, model)


@every_labeler
def test_one_label_is_always_right(name: str) -> None:
    X, _, _ = make_data()
    model = clone(LABELERS[name]).fit(X, np.full(len(X), 3))
    assert set(model.predict(X)) == {3}
    if not name.startswith("widrow"):
        assert model.n_updates_ == 0


@every_labeler
def test_labels_that_were_not_announced(name: str) -> None:
    X, y, _ = make_data()
    model = clone(LABELERS[name]).partial_fit(X, y, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match="one of the 4 classes, but row 1 has 7"):
        model.partial_fit(X[:2], [0, 7])
    with pytest.raises(ValueError, match="sorted if they are numbers, but 2 comes after 3"):
        clone(model).partial_fit(X, y, classes=[3, 2, 1, 0])
    for bad, found in (([0, 1] * 500 + [1], "1 comes 501 times"), ([], "there are none")):
        with pytest.raises(ValueError, match=f"be different labels, worst first, but {found}"):
            clone(model).partial_fit(X, y, classes=bad)
    # Those of the call come before those of the learner.
    told = clone(LABELERS[name]).set_params(classes=[0, 1])
    assert told.partial_fit(X, y, classes=[0, 1, 2, 3]).classes_.tolist() == [0, 1, 2, 3]
    model.classes_ = np.array([0, 1, 1, 3])
    with pytest.raises(rw.DataError, match="classes_ must be different labels"):
        model.check_state()


@pytest.mark.parametrize("kind", ORDINAL)
def test_truth_values_are_labels(kind: Any) -> None:
    X, y, _ = make_data()
    truth, numbers = kind().fit(X, y > 1), kind().fit(X, (y > 1).astype(int))
    np.testing.assert_array_equal(truth.predict(X), numbers.predict(X))
    assert truth.score(X, y > 1) == numbers.score(X, y > 1)


def test_widrow_hoff_rounds_halves_up() -> None:
    model = WidrowHoff.paper(classes=[1, 2, 3, 4]).fit([[1.0], [2.0]], [1, 2])
    model.coef_ = np.array([1.0])
    assert model.predict([[0.5], [1.5], [2.5], [3.5], [9.0]]).tolist() == [1, 2, 3, 4, 4]


def test_steps_that_are_too_long() -> None:
    X, y, _ = make_data()
    for kernel in (None, "linear"):
        with pytest.raises(ValueError, match=r"overflow with eta = 1: it must be below 2/R\^2"):
            WidrowHoff(1.0, kernel=kernel, n_epochs=100, standardize=False).fit(100 * X, y)


# --- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"metric": "dcg"}, "metric must be one of ndcg, map, map-uniform"),
        ({"update": "all"}, "update must be one of misordered, paper, printed, but is 'all'"),
        ({"variant": "mean"}, "variant must be one of last, averaged, voted, but is 'mean'"),
        ({"eta": 0.0}, "eta must be a positive number or None, but is 0.0"),
        ({"radius": -1}, "radius must be a positive number"),
        ({"kernel": "cosine"}, "kernel must be None, one of linear, poly, rbf, precomputed"),
        ({"budget": 10}, "budget needs a kernel: weights do not grow"),
        ({"kernel": "rbf", "budget": 0}, "budget must be a positive integer or None, but is 0"),
        ({"kernel": "rbf", "budget": 9, "update": "paper"}, "its theorem is about update='mis"),
        ({"kernel": "rbf", "budget": 9, "variant": "averaged"}, "budget needs variant='last'"),
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
