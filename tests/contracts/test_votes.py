"""``variant="voted"``: votes on classes and sets, means of directions of scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import rankwright as rw
from rankwright.online import MulticlassPerceptron, PRank, SLAMPerceptron, WidrowHoff, votes
from rankwright.predtron import (
    PredtronClassifier,
    PredtronLabelRanker,
    PredtronMultilabel,
    PredtronOrdinal,
    PredtronRanker,
)
from rankwright.scoring.decisions import plurality
from tests.one_pass import one_pass
from tests.reference.online import majority_voted, median_voted, most_voted, multiclass

PLAIN: Any = {"n_epochs": 1, "shuffle": False, "standardize": False}
CLASSES = ["c", "a", "b"]  # worst first


def make_data(n: int = 50, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X @ rng.normal(size=(3, 3)) + rng.normal(size=(n, 3))


LEARNERS: dict[str, tuple[Any, str]] = {
    "prank": (PRank(classes=CLASSES), "median"),
    "prank-kernel": (PRank(classes=CLASSES, kernel="rbf"), "median"),
    "multiclass": (MulticlassPerceptron(classes=CLASSES), "most"),
    "multiclass-max": (MulticlassPerceptron("max", classes=CLASSES), "most"),
    "multiclass-kernel": (MulticlassPerceptron(classes=CLASSES, kernel="poly"), "most"),
    "classifier": (PredtronClassifier(), "most"),
    "costs": (PredtronClassifier(loss=[1.0, 5.0, 2.0]), "most"),
    "binary": (PredtronClassifier(), "most"),
    "kernel": (PredtronClassifier(kernel="rbf"), "most"),
    "reject": (PredtronClassifier(reject=0.3, eta=0.1), "most"),
    "reject-kernel": (PredtronClassifier(reject=0.3, eta=0.1, kernel="poly"), "most"),
    "l1": (PredtronClassifier(norm="l1"), "most"),
    "group": (PredtronClassifier(norm="group", mode="loss_driven"), "most"),
    "trace": (PredtronClassifier(norm="trace"), "most"),
    "no-intercept": (PredtronClassifier(fit_intercept=False), "most"),
    "ordinal": (PredtronOrdinal(classes=CLASSES), "median"),
    "ordinal-kernel": (PredtronOrdinal(classes=CLASSES, kernel="linear"), "median"),
    "sets": (PredtronMultilabel(), "majority"),
    "sets-subset": (PredtronMultilabel("subset", norm="group"), "majority"),
    "sets-kernel": (PredtronMultilabel("error_set", kernel="rbf"), "majority"),
}


def labels_of(name: str, scores: Any) -> Any:
    if name.startswith("sets"):
        return (scores > 0).astype(int)
    if name == "binary":
        return np.array(["no", "yes"])[(scores[:, 0] > 0).astype(int)]
    return np.array(CLASSES)[scores.argmax(axis=1)]


@pytest.mark.parametrize("name", LEARNERS)
def test_votes_are_those_of_all_weights_of_the_stream(name: str, tmp_path: Any) -> None:
    base, rule = LEARNERS[name]
    X, scores = make_data()
    y, new = labels_of(name, scores), make_data(30, seed=1)[0]
    base = one_pass(clone(base))
    more = {} if rule == "majority" else {"classes": np.unique(y)}
    if base.get_params().get("classes") is not None:
        more = {}
    # Each row makes weights, and these predict: count their predictions.
    last = clone(base).set_params(variant="last")
    found = []
    for row in range(len(X)):
        last.partial_fit(X[[row]], y[[row]], **more)
        found.append(last.predict(new))
    order: Any = CLASSES if base.get_params().get("classes") else sorted(set(y.ravel().tolist()))
    if name.startswith("reject"):
        order = [*order, "reject"]
    by_row = list(zip(*found, strict=True))
    expected: Any = {
        "most": lambda p: most_voted(p, order),
        "median": lambda p: median_voted(p, order),
        "majority": majority_voted,
    }[rule]
    expected = np.array([expected(predictions) for predictions in by_row])
    voted = clone(base).set_params(variant="voted").fit(X, y)
    np.testing.assert_array_equal(voted.predict(new), expected)
    assert voted.n_updates_ == last.n_updates_ == len(voted.support_)
    if last.kernel is None:
        np.testing.assert_allclose(voted.coef_, last.coef_, atol=1e-12)
    # The same in pieces, from files, and of sparse rows.
    parts = clone(voted)
    for rows in np.array_split(np.arange(len(X)), 4):
        parts.partial_fit(X[rows], y[rows], **more)
        rw.save(parts, tmp_path / "model.rw")
        parts = rw.load(tmp_path / "model.rw")
    np.testing.assert_array_equal(parts.predict(new), expected)
    sparse = clone(voted).fit(sp.csr_matrix(X), y)
    np.testing.assert_array_equal(sparse.predict(sp.csr_matrix(new)), expected)


def test_votes_of_the_plain_twin() -> None:
    X, scores = make_data()
    ranks = scores.argmax(axis=1) + 1
    for update in ("uniform", "max"):
        kind: Any = update
        run = multiclass(X, ranks, 3, update)
        model = one_pass(MulticlassPerceptron(kind, variant="voted")).fit(X, ranks)
        expected = [
            most_voted([int((w @ x).argmax()) + 1 for w in run.history], [1, 2, 3]) for x in X
        ]
        assert model.predict(X).tolist() == expected
        shares = model.decision_function(X)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        assert (shares.argmax(axis=1) + 1).tolist() == expected


def test_decisions_are_shares_of_the_votes() -> None:
    X, scores = make_data()
    binary = PredtronClassifier(variant="voted", **PLAIN).fit(X, scores[:, 0] > 0)
    decision = binary.decision_function(X)
    assert decision.shape == (50,)
    assert np.abs(decision).max() <= 1
    np.testing.assert_array_equal(decision > 0, binary.predict(X))
    sets = PredtronMultilabel(variant="voted", **PLAIN).fit(X, scores > 0)
    np.testing.assert_array_equal(sets.decision_function(X) > 0, sets.predict(X))
    reject = PredtronClassifier(reject=0.3, eta=0.01, variant="voted", **PLAIN)
    shares = reject.fit(X, scores.argmax(axis=1)).decision_function(X)
    assert shares.shape == (50, 3)
    rejected = reject.predict(X) == -1
    assert rejected.any()
    assert (shares[rejected].sum(axis=1) < 1).all()


def test_ties_go_to_the_first_class_and_to_no_label() -> None:
    counts = np.array([[2.0, 2.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    assert plurality(counts).tolist() == [0, 1, 0]
    assert votes.median(counts).tolist() == [0, 1, 0]
    assert votes.survived(np.array([1, 4]), 5).tolist() == [0, 3, 2]
    # Two rounds, each with weights of its own that contradict the other's.
    sets = PredtronMultilabel(variant="voted", fit_intercept=False, **PLAIN)
    sets.fit([[1.0], [1.0]], [[1], [0]])
    assert sets.n_updates_ == 2
    assert sets.predict([[1.0]]).tolist() == [[0]]


def test_blocks_bound_the_memory_and_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X, scores = make_data(200)
    y = scores.argmax(axis=1)
    models = [
        MulticlassPerceptron(variant="voted", **PLAIN).fit(X, y),
        PredtronClassifier(variant="voted", norm="group", **PLAIN).fit(X, y),
        PRank("voted", **PLAIN).fit(X, y),
    ]
    before = [model.predict(X) for model in models]
    monkeypatch.setattr(votes, "_CELLS", 1)
    monkeypatch.setattr(votes, "UPDATES", 7)
    monkeypatch.setattr("rankwright.predtron.voting.UPDATES", 7)
    for model, expected in zip(models, before, strict=True):
        np.testing.assert_array_equal(model.predict(X), expected)


def test_a_score_that_is_not_finite_is_named_by_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    X, scores = make_data()
    model = MulticlassPerceptron(variant="voted", **PLAIN).fit(X, scores.argmax(axis=1))
    X[3] = 1.7e308
    for cells in (votes._CELLS, 1):  # all documents in one block, or one in each
        monkeypatch.setattr(votes, "_CELLS", cells)
        with (
            np.errstate(all="ignore"),
            pytest.raises(ValueError, match="the score of row 3 is not finite"),
        ):
            model.predict(X)


def test_nothing_votes_on_weights_that_change_in_every_round() -> None:
    X, scores = make_data()
    with pytest.raises(ValueError, match="variant must be one of last, averaged, but is 'voted'"):
        WidrowHoff(variant="voted").fit(X, scores.argmax(axis=1))


# --- scores: the mean of directions -------------------------------------------------------------


def squares(X: Any) -> Any:
    """Return the features of (x . z + 1)^2."""
    pairs = [np.sqrt(2 - (i == j)) * X[:, i] * X[:, j] for i in range(3) for j in range(i, 3)]
    return np.column_stack([np.ones(len(X)), np.sqrt(2) * X, *pairs])


@pytest.mark.parametrize("n_epochs", [1, 3])
def test_directions_in_kernel_form_are_those_of_explicit_features(n_epochs: int) -> None:
    X, scores = make_data(60)
    y, qid = np.digitize(scores[:, 0], [-1, 0, 1]), np.repeat(np.arange(12), 5)
    options: Any = {**PLAIN, "n_epochs": n_epochs, "variant": "voted"}
    poly: Any = {"kernel": "poly", "degree": 2, "gamma": 1.0}
    for kind in (SLAMPerceptron, PredtronRanker):
        for kernel, explicit in (({"kernel": "linear"}, X), (poly, squares(X))):
            dual = kind(**kernel, **options).fit(X, y, qid)
            primal = kind(**options).fit(explicit, y, qid)
            assert dual.cumulative_loss_ == pytest.approx(primal.cumulative_loss_)
            np.testing.assert_allclose(dual.predict(X), primal.predict(explicit), atol=1e-9)
        gram = kind(kernel="precomputed", **{**options, "standardize": None})
        linear = kind(kernel="linear", **options).fit(X, y, qid)
        np.testing.assert_allclose(
            gram.fit(X @ X.T, y, qid).predict(X @ X.T), linear.predict(X), atol=1e-9
        )
    labels = (scores > 0).astype(int)
    dual = PredtronLabelRanker(**poly, fit_intercept=False, **options).fit(X, labels)
    primal = PredtronLabelRanker(fit_intercept=False, **options).fit(squares(X), labels)
    np.testing.assert_allclose(dual.predict(X), primal.predict(squares(X)), atol=1e-9)


def test_directions_in_pieces_and_of_weights_that_are_zero_again(tmp_path: Any) -> None:
    X, scores = make_data(60)
    y, qid = np.digitize(scores[:, 0], [-1, 0, 1]), np.repeat(np.arange(12), 5)
    whole = SLAMPerceptron(kernel="rbf", variant="voted", **PLAIN).fit(X, y, qid)
    parts = clone(whole)
    for piece in range(0, 60, 15):
        rows = slice(piece, piece + 15)
        parts.partial_fit(X[rows], y[rows], qid[rows])
        rw.save(parts, tmp_path / "model.rw")
        parts = rw.load(tmp_path / "model.rw")
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=1e-9)
    # Irrational features, the same query with its labels turned round: w = 0 after two rounds.
    pair = np.array([[0.1, 0.7], [1 / 3, -0.2]])
    data = np.tile(pair, (3, 1)), [1, 0, 0, 1, 1, 0], [0, 0, 1, 1, 2, 2]
    dual = SLAMPerceptron(kernel="linear", variant="voted", **PLAIN).fit(*data)
    assert (
        dual.squared_lengths_[:, 0].astype(bool).tolist() == [True] * 2 + [False] * 2 + [True] * 2
    )
    direction = (pair[0] - pair[1]) / np.linalg.norm(pair[0] - pair[1])
    np.testing.assert_allclose(dual.predict(pair), 2 / 3 * pair @ direction, atol=1e-9)
