"""Steps of augmented updates: one that works, the theorem's (P12), and a bound for any (P2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

import rankwright as rw
from rankwright.predtron import (
    Predtron,
    PredtronClassifier,
    PredtronLabelRanker,
    PredtronMultilabel,
    PredtronOrdinal,
    PredtronRanker,
)
from rankwright.problems import Multiclass
from rankwright.scaling import measured
from rankwright.theory.links import link_exponent, link_size

ROUNDING = 1 + 1e-9
AUGMENTED: dict[str, Any] = {
    "classes": PredtronClassifier(mode="augmented"),
    "costs": PredtronClassifier([1.0, 2.0, 0.5], mode="augmented"),
    "reject": PredtronClassifier(reject=0.1),
    "ordinal": PredtronOrdinal(),
    "sets": PredtronMultilabel(mode="augmented"),
    "subset": PredtronMultilabel("subset", mode="augmented"),
    "labels": PredtronLabelRanker(mode="augmented"),
    "ranker": PredtronRanker(mode="augmented"),
    "own": Predtron(Multiclass(3), mode="augmented"),
    "l1": PredtronClassifier(mode="augmented", norm="l1"),
    "group": PredtronMultilabel(mode="augmented", norm="group"),
    "trace": PredtronMultilabel(mode="augmented", norm="trace"),
    "rbf": PredtronOrdinal(kernel="rbf"),
}


def make_data(name: str, n: int = 120, seed: int = 0) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 10)) * rng.lognormal(0, 1, 10)
    s = X / X.std(axis=0) @ rng.normal(size=(10, 3)) + rng.normal(size=(n, 3))
    kind = AUGMENTED[name]
    if isinstance(kind, PredtronMultilabel | PredtronLabelRanker):
        return X, (s > 0).astype(int)
    if isinstance(kind, PredtronRanker):
        return X, np.digitize(s[:, 0], [-1, 1]), np.repeat(np.arange(n // 10), 10)
    return X, s.argmax(axis=1)


def ratio(model: Any, X: Any) -> float:
    """Return the step times the mean square of the inputs."""
    Z = measured(X).scale(model._kind_of_scale()).apply(X)
    return float(model.eta_ * ((Z**2).sum(axis=1).mean() + model.fit_intercept))


def test_the_step_mends_the_smallest_mistake_on_an_average_input() -> None:
    # |rep - rep'|^2: 2 between classes, 4 on a line, 4/m for one label of m.
    for name, expected in (("classes", 1 / 2), ("costs", 0.5 / 2), ("sets", 3 / 4)):
        X, y = make_data(name)
        model = clone_of(name).fit(X, y)
        assert ratio(model, X) == pytest.approx(expected, rel=6e-3)
    X, y = make_data("reject")
    assert ratio(clone_of("reject").fit(X, y), X) == pytest.approx(1 / 2, rel=6e-3)
    assert ratio(clone_of("ordinal").fit(X, y), X) == pytest.approx(1 / 2, rel=6e-3)  # neighbours
    assert ratio(clone_of("classes").fit(X, y > 0), X) == pytest.approx(1 / 4, rel=6e-3)


def test_another_norm_measures_inputs_by_its_own() -> None:
    for name, expected in (("l1", 1 / 2), ("group", 3 / 4)):
        X, y = make_data(name)
        model = clone_of(name, standardize=False).fit(0.1 * X, y)
        q = link_exponent(link_size(model.norm, 11, 3))
        assert q != 2
        lengths = np.linalg.norm(np.c_[0.1 * X, np.ones(len(X))], q, axis=1)
        assert model.eta_ * np.mean(lengths**2) == pytest.approx(expected, rel=6e-3)


def test_steps_where_there_is_nothing_to_measure() -> None:
    X, y, qid = make_data("ranker")
    for eta in ("auto", "theory"):  # no input moves a score: any step will do
        model = clone_of("ranker", eta=eta).fit(0 * X, y, qid)
        assert model.eta_ == 1.0
        assert np.isfinite(model.partial_fit(X, y, qid).coef_).all()
    same = clone_of("ranker").fit(X, 0 * y, qid)  # no ranking is wrong
    assert ratio(same, X) == pytest.approx(1, rel=6e-3)
    dual = clone_of("classes", kernel="linear", fit_intercept=False, standardize=False)
    mean = (X**2).sum(axis=1).mean()
    assert dual.fit(X, y).eta_ * mean == pytest.approx(1 / 2, rel=6e-3)


def clone_of(name: str, **params: Any) -> Any:
    base = AUGMENTED[name]
    return type(base)(**base.get_params(deep=False) | params)


def test_the_theorems_step_is_a_word_away() -> None:
    X, y = make_data("classes")
    model = clone_of("classes", eta="theory", standardize=False).fit(X, y)
    R2 = (X**2).sum(axis=1).max() + 1
    assert model.eta_ == pytest.approx(1 / (4 * R2))
    given = clone_of("classes", eta="theory", radius=2.0).fit(X, y)
    assert given.eta_ == pytest.approx(1 / 16)
    assert PredtronClassifier.paper().eta == "theory"
    # partial_fit is the theorem's algorithm, and asks for what it cannot know.
    with pytest.raises(ValueError, match="needs radius or eta before partial_fit"):
        clone_of("classes").partial_fit(X, y, classes=[0, 1, 2])
    assert clone_of("classes", radius=2.0).partial_fit(X, y, classes=[0, 1, 2]).eta_ == 1 / 16
    assert clone_of("classes", eta="auto").partial_fit(X, y, classes=[0, 1, 2]).eta_ > 1e-5
    with pytest.raises(ValueError, match="eta must be a positive number, 'auto' or 'theory' or"):
        clone_of("classes", eta="half").fit(X, y)
    with pytest.raises(ValueError, match="eta must be a positive number or None"):
        rw.SLAMPerceptron(eta="theory").fit(X, y)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", AUGMENTED)
def test_sparse_rows_files_and_units_have_the_same_step(name: str, tmp_path: Path) -> None:
    X, *rest = make_data(name)
    model = clone_of(name).fit(X, *rest)
    assert clone_of(name).fit(sp.csr_matrix(X), *rest).eta_ == model.eta_
    assert clone_of(name).fit(8 * X, *rest).eta_ == model.eta_  # on one scale
    if name != "own":
        rw.save(model, tmp_path / "m.rw")
        again = rw.load(tmp_path / "m.rw").partial_fit(1000 * X, *rest)
        assert again.eta_ == model.eta_  # frozen
    raw = clone_of(name, standardize=False)
    if name != "rbf":
        small = clone_of(name, standardize=False).fit(X / 4, *rest).eta_
        assert small == pytest.approx(16 * raw.fit(X, *rest).eta_, rel=0.5)


def test_a_stream_has_the_step_of_the_whole_file(tmp_path: Path) -> None:
    X, y, qid = make_data("ranker", 800)
    rw.write_letor(rw.Dataset(X.round(4), y, qid), tmp_path / "train.txt")
    ds = rw.read(tmp_path / "train.txt")
    for name in ("ordinal", "reject", "ranker"):
        whole = clone_of(name, n_epochs=1, shuffle=False).fit(ds.X, ds.y, ds.qid)
        stream = rw.fit_stream(clone_of(name, n_epochs=1), tmp_path / "train.txt")
        assert stream.eta_ == whole.eta_
        np.testing.assert_array_equal(stream.coef_, whole.coef_)


@pytest.mark.parametrize("name", [name for name in AUGMENTED if name != "rbf"])
def test_bounds_hold_for_any_step(name: str) -> None:
    rng = np.random.default_rng(0)
    finite = 0
    for seed in range(12):
        X, *rest = make_data(name, 60, seed)
        eta: Any = [None, "theory", 10.0 ** rng.uniform(-4, 2)][seed % 3]
        model = clone_of(name, eta=eta, standardize=False, n_epochs=1 + seed % 2)
        good = type(model)(**model.get_params(deep=False) | {"n_epochs": 30, "variant": "last"})
        good.fit(X, *rest)
        learned = np.atleast_2d(good.coef_)
        if good.fit_intercept:
            learned = np.column_stack([learned, good.intercept_])
        for u in (learned * 10.0 ** rng.uniform(-2, 3), rng.normal(size=learned.shape)):
            bound = model.bound(u[0] if name == "ranker" else u, X, *rest)
            assert bound.terms["loss"] <= bound.value * ROUNDING
            finite += np.isfinite(bound.value)
    assert finite == 24  # also where the step is too long for Theorem 1


def test_p12_the_theorems_step_rejects_all_digits() -> None:
    """Of standardized digits the longest is many times the median: the step teaches nothing."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:1078], order[1078:]
    Z = StandardScaler().fit(X[train]).transform(X)
    squares = (Z[train] ** 2).sum(axis=1)
    assert squares.max() > 30 * np.median(squares)

    def cost(learner: Any, rows: Any) -> float:
        says = learner.fit(rows[train], y[train]).predict(rows[test])
        return float(np.where(says == -1, 0.1, says != y[test]).mean())

    theory = PredtronClassifier(reject=0.1, eta="theory", standardize=False)
    assert cost(theory, Z) == pytest.approx(0.1)
    assert cost(theory.set_params(standardize=None), X) > 0.06
    assert cost(PredtronClassifier(reject=0.1), X) < 0.021


def test_ordinal_classes_are_augmented_in_fit_and_driven_by_losses_elsewhere() -> None:
    X, y = make_data("ordinal")
    assert PredtronOrdinal().fit(X, y).mode_ == "augmented"
    begun = PredtronOrdinal().partial_fit(X, y, classes=[0, 1, 2])
    assert (begun.mode_, begun.eta_) == ("loss_driven", 1.0)
    assert PredtronOrdinal("predicted").fit(X, y).mode_ == "predicted"
    assert PredtronOrdinal(kernel="rbf", budget=20).fit(X, y).mode_ == "loss_driven"
    with pytest.raises(ValueError, match="mode must be one of augmented, predicted, loss_driven"):
        PredtronOrdinal("best").fit(X, y)
