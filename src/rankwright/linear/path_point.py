"""What one penalty of a path leads to."""

from __future__ import annotations

from dataclasses import dataclass

from rankwright.data.validation import Floats
from rankwright.showing import Brief


@dataclass(frozen=True, repr=False)
class PathPoint(Brief):
    """One fit of a regularisation path.

    Attributes
    ----------
    alpha : float
        Penalty weight.
    coef : ndarray of shape (n_features,)
        Weights.
    loss : float
        Mean loss on the training queries, without the penalty.
    n_features : int
        Features with a weight that is not 0.
    quality : float
        Mean of the metric on the validation queries, NaN without any.
    valid_loss : float
        Mean loss on the validation queries, NaN without any.
    """

    alpha: float
    coef: Floats
    loss: float
    n_features: int
    quality: float
    valid_loss: float
