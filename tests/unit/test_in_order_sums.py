"""Weighted sums as search engines take them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 11)).astype(np.float32)
Y = np.digitize(X[:, 0] + RNG.normal(size=300), [0, 1])
QID = np.arange(300) // 10


def twin(coef: Any, bias: float, x: Any, kind: Any) -> float:
    """Sum one product after the other, each rounded."""
    total = kind(bias)
    for w, value in zip(coef, x, strict=True):
        total = kind(total + kind(kind(w) * kind(np.float32(value))))
    return float(np.float32(total))


@pytest.fixture(params=["float32", "float64"])
def arithmetic(request: Any) -> str:
    return str(request.param)


def with_arithmetic(model: Any, arithmetic: str) -> Any:
    model.arithmetic_ = arithmetic
    return model


@pytest.mark.parametrize("learner", [rw.LinearRanker("listnet"), rw.OnlineRanker(), rw.PAMIR()])
def test_scores_are_the_twins(learner: Any, arithmetic: str, tmp_path: Path) -> None:
    model = with_arithmetic(learner.fit(X, Y, QID), arithmetic)
    kind = np.dtype(arithmetic).type
    expected = [twin(model.coef_, 0.0, x, kind) for x in X]
    rw.save(model, tmp_path / "m.rw")
    for one in (model, rw.load(tmp_path / "m.rw"), rw.load(tmp_path / "m.rw", scorer=True)):
        np.testing.assert_array_equal(one.predict(X), expected)
        np.testing.assert_array_equal(one.predict(X[7:8]), expected[7:8])
        np.testing.assert_array_equal(one.predict(sp.csr_array(X)), expected)
        np.testing.assert_array_equal(one.predict(X.astype(np.float64)), expected)


def test_labels_are_of_the_engines_scores(arithmetic: str) -> None:
    for learner in (rw.PRank(), rw.WidrowHoff(fit_intercept=True), rw.PredtronOrdinal()):
        model = learner.fit(X, Y > 0 if isinstance(learner, rw.PredtronOrdinal) else Y)
        coef = np.ravel(model.coef_)
        bias = float(np.sum(getattr(model, "intercept_", 0.0)))
        kind = np.dtype(arithmetic).type
        scores = np.array([twin(coef, bias, x, kind) for x in X])
        labels = with_arithmetic(model, arithmetic).predict(X)
        if isinstance(learner, rw.PRank):
            expected = model.classes_[model.thresholds_.searchsorted(scores, "right")]
        elif isinstance(learner, rw.WidrowHoff):
            ranks = np.clip(np.floor(scores + 0.5), 1, len(model.classes_)).astype(int)
            expected = model.classes_[ranks - 1]
        else:
            expected = model.classes_[(scores > 0).astype(int)]
        np.testing.assert_array_equal(labels, expected)


def test_a_fit_forgets_the_engine(arithmetic: str) -> None:
    fresh = rw.LinearRanker("listnet").fit(X, Y, QID)
    model = with_arithmetic(rw.LinearRanker("listnet").fit(X[:100], Y[:100]), arithmetic)
    np.testing.assert_array_equal(model.fit(X, Y, QID).predict(X), fresh.predict(X))


def test_what_a_file_may_say(tmp_path: Path) -> None:
    model = with_arithmetic(rw.LinearRanker("listnet").fit(X, Y, QID), "float16")
    with pytest.raises(rw.DataError, match="arithmetic_ must be one of float32, float64"):
        rw.save(model, tmp_path / "m.rw")
    several = with_arithmetic(rw.PredtronOrdinal().fit(X, Y), "float32")
    with pytest.raises(rw.DataError, match="for models with one score"):
        rw.save(several, tmp_path / "m.rw")


def test_overflow_is_told(arithmetic: str) -> None:
    model = with_arithmetic(rw.LinearRanker("listnet").fit(X, Y, QID), arithmetic)
    huge = np.full((2, 11), 3e38, dtype=np.float32)
    model.coef_ = np.ones(11)
    with pytest.raises(ValueError, match="score of row 0 is not finite"):
        model.predict(huge)
