"""SHAP and LightGBM's plots, with a model's ``booster_``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankwright as rw
from tests.systems.conftest import package

pytestmark = pytest.mark.filterwarnings("ignore")  # of SHAP, of many kinds

NAMES = ["price", "stock", "größe"]


@pytest.fixture(scope="module")
def fitted() -> tuple[rw.BoostedRanker, rw.Dataset]:
    package("matplotlib").use("Agg")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    data = rw.Dataset(
        X, np.round(2 * (X[:, 0] > 0) + (X[:, 1] > 0)), np.repeat(range(20), 15), NAMES
    )
    ranker = rw.BoostedRanker(n_estimators=10, min_child_samples=5, eval_train=True)
    return ranker.fit_dataset(data), data


def test_shap_values_are_contributions(fitted: Any) -> None:
    ranker, data = fitted
    explainer = package("shap").TreeExplainer(ranker.booster_)
    contributions, start = ranker.contributions(data.X)
    np.testing.assert_allclose(explainer.shap_values(data.X), contributions, atol=1e-12)
    np.testing.assert_allclose(explainer.expected_value, start, atol=1e-12)


def test_plots_have_the_names(fitted: Any) -> None:
    import lightgbm

    ranker, _ = fitted
    labels = lightgbm.plot_importance(ranker.booster_).get_yticklabels()
    assert {label.get_text() for label in labels} <= set(NAMES)
    assert "price" in {label.get_text() for label in labels}
    lightgbm.plot_metric(ranker.evals_result_)
    lightgbm.plot_split_value_histogram(ranker.booster_, "price")
    package("graphviz")
    assert "price" in lightgbm.create_tree_digraph(ranker.booster_).source
