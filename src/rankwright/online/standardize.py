"""Online learners on one scale: measured before the first round, and then frozen.

A learner lives among scaled features: its own weights, its radius and its guarantees are about
them. What it publishes (``coef_``, ``intercept_``, ``thresholds_``) is for features as they are, so
that whoever predicts, explains or exports need not know.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rankwright.data.validation import Floats, Matrix
from rankwright.estimator import Estimator, Model
from rankwright.online.parameters import RoundParameters
from rankwright.scaling import FeatureScale, Kind, Moments, measured, power_of_two
from rankwright.scoring.sums import check_scale_of
from rankwright.theory.margins import comparator_array


def bias_in_scale(rest: Floats, offset: Any) -> Floats:
    """Return the intercept of a comparator, in the scale; one without has an intercept of 0."""
    bias = rest if rest.shape[-1] else np.zeros((*np.shape(offset), 1))
    return np.asarray(bias + np.expand_dims(offset, -1))


class Standardized(RoundParameters, Model, Estimator):
    """Mixin of learners with a parameter ``standardize``.

    Attributes
    ----------
    scale_, center_ : ndarray of shape (n_features,)
        :math:`s` and :math:`m` of :mod:`rankwright.scaling`; absent without a scale, and
        ``center_`` where nothing is taken.
    """

    n_features_in_: int
    scale_: Floats
    center_: Floats

    # ---- what learners say ----

    def _kind_of_scale(self) -> Kind:
        """Return what the learner needs: rankers do not see where features lie."""
        return "spread"

    def _has_features(self) -> bool:
        """Tell whether the columns of X are features that can be scaled."""
        return True

    # ---- the scale ----

    def check_params(self) -> None:
        """Raise for parameters that cannot be."""
        super().check_params()
        if self.standardize is None or self.standardize is False or self._has_features():
            return
        raise ValueError("standardize needs features, but kernel='precomputed' has none.")

    def freeze_scale(self, moments: Moments) -> None:
        """Set the scale of a learner that has seen nothing."""
        self._keep_scale(moments.scale(self._kind_of_scale()))

    @property
    def standardizes(self) -> bool:
        """Whether ``fit`` standardizes."""
        return self.standardize is not False and self._has_features()

    @property
    def measures(self) -> bool:
        """Whether ``fit`` measures the features before the first round."""
        return self.standardizes

    def measure(self, moments: Moments) -> None:
        """Freeze what ``fit`` measures, for a learner that is given its data in pieces."""
        if self.standardizes:
            self.freeze_scale(moments)

    def _begin_scale(self, X: Matrix, whole: bool) -> None:
        """Measure the scale before the first round, if there is to be one.

        In ``partial_fit`` one may have been frozen before.
        """
        if not whole and "scale_" in vars(self):
            return
        for name in ("scale_", "center_"):
            self.__dict__.pop(name, None)
        if self.standardize is None:
            asked = whole and self._has_features()
        elif isinstance(self.standardize, bool | np.bool_):
            asked = bool(self.standardize)
        else:
            self._keep_scale(FeatureScale(self._given_scale(X.shape[1])))
            return
        if asked:
            self.freeze_scale(measured(X))

    def _given_scale(self, n_features: int) -> Floats:
        given = np.asarray(self.standardize, dtype=np.float64)
        if given.shape != (n_features,):
            raise ValueError(
                f"standardize must have a scale for each of {n_features} features, but has shape "
                f"{given.shape}."
            )
        return power_of_two(given)

    def _keep_scale(self, scale: FeatureScale) -> None:
        self.scale_ = scale.scale
        if scale.center is not None:
            self.center_ = scale.center

    def _in_scale(self, X: Matrix) -> Matrix:
        """Return features as the learner sees them."""
        scale = self._feature_scale()
        return X if scale is None else scale.apply(X)

    def _feature_scale(self) -> FeatureScale | None:
        if "scale_" not in vars(self):
            return None
        return FeatureScale(self.scale_, vars(self).get("center_"))

    def _data_in_scale(self, data: Any) -> Any:
        return replace(data, X=self._in_scale(data.X)) if "scale_" in vars(self) else data

    # ---- weights for features as they are ----

    def _out_of_scale(self, coef: Floats) -> Floats:
        """Return weights for features as they are; the last axis is that of the features."""
        return coef / self.scale_ if "scale_" in vars(self) else coef

    def _offset(self, coef: Floats) -> Any:
        """Return what weights for features as they are give to the means of the features."""
        return coef @ self.center_ if "center_" in vars(self) else 0.0

    def _comparator_in_scale(self, u: Any) -> Any:
        """Return a comparator, which is of the form of the published weights, in the scale."""
        given = comparator_array(u)
        if "scale_" not in vars(self):
            return given
        n = self.n_features_in_
        if given.ndim == 0 or given.shape[-1] < n:
            return given  # refused where it is used
        rest = self._rest_in_scale(given[..., n:], self._offset(given[..., :n]))
        return np.concatenate([given[..., :n] * self.scale_, rest], axis=-1)

    def _rest_in_scale(self, rest: Floats, offset: Any) -> Floats:
        """Return what stands behind the weights of a comparator, in the scale."""
        return rest

    # ---- files ----

    def check_state(self) -> None:
        """Raise unless the scale, read from a file, can be one."""
        super().check_state()
        check_scale_of(vars(self))
