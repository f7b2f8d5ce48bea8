"""Online rankers: weights of documents and queries, and one weight for each feature."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from rankwright.data.validation import Floats
from rankwright.estimator import Ranker, check_fitted_array
from rankwright.inputs import RankingData
from rankwright.online.base import OnlineLearner
from rankwright.online.means import Names, Variant, WeightForm, check_variant
from rankwright.theory.guarantee import Guarantee


class RankerByRounds(OnlineLearner, Ranker):
    r"""Base of the online rankers, whose documents and queries may have weights.

    The loss of a round is multiplied by the weight :math:`c_q` of its query, the term of document i
    in it by :math:`a_i`: hence the step.
    """

    bounds_metric: ClassVar[bool] = True
    """Whether ``bound`` is about a metric, which knows no weights."""

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
    ) -> Self:
        r"""Learn from scratch, in ``n_epochs`` passes over the data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_docs, n_features)
            Features.
        y : array-like of shape (n_docs,)
            Labels; larger is more relevant.
        qid : array-like of shape (n_docs,), optional
            Query ids in any order; None is one query.
        sample_weight : array-like of shape (n_docs,), optional
            :math:`a`: weights of the documents. The term of document i, as the one that should
            win, is multiplied by :math:`a_i`, and so is its part of the step.
        query_weight : array-like of shape (n_docs,), optional
            :math:`c`: weights of the queries' losses, and steps; one number per row, the same in
            all rows of a query.
        """
        self.fit_rounds(X, y, qid, sample_weight=sample_weight, query_weight=query_weight)
        if self.n_updates_ == 0:
            self._warn_of_no_update()
        return self

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
    ) -> Self:
        """Continue learning, in one pass over these data in their order.

        Parameters
        ----------
        X, y, qid, sample_weight, query_weight
            As for :meth:`fit`; whole queries. All calls must have the same features.
        """
        self.partial_fit_rounds(X, y, qid, sample_weight=sample_weight, query_weight=query_weight)
        return self

    def bound(
        self,
        u: Any,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
    ) -> Guarantee:
        """Return what theory guarantees on these data, against a comparator.

        A fresh learner with the same parameters replays ``fit``; ``terms["loss"]`` is what it
        loses, which is at most the bound's value.

        Parameters
        ----------
        u : array-like
            The comparator: of the form of this learner's own weights, for features as they are.
            With a kernel: a number for each row of X in place of one for each feature, a
            :class:`~rankwright.online.DualComparator`, or a learner fitted with the kernel.
            Where the learner standardizes, the guarantee is about the scaled features, and so are
            its terms.
        X, y, qid
            As for :meth:`fit`.
        sample_weight, query_weight : array-like of shape (n_docs,), optional
            As for :meth:`fit`, if the bound is about a loss; metrics know no weights but 1.
        """
        given = {"sample_weight": sample_weight, "query_weight": query_weight}
        for name, weights in given.items():
            if self.bounds_metric and weights is not None and (np.asarray(weights) != 1).any():
                raise ValueError(
                    f"{name} must be 1 for a bound on a metric, which knows no weights, but is "
                    "not. Leave it out, or bound a loss with OnlineRanker."
                )
        return self._replayed(u, X, y, qid, **given)


class OnlineLinearRanker(WeightForm, RankerByRounds):
    r"""Base of online rankers with scores :math:`s = X w`.

    ``variant`` chooses which weights predict (:mod:`rankwright.online.means`). ``_learn`` runs its
    rounds in ``with self._iterate(len(order)) as iterate`` and hands ``iterate`` to a native
    kernel, which takes it from there (``cpp/iterate.hpp``).
    """

    _names: ClassVar[Names] = Names("last_coef_", "coef_sum_", weights_if_last="coef_")
    variant: Variant | None = None
    coef_: Floats

    def _warn_of_no_update(self) -> None:
        self.warn_if_it_ranks_nothing("no query taught it anything. Are all labels equal?")

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

    def as_comparator(self) -> Any:
        """Return the weights that predict, as a comparator of other runs."""
        check_is_fitted(self, "coef_")
        return self.coef_.copy()

    def _begin(self, data: RankingData, whole: bool) -> None:
        self._begin_weights(data.X.shape[1])

    def _publish(self, weights: Floats) -> None:
        self.coef_ = self._out_of_scale(weights)
