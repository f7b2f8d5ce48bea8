"""Linear rankers: any loss, any penalty."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from rankwright.data.dataset import Dataset
from rankwright.data.products import multiply
from rankwright.data.validation import Floats, Matrix
from rankwright.estimator import (
    SCORE_METRIC,
    RankingData,
    check_features,
    check_fitted_array,
    check_ranking_data,
    mean_ndcg,
)
from rankwright.exceptions import ConvergenceWarning
from rankwright.losses import Loss, from_name
from rankwright.penalties import ElasticNet
from rankwright.solvers import Objective, Solution, minimize
from rankwright.solvers.coordinate_descent import Step
from rankwright.solvers.minimize import Solver
from rankwright.solvers.solution import Callback


class LinearRanker(BaseEstimator):
    r"""A linear scoring function, fitted by minimising a ranking loss.

    .. math::
        \min_w \; \frac{1}{Q} \sum_q L(X_q w, y_q)
        + \alpha \Bigl(\lambda \|w\|_1 + \frac{1 - \lambda}{2} \|w\|_2^2\Bigr)

    over the Q queries of the training data. Ranking losses do not see a constant added to all
    scores of a query, so there is no intercept.

    Parameters
    ----------
    loss : str or Loss, default "xendcg"
        :math:`L`: ``"xendcg"``, ``"listnet"``, ``"domination"``, ``"slam"``, ``"slam-map"``,
        ``"rank_hinge"``, ``"rank_logistic"``, or a loss of :mod:`rankwright.losses` or your own.
    penalty : {"l2", "l1", "elasticnet", None}, default "l2"
        ``"l1"`` is :math:`\lambda = 1`, ``"l2"`` is 0.
    alpha : float, default 1e-3
        :math:`\alpha`.
    l1_ratio : float, default 0.5
        :math:`\lambda` of ``"elasticnet"``.
    standardize : bool, default False
        Penalise the weights of features divided by their standard deviations. ``coef_`` is for the
        features as they are, and sparse data stay sparse.
    solver : {"auto", "prox_newton", "coordinate_descent", "bundle", "lbfgs"}, default "auto"
        How to minimise; ``"auto"`` chooses by loss and data.
    step : {"newton", "range", "thesis"}, default "newton"
        Step of coordinate descent.
    tol, max_iter : optional
        When to stop; by default what suits the solver.
    n_jobs : int, optional
        Threads.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        :math:`w`.
    n_iter_ : int
        Iterations.
    objective_ : list of float
        Objective at the start and after each iteration; it never rises.
    gap_ : float
        Certified bound on the objective's distance from its minimum; infinite if none is known.
    violation_ : float
        Largest violation of the optimality conditions.
    stop_ : str
        Why the solver stopped: ``"converged"``, ``"stalled"`` or ``"max_iter"``.

    Examples
    --------
    >>> from rankwright.data import make_mslr_like
    >>> train, test = make_mslr_like(n_queries=100, mean_docs=30).split((0.7, 0.3))
    >>> ranker = LinearRanker("listnet", standardize=True).fit(train.X, train.y, train.qid)
    >>> round(ranker.score(test.X, test.y, test.qid), 3)
    0.803
    """

    def __init__(
        self,
        loss: str | Loss = "xendcg",
        penalty: str | None = "l2",
        alpha: float = 1e-3,
        *,
        l1_ratio: float = 0.5,
        standardize: bool = False,
        solver: Solver = "auto",
        step: Step = "newton",
        tol: float | None = None,
        max_iter: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.standardize = standardize
        self.solver = solver
        self.step = step
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> LinearRanker:
        """Learn from documents with labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_docs, n_features)
            Features.
        y : array-like of shape (n_docs,)
            Labels; larger is more relevant.
        qid : array-like of shape (n_docs,), optional
            Query ids in any order; None is one query.
        """
        return self._fit(check_ranking_data(self, X, y, qid))

    def fit_dataset(self, dataset: Dataset, callback: Callback | None = None) -> LinearRanker:
        """Learn from a data set; ``callback`` is called with the solver's progress."""
        data = check_ranking_data(self, dataset.X, dataset.y, dataset.qid)
        return self._fit(data, callback)

    def _fit(self, data: RankingData, callback: Callback | None = None) -> LinearRanker:
        scaled, scale = self._scaled(data.X)
        penalty = ElasticNet.from_name(self.penalty, self.alpha, self.l1_ratio)
        objective = Objective(
            scaled, data.y, data.groups, from_name(self.loss), penalty, self.n_jobs
        )
        self._keep(self._minimize(objective, None, callback), scale)
        return self

    def _scaled(self, X: Matrix) -> tuple[Matrix, Floats]:
        """Return features over their standard deviations, and those deviations."""
        if not self.standardize:
            return X, np.ones(X.shape[1])
        scale = standard_deviations(X)
        inverse = (1 / scale).astype(X.dtype)
        if sp.issparse(X):
            return sp.csr_array(X * inverse), scale
        return X * inverse, scale

    def _minimize(
        self, objective: Objective, start: Floats | None, callback: Callback | None = None
    ) -> Solution:
        solution = minimize(
            objective,
            start,
            solver=self.solver,
            step=self.step,
            tol=self.tol,
            max_iter=self.max_iter,
            callback=callback,
        )
        if not solution.converged:
            warnings.warn(
                f"stopped after {solution.n_iter} iterations with violation "
                f"{solution.violation:.1e} and gap {solution.gap:.1e}, before the tolerance was "
                "met. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return solution

    def _keep(self, solution: Solution, scale: Floats) -> None:
        self.coef_ = solution.coef / scale
        self.n_iter_ = solution.n_iter
        self.objective_ = solution.objective
        self.gap_ = solution.gap
        self.violation_ = solution.violation
        self.stop_ = solution.stop

    def predict(self, X: Any) -> Floats:
        """Return scores; a larger one ranks higher."""
        return multiply(check_features(self, X), self.coef_, self.n_jobs)

    def score(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> float:
        """Return mean NDCG@10."""
        return mean_ndcg(self.predict(X), y, qid)

    def path(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        alphas: Sequence[float] | None = None,
        n_alphas: int = 20,
        valid: Dataset | None = None,
    ) -> list[PathPoint]:
        """Fit for several penalty weights, the largest first, each from the solution before.

        Parameters
        ----------
        X, y, qid
            As for :meth:`fit`.
        alphas : sequence of float, optional
            Penalty weights; by default ``n_alphas`` from where all weights are 0 (with l1) down to
            a ten-thousandth of it.
        n_alphas : int, default 20
            How many, if ``alphas`` is not given.
        valid : Dataset, optional
            Queries to measure NDCG@10 on.
        """
        data = check_ranking_data(self, X, y, qid)
        scaled, scale = self._scaled(data.X)
        loss = from_name(self.loss)
        if alphas is None:
            highest = self._highest_alpha(scaled, data, loss)
            alphas = (highest * np.logspace(0, -4, n_alphas)).tolist()
        descending = sorted(map(float, alphas), reverse=True)
        return list(self._walk(scaled, data, loss, scale, descending, valid))

    def _walk(
        self,
        X: Matrix,
        data: RankingData,
        loss: Loss,
        scale: Floats,
        alphas: list[float],
        valid: Dataset | None,
    ) -> Iterator[PathPoint]:
        start: Floats | None = None
        objective = Objective(X, data.y, data.groups, loss, ElasticNet(), self.n_jobs)
        for alpha in alphas:
            objective.penalty = ElasticNet.from_name(self.penalty, alpha, self.l1_ratio)
            solution = self._minimize(objective, start)
            start = solution.coef
            mean_loss, _ = objective.loss_and_slope(objective.scores(start))
            coef = start / scale
            quality = math.nan
            if valid is not None:
                quality = SCORE_METRIC.mean(valid.y, valid.X @ coef, valid.groups)
            yield PathPoint(alpha, coef, mean_loss, int(np.count_nonzero(coef)), quality)

    def _highest_alpha(self, X: Matrix, data: RankingData, loss: Loss) -> float:
        """Return the penalty weight from which on l1 leaves nothing; for l2, one of that size."""
        objective = Objective(X, data.y, data.groups, loss, ElasticNet(), self.n_jobs)
        ratio = {"l1": 1.0, "elasticnet": max(self.l1_ratio, 1e-3)}.get(str(self.penalty), 1.0)
        # A little more, so that rounding does not let one in.
        return max((1 + 1e-6) * objective.violation_at_zero() / ratio, 1e-12)

    def _check_params(self) -> None:
        from_name(self.loss)
        ElasticNet.from_name(self.penalty, self.alpha, self.l1_ratio)

    def _check_state(self) -> None:
        check_fitted_array(self, "coef_", (self.n_features_in_,))

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse matrices are welcome and labels start at 0."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        return tags


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
    ndcg : float
        NDCG@10 on the validation queries, NaN without any.
    """

    alpha: float
    coef: Floats
    loss: float
    n_features: int
    ndcg: float


def standard_deviations(X: Matrix) -> Floats:
    """Return the standard deviation of each feature; 1 where it is 0."""
    n = max(X.shape[0], 1)
    if sp.issparse(X):
        data = X.data.astype(np.float64)
        mean = np.bincount(X.indices, weights=data, minlength=X.shape[1]) / n
        stored = np.bincount(X.indices, minlength=X.shape[1])
        data -= mean[X.indices]
        square = np.bincount(X.indices, weights=data**2, minlength=X.shape[1])
        variance = (square + (n - stored) * mean**2) / n
    else:
        variance = np.zeros(X.shape[1])
        mean = X.mean(axis=0, dtype=np.float64)
        for begin in range(0, X.shape[0], 65536):  # a copy of everything would be as large as X
            variance += ((X[begin : begin + 65536] - mean) ** 2).sum(axis=0, dtype=np.float64)
        variance /= n
    deviation = np.sqrt(variance)
    # Rounding leaves a constant feature a deviation of about 1e-8 of its size.
    constant = deviation <= 1e-7 * np.maximum(np.abs(np.asarray(mean)), 1e-300)
    return np.where(constant, 1.0, deviation)
