"""What a fitted model tells about itself: size, features, curves, guarantees."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from rankwright.evaluation.folds import Fold
from rankwright.losses.own import as_loss
from rankwright.metrics.metric import Metric

_MOST_POINTS = 1000  # of a guarantee plot


def facts_of(model: Any, fold: Fold, metric: Metric) -> dict[str, Any]:
    """Return what a fitted model tells about itself: size, features, curves, guarantees."""
    from rankwright.estimator import as_model

    asked = as_model(model, fold.train.n_features)
    strength = asked.feature_strength()
    facts: dict[str, Any] = {
        "n_features": fold.train.n_features,
        "features_used": None if strength is None else int(np.count_nonzero(strength)),
    }
    for name, examine in _EXAMINATIONS.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                facts[name] = examine(asked, fold, metric)
        except Exception as error:  # a picture less is no reason to lose a model
            facts[name] = None
            facts.setdefault("notes", []).append(f"{name}: {error}")
    return facts


def _learning_curves(model: Any, fold: Fold, metric: Metric) -> dict[str, list[float]] | None:
    """Return learning curves by name: what was recorded, round by round."""
    return model.curves() or None


def _path(model: Any, fold: Fold, metric: Metric) -> list[dict[str, float]] | None:
    """Return quality against the number of features, for models with a path of l1 penalties."""
    from sklearn.base import clone

    if not model.has_path or model.penalty != "l1":
        return None
    train = fold.train
    # Of another like it: a path through arrays would take the names of its features.
    points = clone(model).path(
        train.X, train.y, train.qid, n_alphas=12, valid=fold.valid, metric=metric
    )
    return [
        {"alpha": p.alpha, "n_features": p.n_features, "valid": p.quality, "loss": p.loss}
        for p in points
    ]


def _guarantee(model: Any, fold: Fold, metric: Metric) -> dict[str, Any] | None:
    """Return the loss beside its bound, for each of some test queries."""
    from rankwright.theory import certificate

    loss = model.loss_for(fold.test.y)
    if loss is None or as_loss(loss).bound is None:
        return None
    test = fold.test
    proof = certificate(loss, model.predict_dataset(test), test.y, test.groups)
    shown = np.linspace(0, proof.n_queries - 1, min(proof.n_queries, _MOST_POINTS)).astype(int)
    return {
        "promise": proof.bound.text,
        "mean_loss": proof.mean_value,
        "mean_bound": proof.mean_lower,
        "holds": proof.holds,
        "loss": proof.values[shown].tolist(),
        "bound": proof.lower[shown].tolist(),
        "queries": [str(q) for q in proof.query_ids[shown].tolist()],
    }


_EXAMINATIONS: dict[str, Callable[[Any, Fold, Metric], Any]] = {
    "curves": _learning_curves,
    "path": _path,
    "guarantee": _guarantee,
}
