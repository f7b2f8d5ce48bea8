"""Means of weights over the rounds, by hand and by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import rankwright as rw
from rankwright.exceptions import DataError
from rankwright.online.means import Variant

X = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
Y, QID = np.array([1, 0, 1, 0]), np.array([1, 1, 2, 2])


def after_each_query(variant: Variant) -> list[Any]:
    ranker = rw.SLAMPerceptron(lambda y: y, variant=variant)
    found = []
    for _ in range(2):
        for q in (1, 2):
            ranker.partial_fit(X[q == QID], Y[q == QID], QID[q == QID])
            found.append(ranker.coef_.tolist())
    return found


def test_the_means_of_four_rounds_by_hand() -> None:
    # Each query is ranked wrongly once, by a tie: w is (1, 0), then (1, 2) for good.
    assert after_each_query("last") == [[1, 0], [1, 2], [1, 2], [1, 2]]
    means = [[1.0, 0.0], [1.0, 1.0], [1.0, 4 / 3], [1.0, 1.5]]
    np.testing.assert_allclose(after_each_query("averaged"), means, rtol=1e-15)
    root = np.sqrt(5)
    expected = [
        [1, 0],
        [(1 + 1 / root) / 2, (2 / root) / 2],
        [(1 + 2 / root) / 3, (4 / root) / 3],
        [(1 + 3 / root) / 4, (6 / root) / 4],
    ]
    np.testing.assert_allclose(after_each_query("voted"), expected, rtol=1e-15)


RANKER, ORDINAL, PREDTRON = (
    kind(standardize=False) for kind in (rw.SLAMPerceptron, rw.PRank, rw.PredtronClassifier)
)


@pytest.mark.parametrize(
    ("model", "variant", "names"),
    [
        (RANKER, "last", {"coef_"}),
        (RANKER, "averaged", {"coef_", "last_coef_", "coef_sum_", "since_"}),
        (RANKER, "voted", {"coef_", "last_coef_", "coef_sum_", "since_"}),
        (ORDINAL, "last", {"coef_", "thresholds_", "iterate_", "iterate_sum_", "since_"}),
        (ORDINAL, "averaged", {"coef_", "thresholds_", "iterate_", "iterate_sum_", "since_"}),
        (PREDTRON, "last", {"coef_", "intercept_", "weights_"}),
        (PREDTRON, "averaged", {"coef_", "intercept_", "weights_", "coef_sum_", "since_"}),
    ],
)
def test_weights_have_the_names_of_the_first_model_files(
    model: Any, variant: str, names: set[str]
) -> None:
    fitted = clone(model).set_params(variant=variant).fit(X, Y, QID)
    others = {"n_features_in_", "n_rounds_", "n_updates_", "cumulative_loss_", "eta_", "classes_"}
    others |= {"variant_", "threshold_step_"}
    assert {name for name in vars(fitted) if name.endswith("_")} - others == names
    for name in names - {"coef_", "thresholds_", "intercept_"}:
        damaged = clone(fitted).fit(X, Y, QID)
        setattr(damaged, name, 99 if name == "since_" else np.zeros(99))
        with pytest.raises(DataError, match=name):
            damaged.check_state()


@pytest.mark.parametrize("model", [RANKER, ORDINAL, PREDTRON])
@pytest.mark.parametrize("variant", ["last", "averaged"])
def test_what_is_published_does_not_change_while_learning_fails(model: Any, variant: str) -> None:
    fitted = clone(model).set_params(variant=variant).partial_fit(X, Y, QID, **classes_for(model))
    before = fitted.coef_.copy()
    with pytest.raises(ValueError, match="X has 3 features"):
        fitted.partial_fit(np.ones((2, 3)), [0, 1])
    np.testing.assert_array_equal(fitted.coef_, before)


def classes_for(model: Any) -> dict[str, Any]:
    return {} if model is RANKER else {"classes": [0, 1]}
