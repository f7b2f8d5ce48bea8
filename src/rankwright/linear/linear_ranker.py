"""Linear rankers: any loss, any penalty."""

from __future__ import annotations

from rankwright.data.missing import Missing
from rankwright.data.validation import Floats
from rankwright.linear.base import LinearModel
from rankwright.losses import Loss, from_name
from rankwright.solvers import Objective, Solution, minimize
from rankwright.solvers.descent import Step
from rankwright.solvers.minimize import SolverName
from rankwright.solvers.solution import Callback


class LinearRanker(LinearModel):
    r"""A linear scoring function, fitted by minimising a ranking loss.

    .. math::
        \min_w \; \frac{1}{Q} \sum_q L(X_q w, y_q)
        + \alpha \Bigl(\lambda \|w\|_1 + \frac{1 - \lambda}{2} \|w\|_2^2\Bigr)

    over the Q queries of the training data. Ranking losses do not see a constant added to all
    scores of a query, so there is no intercept.

    Parameters
    ----------
    loss : str or Loss, default "xendcg"
        :math:`L`: ``"xendcg"``, ``"listnet"``, ``"domination"``, ``"smooth-slam"``,
        ``"smooth-slam-map"``, ``"slam"``, ``"slam-map"``, ``"rank_hinge"``, ``"rank_logistic"``, or
        a loss of :mod:`rankwright.losses` or your own.
    penalty : {"l2", "l1", "elasticnet", None}, default "l2"
        ``"l1"`` is :math:`\lambda = 1`, ``"l2"`` is 0.
    alpha : float, default 1e-3
        :math:`\alpha`.
    l1_ratio : float, default 0.5
        :math:`\lambda` of ``"elasticnet"``.
    relax : bool or float, default False
        Refit the features that the l1 part of the penalty chose, with :math:`w_j^2 / m` in place of
        :math:`|w_j|`, m being the median of the chosen weights' sizes. A number is multiplied with
        it; True is 1. Without an l1 part it changes nothing.
    skip_empty : bool, default True
        Learn nothing from queries without a relevant document: labels all equal, and not above 0.
        Only XE-NDCG and ListNet have anything to learn there; False, here or in the loss, lets
        them. Such queries count in Q all the same.
    standardize : bool, default False
        Penalise the weights of features divided by their standard deviations. ``coef_`` is for the
        features as they are, and sparse data stay sparse.
    missing : {"error", "median", "zero"}, default "error"
        What stands for a missing value (NaN): the median of its feature in ``fit``, kept as
        ``fill_``, or 0. ``"error"`` refuses.
    solver : str, default "auto"
        How to minimise: ``"prox_newton"``, ``"working_set"``, ``"coordinate_descent"``,
        ``"feature_induction"``, ``"bundle"`` or ``"lbfgs"``; ``"auto"`` chooses by loss and data.
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
        Objective at the start and after each iteration; it never rises. With ``relax``, that of
        the refit.
    gap_ : float
        Certified bound on the objective's distance from its minimum; infinite if none is known.
        With ``relax``, on the refit's distance from the best weights of the chosen features.
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
        relax: bool | float = False,
        skip_empty: bool = True,
        standardize: bool = False,
        missing: Missing = "error",
        solver: SolverName = "auto",
        step: Step = "newton",
        tol: float | None = None,
        max_iter: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.relax = relax
        self.skip_empty = skip_empty
        self.standardize = standardize
        self.missing = missing
        self.solver = solver
        self.step = step
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def loss_for(self, y: Floats) -> Loss:
        """Return the loss, whatever the labels are."""
        return from_name(self.loss, self.skip_empty)

    def _solve(
        self, objective: Objective, start: Floats | None, callback: Callback | None
    ) -> Solution:
        return minimize(
            objective,
            start,
            solver=self.solver,
            step=self.step,
            tol=self.tol,
            max_iter=self.max_iter,
            callback=callback,
        )

    def check_params(self) -> None:
        """Raise for a loss or a penalty that cannot be."""
        from_name(self.loss)
        super().check_params()
