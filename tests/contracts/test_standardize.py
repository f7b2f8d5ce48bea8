"""Every online learner on one scale: measured before the first round, frozen, and kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import rankwright as rw
from rankwright.exceptions import DataError
from rankwright.online import GuaranteeLog
from rankwright.scaling import Moments, measured, power_of_two
from tests.reference.scaling import standardized

LEARNERS: dict[str, Any] = {
    "slam": rw.SLAMPerceptron(),
    "slam-averaged": rw.SLAMPerceptron("map", variant="averaged", n_epochs=2),
    "slam-voted": rw.SLAMPerceptron(variant="voted", n_epochs=2, shuffle=True),
    "slam-rbf": rw.SLAMPerceptron(kernel="rbf"),
    "online": rw.OnlineRanker("listnet", 0.1, variant="averaged"),
    "pamir": rw.PAMIR(0.1, variant="averaged", n_triplets=200),
    "prank": rw.PRank(),
    "prank-averaged": rw.PRank("averaged", n_epochs=3),
    "prank-voted": rw.PRank("voted"),
    "prank-rbf": rw.PRank(kernel="rbf"),
    "widrow-hoff": rw.WidrowHoff(),
    "widrow-hoff-no-intercept": rw.WidrowHoff(fit_intercept=False),
    "widrow-hoff-eta": rw.WidrowHoff(0.01),
    "multiclass": rw.MulticlassPerceptron(variant="averaged"),
    "multiclass-voted": rw.MulticlassPerceptron(variant="voted"),
    "multiclass-budget": rw.MulticlassPerceptron(kernel="rbf", variant="last", budget=20),
    "multiclass-no-intercept": rw.MulticlassPerceptron(fit_intercept=False),
    "multiclass-poly": rw.MulticlassPerceptron(kernel="poly", degree=2),
    "predtron-classifier": rw.PredtronClassifier(variant="averaged"),
    "predtron-no-intercept": rw.PredtronClassifier(fit_intercept=False),
    "predtron-l1": rw.PredtronClassifier(norm="l1"),
    "predtron-augmented": rw.PredtronOrdinal("augmented"),
    "predtron-voted": rw.PredtronClassifier(variant="voted"),
    "predtron-group-voted": rw.PredtronOrdinal(norm="group", variant="voted"),
    "predtron-rbf": rw.PredtronClassifier(kernel="rbf"),
    "predtron-ranker": rw.PredtronRanker(variant="voted"),
    "predtron-multilabel": rw.PredtronMultilabel(),
    "predtron-label-ranker": rw.PredtronLabelRanker(variant="averaged"),
}
SPREAD = {"slam", "slam-averaged", "slam-voted", "slam-rbf", "online", "pamir", "predtron-ranker"}
SIZE = {name for name in LEARNERS if name.endswith("no-intercept")}
CENTERED = LEARNERS.keys() - SPREAD - SIZE
every_learner = pytest.mark.parametrize("name", LEARNERS)


def make_data(name: str, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return features of all sizes: far from 0, mostly 0, constant."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(40), 6)
    Z = rng.normal(size=(len(qid), 5))
    y = np.digitize(Z[:, 0] + Z[:, 1] - Z[:, 2], [-0.7, 0.7]).astype(float)
    if name in ("predtron-multilabel", "predtron-label-ranker"):
        y = np.column_stack([y > 0, y > 1]).astype(int)
    X = Z * [1000.0, 0.01, 3.0, 1.0, 1.0] + [5000.0, 1.0, 0.0, 0.0, 0.0]
    X[:, 3] = np.where(rng.random(len(qid)) < 0.9, 0.0, 7.0)
    X[:, 4] = 12.5
    return X.round(6), y, qid


def kind_of(name: str) -> Any:
    return "size" if name in SIZE else "center" if name in CENTERED else "spread"


def first_call(name: str, y: Any) -> dict[str, Any]:
    """Return what the first ``partial_fit`` must know."""
    announced = name.startswith("predtron") and name not in SPREAD and y.ndim == 1
    return {"classes": np.unique(y)} if announced else {}


def answers(model: Any, X: Any) -> Any:
    return model.decision_function(X) if "decision_function" in dir(model) else model.predict(X)


@every_learner
def test_fit_standardizes_as_its_twin(name: str) -> None:
    X, y, qid = make_data(name)
    model = clone(LEARNERS[name]).fit(X, y, qid)
    Z, scale, center = standardized(X, kind_of(name))
    np.testing.assert_array_equal(model.scale_, scale)
    assert ("center_" in vars(model)) == (name in CENTERED)
    if name in CENTERED:
        np.testing.assert_array_equal(model.center_, center)
    plain = clone(LEARNERS[name]).set_params(standardize=False).fit(Z, y, qid)
    assert "scale_" not in vars(plain)
    assert (model.n_updates_, model.cumulative_loss_) == (plain.n_updates_, plain.cumulative_loss_)
    # Weights are for features as they are: a score does not know of the scale.
    expected = answers(plain, Z)
    offset = 0.0
    if "thresholds_" in vars(model) and "coef_" in vars(model):
        offset = model.coef_ @ center
        np.testing.assert_allclose(model.thresholds_ - offset, plain.thresholds_, atol=1e-7)
    np.testing.assert_allclose(answers(model, X) - offset, expected, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X[:50]).shape, plain.predict(Z[:50]).shape)


@every_learner
def test_pieces_with_the_scale_of_all_give_the_same_bits(name: str, tmp_path: Path) -> None:
    X, y, qid = make_data(name)
    if name in ("pamir", "predtron-augmented"):
        pytest.skip("it depends on the pieces: triplets are drawn from them, a radius measured")
    whole = clone(LEARNERS[name]).set_params(n_epochs=1, shuffle=False).fit(X, y, qid)
    moments = Moments(5)
    parts = clone(whole)
    parts.begin_as_fit()
    cuts = np.split(np.arange(len(X)), [30, 36, 120])
    for rows in cuts:
        moments.add(sp.csr_array(X[rows]) if rows[0] else X[rows])
    parts.measure(moments)
    np.testing.assert_array_equal(parts.scale_, whole.scale_)
    classes = first_call(name, y)
    for rows in cuts:
        parts.partial_fit(X[rows], y[rows], qid[rows], **classes)
        rw.save(parts, tmp_path / "m.rw")
        parts, classes = rw.load(tmp_path / "m.rw"), {}
    assert parts.n_updates_ == whole.n_updates_
    np.testing.assert_allclose(answers(parts, X), answers(whole, X), rtol=1e-9, atol=1e-9)


@every_learner
def test_dense_and_sparse_rows_are_the_same(name: str) -> None:
    X, y, qid = make_data(name)
    dense = clone(LEARNERS[name]).fit(X, y, qid)
    sparse = clone(LEARNERS[name]).fit(sp.csr_matrix(X), y, qid)
    np.testing.assert_array_equal(sparse.scale_, dense.scale_)
    assert sparse.n_updates_ == dense.n_updates_
    np.testing.assert_allclose(
        answers(sparse, sp.csr_array(X)), answers(dense, X), rtol=1e-7, atol=1e-7
    )


@every_learner
def test_units_do_not_matter(name: str) -> None:
    """Metres or millimetres: powers of two, since a scale is one."""
    X, y, qid = make_data(name)
    units = np.array([2.0**10, 2.0**-7, 8.0, 1.0, 0.25])
    one, other = (clone(LEARNERS[name]).fit(Z, y, qid) for Z in (X, X * units))
    assert one.n_updates_ == other.n_updates_
    np.testing.assert_array_equal(answers(one, X), answers(other, X * units))


@every_learner
def test_partial_fit_has_no_scale_unless_asked(name: str) -> None:
    X, y, qid = make_data(name)
    if name in ("predtron-augmented", "widrow-hoff-eta"):
        pytest.skip("its step must fit the radius")
    classes = first_call(name, y)
    raw = clone(LEARNERS[name]).partial_fit(X, y, qid, **classes)
    assert "scale_" not in vars(raw)
    asked = clone(LEARNERS[name]).set_params(standardize=True)
    asked.partial_fit(X[:120], y[:120], qid[:120], **classes)
    scale = asked.scale_.copy()
    without = name.startswith(("widrow", "multiclass"))  # they have no intercept here
    kind: Any = "size" if without else kind_of(name)
    np.testing.assert_array_equal(scale, measured(X[:120]).scale(kind).scale)
    asked.partial_fit(1e3 * X[120:], y[120:], qid[120:])
    np.testing.assert_array_equal(asked.scale_, scale)  # frozen
    given = clone(LEARNERS[name]).set_params(standardize=[900.0, 0.01, 3.0, 7.0, 12.0])
    given.partial_fit(X, y, qid, **classes)
    np.testing.assert_array_equal(given.scale_, [1024.0, 2.0**-7, 4.0, 8.0, 16.0])
    with pytest.raises(ValueError, match="a scale for each of 4 features, but has shape"):
        clone(given).partial_fit(X[:, :4], y, qid, **classes)


@every_learner
def test_fit_forgets_the_scale_before(name: str) -> None:
    X, y, qid = make_data(name)
    model = clone(LEARNERS[name]).fit(X, y, qid)
    again = clone(model).fit(1000 * X, y, qid).fit(X, y, qid)
    np.testing.assert_array_equal(again.scale_, model.scale_)
    if name == "widrow-hoff-eta":
        return  # it overflows
    off = again.set_params(standardize=False).fit(X, y, qid)
    fresh = clone(off).fit(X, y, qid)
    assert vars(off).keys() == vars(fresh).keys()


@every_learner
def test_files_keep_the_scale(name: str, tmp_path: Path) -> None:
    X, y, qid = make_data(name)
    model = clone(LEARNERS[name]).fit(X, y, qid)
    rw.save(model, tmp_path / "m.rw")
    loaded = rw.load(tmp_path / "m.rw")
    np.testing.assert_array_equal(loaded.scale_, model.scale_)
    np.testing.assert_array_equal(answers(loaded, X), answers(model, X))
    for value in (np.ones(3), np.zeros(5), np.full(5, np.nan)):
        model.scale_ = value
        with pytest.raises(DataError, match="scale_ must be"):
            model.check_state()
    if name in CENTERED:
        del model.scale_
        with pytest.raises(DataError, match="center_ must come with scale_"):
            model.check_state()


BOUNDED: dict[str, Any] = {
    "slam": lambda model: model.coef_,
    "prank": lambda model: np.append(model.coef_, model.thresholds_),
    "widrow-hoff-eta": lambda model: np.append(model.coef_, model.intercept_),
    "multiclass": lambda model: np.column_stack([model.coef_, model.intercept_]),
    "predtron-classifier": lambda model: np.column_stack([model.coef_, model.intercept_]),
    "predtron-no-intercept": lambda model: model.coef_,
    "predtron-ranker": lambda model: model.coef_,
}


@pytest.mark.parametrize("name", BOUNDED)
def test_guarantees_are_about_the_scaled_features(name: str) -> None:
    """A bound for features as they are is that of the scaled ones, with the comparator in scale."""
    X, y, qid = make_data(name)
    model = clone(LEARNERS[name]).fit(X, y, qid)
    Z, _, _ = standardized(X, kind_of(name))
    plain = clone(LEARNERS[name]).set_params(standardize=False).fit(Z, y, qid)
    scaled = plain.bound(BOUNDED[name](plain), Z, y, qid)
    found = model.bound(BOUNDED[name](model), X, y, qid)
    assert found.terms["loss"] == scaled.terms["loss"] <= found.value * (1 + 1e-9)
    assert found.value == pytest.approx(scaled.value, rel=1e-5)
    if "predtron" in name and name != "predtron-ranker":
        return  # its classes must be announced, which a log cannot do
    log, learner = GuaranteeLog(BOUNDED[name](model)), clone(model).set_params(standardize=True)
    if "fit_intercept" in learner.get_params():
        learner.set_params(fit_intercept=True)
    if "classes" in learner.get_params():
        learner.set_params(classes=[0, 1, 2])
    for rows in np.split(np.arange(len(X)), [60, 150]):
        log.partial_fit(learner, X[rows], y[rows], qid[rows])
        assert log.entries[-1].ratio <= 1 + 1e-9
    np.testing.assert_array_equal(log.comparator, BOUNDED[name](model))


def test_a_precomputed_kernel_has_no_features() -> None:
    X, y, qid = make_data("slam")
    Z = X / 1000
    gram = Z @ Z.T
    model = rw.SLAMPerceptron(kernel="precomputed").fit(gram, y, qid)
    assert "scale_" not in vars(model)
    with pytest.raises(ValueError, match="standardize needs features, but kernel='precomputed'"):
        rw.SLAMPerceptron(kernel="precomputed", standardize=True).fit(gram, y, qid)


@pytest.mark.parametrize("value", ["maybe", 3, [1.0, -1.0, 1, 1, 1], [1.0, np.nan, 1, 1, 1]])
def test_what_is_no_scale(value: Any) -> None:
    X, y, qid = make_data("slam")
    with pytest.raises(ValueError, match="standardize must be True, False or positive scales"):
        rw.SLAMPerceptron(standardize=value).fit(X, y, qid)
    with pytest.raises(ValueError, match="standardize must be"):
        rw.LinearRanker().set_params(standardize=[1.0] * 5).fit(X, y, qid)


def test_edges_of_a_scale() -> None:
    half = np.array([[0.0], [3.0], [0.0], [3.0]])  # 0 in half of the rows is not yet "mostly"
    assert measured(half).scale().scale == [2.0]
    stored = sp.csr_array((np.array([5.0, 0.0, 0.0, 0.0]), ([0, 1, 2, 3], [0] * 4)), shape=(4, 1))
    assert measured(stored).scale().scale == measured(stored.toarray()).scale().scale
    assert measured(np.full((3000, 1), 0.1)).scale().scale == [0.125]  # constant but for rounding
    far = measured(67108865 + np.array([[-16.0], [16.0]])).scale("center").center
    assert far == [67108864]  # a number of float32 too
    np.testing.assert_array_equal(power_of_two(np.array([1e-300, 1e300])), [2.0**-120, 2.0**120])
    with pytest.raises(ValueError, match="feature 2 is too large to be measured"):
        measured(np.array([[1.0, 1e200], [2.0, 3e200]])).scale()


def test_the_centre_has_a_value_for_each_feature() -> None:
    X, y, qid = make_data("prank")
    model = rw.PRank().fit(X, y, qid)
    model.center_ = np.ones(3)
    with pytest.raises(DataError, match="center_ must be"):
        model.check_state()


def test_votes_do_not_depend_on_the_table(monkeypatch: Any) -> None:
    X, y, qid = make_data("prank")
    model = rw.PRank("voted").fit(X, y, qid)
    expected = model.predict(X)
    monkeypatch.setattr("rankwright.online.votes._CELLS", 1)
    np.testing.assert_array_equal(model.predict(X), expected)


def test_a_comparator_without_an_intercept_has_one_of_0() -> None:
    X, y, qid = make_data("")
    model = rw.PredtronClassifier().fit(X, y, qid)
    whole = np.column_stack([model.coef_, np.zeros(3)])
    assert model.bound(model.coef_, X, y, qid).value == model.bound(whole, X, y, qid).value
