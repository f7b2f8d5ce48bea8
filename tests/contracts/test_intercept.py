"""Intercepts of Widrow-Hoff and of the multiclass perceptron (R8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.online import MulticlassPerceptron, PRank, WidrowHoff
from tests.contracts.test_guarantees import ROUNDING

KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "widrow-hoff": (WidrowHoff, {}),
    "widrow-hoff-averaged": (WidrowHoff, {"eta": 0.01, "variant": "averaged"}),
    "multiclass": (MulticlassPerceptron, {}),
    "multiclass-max": (MulticlassPerceptron, {"update": "max", "variant": "averaged"}),
    "multiclass-voted": (MulticlassPerceptron, {"variant": "voted"}),
}
every_kind = pytest.mark.parametrize("name", KINDS)


def make_data(seed: int = 0, n: int = 150) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, 4)).astype(float)
    return X, np.digitize(X @ [1, -1, 0.5, 0] + rng.normal(size=n), [-2, 0, 2, 4]) + 1


@every_kind
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_an_intercept_is_a_feature_of_ones(name: str, form: Any) -> None:
    kind, params = KINDS[name]
    X, y = make_data()
    ones = np.c_[X, np.ones(len(X))]
    model = kind.paper(fit_intercept=True, **params).fit(form(X), y)
    plain = kind.paper(**params).fit(form(ones), y)
    assert model.cumulative_loss_ == plain.cumulative_loss_
    weights = np.hstack([np.atleast_2d(model.coef_), np.reshape(model.intercept_, (-1, 1))])
    np.testing.assert_allclose(weights, np.atleast_2d(plain.coef_), atol=1e-10)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(ones), atol=1e-9)
    np.testing.assert_array_equal(model.predict(form(X)), plain.predict(form(ones)))
    dual = kind.paper(fit_intercept=True, kernel="linear", **params).fit(X, y)
    np.testing.assert_allclose(dual.decision_function(X), model.decision_function(X), atol=1e-8)


@every_kind
def test_fit_has_an_intercept_and_partial_fit_has_none(name: str, tmp_path: Path) -> None:
    kind, params = KINDS[name]
    X, y = make_data()
    assert "intercept_" not in vars(kind(**params).partial_fit(X, y))
    assert "intercept_" not in vars(kind(fit_intercept=False, **params).fit(X, y))
    assert not kind.paper(**params).fit_intercept
    model = kind(**params).fit(X + 100, y)  # far from 0
    farther = kind(**params).fit(X + 116, y)
    np.testing.assert_array_equal(farther.coef_, model.coef_)
    np.testing.assert_allclose(
        farther.decision_function(X + 116), model.decision_function(X + 100), atol=1e-8
    )
    assert "intercept_" not in vars(farther.set_params(fit_intercept=False).fit(X, y))
    rw.save(model, tmp_path / "m.rw")
    again = rw.load(tmp_path / "m.rw")
    for learner in (model, again):
        learner.partial_fit(X + 101, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.intercept_, model.intercept_)
    model.fit_intercept_ = False
    with pytest.raises(rw.DataError):
        model.check_state()
    model.fit_intercept_, model.intercept_ = True, "text"
    with pytest.raises(rw.DataError, match="intercept_ must be"):
        model.check_state()


@every_kind
@pytest.mark.parametrize("kernel", [None, "poly"])
def test_pieces_and_epochs(name: str, kernel: Any) -> None:
    kind, params = KINDS[name]
    X, y = make_data()
    given: Any = {"fit_intercept": True, "kernel": kernel, "classes": [1, 2, 3, 4, 5], **params}
    whole = kind.paper(n_epochs=2, **given).fit(X, y)
    parts = kind.paper(**given)
    for rows in np.array_split(np.r_[: len(X), : len(X)], 7):
        parts.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(
        parts.decision_function(X), whole.decision_function(X), rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize("standardize", [None, False])
def test_bounds_with_an_intercept_on_random_streams(standardize: Any) -> None:
    rng = np.random.default_rng(0)
    for i in range(60):
        X = rng.normal(size=(int(rng.integers(5, 60)), 3)) * 3.0 ** rng.integers(-1, 2) + 1
        U = rng.normal(size=(4, 4))
        y = (X @ U[:, :3].T + U[:, 3]).argmax(axis=1)
        given: Any = {"classes": [0, 1, 2, 3], "standardize": standardize, "n_epochs": 3}
        model = MulticlassPerceptron(("uniform", "max")[i % 2], **given)
        bound = model.bound(U, X, y)
        assert bound.terms["loss"] <= bound.value * ROUNDING
        assert bound.terms["loss"] == model.fit(X, y).n_updates_
        # An intercept of 0 need not be told.
        none = np.c_[U[:, :3], np.zeros(4)]
        assert model.bound(U[:, :3], X, y).value == model.bound(none, X, y).value
        eta = (
            0.5 * rng.random() / (rw.theory.radius(WidrowHoff(**given).fit(X, y)._in_scale(X)) ** 2)
        )
        learner = WidrowHoff(eta, **given)
        u = np.linalg.lstsq(np.c_[X, np.ones(len(X))], y + 1.0, rcond=None)[0]
        bound = learner.bound(u, X, y)
        assert bound.terms["loss"] <= bound.value * ROUNDING
        errors = y + 1 - X @ u[:3] - u[3]  # in whatever scale the learner sees the documents
        assert bound.terms["f(u)"] == pytest.approx(3 * errors @ errors)
        dual = WidrowHoff(eta, kernel="linear", **given)
        coef = np.linalg.lstsq(np.c_[X, np.ones(len(X))].T, u, rcond=None)[0]
        assert np.isfinite(dual.bound(coef, X, y).value)


def test_r8_without_an_intercept_widrow_hoff_is_no_match() -> None:
    """Ratings around 0 tell nothing of a viewer who likes most titles: ranks far from 0 do."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8)) * (rng.random((2000, 8)) < 0.5)
    y = np.clip(np.round(3.4 + X @ rng.normal(size=8) / 2), 1, 5).astype(int)
    given: Any = {"classes": [1, 2, 3, 4, 5]}
    eta = 0.05
    losses = [
        learner.partial_fit(X, y).cumulative_loss_ / len(y)
        for learner in (
            WidrowHoff.paper(eta=eta, **given),
            WidrowHoff.paper(eta=eta, fit_intercept=True, **given),
            PRank.paper(**given),
        )
    ]
    assert losses[0] > 3 * losses[1]
    assert losses[2] < losses[0]  # a comparison that says nothing of PRank
    # Nor has the multiclass perceptron a scale to lose: its labels are not far from 0.
    plain, fair = (
        MulticlassPerceptron.paper(fit_intercept=has, **given).partial_fit(X, y).cumulative_loss_
        for has in (False, True)
    )
    assert fair < 1.2 * plain
