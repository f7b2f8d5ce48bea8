"""A fit that fails leaves the model as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import rankwright as rw
from rankwright.models import CLASSES
from rankwright.refitting import EndedEarly, Refitted

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(60, 2)), columns=["a", "b"])
SWAPPED = FRAME[["b", "a"]]
Y, QID = RNG.integers(0, 3, 60), np.repeat(range(6), 10)
RANKERS: list[Any] = [
    rw.LinearRanker(alpha=0.1),
    rw.DominationRank(),
    rw.SLAMPerceptron(),
    rw.OnlineRanker(),
    rw.PAMIR(),
    rw.PredtronRanker(),
    rw.BoostedRanker(n_estimators=3, min_child_samples=2),
    rw.EnsembleRanker([rw.LinearRanker(alpha=0.1), rw.PAMIR(n_triplets=50)], n_models=2),
]
LABELLERS: list[Any] = [rw.PRank(), rw.WidrowHoff(), rw.MulticlassPerceptron()]
LABELLERS += [rw.PredtronClassifier(), rw.PredtronOrdinal()]
every_model = pytest.mark.parametrize(
    "model", RANKERS + LABELLERS, ids=lambda model: type(model).__name__
)


def queries(model: Any) -> dict[str, Any]:
    return {"qid": QID} if type(model) in map(type, RANKERS) else {}


@every_model
def test_features_that_cannot_be(model: Any) -> None:
    fitted = clone(model).fit(FRAME, Y, **queries(model))
    expected = fitted.predict(FRAME)
    wrong = SWAPPED.copy()
    wrong.iloc[3, 0] = np.inf
    with pytest.raises(ValueError, match="inf"):
        fitted.fit(wrong, Y, **queries(model))
    np.testing.assert_array_equal(fitted.predict(FRAME), expected)
    assert list(fitted.feature_names_in_) == ["a", "b"]


@every_model
def test_an_interrupt(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = clone(model).fit(FRAME, Y, **queries(model))
    expected = fitted.predict(FRAME)

    def interrupted(*args: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    # When the names are known already.
    monkeypatch.setattr("rankwright.inputs.refuse_values", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(SWAPPED, Y, **queries(model))
    monkeypatch.undo()
    np.testing.assert_array_equal(fitted.predict(FRAME), expected)


def test_what_was_never_fitted_is_not_fitted() -> None:
    ranker = rw.LinearRanker()
    with pytest.raises(ValueError, match="inf"):
        ranker.fit([[np.inf], [1.0]], [0, 1])
    assert set(vars(ranker)) == set(vars(rw.LinearRanker()))


def test_what_can_be_used_stays() -> None:
    class Patient(Refitted):
        def fit(self) -> None:
            """Learn a little, and be interrupted."""
            self.coef_ = 1.0
            raise EndedEarly

    learner = Patient()
    with pytest.raises(KeyboardInterrupt):
        learner.fit()
    assert learner.coef_ == 1.0


@pytest.mark.parametrize("name", CLASSES)
def test_it_holds_for_every_class(name: str) -> None:
    from importlib import import_module

    assert issubclass(getattr(import_module(CLASSES[name]), name), Refitted)
