"""What learners with a kernel share: parameters, the documents that made updates, files."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.data.groups import Ints
from rankwright.data.validation import Floats, Matrix
from rankwright.estimator import check_fitted_array
from rankwright.exceptions import DataError
from rankwright.online.kernel import BLOCK, Expansion, Kernel
from rankwright.online.means import Variant
from rankwright.online.parameters import KernelParameters
from rankwright.online.standardize import Standardized


class KernelForm(KernelParameters, Standardized):
    """Mixin of learners with a parameter ``kernel``.

    Without a kernel a learner has weights; with one it has ``support_`` (documents as
    it saw them, or columns of a precomputed kernel), ``dual_coef_`` and ``born_``, the round in
    which each joined.
    """

    variant_: Variant
    support_: Any
    dual_coef_: Floats
    born_: Ints
    n_features_in_: int
    n_rounds_: int

    def check_params(self) -> None:
        """Raise for parameters that cannot be."""
        super().check_params()
        self._kernel()  # it raises

    def _kernel(self) -> Kernel:
        if not isinstance(self.kernel, Kernel):
            return Kernel(self.kernel or "linear", self.gamma, self.degree, self.coef0)
        if (self.gamma, self.degree, self.coef0) != (None, 3, 1.0):
            raise ValueError(
                "gamma, degree and coef0 must be left as they are if kernel is a Kernel, which has "
                "its own."
            )
        return self.kernel

    def _has_features(self) -> bool:
        return not self._precomputed()

    def _precomputed(self) -> bool:
        kind = self.kernel.kind if isinstance(self.kernel, Kernel) else self.kernel
        return isinstance(kind, str) and kind == "precomputed"

    def _begin_support(self, X: Matrix, whole: bool, n_scores: int = 1) -> None:
        precomputed = self._precomputed()
        if precomputed:
            if not whole:
                raise ValueError(
                    "partial_fit cannot take kernel='precomputed', whose columns are all documents "
                    "of fit."
                )
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    "X must be square with kernel='precomputed', a row and a column for each "
                    f"document, but has shape {X.shape}."
                )
        for name in {"coef_", "intercept_"} & vars(self).keys():  # of a fit without a kernel
            delattr(self, name)
        width = () if precomputed else (X.shape[1],)
        self.support_ = np.empty((0, *width), dtype=np.int64 if precomputed else np.float64)
        self.dual_coef_ = np.empty((0, n_scores))
        self.born_ = np.empty(0, dtype=np.int64)

    def _expansion(self) -> Expansion:
        return Expansion(self._kernel(), self.support_, self.dual_coef_, self.born_)

    def _publish_expansion(self, expansion: Expansion) -> None:
        self.support_, self.dual_coef_, self.born_ = expansion.parts()

    def _shares(self, n_rounds: int) -> Floats:
        """Return what share of each document's coefficient predicts.

        The mean of the sums over the rounds has each document as long as it was part of them.
        """
        if self.variant_ == "averaged":
            return np.asarray((n_rounds + 1 - self.born_) / max(n_rounds, 1))
        return np.ones(len(self.born_))

    def _kernel_scores(self, X: Matrix) -> Floats:
        """Return the scores of documents."""
        kernel, coef = self._kernel(), self.dual_coef_ * self._shares(self.n_rounds_)[:, None]
        scores = np.zeros((X.shape[0], coef.shape[1]))
        for begin in range(0, X.shape[0] if len(coef) else 0, BLOCK):
            rows = slice(begin, begin + BLOCK)
            scores[rows] = kernel(self._in_scale(X[rows]), self.support_) @ coef
        if not np.isfinite(scores).all():
            raise ValueError("the values of the kernel overflow: scale the features.")
        return scores

    def _check_support(self, n_scores: int) -> None:
        """Raise unless the support, read from a file, fits together."""
        self._check_points()
        n = len(self.support_)
        check_fitted_array(self, "dual_coef_", (n, n_scores))
        born = getattr(self, "born_", None)
        if not isinstance(born, np.ndarray) or born.dtype != np.int64 or born.shape != (n,):
            raise DataError("born_ must be a round for each of the support.")

    def _check_points(self) -> None:
        support = getattr(self, "support_", None)
        if not isinstance(support, np.ndarray) or support.ndim == 0:
            raise DataError("support_ must be the documents that made updates.")
        if not self._precomputed():
            check_fitted_array(self, "support_", (len(support), self.n_features_in_))
            return
        columns = support.dtype == np.int64 and support.ndim == 1
        if not columns or ((support < 0) | (support >= self.n_features_in_)).any():
            raise DataError("support_ must be columns of the kernel.")

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn whether X is a kernel."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed()
        return tags
