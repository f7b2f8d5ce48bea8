"""Domination Rank: sparse rankers that say which features matter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rankwright.data.groups import Groups, Ints
from rankwright.data.hashing import combine, mix
from rankwright.data.missing import Missing
from rankwright.data.validation import Floats
from rankwright.inputs import RankingData
from rankwright.linear.base import LinearModel
from rankwright.linear.formula import strongest_features
from rankwright.losses import Domination, Loss
from rankwright.solvers import Objective, Solution, minimize
from rankwright.solvers.descent import Step
from rankwright.solvers.feature_induction import Induction
from rankwright.solvers.solution import Callback


class DominationRank(LinearModel):
    r"""A linear scoring function with few features, fitted to a certified optimum.

    .. math::
        \min_w \; \frac{1}{Q} \sum_q \sum_{i \in q} \log\Bigl(1 +
        \sum_{j \in q : \ell_j < \ell_i} e^{\Delta(i, j) + w \cdot (x_j - x_i)}\Bigr)
        + \alpha \Bigl(\lambda \|w\|_1 + \frac{1 - \lambda}{2} \|w\|_2^2\Bigr)

    over the Q queries of the training data, where :math:`\ell_i` is the layer of document i. The
    objective never rises, and with an l1 penalty or an elastic net most weights are exactly 0.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet", None}, default "l2"
        ``"l1"`` is :math:`\lambda = 1`, ``"l2"`` is 0.
    alpha : float, default 1e-3
        :math:`\alpha`. The thesis' :math:`\lambda` is :math:`\alpha Q / 2` for l2 and
        :math:`\alpha Q` for l1.
    l1_ratio : float, default 0.5
        :math:`\lambda` of ``"elasticnet"``.
    relax : bool or float, default False
        Refit the features that the l1 part of the penalty chose, with :math:`w_j^2 / m` in place of
        :math:`|w_j|`, m being the median of the chosen weights' sizes. A number is multiplied with
        it; True is 1. Without an l1 part it changes nothing.
    margin : None, float, callable or array, default None
        :math:`\Delta`: one number for all pairs, a function of the labels such as
        :class:`~rankwright.losses.LogMargin` for separable margins, a vector of margins of the
        boundaries between neighbouring layers, or a square array by pairs of layers; see
        :class:`~rankwright.losses.Domination`.
    layers : None, int or sequence of float, default None
        None: every label is a layer. An integer K: label 0 and below is layer 0, larger labels are
        cut at their quantiles into layers 1 to K - 1. A sequence: cut points; ``[1]`` tells
        relevant from irrelevant.
    pooled : bool, default False
        Take all documents as one query, whichever they belong to.
    negatives : float, optional
        Train on this share of the documents of each query's lowest layer, drawn at random, at least
        one; None is all of them.
    n_induced : int, optional
        Let this many features in per round, those with the largest guaranteed decrease, and train
        until they are optimal before the next round. None is no rounds: the optimum over all
        features by what finds it fastest, which with ``step="newton"`` need not be coordinate
        descent and ends at the same weights.
    min_decrease : float, default 0.0
        Let in no feature that promises to lower the objective by less than this share of what the
        first one promised, and end a round's training with a sweep that gained less than this share
        of the first sweep's gain. 0 continues to the optimum over all features.
    max_updates : int, optional
        Stop after this many moves of one weight.
    step : {"newton", "range", "thesis"}, default "newton"
        Step of coordinate descent: a Newton step that cannot overshoot, or one by a bound on the
        curvature, ours or the thesis'.
    standardize : bool, default False
        Penalise the weights of features divided by their standard deviations.
    missing : {"error", "median", "zero"}, default "error"
        What stands for a missing value (NaN): the median of its feature in ``fit``, kept as
        ``fill_``, or 0. ``"error"`` refuses.
    tol : float, default 1e-6
        Stop when the largest violation of the optimality conditions is below ``tol`` times the
        loss's largest derivative at weights 0.
    max_iter : int, default 1000
        Sweeps of one round.
    random_state : int, default 0
        Seed of the negatives.
    n_jobs : int, optional
        Threads.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        :math:`w`.
    selected_features_ : ndarray of int
        Features with a weight, in the order in which they were let in.
    sparsity_ : float
        Share of the weights that are 0.
    layers_ : tuple of float or None
        Cut points of the layers.
    n_iter_ : int
        Iterations: sweeps of coordinate descent, or steps of the solver that was chosen; with
        ``relax``, of both fits.
    n_updates_ : int or None
        Moves of one weight, if that is how it was fitted.
    objective_ : list of float
        Objective at the start and after each sweep; it never rises. With ``relax``, that of the
        refit.
    gap_ : float
        Certified bound on the objective's distance from its minimum over all features; with
        ``relax``, on the refit's distance from the best weights of the chosen features.
    violation_ : float
        Largest violation of the optimality conditions, over the same features.
    stop_ : str
        Why it stopped: ``"converged"``, ``"stalled"`` (no digits left to gain),
        ``"small_decrease"``, ``"max_updates"`` or ``"max_iter"``.

    References
    ----------
    .. [1] Stevens, "Domination Rank"; algorithms as corrected in the papers page.

    Examples
    --------
    >>> from rankwright.data import make_mslr_like
    >>> train, test = make_mslr_like(n_queries=100, mean_docs=30).split((0.7, 0.3))
    >>> ranker = DominationRank("l1", 4.0, n_induced=5, standardize=True)
    >>> ranker = ranker.fit(train.X, train.y, train.qid)
    >>> len(ranker.selected_features_), round(ranker.score(test.X, test.y, test.qid), 3)
    (28, 0.842)
    """

    def __init__(
        self,
        penalty: str | None = "l2",
        alpha: float = 1e-3,
        *,
        l1_ratio: float = 0.5,
        relax: bool | float = False,
        margin: Any = None,
        layers: int | Sequence[float] | None = None,
        pooled: bool = False,
        negatives: float | None = None,
        n_induced: int | None = None,
        min_decrease: float = 0.0,
        max_updates: int | None = None,
        step: Step = "newton",
        standardize: bool = False,
        missing: Missing = "error",
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.relax = relax
        self.margin = margin
        self.layers = layers
        self.pooled = pooled
        self.negatives = negatives
        self.n_induced = n_induced
        self.min_decrease = min_decrease
        self.max_updates = max_updates
        self.step = step
        self.standardize = standardize
        self.missing = missing
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def loss_for(self, y: Floats) -> Domination:
        """Return the loss; its layers may depend on the labels."""
        layers = self.layers
        if layers is None:
            return Domination(self.margin)
        cuts = layer_cuts(y, layers) if isinstance(layers, int) else layers
        return Domination(self.margin, cuts)

    def loss_of_counts(self, labels: Mapping[float, int]) -> Domination:
        """Return the loss; its layers may depend on how many documents have each label."""
        if not isinstance(self.layers, int):
            return self.loss_for(np.array(list(labels)))
        values = np.array(list(labels))
        return Domination(self.margin, _cuts(values, list(labels.values()), self.layers))

    @property
    def draws_rows(self) -> bool:
        """Whether a share of the negatives is drawn."""
        return self.negatives is not None

    def training_rows(self, y: Floats, groups: Groups, loss: Loss) -> Ints | None:
        """Return all rows, or those that are left of each query's lowest layer with the others."""
        if self.negatives is None:
            return None
        assert isinstance(loss, Domination)
        return keep_negatives(loss.layer(y), groups, self.negatives, self.random_state)

    def check_learns_from_parts(self) -> None:
        """Raise if all documents were to be one query, which no part holds."""
        super().check_learns_from_parts()
        if self.pooled:
            raise ValueError(
                "pooled=True makes one query of all documents, and a query must be in one part: "
                "learn from data in memory, or set pooled=False."
            )

    def _grouped(self, data: RankingData) -> RankingData:
        return replace(data, groups=Groups.one_query(len(data.y))) if self.pooled else data

    def _solve(
        self, objective: Objective, start: Floats | None, callback: Callback | None
    ) -> Solution:
        limited = self.min_decrease != 0 or self.max_updates is not None
        if self.n_induced is None and self.step == "newton" and not limited:
            # The optimum, by whatever finds it fastest.
            return minimize(
                objective, start, tol=self.tol, max_iter=self.max_iter, callback=callback
            )
        return minimize(
            objective,
            start,
            solver="feature_induction",
            n_induced=self.n_induced,
            step=self.step,
            tol=self.tol,
            min_decrease=self.min_decrease,
            max_iter=self.max_iter,
            max_updates=self.max_updates,
            callback=callback,
        )

    def _keep(self, solution: Solution, scale: Floats) -> None:
        super()._keep(solution, scale)
        self.selected_features_ = np.flatnonzero(solution.coef)
        self.n_updates_: int | None = None
        if isinstance(solution, Induction):
            self.selected_features_ = solution.selected
            self.n_updates_ = solution.n_updates
        self.sparsity_ = 1 - len(self.selected_features_) / len(solution.coef)

    def _learn(
        self, objective: Objective, scale: Floats, prefers: bool, callback: Callback | None
    ) -> Self:
        assert isinstance(objective.loss, Domination)
        self.layers_ = objective.loss.layers
        return super()._learn(objective, scale, prefers, callback)

    def check_params(self) -> None:
        """Raise for a penalty, a margin or layers that cannot be."""
        super().check_params()
        self.loss_for(np.zeros(1))  # margins by layers are checked against the labels in fit

    def summary(self) -> dict[str, Any]:
        """Return what the solver says, and the strongest of the features that were selected."""
        return {**super().summary(), "strongest": strongest_features(self)}


def layer_cuts(y: Floats, n_layers: int) -> tuple[float, ...]:
    """Return cut points that divide positive labels into layers of about equal size.

    Labels that are not positive stay in layer 0.

    >>> layer_cuts(np.array([0.0, 0, 1, 2, 3, 4]), 3)
    (1.0, 2.5)
    """
    if n_layers < 2:
        raise ValueError(f"layers must be at least 2, or cut points, but is {n_layers!r}.")
    return _cuts(*np.unique(y, return_counts=True), n_layers)


def _cuts(values: Floats, counts: ArrayLike, n_layers: int) -> tuple[float, ...]:
    """Return the cut points, given increasing labels and how many documents have each."""
    there = values > 0
    positive, ends = values[there], np.cumsum(np.asarray(counts)[there])
    if len(positive) == 0:
        # The smallest number above 0: whatever comes later is told from nothing.
        return (math.nextafter(0.0, 1.0),)
    # Equal quantiles make fewer layers than asked for, never an empty one.
    shares = np.arange(1, n_layers - 1) / (n_layers - 1)
    place = (ends[-1] - 1) * shares
    below = np.floor(place).astype(np.int64)
    # A quantile lies between two documents, which are at these places among all by their labels.
    above = np.minimum(below + 1, ends[-1] - 1)
    low, high = (positive[np.searchsorted(ends, at, side="right")] for at in (below, above))
    cuts = [np.quantile(pair, t) for *pair, t in zip(low, high, place - below, strict=True)]
    return tuple(np.unique([positive[0], *cuts]).tolist())


def keep_negatives(layer: Floats, groups: Groups, share: float, seed: int) -> Ints:
    """Return the rows that are left when only a share of each query's lowest layer is kept.

    A pure function of the seed, the query's key and the position in the query; a query keeps at
    least one document of its lowest layer.
    """
    if not 0 < share <= 1:
        raise ValueError(f"negatives must be a share above 0 and at most 1, but is {share!r}.")
    query = groups.query_of_rows()
    lowest = np.full(groups.n_queries, np.inf)
    np.minimum.at(lowest, query, layer)
    negative = np.flatnonzero(layer == lowest[query])
    position = groups.positions()[negative]
    drawn = mix(combine(seed, groups.keys)[query[negative]] ^ mix(position))
    # By query, and within it by chance; those beyond the quota of their query go.
    order = np.lexsort((drawn, query[negative]))
    sizes = np.bincount(query[negative], minlength=groups.n_queries)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    quota = np.maximum(np.round(share * sizes), 1)
    keep = np.ones(groups.n_rows, dtype=bool)
    keep[negative[order[rank >= quota[query[negative][order]]]]] = False
    return np.flatnonzero(keep)
