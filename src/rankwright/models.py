"""All models by name: the one list that model files, command line and comparisons share.

To add a model, add a line to ``MODELS``. Its class follows scikit-learn's conventions and
:class:`rankwright.estimator.Model`, which says what else is asked of a model.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rankwright.suggestions import meant

MODELS: dict[str, tuple[str, str]] = {  # name on the command line: package, class
    "linear": ("rankwright.linear", "LinearRanker"),
    "slam-perceptron": ("rankwright.online", "SLAMPerceptron"),
    "online": ("rankwright.online", "OnlineRanker"),
    "prank": ("rankwright.online", "PRank"),
    "widrow-hoff": ("rankwright.online", "WidrowHoff"),
    "multiclass-perceptron": ("rankwright.online", "MulticlassPerceptron"),
    "predtron-classifier": ("rankwright.predtron", "PredtronClassifier"),
    "predtron-ordinal": ("rankwright.predtron", "PredtronOrdinal"),
    "predtron-multilabel": ("rankwright.predtron", "PredtronMultilabel"),
    "predtron-ranker": ("rankwright.predtron", "PredtronRanker"),
    "predtron-label-ranker": ("rankwright.predtron", "PredtronLabelRanker"),
    "boosted": ("rankwright.trees", "BoostedRanker"),
    "pamir": ("rankwright.online", "PAMIR"),
    "domination-rank": ("rankwright.linear", "DominationRank"),
    "best-feature": ("rankwright.baselines", "BestFeature"),
    "random": ("rankwright.baselines", "RandomRanker"),
}
# What model files may hold: those, and what a file of labelled queries cannot train.
CLASSES = {kind: package for package, kind in MODELS.values()} | {
    "TopicRankers": "rankwright.linear",
}


def model_class(name: str) -> Any:
    """Return the class of a model by its name on the command line."""
    if name not in MODELS:
        raise ValueError(
            f"model must be one of {', '.join(MODELS)}, but is {name!r}.{meant(name, MODELS)}"
        )
    package, kind = MODELS[name]
    return getattr(import_module(package), kind)


def make_model(name: str, **params: Any) -> Any:
    """Return a model by its name on the command line, with these parameters.

    Examples
    --------
    >>> from rankwright.models import make_model
    >>> make_model("linear", loss="listnet", alpha=0.1)
    LinearRanker(alpha=0.1, loss='listnet')
    """
    kind = model_class(name)
    known = kind().get_params()
    for key in params:
        if key not in known:
            raise ValueError(
                f"{name} has no parameter {key!r}; it has {', '.join(known)}.{meant(key, known)}"
            )
    return kind(**params)
