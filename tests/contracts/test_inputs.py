"""What every learner does with the same features in other containers, and with huge ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import rankwright as rw
from rankwright.models import CLASSES
from rankwright.problems import Ordinal
from rankwright.trees.forest_ranker import ForestRanker

# Many data here are odd on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:this model ranks nothing", "ignore:stopped after")

MODES = ("augmented", "predicted", "loss_driven")
NORMS = ("l2", "l1", "group", "trace")
OF_CLASSES = ("PredtronClassifier", "PredtronOrdinal")
OF_LABELS = ("TopicRankers", "PredtronMultilabel", "PredtronLabelRanker")
OPTIONS: dict[str, dict[str, Any]] = {
    "BoostedRanker": {"n_estimators": 2, "num_leaves": 4, "n_jobs": 1},
    "EnsembleRanker": {
        "members": rw.BoostedRanker("lambdarank", min_child_samples=2),
        "n_models": 2,
        "n_estimators": 2,
        "n_jobs": 1,
    },
    "LinearRanker": {"tol": 1e-10},  # or other sums would stop it at other weights
    "DominationRank": {"tol": 1e-10},
}
PREDTRON = [name for name in CLASSES if name.startswith("Predtron")]


def frame(X: Any) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])


def sparse_frame(X: Any) -> Any:
    """Return a data frame of sparse columns."""
    pandas = pytest.importorskip("pandas")
    return frame(X).astype(pandas.SparseDtype(X.dtype, 0))


CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "csc_matrix": sp.csc_matrix,
    "csc_array": sp.csc_array,
    "coo_matrix": sp.coo_matrix,
    "coo_array": sp.coo_array,
    "frame": frame,
    "sparse frame": sparse_frame,
}


def learners() -> Iterator[tuple[str, Any]]:
    """Return a learner of every class, in each of its modes."""
    for name, module in CLASSES.items():
        kind = getattr(import_module(module), name)
        if name not in PREDTRON:
            yield name, kind(**OPTIONS.get(name, {}))
            continue
        for mode in MODES:
            yield f"{name}-{mode}", kind(mode=mode)
        for norm in NORMS[1:]:
            yield f"{name}-{norm}", kind(norm=norm, mode="augmented")
    yield "Predtron", rw.predtron.Predtron(Ordinal(3), "augmented")
    yield "PredtronClassifier-reject", rw.PredtronClassifier(reject=0.3)
    yield "PredtronClassifier-voted", rw.PredtronClassifier(variant="voted")
    yield "PRank-voted", rw.PRank("voted")
    yield "SLAMPerceptron-paper", rw.SLAMPerceptron(update="paper")
    yield "SLAMPerceptron-rbf", rw.SLAMPerceptron(kernel="rbf")
    yield "PRank-poly", rw.PRank(kernel="poly")
    yield "WidrowHoff-eta", rw.WidrowHoff(0.01)


LEARNERS = dict(learners())


def make_data(name: str) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, size=(60, 9)) * (rng.random((60, 9)) < 0.6)
    y = np.digitize(X[:, 0] - X[:, 1], [-1.0, 1.0])
    if name.partition("-")[0] in OF_LABELS:
        y = (X[:, :3] > 0).astype(int)
    return X.astype(float), y, np.repeat(np.arange(12), 5)


def comparator_of(model: Any) -> Any:
    """Return the model's own weights, in the form of a comparator; None if it has no guarantee."""
    if getattr(model, "kernel", None) is not None or isinstance(model, rw.PAMIR):
        return None
    if not hasattr(model, "guarantee") or (isinstance(model, rw.WidrowHoff) and not model.eta):
        return None
    parts = [np.atleast_2d(model.coef_)]
    for name in ("intercept_", "thresholds_"):
        if hasattr(model, name):
            parts.append(np.reshape(getattr(model, name), (len(parts[0]), -1)))
    joined = np.hstack(parts)
    return joined if np.ndim(model.coef_) == 2 else joined[0]


def answers_of(model: Any, X: Any, y: Any, qid: Any) -> dict[str, Any]:
    """Return all that a fitted model says of data, and what it does when it learns on."""
    by_query = isinstance(model, rw.estimator.Ranker)
    ids = qid if by_query else None
    found = {"predict": model.predict(X), "score": model.score(X, y, ids)}
    if hasattr(model, "decision_function"):
        found["decision_function"] = model.decision_function(X)
    u = comparator_of(model)
    if u is not None:
        bound = model.bound(u, X, y, ids)
        found |= {"bound": bound.value, "loss": bound.terms["loss"]}
    if hasattr(model, "partial_fit"):
        model.partial_fit(X, y, ids)
        found |= {"later": model.predict(X), "cumulative": model.cumulative_loss_}
    return found


@pytest.mark.parametrize("name", LEARNERS)
def test_the_container_of_the_features_changes_nothing(name: str) -> None:
    X, y, qid = make_data(name)
    model = LEARNERS[name]
    ids = qid if isinstance(model, rw.estimator.Ranker) else None
    expected = answers_of(clone(model).fit(X, y, ids), X, y, qid)
    for container, make in CONTAINERS.items():
        given = make(X)
        found = answers_of(clone(model).fit(given, y, ids), given, y, qid)
        assert found.keys() == expected.keys()
        for what, value in expected.items():
            np.testing.assert_allclose(
                found[what], value, rtol=1e-6, atol=1e-8, err_msg=f"{container}, {what}"
            )


# --- huge features -----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # those of convergence, at the largest size that is allowed
@pytest.mark.parametrize("name", LEARNERS)
def test_huge_features_end_in_one_line(name: str) -> None:
    X, y, qid = make_data(name)
    model = LEARNERS[name]
    ids = qid if isinstance(model, rw.estimator.Ranker) else None
    by_trees = isinstance(model, ForestRanker | rw.baselines.RandomRanker)
    for size in (1e31, 1e160, 1e300):
        for container in (np.asarray, sp.csr_matrix):
            huge = container(X / 3 * size)
            learners = [clone(model)]
            if "standardize" in model.get_params():
                learners.append(clone(model).set_params(standardize=False))
            for learner in learners:
                for method in ("fit", "partial_fit"):
                    if by_trees or not hasattr(learner, method):
                        continue
                    needs = method == "partial_fit" and name.startswith(OF_CLASSES)
                    options = {"classes": [0, 1, 2]} if needs else {}
                    with pytest.raises(ValueError, match="X must be at most 1e") as caught:
                        getattr(learner, method)(huge, y, ids, **options)
                    text = str(caught.value)
                    assert text.endswith("scale the features, or take their logarithms.")
                    assert "\n" not in text
    if by_trees:
        assert np.isfinite(clone(model).fit(X * 1e300, y, ids).predict(X * 1e300)).all()


@pytest.mark.filterwarnings("ignore")  # those of convergence
@pytest.mark.parametrize("name", LEARNERS)
def test_the_largest_features_that_are_allowed(name: str) -> None:
    X, y, qid = make_data(name)
    X *= 1e30 / np.abs(X).max()
    model = LEARNERS[name]
    ids = qid if isinstance(model, rw.estimator.Ranker) else None
    if name == "WidrowHoff-eta":
        pytest.skip("its step is too long, and it says so")
    for options in ({}, {"standardize": False}):
        if not options.keys() <= model.get_params().keys():
            continue
        fitted = clone(model).set_params(**options).fit(X, y, ids)
        assert np.isfinite(np.asarray(fitted.predict(X), dtype=float)).all()
        weights = getattr(fitted, "coef_", np.empty(0))
        assert np.isfinite(weights.data if sp.issparse(weights) else weights).all()


def test_the_message_names_the_place() -> None:
    X, y, qid = make_data("")
    X[7, 2] = -4e40
    with pytest.raises(ValueError, match=r"^X must be at most 1e\+30 in size, but row 7, feat"):
        rw.PRank().fit(X, y)
    with pytest.raises(ValueError, match=r"but row 7, f2 is -4e\+40: scale the features"):
        rw.LinearRanker().fit(frame(X), y, qid)
