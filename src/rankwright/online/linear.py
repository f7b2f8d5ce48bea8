"""Online rankers with one weight for each feature: last, averaged or voted weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwright import _kernels
from rankwright.data.validation import Floats
from rankwright.estimator import (
    Ranker,
    RankingData,
    check_features,
    check_fitted_array,
    finite_scores,
)
from rankwright.exceptions import DataError
from rankwright.online.base import OnlineLearner

Variant: TypeAlias = Literal["last", "averaged", "voted"]
VARIANTS = ("last", "averaged", "voted")


class OnlineLinearRanker(OnlineLearner, Ranker):
    r"""Base of online rankers with scores :math:`s = X w`.

    With :math:`w_t` the weights after round t of T, ``variant`` chooses what predicts:

    - ``"last"``: :math:`w_T`,
    - ``"averaged"``: :math:`\frac{1}{T} \sum_t w_t`,
    - ``"voted"``: :math:`\frac{1}{T} \sum_t w_t / \|w_t\|`, where all weights have the same say.

    ``_learn`` runs its rounds in ``with self._iterate() as iterate`` and hands ``iterate`` to a
    native kernel, which takes it from there (``cpp/iterate.hpp``).
    """

    variant: Variant = "last"

    def predict(self, X: Any) -> Floats:
        """Return scores; a larger one ranks higher."""
        return finite_scores(check_features(self, X) @ self.coef_)

    def _begin(self, data: RankingData, whole: bool) -> None:
        n_features = data.X.shape[1]
        self.coef_ = np.zeros(n_features)
        if self.variant != "last":
            self.last_coef_ = np.zeros(n_features)
            self.coef_sum_ = np.zeros(n_features)
            self.since_ = 0

    @contextmanager
    def _iterate(self) -> Iterator[_kernels.Iterate]:
        """Yield the weights for a native kernel; then keep their mean."""
        last = self.variant == "last"
        w = self.coef_ if last else self.last_coef_
        total = np.empty(0) if last else self.coef_sum_
        since = 0 if last else self.since_
        iterate = _kernels.Iterate(w, total, self.variant, self.n_rounds_, since)
        yield iterate
        if last:
            return
        self.since_ = iterate.since
        n = iterate.round
        if self.variant == "averaged":
            self.coef_ = w - total / max(n, 1)
        else:
            length = float(np.sqrt(np.cumsum(w**2)[-1])) if len(w) else 0.0
            direction = w / length if length > 0 else w
            self.coef_ = (total + (n + 1 - iterate.since) * direction) / max(n, 1)

    def check_state(self) -> None:
        """Raise unless what was read from a file can be a fitted learner."""
        super().check_state()
        shape = (self.n_features_in_,)
        check_fitted_array(self, "coef_", shape)
        if self.variant not in VARIANTS:
            raise DataError(f"variant must be one of {', '.join(VARIANTS)}.")
        if self.variant != "last":
            check_fitted_array(self, "last_coef_", shape)
            check_fitted_array(self, "coef_sum_", shape)
            since = getattr(self, "since_", None)
            if type(since) is not int or not 0 <= since <= self.n_rounds_:
                raise DataError("since_ must be one of the rounds so far.")

    def unscale(self, scale: Floats) -> None:
        """Turn a model of features divided by ``scale`` into one of the features as they are."""
        super().unscale(scale)
        if self.variant != "last":
            self.last_coef_, self.coef_sum_ = self.last_coef_ / scale, self.coef_sum_ / scale


def check_variant(variant: str) -> None:
    """Raise unless there is such a variant."""
    if variant not in VARIANTS:
        raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, but is {variant!r}.")
