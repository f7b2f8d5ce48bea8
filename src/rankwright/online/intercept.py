"""Ordinal learners with an intercept: a feature that is always 1."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from rankwright.data.validation import Floats, Matrix
from rankwright.online.ordinal import OrdinalLearner
from rankwright.online.standardize import bias_in_scale
from rankwright.scaling import Kind
from rankwright.scoring.kernels import Kernel, PlusOne
from rankwright.scoring.sums import check_weights_of
from rankwright.theory.margins import comparator_array


class InterceptLearner(OrdinalLearner):
    """Base of the comparators of PRank, which has thresholds where these have an intercept (R8).

    Documents have a last feature that is always 1; with a kernel, its values are one more.
    """

    LEFT_OPEN: ClassVar[dict[str, tuple[Any, Any]]] = {"fit_intercept": (True, False)}
    fit_intercept: bool | None = None
    coef_: Floats
    intercept_: Any  # a number, or one for each label

    @property
    def _has_intercept(self) -> bool:
        # Comparators of `bound`, which replays `fit`, may be looked at before it is settled.
        return bool(vars(self).get("fit_intercept_", self.fit_intercept is not False))

    @property
    def _n_weights(self) -> int:
        """Features and, unless a kernel has it, the intercept."""
        return self.n_features_in_ + (self._has_intercept and self.kernel is None)

    def _kernel(self) -> Kernel:
        kernel = super()._kernel()
        return PlusOne.of(kernel) if self._has_intercept and self.kernel is not None else kernel

    # ---- documents as the learner sees them ----

    def _kind_of_scale(self) -> Kind:
        return "center" if self._has_intercept else "size"

    def _in_scale(self, X: Matrix) -> Matrix:
        scaled = super()._in_scale(X)
        return scaled if self._n_weights == self.n_features_in_ else with_ones(scaled)

    def _data_in_scale(self, data: Any) -> Any:
        return replace(data, X=self._in_scale(data.X))

    def _comparator_in_scale(self, u: Any) -> Any:
        if self._n_weights == self.n_features_in_:
            return super()._comparator_in_scale(u)
        given = comparator_array(u)
        if given.ndim and given.shape[-1] == self.n_features_in_:
            given = np.concatenate([given, np.zeros((*given.shape[:-1], 1))], axis=-1)
        return super()._comparator_in_scale(given)

    def _rest_in_scale(self, rest: Floats, offset: Any) -> Floats:
        return bias_in_scale(rest, offset) if self._has_intercept else rest

    # ---- weights for features as they are ----

    def _publish_with_intercept(self, weights: Floats) -> None:
        """Set ``coef_`` and ``intercept_``; the last axis of the weights is that of features."""
        n = self.n_features_in_
        self.coef_ = self._out_of_scale(weights[..., :n].copy())
        self.__dict__.pop("intercept_", None)  # of a fit with one
        if self._has_intercept:
            intercept = weights[..., n] - self._offset(self.coef_)
            self.intercept_ = intercept if intercept.ndim else float(intercept)

    def _published_vector(self) -> Floats:
        parts = [self.coef_]
        if self._has_intercept:
            parts.append(np.expand_dims(self.intercept_, -1))
        return np.concatenate(parts, axis=-1)

    def _check_published(self, *shape: int) -> None:
        """Raise unless the weights, read from a file, have this shape."""
        check_weights_of(vars(self), *shape)


def with_ones(X: Matrix) -> Matrix:
    """Return documents with a last feature that is always 1."""
    ones = np.ones((X.shape[0], 1), dtype=X.dtype)
    return sp.csr_array(sp.hstack([X, ones])) if sp.issparse(X) else np.hstack([X, ones])
