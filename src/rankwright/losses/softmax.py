"""Cross entropy of a target distribution and the softmax of the scores: ListNet and XE-NDCG."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, SupportsIndex

import numpy as np

from rankwright import _kernels
from rankwright.data.groups import Groups
from rankwright.data.streams import stream_keys, uniforms
from rankwright.data.validation import Floats
from rankwright.losses.cross_entropy import Newton, PreparedSoftmax, cross_entropy
from rankwright.losses.directions import WithTerms
from rankwright.losses.loss import Bound, Loss, by_query, is_empty
from rankwright.metrics.dcg import DCG, NDCG, check_gain_labels
from rankwright.parameters import TRUTH
from rankwright.threads import n_threads


@dataclass(frozen=True)
class ListNet(WithTerms, Loss):
    r"""Cross entropy of the softmax of the labels and the softmax of the scores.

    .. math::
        L(s, y) = -\sum_i \phi_i \log \rho_i, \qquad
        \phi = \mathrm{softmax}(y), \quad \rho = \mathrm{softmax}(s)

    The gradient is :math:`\rho - \phi`, of l1 norm at most 2.

    Parameters
    ----------
    skip_empty : bool, default True
        Loss 0 for queries without a relevant document: labels all equal, and not above 0. False
        pulls their scores together.

    References
    ----------
    .. [1] Cao, Qin, Liu, Tsai & Li, "Learning to rank: from pairwise approach to listwise
       approach",
       ICML 2007.

    Examples
    --------
    >>> value, grad = ListNet().value_and_grad([0.0, 0.0], [1, 1])
    >>> round(value, 6), grad  # log 2
    (0.693147, array([0., 0.]))
    """

    skip_empty: bool = True

    name: ClassVar[str] = "listnet"
    cost: ClassVar[str] = "O(m)"

    def __post_init__(self) -> None:
        TRUTH.check("skip_empty", self.skip_empty)

    def lipschitz(self, m: int) -> float:
        """Two probability vectors differ by at most 2."""
        return 2.0

    def prepare(
        self,
        y: Floats,
        groups: Groups,
        *,
        draw: int = 0,
        n_jobs: int | None = None,
        weights: Floats | None = None,
    ) -> PreparedSoftmax:
        """Compute the softmax of the labels."""
        threads = n_threads(n_jobs)
        phi = _kernels.softmax(y, 0.0, groups.indptr, threads)
        counts = _times_counted(y, groups, self.skip_empty)
        return cross_entropy(phi, groups, counts, 0.0, "plain", threads).weighted(weights)

    prepare_terms = prepare  # no draw changes the targets

    def prepare_queries(
        self, y: Floats, groups: Groups, weights: Floats | None = None
    ) -> _kernels.QueryLoss:
        """Prepare the loss for learners that meet one query at a time."""
        return self.prepare(y, groups, n_jobs=1, weights=weights).by_query()


@dataclass(frozen=True)
class XENDCG(WithTerms, Loss):
    r"""Cross entropy that bounds NDCG.

    .. math::
        L(s, y) = -\sum_i \phi_i \log \rho_i, \qquad
        \phi_i = \frac{2^{y_i} - \gamma_i}{\sum_j 2^{y_j} - \gamma_j}, \quad
        \rho_i = \frac{e^{s_i}}{\epsilon + \sum_j e^{s_j}}

    with :math:`\gamma_i \in [0, 1]`. With :math:`Z` the best DCG and
    :math:`S = \sum_j 2^{y_j} - \gamma_j`, on every query

    .. math::
        L(s, y) \ge \log \frac{S}{Z} - \log\Bigl(\mathrm{NDCG} + \frac{1}{Z}\Bigr)

    with pessimistic ties; for :math:`\gamma = 1` also without the :math:`1/Z` (X1). The first term
    is never negative; the paper's Theorem 1 drops it. The l1 norm of the gradient :math:`\rho -
    \phi` is at most 2.

    A query without a label above 0 has loss 0: its targets, :math:`1 - \gamma` over their sum,
    would be chance (X7), or 0/0 for :math:`\gamma = 1`.

    Parameters
    ----------
    gamma : "random", float in [0, 1] or callable, default "random"
        :math:`\gamma`: uniform numbers that depend on the seed, the draw, the query's id and the
        document's position only; one number; or a function from a query's labels to numbers in [0,
        1].
    random_state : int, default 0
        Seed of ``"random"``.
    newton : {"plain", "exact", "neumann"}, default "plain"
        What :meth:`grad_and_hess` returns: :math:`(\rho - \phi, \rho (1 - \rho))`;
        :math:`(\rho - \phi, \rho)`, a majoriser that makes leaf values Newton steps; or the paper's
        truncated Neumann series, in a form that does not overflow (X4, X5).
    eps : float, default 0.0
        :math:`\epsilon \ge 0`.
    normalize : None or "ideal_dcg", default None
        ``"ideal_dcg"`` divides each query's loss by :math:`Z`.
    skip_empty : bool, default True
        False is the paper's way: queries without a label above 0 have a loss too, unless it is
        0/0.

    References
    ----------
    .. [1] Bruch, "An alternative cross entropy loss for learning-to-rank", equations 7-9, Theorem
       1.

    Examples
    --------
    >>> value, grad = XENDCG(gamma=0.0).value_and_grad([0.0, 0.0], [1, 0])  # phi = (2/3, 1/3)
    >>> grad.round(4)
    array([-0.1667,  0.1667])
    """

    gamma: str | float | Callable[[Floats], Floats] = "random"
    random_state: int = 0
    newton: Newton = "plain"
    eps: float = 0.0
    normalize: Literal["ideal_dcg"] | None = None
    skip_empty: bool = True

    name: ClassVar[str] = "xendcg"
    cost: ClassVar[str] = "O(m)"

    def __post_init__(self) -> None:
        gamma = self.gamma
        in_range = (
            isinstance(gamma, int | float) and not isinstance(gamma, bool) and 0 <= gamma <= 1
        )
        if not (gamma == "random" or callable(gamma) or in_range):
            raise ValueError(
                "gamma must be 'random', a number from 0 to 1, or a function of a query's labels, "
                f"but is {self.gamma!r}."
            )
        if not isinstance(self.random_state, SupportsIndex):
            raise ValueError(f"random_state must be an integer, but is {self.random_state!r}.")
        if self.newton not in ("plain", "exact", "neumann"):
            raise ValueError(
                f"newton must be 'plain', 'exact' or 'neumann', but is {self.newton!r}."
            )
        if not (math.isfinite(self.eps) and self.eps >= 0):
            raise ValueError(f"eps must be a number >= 0, but is {self.eps!r}.")
        if self.normalize not in (None, "ideal_dcg"):
            raise ValueError(f"normalize must be None or 'ideal_dcg', but is {self.normalize!r}.")
        TRUTH.check("skip_empty", self.skip_empty)

    @property
    def bound(self) -> Bound:
        """Theorem 1, query by query."""
        metric = NDCG(ties="worst", empty=0.0)

        def lower(y: Floats, scores: Floats, groups: Groups) -> Floats:
            _, total = self._targets(np.exp2(y), y, groups, 0, 1)
            best = _ideal_dcg(y, groups)
            ndcg = metric.per_query(y, scores, groups)
            # A gamma below 1 gives irrelevant documents a share of the target (X1).
            slack = 0.0 if self.gamma == 1 else 1.0
            with np.errstate(divide="ignore", invalid="ignore"):
                value = np.log(total / best) - np.log(ndcg + slack / best)
                if self.normalize == "ideal_dcg":
                    value = value / best
            return np.where(best > 0, value, 0.0)

        text = "log(S/Z) - log(ndcg + 1/Z)" if self.gamma != 1 else "log(S/Z) - log(ndcg)"
        return Bound(metric, lower, text)

    def lipschitz(self, m: int) -> float:
        """Two probability vectors differ by at most 2."""
        return 2.0 if self.normalize is None else math.inf

    def draw_gamma(self, y: Floats, groups: Groups, draw: int = 0) -> Floats:
        r"""Return :math:`\gamma` of every document."""
        if callable(self.gamma):
            gamma = by_query(self.gamma, y, groups)
            if gamma.shape != y.shape or not ((gamma >= 0) & (gamma <= 1)).all():
                raise ValueError("gamma must return one number from 0 to 1 for each label.")
            return gamma
        if self.gamma != "random":
            return np.full(len(y), float(self.gamma))
        return uniforms(groups, self.random_state, draw)

    def _targets(
        self, powers: Floats, y: Floats, groups: Groups, draw: int, threads: int
    ) -> tuple[Floats, Floats]:
        """Return phi, and its normaliser S by query; ``powers`` are 2^y."""
        drawn = self.gamma == "random"  # then the kernel draws, from keys: no array of numbers
        gamma = np.empty(0) if drawn else self.draw_gamma(y, groups)
        keys = stream_keys(groups, self.random_state, draw)
        return _kernels.xendcg_targets(powers, gamma, keys, groups.indptr, threads)

    def prepare(
        self,
        y: Floats,
        groups: Groups,
        *,
        draw: int = 0,
        n_jobs: int | None = None,
        weights: Floats | None = None,
    ) -> PreparedSoftmax:
        """Draw gamma and compute the targets."""
        return self.prepare_terms(y, groups, n_jobs=n_jobs, weights=weights).at(draw)

    def prepare_terms(
        self,
        y: Floats,
        groups: Groups,
        *,
        n_jobs: int | None = None,
        weights: Floats | None = None,
    ) -> PreparedXENDCG:
        """Do once what no draw changes; with weights of the documents."""
        return PreparedXENDCG(self, y, groups, n_threads(n_jobs), weights)

    def prepare_queries(
        self, y: Floats, groups: Groups, weights: Floats | None = None
    ) -> _kernels.QueryLoss:
        """Prepare the loss for learners that meet one query at a time, and draw each time."""
        return self.prepare_terms(y, groups, n_jobs=1, weights=weights).by_query()


class PreparedXENDCG:
    """XE-NDCG on given labels, for any draw of gamma."""

    def __init__(
        self,
        loss: XENDCG,
        y: Floats,
        groups: Groups,
        threads: int,
        weights: Floats | None = None,
    ) -> None:
        check_gain_labels(y, "XENDCG")
        self.loss, self.y, self.groups, self.threads = loss, y, groups, threads
        # Trees ask for a draw in each iteration: 2^y is the dear part of the targets.
        self.powers, self.row_weights = np.exp2(y), weights
        self.weights = _times_counted(y, groups, loss.skip_empty)
        if loss.normalize == "ideal_dcg":
            best = _ideal_dcg(y, groups)
            # Without a relevant document, 1/Z is 0: the query has nothing to bound.
            self.weights = np.divide(1.0, best, out=np.zeros_like(best), where=best > 0)
        self._fixed: PreparedSoftmax | None = None

    def at(self, draw: int) -> PreparedSoftmax:
        """Return the loss with the targets of one draw; without chance, all draws are one."""
        if self.loss.gamma == "random":
            return self._with_targets(draw)
        if self._fixed is None:
            self._fixed = self._with_targets(0)
        return self._fixed

    def _with_targets(self, draw: int) -> PreparedSoftmax:
        phi, _ = self.loss._targets(self.powers, self.y, self.groups, draw, self.threads)
        ready = cross_entropy(
            phi, self.groups, self.weights, self.loss.eps, self.loss.newton, self.threads
        )
        return ready.weighted(self.row_weights)

    def by_query(self) -> _kernels.QueryLoss:
        """Return the loss for learners that meet one query at a time, and draw anew each time."""
        if self.loss.gamma != "random":
            return self.at(0).by_query()
        # The kernel makes the keys of stream_keys for each draw, and the targets from them.
        seed = int(self.loss.random_state) % 2**64
        return _kernels.cross_entropies(
            self.groups.indptr,
            self.powers,
            self.weights,
            self.loss.eps,
            self.groups.keys,
            seed,
            np.empty(0) if self.row_weights is None else self.row_weights,
        )

    def grad_and_hess(self, scores: Floats, draw: int = 0) -> tuple[Floats, Floats]:
        """Return the pair that a tree learner fits."""
        return self.at(draw).grad_and_hess(scores)


def _times_counted(y: Floats, groups: Groups, skip_empty: bool) -> Floats:
    """Return how often each query counts: once, but not at all if it is empty and skipped."""
    # A weight, so that value, gradient, Hessian, conjugate and descent have it from one place;
    # means over queries still divide by all of them.
    return np.where(is_empty(y, groups), 0.0, 1.0) if skip_empty else np.ones(groups.n_queries)


def _ideal_dcg(y: Floats, groups: Groups) -> Floats:
    """Return the best DCG of each query: that of the labels as scores."""
    return DCG(ties="order").per_query(y, y, groups)
