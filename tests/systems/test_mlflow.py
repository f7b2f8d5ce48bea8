"""The example of MLflow in the guide, with MLflow."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwright as rw
from tests.systems.conftest import package

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "mlflow_ranker.py"
pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own, of many kinds


@pytest.fixture
def mlflow() -> Any:
    return package("mlflow")


@pytest.fixture
def tracked(mlflow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    mlflow.set_experiment("rankers")
    return runpy.run_path(str(EXAMPLE))


def test_a_model_is_logged_and_loaded(mlflow: Any, tracked: Any) -> None:
    import pandas as pd
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["price", "stock"])
    y, qid = rng.integers(0, 3, 60), np.repeat(np.arange(6), 10)
    boosted = rw.BoostedRanker(n_estimators=5, min_child_samples=2).fit(frame, y, qid)
    pipeline = make_pipeline(StandardScaler(), rw.LinearRanker("listnet"))
    pipeline.fit(frame, y, linearranker__qid=qid)
    for model in (boosted, pipeline):
        with mlflow.start_run():
            logged = tracked["log_model"](model)
        again = mlflow.pyfunc.load_model(logged.model_uri)
        np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
        swapped = frame[["stock", "price"]]
        if model is boosted:
            np.testing.assert_array_equal(again.predict(swapped), model.predict(frame))


def test_a_comparison_is_logged(mlflow: Any, tracked: Any) -> None:
    data = rw.data.make_mslr_like(n_queries=40, n_features=5, mean_docs=10)
    found = rw.compare(data, ["pamir", "xendcg-linear"], n_trials=1)
    with mlflow.start_run() as run:
        tracked["log_comparison"](found)
    logged = mlflow.get_run(run.info.run_id)
    best = found.standings[0]
    assert logged.data.metrics[f"{best.name}/ndcg_at_10"] == best.means["ndcg@10"]
    names = [item.path for item in mlflow.MlflowClient().list_artifacts(run.info.run_id)]
    assert names == ["report.html"]
