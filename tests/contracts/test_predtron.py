"""What holds for every Predtron: rounds by enumeration, links, bounds, streams, files."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import rankwright as rw
from rankwright.predtron import (
    Predtron,
    PredtronClassifier,
    PredtronLabelRanker,
    PredtronMultilabel,
    PredtronOrdinal,
    PredtronRanker,
)
from rankwright.problems import Binary, Multiclass, Multilabel, Ordinal, Problem, Ranking
from tests.one_pass import one_pass
from tests.reference import predtron as reference
from tests.reference import problems as enumerated
from tests.reference.problems import Enumerated, Floats

MODES = ("augmented", "predicted", "loss_driven")
NORMS = ("l2", "l1", "group", "trace")
N_ROUNDS = 12


@dataclass(frozen=True, eq=False)
class Task:
    problem: Problem
    twin: Enumerated
    d: int
    draw: Callable[[np.random.Generator], Any]
    queries: bool = False

    def of_twin(self, label: Any) -> Any:
        return tuple(label.tolist()) if isinstance(label, np.ndarray) else label


def _distance(k: int) -> Floats:
    return np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(np.float64)


def _bits(m: int) -> Callable[[np.random.Generator], Floats]:
    return lambda rng: rng.integers(0, 2, m).astype(np.float64)


def _grades(m: int) -> Callable[[np.random.Generator], Floats]:
    return lambda rng: rng.integers(0, 3, m).astype(np.float64)


def _class(k: int) -> Callable[[np.random.Generator], int]:
    return lambda rng: int(rng.integers(k))


COSTS = np.array([[0.0, 1.0, 0.5], [2.0, 0.0, 1.0], [0.7, 1.0, 0.0]])
TASKS: dict[str, Task] = {
    "binary": Task(Binary((2.0, 0.5)), enumerated.binary((2.0, 0.5)), 1, _class(2)),
    "multiclass": Task(Multiclass(3, COSTS), enumerated.multiclass(COSTS), 3, _class(3)),
    "reject": Task(
        Multiclass(3, COSTS, reject=0.4),
        enumerated.multiclass(COSTS, [0.4, 0.4, 0.4]),
        3,
        _class(3),
    ),
    "ordinal": Task(Ordinal(9), enumerated.multiclass(_distance(9)), 9, _class(9)),
    "hamming": Task(Multilabel(4), enumerated.multilabel(4, "hamming"), 4, _bits(4)),
    "subset": Task(Multilabel(4, "subset"), enumerated.multilabel(4, "subset"), 4, _bits(4)),
    "error-set": Task(
        Multilabel(4, "error_set"), enumerated.multilabel(4, "error_set"), 4, _bits(4)
    ),
    "labels": Task(Ranking(representation="-i"), enumerated.ranking(4, lambda i: -i), 4, _bits(4)),
    "ranking": Task(
        Ranking(representation="1/i"), enumerated.ranking(4, lambda i: 1 / i), 4, _grades(4), True
    ),
    "precision": Task(
        Ranking("precision@2", "-i^2"),
        enumerated.ranking(4, lambda i: -(i**2), 2),
        4,
        _grades(4),
        True,
    ),
}


# Its predictions are not the most similar ones, so that it is for mode "augmented" only.
SAFE_REJECT = Task(
    Multiclass(3, COSTS, reject=0.4, rule="surrogate"), enumerated.multiclass(COSTS), 3, _class(3)
)


def examples(task: Task, n: int, seed: int = 0) -> list[tuple[Floats, Any]]:
    rng = np.random.default_rng(seed)
    rows = 4 if task.queries else 1
    return [(rng.normal(size=(rows, 11)), task.draw(rng)) for _ in range(n)]


def qid_of(X: Floats, task: Task) -> Any:
    return np.zeros(len(X), dtype=np.int64) if task.queries else None


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", TASKS)
def test_every_round_is_one_that_the_enumeration_allows(name: str, mode: Any, norm: Any) -> None:
    task, eta = TASKS[name], 0.3
    learner = Predtron(task.problem, mode, norm, eta=eta)
    d = 1 if task.queries else task.d
    theta, n_mistakes = np.zeros((d, 11)), 0
    for X, y in examples(task, N_ROUNDS):
        W = reference.weights(theta, norm)
        if n_mistakes:
            np.testing.assert_allclose(learner.coef_, W, rtol=1e-8, atol=1e-10)
        t = (X @ W.T).ravel()
        before = getattr(learner, "cumulative_loss_", 0.0)
        learner.partial_fit(X, [y], qid_of(X, task))
        loss = learner.cumulative_loss_ - before
        change = learner.weights_.T - theta
        theta = learner.weights_.T.copy()
        # The prediction: the worst among the most similar.
        label = task.of_twin(y)
        losses, similarity = task.twin.losses(label), task.twin.similarity(t)
        tolerance = 1e-9 * (1 + np.abs(t).sum())
        best = similarity >= similarity.max() - tolerance
        assert loss == pytest.approx(losses[best].max(), abs=1e-9)
        if loss < 1e-12:
            assert not change.any()
            continue
        n_mistakes += 1
        # The direction: rows of X are independent, so that the update tells it.
        g = np.linalg.lstsq(X.T, change.T / -eta, rcond=None)[0].ravel()
        np.testing.assert_allclose(X.T @ g.reshape(len(X), -1) * -eta, change.T, atol=1e-9)
        correct = (losses == 0) & (similarity >= similarity[losses == 0].max() - tolerance)
        if name == "error-set":
            correct = losses == 0
        chosen = best & (losses >= losses[best].max() - 1e-9)
        if mode == "augmented":
            values = losses + similarity
            chosen = values >= values.max() - tolerance
        scale = loss if mode == "loss_driven" else 1.0
        gaps = [
            np.abs(g - scale * (task.twin.vectors[a] - task.twin.vectors[b])).max()
            for a, b in itertools.product(np.flatnonzero(chosen), np.flatnonzero(correct))
        ]
        assert min(gaps) < 1e-8
    assert n_mistakes > 3


class ByHand:
    """A problem that the library does not know to be its own."""

    def __init__(self, problem: Any) -> None:
        self.inner = problem

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.inner, name)


@pytest.mark.parametrize("variant", ["last", "averaged", "voted"])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", TASKS)
def test_compiled_and_general_form_agree(name: str, norm: Any, variant: Any) -> None:
    task = TASKS[name]
    data = examples(task, 15)
    X, labels = np.concatenate([x for x, _ in data]), [y for _, y in data]
    qid = np.repeat(np.arange(15), 4) if task.queries else None
    modes: Any = MODES
    for mode in modes:
        options: dict[str, Any] = {"variant": variant, "n_epochs": 2, "eta": 0.2, "shuffle": True}
        fast = Predtron(task.problem, mode, norm, **options).fit(X, labels, qid)
        slow = Predtron(ByHand(task.problem), mode, norm, **options).fit(X, labels, qid)
        assert fast.cumulative_loss_ == pytest.approx(slow.cumulative_loss_, abs=1e-9)
        assert fast.n_updates_ == slow.n_updates_
        np.testing.assert_allclose(fast.coef_, slow.coef_, atol=1e-12)


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("mode", MODES)
def test_linear_kernel_is_the_primal_form(name: str, mode: Any) -> None:
    task = TASKS[name]
    data = examples(task, 20)
    X, labels = np.concatenate([x for x, _ in data]), [y for _, y in data]
    qid = np.repeat(np.arange(20), 4) if task.queries else None
    intercept = not task.queries
    for variant in ("last", "averaged"):
        options: dict[str, Any] = {"eta": 0.25, "fit_intercept": intercept, "variant": variant}
        primal = Predtron(task.problem, mode, n_epochs=2, **options).fit(X, labels, qid)
        dual = Predtron(task.problem, mode, n_epochs=2, kernel="linear", **options)
        dual.fit(X, labels, qid)
        assert dual.n_updates_ == primal.n_updates_
        assert dual.cumulative_loss_ == pytest.approx(primal.cumulative_loss_)
        np.testing.assert_allclose(
            dual.decision_function(X), primal.decision_function(X), atol=1e-9
        )


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", TASKS)
def test_averaged_weights_are_the_mean_over_the_rounds(name: str, norm: Any) -> None:
    task = TASKS[name]
    total: Any = 0.0
    votes: Any = 0.0
    last = Predtron(task.problem, norm=norm)
    averaged = Predtron(task.problem, norm=norm, variant="averaged")
    voted = Predtron(task.problem, norm=norm, variant="voted")
    for X, y in examples(task, 15):
        for learner in (last, averaged, voted):
            learner.partial_fit(X, [y], qid_of(X, task))
        total = total + last.coef_
        length = np.linalg.norm(last.coef_)
        votes = votes + (last.coef_ / length if length else 0.0)
    np.testing.assert_allclose(averaged.coef_, total / 15, atol=1e-10)
    np.testing.assert_allclose(voted.coef_, votes / 15, atol=1e-10)


# --- bounds ------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [*TASKS, "safe-reject"])
def test_bounds_hold_against_any_comparator(name: str, mode: Any, norm: Any) -> None:
    task = TASKS.get(name, SAFE_REJECT)
    if task is SAFE_REJECT and mode != "augmented":
        pytest.skip("it needs mode='augmented'")
    for seed in range(6):
        data = examples(task, 12, seed)
        scale = (1.0, 0.01, 50.0)[seed % 3]
        X, labels = scale * np.concatenate([x for x, _ in data]), [y for _, y in data]
        qid = np.repeat(np.arange(12), 4) if task.queries else None
        learner = Predtron(task.problem, mode, norm, n_epochs=1 + 5 * (seed % 2))
        fitted = clone(learner).fit(X, labels, qid)
        rng = np.random.default_rng(seed)
        for size in (0.0, 1.0, 30.0):
            U = fitted.coef_ / max(np.linalg.norm(fitted.coef_), 1e-300) * size / scale
            U = U + rng.normal(0, 0.01, U.shape) * size / scale
            bound = learner.bound(U, X, labels, qid)
            assert bound.terms["loss"] <= bound.value * (1 + 1e-9)


# --- estimators --------------------------------------------------------------------------------


def make_rows(seed: int = 0, n: int = 60) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, X @ rng.normal(size=(5, 4))


ROWS: dict[str, tuple[Any, Callable[[Floats], Any]]] = {
    "classifier": (PredtronClassifier(), lambda s: s.argmax(axis=1)),
    "binary": (PredtronClassifier(loss=[1.0, 5.0]), lambda s: np.where(s[:, 0] > 0, "a", "b")),
    "reject": (PredtronClassifier(reject=0.3, radius=9.0), lambda s: s.argmax(axis=1) + 10),
    "l1": (PredtronClassifier(norm="l1", variant="averaged"), lambda s: s.argmax(axis=1)),
    "kernel": (PredtronClassifier(kernel="rbf", variant="averaged"), lambda s: s.argmax(axis=1)),
    "ordinal": (PredtronOrdinal(variant="voted"), lambda s: np.digitize(s[:, 0], [-1, 0, 1]) * 2),
    "multilabel": (PredtronMultilabel(), lambda s: (s > 0).astype(int)),
    "subset": (PredtronMultilabel("subset", norm="group"), lambda s: (s > 0).astype(int)),
    "one-label": (PredtronMultilabel(), lambda s: np.where(s[:, 0] > 0, "yes", "no")),
    "label-ranker": (PredtronLabelRanker(), lambda s: (s > 0).astype(int)),
    "label-ranker-trace": (
        PredtronLabelRanker(representation="dcg", mode="augmented", eta=0.1, norm="trace"),
        lambda s: np.digitize(s, [0, 1]),
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_streams_files_and_sparse_rows_give_the_same(name: str, tmp_path: Any) -> None:
    model, label = ROWS[name]
    X, scores = make_rows()
    y = label(scores)
    one_pass(model)
    classes = {"classes": np.unique(y)} if y.ndim == 1 else {}
    whole = clone(model).fit(X, y)
    parts = clone(model)
    for rows in np.array_split(np.arange(60), 7):
        parts.partial_fit(X[rows], y[rows], **classes)
        rw.save(parts, tmp_path / "model.rw")
        parts = rw.load(tmp_path / "model.rw")
    assert parts.n_rounds_ == whole.n_rounds_ == 60
    assert parts.n_updates_ == whole.n_updates_
    assert parts.cumulative_loss_ == pytest.approx(whole.cumulative_loss_)
    np.testing.assert_allclose(
        parts.decision_function(X), whole.decision_function(X), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))
    sparse = clone(model).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(
        sparse.decision_function(sp.csr_array(X)), whole.decision_function(X), atol=1e-9
    )
    single = clone(model).fit(X.astype(np.float32), y)
    assert single.n_rounds_ == 60


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("mode", MODES)
def test_rankers_learn_from_streams_files_and_sparse_rows(
    mode: Any, norm: Any, tmp_path: Any
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 9))
    y = np.digitize(X[:, 0] - X[:, 1], [-1, 0, 1])
    qid = rng.permutation(np.repeat(np.arange(12), 10))
    model = one_pass(PredtronRanker(mode=mode, norm=norm, radius=12.0, smallest_loss=0.001))
    whole = clone(model).fit(X, y, qid)
    first_rows = list(dict.fromkeys(qid.tolist()))
    parts = clone(model)
    for begin in range(0, 12, 5):
        rows = np.flatnonzero(np.isin(qid, first_rows[begin : begin + 5]))
        parts.partial_fit(X[rows], y[rows], qid[rows])
        rw.save(parts, tmp_path / "model.rw")
        parts = rw.load(tmp_path / "model.rw")
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)
    sparse = clone(model).fit(sp.csr_array(X), y, qid)
    np.testing.assert_allclose(sparse.coef_, whole.coef_, rtol=1e-9)
    many = clone(model).set_params(n_epochs=30, variant="averaged").fit(X, y, qid)
    assert many.score(X, y, qid) > 0.95
    assert many.predict(X).shape == (120,)


@pytest.mark.parametrize("mode", MODES)
def test_guarantees_are_logged_along_a_stream(mode: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    y = np.digitize(X[:, 0] - X[:, 1], [-1, 0, 1])
    qid = np.repeat(np.arange(12), 10)
    ranker: Any = PredtronRanker(mode=mode, eta=0.001 if mode == "augmented" else None)
    ordinal: Any = PredtronOrdinal(mode, eta=0.001 if mode == "augmented" else None)
    U = np.outer(np.arange(4) - 1.5, [1.0, -1.0, 0.0, 0.0, 0.0])
    for learner, u, ids in ((ranker, U[3], qid), (ordinal, U, None)):
        log = rw.online.GuaranteeLog(comparator=u)
        for begin in range(0, 120, 40):
            part = slice(begin, begin + 40)
            log.partial_fit(learner, X[part], y[part], None if ids is None else ids[part])
        assert [entry.n_rounds for entry in log.entries][-1] == learner.n_rounds_
        assert all(entry.loss <= entry.bound for entry in log.entries)
