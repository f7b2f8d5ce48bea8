"""Predtron's estimators: values by hand, messages, files that are damaged, the command line."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.exceptions import DataError
from rankwright.predtron import (
    Predtron,
    PredtronClassifier,
    PredtronLabelRanker,
    PredtronMultilabel,
    PredtronOrdinal,
    PredtronRanker,
)
from rankwright.problems import (
    Binary,
    Finite,
    Multiclass,
    Multilabel,
    Ordinal,
    Problem,
    Ranking,
    surrogate,
)
from tests.one_pass import one_pass

# Many data here are odd on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:this model ranks nothing")

BAD: Any = "best"
X2 = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("variant", ["last", "averaged"])
@pytest.mark.parametrize("standardize", [False, True])
def test_weights_are_laid_out_as_they_are_multiplied(
    standardize: bool, variant: Any, fit_intercept: bool
) -> None:
    for kind, y in (
        (PredtronOrdinal, [0, 1, 2]),
        (PredtronClassifier, [0, 1, 2]),
        (PredtronMultilabel, np.eye(3, dtype=int)),
    ):
        options: Any = {"standardize": standardize, "variant": variant}
        model: Any = kind(fit_intercept=fit_intercept, **options).fit(X2, y)
        assert model.coef_.shape == (3, 2)
        assert model.coef_.flags.c_contiguous


def test_the_perceptron_by_hand() -> None:
    # x1 is a mistake (tie), x2 as well; x3 is scored 2 + 2 * -4 + ... < 0, and right.
    model = PredtronClassifier.paper(mode="predicted").fit(X2, [1, 0, 0])
    # W += 2 x1; W -= 2 x2; then 2 - 4 < 0.
    np.testing.assert_array_equal(model.coef_, [[2.0, -4.0]])
    assert (model.n_rounds_, model.n_updates_, model.cumulative_loss_) == (3, 2, 2.0)
    assert model.predict(X2).tolist() == [1, 0, 0]


def test_costs_scale_the_updates() -> None:
    model = one_pass(PredtronClassifier([3.0, 0.5], fit_intercept=False)).fit(X2, [1, 0, 0])
    # 0.5 (2 x1), then 3 (2 x2): costs are by true class.
    np.testing.assert_array_equal(model.coef_, [[1.0, -12.0]])
    assert model.cumulative_loss_ == 3.5
    same = one_pass(PredtronClassifier([[0.0, 0.5], [3.0, 0.0]], fit_intercept=False)).fit(
        X2, [1, 0, 0]
    )
    np.testing.assert_array_equal(same.coef_, model.coef_)


def test_steps_are_those_of_the_theorem() -> None:
    X = np.array([[3.0, 4.0], [1.0, 0.0]])
    assert PredtronOrdinal.paper().fit(X, [0, 1]).eta_ == 1 / (4 * 25)
    model = PredtronOrdinal.paper(fit_intercept=True).fit(X, [0, 1])
    assert model.eta_ == pytest.approx(1 / (4 * 26))
    model = PredtronClassifier.paper(norm="l1", fit_intercept=True).fit(X, [0, 1])
    assert model.eta_ == pytest.approx(1 / (4 * 3 * 16))  # q = 2: three weights, largest entry 4
    ranker = PredtronRanker.paper().fit(np.diag([2.0, 1.0]), [1, 0])
    smallest = 1 - 1 / np.log2(3)
    assert ranker.eta_ == pytest.approx(smallest / (4 * 4))
    given = PredtronRanker(mode="augmented", radius=2.0, smallest_loss=0.1, standardize=False)
    assert given.partial_fit(X, [1, 0]).eta_ == pytest.approx(0.1 / 16)


def test_rejected_rows_have_a_label_of_their_own() -> None:
    X = np.array([[1.0], [-1.0], [0.9], [-1.1]])
    for y, label, options in (
        ([1, 0, 1, 0], -1, {}),
        (["b", "a", "b", "a"], "reject", {}),
        (["b", "a", "b", "a"], "?", {"reject_label": "?"}),
        ([1, -1, 1, -1], 0, {"reject_label": 0}),
    ):
        model = PredtronClassifier(reject=0.5, n_epochs=30, **options).fit(X, y)
        said = model.predict([[0.0], [5.0], [-5.0]]).tolist()
        assert said == [label, y[0], y[1]]
    with pytest.raises(ValueError, match="reject_label must be none of the classes, but is -1"):
        PredtronClassifier(reject=0.5).fit(X, [1, -1, 1, -1]).predict(X)


def test_multilabel_takes_sparse_sets_and_a_vector() -> None:
    X, y = np.eye(3), np.array([[1, 0], [0, 1], [1, 1]])
    dense = PredtronMultilabel(n_epochs=5).fit(X, y)
    sparse = PredtronMultilabel(n_epochs=5).fit(X, sp.csr_array(y))
    np.testing.assert_array_equal(dense.coef_, sparse.coef_)
    np.testing.assert_array_equal(dense.predict(X), y)
    assert dense.classes_.tolist() == [0, 1]
    one = PredtronMultilabel(n_epochs=5).fit(X, ["no", "yes", "no"])
    assert one.predict(X).tolist() == ["no", "yes", "no"]


def test_label_rankers_rank() -> None:
    X, y = np.eye(3), np.array([[2, 1, 0], [0, 2, 1], [1, 0, 2]])
    model = PredtronLabelRanker(n_epochs=20).fit(X, y)
    assert model.rank(X).tolist() == [[1, 2, 3], [3, 1, 2], [2, 3, 1]]
    assert model.score(X, y) == 1
    assert model.predict(X).shape == (3, 3)


def test_a_callable_representation_is_not_saved(tmp_path: Path) -> None:
    model = PredtronRanker(representation=lambda i: -np.sqrt(i)).fit(X2, [0, 1, 2])
    with pytest.raises(TypeError, match="representation must be a number, a text"):
        rw.save(model, tmp_path / "model.rw")


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (PredtronClassifier(mode="best"), [0, 1, 1], "mode must be auto or one of augmented"),
        (PredtronOrdinal(mode="auto"), [0, 1, 1], "mode must be one of augmented, predicted"),
        (PredtronOrdinal(norm=BAD), [0, 1, 1], "norm must be one of l2, l1, group, trace"),
        (PredtronOrdinal(variant=BAD), [0, 1, 1], "variant must be one of last"),
        (
            PredtronOrdinal(eta=0.0),
            [0, 1, 1],
            "eta must be a positive number, 'auto' or 'theory' or None, but is 0.0",
        ),
        (PredtronOrdinal(radius=np.inf), [0, 1, 1], "radius must be a positive number"),
        (PredtronOrdinal(kernel="rbf", norm="l1"), [0, 1, 1], "a kernel needs norm='l2'"),
        (
            PredtronOrdinal("augmented", kernel="rbf", budget=5),
            [0, 1, 1],
            "also moves weights",
        ),
        (PredtronClassifier([1.0, 2.0, 3.0]), [0, 1, 1], "loss must have a cost for each of 2"),
        (PredtronClassifier([[0, 1], [1, 1]]), [0, 1, 1], "loss must be 0 on the diagonal"),
        (PredtronClassifier(reject=-1.0), [0, 1, 1], "reject must be a positive cost.* but has -1"),
        (PredtronClassifier(reject=[0.1] * 3), [0, 1, 1], r"one for each of 2 .* has shape \(3,\)"),
        (PredtronClassifier(reject="x"), [0, 1, 1], "^reject must be finite numbers, but is a str"),
        (
            PredtronClassifier(reject=0.1, mode="predicted"),
            [0, 1, 1],
            "reject needs mode='augmented', but mode is 'predicted'",
        ),
        (PredtronMultilabel("f1"), [[0], [1], [1]], "loss must be one of hamming, subset"),
        (PredtronMultilabel(), [[0, 1], [2, 1], [0, 0]], "row 1, column 0 is"),
        (PredtronLabelRanker(), [0, 1, 1], "y must be a matrix with a column for each label"),
        (PredtronRanker("map"), [0, 1, 1], "loss must be 'ndcg' or 'precision@K', but is 'map'"),
        (PredtronRanker(representation="i"), [0, 1, 1], "representation must be '-i', '-i"),
        (PredtronRanker(representation=np.sqrt), [0, 1, 1], "representation must fall strictly"),
        (PredtronRanker(), [0, 1, -1], "loss='ndcg' needs labels from 0 to 1000"),
        (PredtronClassifier(), [1, 1, 1], "needs two classes or more, but has one class: .1."),
    ],
)
def test_messages_of_fit(model: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.fit(X2, y)


def test_messages_of_partial_fit() -> None:
    with pytest.raises(ValueError, match="the first call of partial_fit needs classes"):
        PredtronClassifier().partial_fit(X2, [0, 1, 1])
    model = PredtronClassifier().partial_fit(X2, [0, 1, 1], classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"classes must be those of the first call, \[0, 1, 2\]"):
        model.partial_fit(X2, [0, 1, 1], classes=[0, 1])
    with pytest.raises(ValueError, match=r"y must hold the classes \[0, 1, 2\], but row 2 has"):
        model.partial_fit(X2, [0, 1, 7])
    with pytest.raises(ValueError, match="needs radius or eta before partial_fit"):
        PredtronOrdinal("augmented").partial_fit(X2, [0, 1, 1], classes=[0, 1])
    with pytest.raises(ValueError, match="needs smallest_loss or eta before partial_fit"):
        PredtronRanker(mode="augmented", radius=1.0).partial_fit(X2, [0, 1, 1])
    labels = PredtronMultilabel().partial_fit(X2, [[0, 1], [1, 1], [0, 0]])
    with pytest.raises(ValueError, match="y must have 2 columns, one for each label, but has 3"):
        labels.partial_fit(X2, np.zeros((3, 3)))
    with pytest.raises(ValueError, match="classes must name the columns of y"):
        PredtronMultilabel().partial_fit(X2, [[0, 1], [1, 1], [0, 0]], classes=["a"])


def test_messages_of_problems() -> None:
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: Binary((1.0, 0.0)), "alpha must be two positive numbers"),
        (lambda: Multiclass(1), "n_classes must be at least 2, but is 1"),
        (lambda: Multiclass(3, np.ones((2, 2))), "loss must be 3 x 3, by prediction and label"),
        (lambda: Multiclass(3, rule=BAD), "rule must be 'representation' or 'surrogate'"),
        (lambda: Multiclass(3).predict([1.0, 2.0]), "scores must have 3"),
        (lambda: Multiclass(3).loss(3, 0), "a class must be a whole number from 0 to 2, not 3"),
        (lambda: Multiclass(3).loss(-1, 0), "a class must be a whole number from 0 to 2, not -1"),
        (lambda: Multilabel(0), "n_labels must be at least 1"),
        (lambda: Multilabel(2).loss([0, 1], [0, 2]), "a set must be 2 zeros and ones"),
        (lambda: Ranking().loss([1, 1], [0, 1]), "each document one rank from 1 on"),
        (lambda: Ranking().loss([1, 2], [0, 1, 2]), "y has 3 labels, but the prediction has 2"),
        (lambda: Ranking().augmented([1.0], [0, 1]), "a label for each of 1 scores, not 2"),
        (lambda: Ranking().loss_range(), "depend on the labels: pass y"),
        (lambda: Ranking("precision@0"), "loss must be 'ndcg' or 'precision@K'"),
        (lambda: Finite([], len, max), "predictions must not be empty"),
        (lambda: Finite([0], lambda s: [0.0], max), "finite vectors of one size that are not 0"),
    ]
    for make, message in cases:
        with pytest.raises(ValueError, match=message):
            make()


def test_a_problem_says_what_it_lacks() -> None:
    class Bare:
        def represent(self, prediction: int) -> Any:
            return np.array([1.0 if prediction else -1.0])

        def predict(self, scores: Any, y: Any = None) -> int:
            return int(scores[0] > 0)

        def loss(self, prediction: int, y: int) -> float:
            return float(prediction != y)

        def correct(self, y: int, scores: Any = None) -> int:
            return y

    bare: Any = Bare()
    assert one_pass(Predtron(bare, n_epochs=3)).fit(X2, [1, 0, 0]).score(X2, [1, 0, 0]) == 0
    heir: Any = type("Heir", (Bare, Problem), {})()
    for problem in (bare, heir):
        name = type(problem).__name__
        with pytest.raises(
            NotImplementedError, match=rf"{name} has no loss_range\(y\).* Pass eta\."
        ):
            Predtron.paper(problem=problem).fit(X2, [1, 0, 0])
        with pytest.raises(NotImplementedError, match=rf"{name} has no augmented\(scores, y\)"):
            Predtron(problem, "augmented", eta=1.0, standardize=False).fit(X2, [1, 0, 0])
    with pytest.raises(ValueError, match="a label for each of 3 examples, not 2"):
        Predtron(bare, standardize=False).fit(X2, [1, 0])
    with pytest.raises(ValueError, match="queries have no intercept"):
        Predtron(Ranking(), fit_intercept=True, standardize=False).fit(X2, [[1, 0, 0]], [0, 0, 0])


def test_comparators_must_fit() -> None:
    model = PredtronClassifier()
    with pytest.raises(ValueError, match="the comparator must have 2 weights for each of 1 scores"):
        model.bound(np.ones((1, 5)), X2, [1, 0, 0])
    with pytest.raises(ValueError, match="the comparator must have"):
        PredtronClassifier(kernel="rbf").bound(np.ones((1, 2)), X2, [1, 0, 0])


def rewrite(path: Path, change: Any) -> None:
    """Change the header of a model file."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(parts["header.json"])
    change(header, parts)
    parts["header.json"] = json.dumps(header).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    path.write_bytes(buffer.getvalue())


def cut(name: str) -> Any:
    def change(header: dict[str, Any], parts: dict[str, bytes]) -> None:
        header["arrays"].remove(name)
        del parts[f"{name}.npy"]

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (cut("weights_"), "weights_ must be an array of float64 of shape"),
        (cut("coef_"), "coef_ must be an array of float64"),
        (cut("classes_"), "classes_ must be two or more classes"),
        (cut("coef_sum_"), "coef_sum_ must be an array of float64"),
        (lambda h, _: h["fitted"].update(eta_=-1.0), "eta(_)? must be a positive number"),
        (lambda h, _: h["fitted"].update(since_=99), "since_ must be one of the rounds"),
        (
            lambda h, _: h["params"].update(norm="l9"),
            "norm must be one of l2, l1, group, trace, but is",
        ),
        (lambda h, _: h["params"].update(fit_intercept=2), "fit_intercept must be True or False"),
        (lambda h, _: h["params"].update(loss=[1.0]), "loss must have a cost for each"),
        (lambda h, _: h["fitted"].update(n_rounds_=-3), "n_rounds_ must be an integer >= 0"),
    ],
)
def test_damaged_files_are_refused(change: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.rw"
    rw.save(PredtronClassifier(variant="averaged").fit(X2, [0, 1, 2]), path)
    rewrite(path, change)
    with pytest.raises(DataError, match=message):
        rw.load(path)


def test_surrogates_by_hand() -> None:
    # sum_j max(0, 1 - 2 y_j t_j / sqrt m), y = (+, -)
    value = surrogate(Multilabel(2), [0.3, 0.1], [1, 0])
    assert value == pytest.approx((1 - 0.6 / np.sqrt(2)) + (1 + 0.2 / np.sqrt(2)))
    assert surrogate(Ordinal(4), [0.0, 0.5, 0.0, 0.0], 1) == pytest.approx(2 - 0.5)
    assert surrogate(Binary((1.0, 4.0)), [0.5], 1) == pytest.approx(4 - 2 * 0.5)
