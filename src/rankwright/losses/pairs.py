"""Losses over pairs of documents: RankSVM's hinge and RankNet's logistic."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from rankwright import _kernels
from rankwright.data.groups import Groups
from rankwright.data.validation import Floats
from rankwright.losses.loss import Bound, Loss
from rankwright.metrics.pairs import PairwiseError
from rankwright.threads import n_threads

# (scores, weights by row or none, threads)
Kernel: TypeAlias = Callable[[Floats, Floats, int], tuple[Floats, Floats]]


@dataclass(frozen=True)
class _PairLoss(Loss):
    """A sum over pairs, perhaps divided by their number."""

    normalize: Literal["pairs"] | None = None

    at_tie: ClassVar[float]  # cost of a tied pair; a misordered one costs at least as much

    def kernel(self, layers: _kernels.Layers) -> Kernel:
        """Return what computes the sums over the pairs of these layers."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        if self.normalize not in (None, "pairs"):
            raise ValueError(f"normalize must be None or 'pairs', but is {self.normalize!r}.")

    @property
    def bound(self) -> Bound:
        """The number (or share) of misordered pairs, times the cost of a tied one."""
        metric = PairwiseError(empty=0.0)

        def lower(y: Floats, scores: Floats, groups: Groups) -> Floats:
            error = self.at_tie * metric.per_query(y, scores, groups)
            if self.normalize == "pairs":
                return error
            return error * _kernels.Layers(y, groups.indptr, 1).pairs()

        what = "share" if self.normalize == "pairs" else "number"
        return Bound(metric, lower, f"{self.at_tie:.3g} x the {what} of misordered pairs")

    def lipschitz(self, m: int) -> float:
        """Twice the number of pairs, at most m^2/2 (S9); 2 if divided by it."""
        # Pairs push some documents up by as much as the others down. Only pairs between these two
        # sets count, of which there are at most m^2/4; within a set pushes cancel.
        return 2.0 if self.normalize == "pairs" else m * m / 2

    def prepare(
        self,
        y: Floats,
        groups: Groups,
        *,
        draw: int = 0,
        n_jobs: int | None = None,
        weights: Floats | None = None,
    ) -> PreparedPairs:
        """Sort the labels into layers."""
        return PreparedPairs(y, groups, self, n_threads(n_jobs), weights)


class PreparedPairs:
    """A pair loss on given labels."""

    def __init__(
        self,
        y: Floats,
        groups: Groups,
        loss: _PairLoss,
        threads: int,
        weights: Floats | None = None,
    ) -> None:
        self.layers = _kernels.Layers(y, groups.indptr, threads)
        self.kernel = loss.kernel(self.layers)
        self.threads = threads
        self.document = np.empty(0) if weights is None else weights  # none, or one of each row
        self.weights: Floats | None = None
        if loss.normalize == "pairs":
            # A query without pairs has loss 0, whatever it is divided by.
            pairs = self.layers.pairs()
            self.weights = np.divide(1.0, pairs, out=np.zeros_like(pairs), where=pairs > 0)
            self.row_weights = np.repeat(self.weights, groups.sizes)

    def values_and_grad(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the value of each query and a (sub)gradient."""
        values, grad = self.kernel(scores, self.document, self.threads)
        if self.weights is None:
            return values, grad
        return values * self.weights, grad * self.row_weights


@dataclass(frozen=True)
class RankHinge(_PairLoss):
    r"""RankSVM's loss: a hinge for every pair.

    .. math::
        L(s, y) = \sum_{(i, j) : y_i > y_j} \max(0,\; 1 + s_j - s_i)

    at least the number of misordered pairs. The l1 norm of its gradient is at most twice the number
    of pairs inside the margin, up to :math:`m^2/2` (S9).

    Parameters
    ----------
    normalize : None or "pairs", default None
        ``"pairs"`` divides each query's loss by its number of pairs.

    References
    ----------
    .. [1] Joachims, "Training linear SVMs in linear time", KDD 2006.

    Examples
    --------
    >>> RankHinge().value_and_grad([0.0, 0.5], [1, 0])
    (1.5, array([-1.,  1.]))
    """

    name: ClassVar[str] = "rank_hinge"
    smooth: ClassVar[bool] = False
    cost: ClassVar[str] = "O(m log m)"
    at_tie: ClassVar[float] = 1.0

    def kernel(self, layers: _kernels.Layers) -> Kernel:
        """Return the sums of hinges."""
        return layers.rank_hinge


@dataclass(frozen=True)
class RankLogistic(_PairLoss):
    r"""RankNet's loss: a logistic for every pair.

    .. math::
        L(s, y) = \sum_{(i, j) : y_i > y_j} \log(1 + e^{s_j - s_i})

    at least :math:`\log 2` times the number of misordered pairs.

    Parameters
    ----------
    normalize : None or "pairs", default None
        ``"pairs"`` divides each query's loss by its number of pairs.

    References
    ----------
    .. [1] Burges et al., "Learning to rank using gradient descent", ICML 2005.

    Examples
    --------
    >>> value, grad = RankLogistic().value_and_grad([0.0, 0.0], [1, 0])
    >>> value == math.log(2), grad
    (True, array([-0.5,  0.5]))
    """

    name: ClassVar[str] = "rank_logistic"
    cost: ClassVar[str] = "O(pairs)"
    at_tie: ClassVar[float] = math.log(2)  # log(1 + e^0)

    def kernel(self, layers: _kernels.Layers) -> Kernel:
        """Return the sums of logistic functions."""
        return layers.rank_logistic
