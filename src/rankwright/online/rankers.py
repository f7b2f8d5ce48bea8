"""Online rankers with one weight for each feature."""

from __future__ import annotations

from typing import Any, ClassVar

from rankwright.data.validation import Floats
from rankwright.estimator import Ranker, check_fitted_array, finite_scores
from rankwright.inputs import RankingData, check_features
from rankwright.online.base import OnlineLearner
from rankwright.online.means import Names, Variant, WeightForm, check_variant


class OnlineLinearRanker(WeightForm, OnlineLearner, Ranker):
    r"""Base of online rankers with scores :math:`s = X w`.

    ``variant`` chooses which weights predict (:mod:`rankwright.online.means`). ``_learn`` runs its
    rounds in ``with self._iterate(len(order)) as iterate`` and hands ``iterate`` to a native
    kernel, which takes it from there (``cpp/iterate.hpp``).
    """

    _names: ClassVar[Names] = Names("last_coef_", "coef_sum_", weights_if_last="coef_")
    variant: Variant = "last"
    coef_: Floats

    def _warn_of_no_update(self) -> None:
        self.warn_if_it_ranks_nothing("no query taught it anything. Are all labels equal?")

    def predict(self, X: Any) -> Floats:
        """Return scores; a larger one ranks higher."""
        return finite_scores(check_features(self, X) @ self.coef_)

    def check_params(self) -> None:
        """Raise for parameters that cannot be."""
        super().check_params()
        check_variant(self.variant)

    def check_state(self) -> None:
        """Raise unless what was read from a file can be a fitted ranker."""
        super().check_state()
        self._check_form()

    def _check_form(self) -> None:
        """Raise unless the weights, read from a file, fit together."""
        check_fitted_array(self, "coef_", (self.n_features_in_,))
        self._check_weights((self.n_features_in_,))

    def _begin(self, data: RankingData, whole: bool) -> None:
        self._begin_weights(data.X.shape[1])

    def _publish(self, weights: Floats) -> None:
        self.coef_ = self._out_of_scale(weights)
