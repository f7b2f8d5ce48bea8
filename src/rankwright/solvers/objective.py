"""The objective that all solvers minimise."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Sequence
from functools import reduce
from operator import add, attrgetter, itemgetter

import numpy as np

from rankwright.data.each import Each, EachHere, itself
from rankwright.data.groups import Ints
from rankwright.data.validation import Floats
from rankwright.losses.loss import Loss
from rankwright.penalties import ElasticNet
from rankwright.solvers.scores import Scores
from rankwright.solvers.shares import Share, ShareFacts, ShareLoss, SomeQueries

# A few roundings: of a product and a sum, on the way there and back.
_ROUNDING = 4 * float(np.finfo(np.float64).eps)


class Objective:
    r"""The mean over queries of a loss of :math:`Xw`, plus a penalty.

    .. math::
        F(w) = \frac{1}{Q} \sum_q L_q(X_q w) + a_1 \|w\|_1 + \tfrac{a_2}{2} \|w\|^2

    The queries may come in several shares. The loss is summed exactly, so that it does not depend
    on how they are shared out; gradients are added in the order of the shares.

    Parameters
    ----------
    shares : sequence of Share, or Each
        The data, at least one share; an :class:`~rankwright.data.each.Each` has them where they
        lie.
    loss : Loss
        The loss; its own ``prepare``, or ``value_and_grad`` of a loss that has nothing else.
    penalty : ElasticNet
        The penalty.
    """

    def __init__(self, shares: Sequence[Share] | Each, loss: Loss, penalty: ElasticNet) -> None:
        self.loss, self.penalty = loss, penalty
        given = EachHere(shares) if isinstance(shares, Sequence) else shares
        self.shares = given.map(Share.prepare, loss)
        self._facts: list[ShareFacts] = list(self.shares.tell(ShareLoss.facts))
        self.n_queries = max(sum(share.n_queries for share in self._facts), 1)
        self.n_features = self._facts[0].n_features

    def with_penalty(self, penalty: ElasticNet) -> Objective:
        """Return the same with another penalty; nothing is prepared again."""
        other = copy.copy(self)
        other.penalty = penalty
        return other

    def restricted(self, features: Ints) -> Objective:
        """Return the same as a function of the weights of some features, all others being 0."""
        other = copy.copy(self)
        other.shares = self.shares.map(ShareLoss.restricted, features)
        other.n_features = len(features)
        return other

    # ---- what there is ----

    def offers(self, name: str) -> bool:
        """Whether the prepared loss has one of the methods of ``OFFERS``."""
        return all(name in share.offers for share in self._facts)

    @property
    def is_sparse(self) -> bool:
        """Whether features are sparse."""
        return any(share.is_sparse for share in self._facts)

    @property
    def has_slow_hessian(self) -> bool:
        """Whether the loss says so."""
        return any(self.shares.tell(ShareLoss.has_slow_hessian))

    @property
    def whole(self) -> ShareLoss:
        """The only share, for solvers that need columns of all documents."""
        (share,) = self.shares.tell(itself)
        whole: ShareLoss = share
        return whole

    # ---- value and derivatives ----

    def scores(self, w: Floats) -> Scores:
        """Return :math:`Xw`."""
        return Scores(self.shares.map(ShareLoss.scores, w))

    def scores_at_zero(self) -> Scores:
        """Return the scores of weights 0."""
        return Scores(self.shares.map(ShareLoss.zeros))

    def loss_and_slope(self, scores: Scores) -> tuple[float, Scores]:
        """Return the mean loss and its gradient by scores."""
        found = self.shares.map(ShareLoss.values_and_grad, scores.each)
        values = (part.tolist() for part in found.tell(itemgetter(0)))
        total = math.fsum(itertools.chain.from_iterable(values))
        slope = Scores.of(_mean_slope, Scores(found), self.n_queries)
        return total / self.n_queries, slope

    def gradient(self, slope: Scores) -> Floats:
        r"""Return :math:`X^\top` times a gradient by scores."""
        return reduce(add, self.shares.tell(ShareLoss.gradient, slope.each))

    def at(self, w: Floats) -> tuple[float, Scores, Floats]:
        """Return the mean loss, its gradient by scores and that by weights."""
        return self._evaluate(self.scores(w))

    def at_zero(self) -> tuple[float, Scores, Floats]:
        """Return the same at weights 0, which takes one product with X less."""
        return self._evaluate(self.scores_at_zero())

    def _evaluate(self, scores: Scores) -> tuple[float, Scores, Floats]:
        loss, slope = self.loss_and_slope(scores)
        return loss, slope, self.gradient(slope)

    def bends(self, scores: Scores) -> Floats:
        r"""Return about the curvature of the mean loss along each weight.

        With h the loss's curvatures by scores it is :math:`\sum_i h_i (x_{ij} - c_j)^2`, where
        :math:`c_j` is the mean of the feature by h: ranking losses do not see a constant added to a
        feature, which makes much of those that most documents have. At least 0.
        """
        found = list(self.shares.tell(ShareLoss.moments, scores.each))
        total = sum(h for h, _, _ in found)
        first, second = (reduce(add, sums) for sums in list(zip(*found, strict=True))[1:])
        about_mean = second - np.square(first) / total if total > 0 else second
        bends: Floats = np.maximum(about_mean, 0.0) / self.n_queries
        return bends

    def sample(self, n_docs: int) -> Sample:
        """Return queries with about ``n_docs`` documents, chosen by their ids only."""
        sizes, keys = zip(*self.shares.tell(ShareLoss.sizes_and_keys), strict=True)
        order = np.argsort(np.concatenate(keys), kind="stable")
        ends = np.cumsum(np.concatenate(sizes)[order])
        if len(ends) == 0 or n_docs >= ends[-1]:
            return Sample(self, None)
        chosen = np.zeros(len(order), dtype=bool)
        chosen[order[: int(np.searchsorted(ends, n_docs)) + 1]] = True
        if chosen.all():
            return Sample(self, None)
        cuts = np.cumsum([len(own) for own in sizes])[:-1]
        return Sample(self, [np.flatnonzero(own) for own in np.split(chosen, cuts)])

    # ---- how near the optimum is ----

    def enough(self, tol: float, at_zero: tuple[float, Scores, Floats] | None = None) -> float:
        """Return the violation at which to stop; ``at_zero`` if that is known already.

        It is ``tol`` times the loss's largest derivative at weights 0, but never less than what
        rounding leaves of a derivative that is 0. (The l1 penalty is left out: near the weight from
        which on it allows no feature, next to nothing of the derivatives remains.)
        """
        loss, slope, gradient = at_zero or self.at_zero()
        steepest = float(np.abs(gradient).max(initial=0.0))
        largest = float(max(self.shares.tell(ShareLoss.largest_feature)))
        return max(tol * steepest, _ROUNDING * largest * (loss + slope.size()))

    def violation_at_zero(self) -> float:
        """Return the largest violation of the optimality conditions at weights 0."""
        _, _, gradient = self.at_zero()
        zero = np.zeros(self.n_features)
        return float(self.penalty.violation(zero, gradient).max(initial=0.0))

    def gap(self, w: Floats, gradient: Floats) -> float:
        r"""Return a bound on :math:`F(w) - \min F`, infinite where none is known.

        With a strongly convex penalty, :math:`\Omega - \tfrac{a_2}{2} \|w\|^2` convex, the squared
        length of the smallest subgradient of F over :math:`2 a_2` is a bound. Where the loss has a
        conjugate there is a dual point as well, whatever the penalty.
        """
        scores = self.scores(w)
        loss, slope = self.loss_and_slope(scores)
        value = loss + self.penalty.value(w)
        # Never 0: at the optimum value and bound are equal, and rounding decides their difference.
        bound = max(value - self._lower_bound(scores, slope, gradient), _ROUNDING * value)
        if self.penalty.convexity > 0:
            violation = self.penalty.violation(w, gradient)
            bound = min(bound, float(np.square(violation).sum() / (2 * self.penalty.convexity)))
        return float(bound)

    def _lower_bound(self, scores: Scores, slope: Scores, gradient: Floats) -> float:
        r"""Return a lower bound on the minimum of the objective; -inf where none is known.

        With L the sum of the losses and :math:`\Omega` the penalty, every vector :math:`\theta` of
        score space gives one (Fenchel),

        .. math::
            \min_w \; \tfrac{1}{Q} L(Xw) + \Omega(w) \;\ge\;
            -\tfrac{1}{Q} L^*(\theta) - \Omega^*(-\tfrac{1}{Q} X^\top \theta).

        Here :math:`\theta = c \nabla L(s)` with :math:`0 \le c \le 1`, small enough that
        :math:`\Omega^*` is finite.
        """
        if not self.offers("conjugate"):
            return -math.inf
        c, at_weights = self.penalty.conjugate(gradient)
        given = scores.each, slope.each, c, self.n_queries
        conjugate = float(sum(self.shares.tell(ShareLoss.conjugate, *given)))
        return -conjugate / self.n_queries - at_weights


def _mean_slope(found: tuple[Floats, Floats], n_queries: int) -> Floats:
    return found[1] / n_queries


class Sample:
    """Queries of an objective whose Hessian stands for that of all.

    Parameters
    ----------
    objective : Objective
        Whose queries they are.
    queries : list of ndarray, optional
        Positions of queries, for each share; None is all of them.
    """

    def __init__(self, objective: Objective, queries: list[Ints] | None) -> None:
        self.is_all = queries is None
        chosen = None if queries is None else EachHere(queries)
        self.parts = objective.shares.map(ShareLoss.some, chosen)
        self.n_queries = max(sum(self.parts.tell(attrgetter("n_queries"))), 1)

    def hessian(self, scores: Scores) -> Floats:
        """Return the Hessian of their mean loss by weights, given the scores of all."""
        total: Floats = reduce(add, self.parts.tell(SomeQueries.hessian, scores.each))
        mean: Floats = total / self.n_queries
        return mean
