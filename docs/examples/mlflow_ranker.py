"""A comparison in MLflow: metrics, the report, and the best model to load and predict with."""

import tempfile
from pathlib import Path

import mlflow

import rankwright as rw


class Ranker(mlflow.pyfunc.PythonModel):
    """A model file as MLflow's pyfunc: a frame goes in, one score for each row comes out."""

    def load_context(self, context):
        self.model = rw.load(context.artifacts["model"])

    def predict(self, context, model_input, params=None):
        return self.model.predict(model_input)


def log_model(model, name="ranker"):
    """Log a fitted model or pipeline as a file without pickled weights."""
    with tempfile.TemporaryDirectory() as folder:
        rw.save(model, path := str(Path(folder) / "model.rw"))
        return mlflow.pyfunc.log_model(
            name=name,
            python_model=Ranker(),
            artifacts={"model": path},
            pip_requirements=["rankwright"],
        )


def log_comparison(comparison):
    """Log the means of every model, and the report page."""
    for standing in comparison.standings:
        for metric, value in standing.means.items():
            mlflow.log_metric(f"{standing.name}/{metric.replace('@', '_at_')}", value)
    with tempfile.TemporaryDirectory() as folder:
        rw.report.write_report(comparison, path := Path(folder) / "report.html")
        mlflow.log_artifact(str(path))
