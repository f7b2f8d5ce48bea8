"""Theorem 8 of the SLAM paper for a fitted linear ranker."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.penalties import ElasticNet
from rankwright.scaling import FeatureScale, by_deviation
from rankwright.theory import Generalization, generalization, radius


def generalization_of(ranker: Any, dataset: Dataset) -> tuple[Generalization | None, list[str]]:
    """Return Theorem 8's numbers, and what keeps them from being about this model.

    Parameters
    ----------
    ranker : LinearRanker
        A fitted ranker; of other learners, such as :class:`OnlineRanker`, it says nothing.
    dataset : Dataset
        What stands for the training data.

    Returns
    -------
    Generalization or None
        None if the theorem says nothing here; the reservations tell why.
    list of str
        Reservations.
    """
    if "penalty" not in ranker.get_params():
        kind = type(ranker).__name__
        return None, [f"It says nothing: it is about minimisers of a penalised loss, not {kind}."]
    reservations = [
        "R_X and B were read off DATA and the model instead of being fixed before the draw, so the "
        "numbers tell orders of magnitude."
    ]
    dataset = ranker.align(dataset)
    X, coef = dataset.X, ranker.coef_
    if ranker.standardize:
        # Penalised was the length of the weights of X / scale; older files do not tell the scale.
        kept = vars(ranker).get("scale_")
        scale = by_deviation(X) if kept is None else FeatureScale(kept)
        X, coef = scale.apply(X), coef * scale.scale
        reservations.append(
            "Features were scaled, and R_X and B are those of the scaled features. The theorem "
            "takes the features as given."
        )
    penalty = ElasticNet.from_name(ranker.penalty, ranker.alpha, ranker.l1_ratio)
    alpha = penalty.l2 if penalty.l2 > 0 else None
    if alpha is None or penalty.l1 > 0:
        alpha = None
        reservations.append(
            f"The model was fitted with penalty {ranker.penalty!r}; the theorem is about l2 only."
        )
    length, longest = float(np.linalg.norm(coef)), radius(X)
    if length == 0 or longest == 0:
        return None, ["It says nothing: all weights of the model or all features in DATA are 0."]
    m = int(dataset.groups.sizes.max())
    loss = ranker.loss_for(dataset.y)
    try:
        return generalization(loss, longest, dataset.n_queries, length, alpha, m=m), reservations
    except ValueError as error:
        return None, [f"It says nothing: {error}"]
