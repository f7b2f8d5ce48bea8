"""What all batch linear rankers share: fitting, paths of penalties, scoring."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rankwright.data.dataset import Dataset
from rankwright.data.products import multiply
from rankwright.data.validation import Floats, Matrix
from rankwright.estimator import SCORE_METRIC, Ranker, check_fitted_array, finite_scores
from rankwright.exceptions import ConvergenceWarning
from rankwright.inputs import RankingData, check_features, check_ranking_data
from rankwright.losses import Loss
from rankwright.metrics import Metric
from rankwright.parameters import TRUTH
from rankwright.penalties import ElasticNet
from rankwright.scaling import by_deviation
from rankwright.solvers import Objective, Share, Solution
from rankwright.solvers.solution import Callback

_WHY_ZERO = (
    "all weights are 0, where the objective is least. Lower alpha, or take another loss, such as "
    "'xendcg'."
)
_NO_PREFERENCES = "no query has documents with different labels."


@dataclass(frozen=True)
class PathPoint:
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


class LinearModel(Ranker):
    """A linear scoring function that minimises a mean loss plus an elastic net.

    A subclass has the parameters ``penalty``, ``alpha``, ``l1_ratio``, ``standardize`` and
    ``n_jobs``, and says which loss is minimised, how, and on which rows.
    """

    reports_progress = True
    has_path = True

    penalty: str | None
    alpha: float
    l1_ratio: float
    standardize: bool
    n_jobs: int | None

    # ---- what subclasses say ----

    def loss_for(self, y: Floats) -> Loss:
        """Return the loss; it may depend on the labels that there are."""
        raise NotImplementedError

    def _solve(
        self, objective: Objective, start: Floats | None, callback: Callback | None
    ) -> Solution:
        raise NotImplementedError

    def _training_part(self, data: RankingData) -> RankingData:
        """Return the rows to train on."""
        return data

    def _grouped(self, data: RankingData) -> RankingData:
        """Return the same rows, in the queries that the loss is to see."""
        return data

    # ---- fitting ----

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
    ) -> Self:
        r"""Learn from documents with labels.

        With weights the mean loss is :math:`\frac{1}{Q} \sum_q c_q L_a(X_q w, y_q)`. Cross
        entropies have :math:`L_a = -\sum_i a_i \phi_i \log \rho_i`; other losses have
        :math:`a_i` times each term in which document i is the one that should win. ``gap_`` holds
        for the weighted loss; what a loss bounds does not.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_docs, n_features)
            Features.
        y : array-like of shape (n_docs,)
            Labels; larger is more relevant.
        qid : array-like of shape (n_docs,), optional
            Query ids in any order; None is one query.
        sample_weight : array-like of shape (n_docs,), optional
            :math:`a`: weights of the documents, such as inverse propensities of clicks.
        query_weight : array-like of shape (n_docs,), optional
            :math:`c`: one number per row, the same in all rows of a query. Weight 2 is the query
            twice, but for Q, which stays.
        """
        self.check_params()
        return self._fit(check_ranking_data(self, X, y, qid, sample_weight, query_weight))

    def fit_dataset(
        self,
        dataset: Dataset,
        callback: Callback | None = None,
        *,
        valid: Dataset | None = None,
    ) -> Self:
        """Learn from a data set; ``callback`` is called with the solver's progress.

        The names of its features are kept as ``feature_names_in_``; ``valid`` is not looked at.
        """
        self.check_params()
        dataset = self.encoded(dataset)
        data = check_ranking_data(self, dataset, dataset.y, dataset.qid)
        return self._fit(data, callback)

    def _fit(self, data: RankingData, callback: Callback | None = None) -> Self:
        objective, scale = self._objective(data, self._penalty(self.alpha))
        self._keep(self._minimize(objective, None, callback), scale)
        taught = self._grouped(data).groups.has_preferences(data.y)
        self.warn_if_it_ranks_nothing(_WHY_ZERO if taught else _NO_PREFERENCES)
        return self

    def _objective(self, data: RankingData, penalty: ElasticNet) -> tuple[Objective, Floats]:
        """Return what to minimise, and the scale of the features."""
        # Of all labels, before rows are left out: layers must not depend on what is drawn.
        loss = self.loss_for(data.y)
        data = self._grouped(self._training_part(data))
        X, scale = self._scaled(data.X)
        share = Share(X, data.y, data.groups, self.n_jobs, data.weights)
        return Objective([share], loss, penalty), scale

    def _penalty(self, alpha: float) -> ElasticNet:
        return ElasticNet.from_name(self.penalty, alpha, self.l1_ratio)

    def _scaled(self, X: Matrix) -> tuple[Matrix, Floats]:
        if not self.standardize:
            return X, np.ones(X.shape[1])
        scale = by_deviation(X)
        return scale.apply(X), scale.scale

    def _minimize(
        self, objective: Objective, start: Floats | None, callback: Callback | None = None
    ) -> Solution:
        solution = self._solve(objective, start, callback)
        if not solution.converged:
            warnings.warn(
                f"stopped after {solution.n_iter} iterations with violation "
                f"{solution.violation:.1e} and gap {solution.gap:.1e}, before the tolerance was "
                f"met. {solution.trouble or 'Raise max_iter or tol.'}",
                ConvergenceWarning,
                stacklevel=4,  # the line that called fit()
            )
        return solution

    def _keep(self, solution: Solution, scale: Floats) -> None:
        # Weights of X / scale become weights of X.
        self.coef_ = solution.coef / scale
        self.__dict__.pop("scale_", None)
        if self.standardize:
            self.scale_ = scale
        self.n_iter_ = solution.n_iter
        self.objective_ = solution.objective
        self.gap_ = solution.gap
        self.violation_ = solution.violation
        self.stop_ = solution.stop

    # ---- scoring ----

    def predict(self, X: Any) -> Floats:
        """Return scores; a larger one ranks higher."""
        return finite_scores(multiply(check_features(self, X), self.coef_, self.n_jobs))

    # ---- paths ----

    def path(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
        alphas: Sequence[float] | None = None,
        n_alphas: int = 20,
        valid: Dataset | None = None,
        metric: Metric = SCORE_METRIC,
    ) -> list[PathPoint]:
        """Fit for several penalty weights, the largest first, each from the solution before.

        Parameters
        ----------
        X, y, qid, sample_weight, query_weight
            As for :meth:`fit`; validation queries have no weights.
        alphas : sequence of float, optional
            Penalty weights; by default ``n_alphas`` from where all weights are 0 (with l1) down to
            a ten-thousandth of it.
        n_alphas : int, default 20
            How many, if ``alphas`` is not given.
        valid : Dataset, optional
            Queries to measure loss and quality on.
        metric : Metric, default NDCG(k=10)
            The quality.
        """
        self.check_params()
        data = check_ranking_data(self, X, y, qid, sample_weight, query_weight)
        if valid is not None:
            valid = self.align(valid)
        objective, scale = self._objective(data, ElasticNet())
        if alphas is None:
            # Four decades: below a ten-thousandth the penalty holds next to nothing back.
            alphas = (self._highest_alpha(objective) * np.logspace(0, -4, n_alphas)).tolist()
        descending = sorted(map(float, alphas), reverse=True)
        return list(self._walk(objective, scale, descending, valid, metric))

    def _walk(
        self,
        objective: Objective,
        scale: Floats,
        alphas: list[float],
        valid: Dataset | None,
        metric: Metric,
    ) -> Iterator[PathPoint]:
        w: Floats | None = None
        for alpha in alphas:
            # Each fit starts from the solution of the penalty before, which is near.
            w = self._minimize(objective.with_penalty(self._penalty(alpha)), w).coef
            mean_loss, _ = objective.loss_and_slope(objective.scores(w))
            coef = w / scale
            quality = valid_loss = math.nan
            if valid is not None:
                scores = multiply(valid.X, coef, self.n_jobs)
                quality = metric.mean(valid.y, scores, valid.groups)
                valid_loss = self._mean_loss(objective.loss, scores, valid)
            n_features = int(np.count_nonzero(coef))
            yield PathPoint(alpha, coef, mean_loss, n_features, quality, valid_loss)

    def _mean_loss(self, loss: Loss, scores: Floats, valid: Dataset) -> float:
        data = self._grouped(RankingData(valid.X, valid.y, valid.groups, None))
        total, _ = loss.value_and_grad(scores, data.y, data.groups)
        return total / max(data.groups.n_queries, 1)

    def _highest_alpha(self, objective: Objective) -> float:
        """Return the penalty weight from which on l1 leaves nothing; for l2, one of that size."""
        # With a share of 0 there is no such weight; from a thousandth down it is taken for l2.
        ratio = {"l1": 1.0, "elasticnet": max(self.l1_ratio, 1e-3)}.get(str(self.penalty), 1.0)
        # A little more, so that rounding does not let one in.
        return max((1 + 1e-6) * objective.violation_at_zero() / ratio, 1e-12)

    # ---- files and scikit-learn ----

    def check_params(self) -> None:
        """Raise for parameters that cannot be."""
        super().check_params()
        TRUTH.check("standardize", self.standardize)
        self._penalty(self.alpha)

    def check_state(self) -> None:
        """Raise unless there is a weight for each feature."""
        super().check_state()
        check_fitted_array(self, "coef_", (self.n_features_in_,))
        if "scale_" in vars(self):
            check_fitted_array(self, "scale_", (self.n_features_in_,))

    def curves(self) -> dict[str, list[float]]:
        """Return the objective after each iteration."""
        return {"objective": [float(value) for value in self.objective_]}

    def summary(self) -> dict[str, Any]:
        """Return objective, certificate, and why the solver stopped."""
        return {
            **super().summary(),
            "objective": self.objective_[-1],
            "gap": self.gap_,
            "violation": self.violation_,
            "iterations": self.n_iter_,
            "stop": self.stop_,
        }
