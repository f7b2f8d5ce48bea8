"""The domination loss of Domination Rank."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats
from rankwright.losses.loss import Bound, Loss
from rankwright.losses.prepared_domination import PreparedDomination
from rankwright.metrics.domination import DominationError
from rankwright.threads import n_threads


@dataclass(frozen=True, eq=False)
class Domination(Loss):
    r"""Soft count of the documents that are outscored by something they dominate.

    .. math::
        L(s, y) = \sum_i \log\Bigl(1 + \sum_{j : y_j < y_i} e^{\Delta(i, j) + s_j - s_i}\Bigr)

    over the documents :math:`i` that dominate something. Documents of equal labels form a layer;
    sums over the layers below are kept as logarithms, so that a query costs :math:`O(m)` on known
    labels and no score is too large.

    Without a margin, or with one that is never negative, :math:`L / \log 2` is at least the number
    of violated dominators, and :math:`\|\nabla_s L\|_1 \le 2 \times` the number of dominators.

    Parameters
    ----------
    margin : None, float, callable or array of shape (K - 1,) or (K, K), default None
        None is 0. A number :math:`\Delta` is the margin of every pair. A function :math:`t` of the
        labels gives the separable margin :math:`\Delta(i, j) = t(y_i) - t(y_j)`, such as
        :class:`LogMargin`. For layers 0, 1, ..., K - 1, a vector holds the margin of each boundary
        between neighbours, and they add up; a square array holds ``margin[k, l]``, that of each
        pair of layers.
    layers : sequence of float, optional
        Cut points: labels from ``layers[k - 1]`` to below ``layers[k]`` are layer k. By default
        every label is a layer, and arrays of margins need labels 0, 1, .... A function
        as margin is called with the labels, not with their layers.

    References
    ----------
    .. [1] Stevens, "Domination Rank"; equations as corrected in the papers page, D3-D9.

    Examples
    --------
    >>> value, grad = Domination().value_and_grad([0.0, 0.0], [1, 0])  # log(1 + e^0)
    >>> round(value, 6), grad  # log 2
    (0.693147, array([-0.5,  0.5]))
    """

    margin: Any = None
    layers: Any = None

    name: ClassVar[str] = "domination"
    cost: ClassVar[str] = "O(m log m), O(m) on known labels"

    def __post_init__(self) -> None:
        if self.layers is not None:
            object.__setattr__(self, "layers", _check_cuts(self.layers))
        margin = self.margin
        if margin is None or callable(margin):
            return
        try:
            array = np.asarray(margin, dtype=np.float64)
        except (TypeError, ValueError):
            array = np.array(math.nan)
        square = array.ndim == 2 and array.shape[0] == array.shape[1]
        if not (array.ndim < 2 or square) or not np.isfinite(array).all():
            raise ValueError(
                "margin must be None, a finite number, a function of the labels, or a finite "
                f"vector by boundaries or square array by layers, but is {margin!r}."
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Domination):
            return NotImplemented
        mine, theirs = self.margin, other.margin
        if self.layers != other.layers:
            return False
        if mine is None or theirs is None or callable(mine) or callable(theirs):
            return type(mine) is type(theirs) and bool(mine == theirs)
        return np.array_equal(mine, theirs)

    def __hash__(self) -> int:
        if self.margin is None or callable(self.margin):
            return hash((Domination, self.layers, self.margin))
        # -0.0 + 0.0 is 0.0: margins that are equal must have one hash.
        return hash(
            (Domination, self.layers, (np.asarray(self.margin, dtype=np.float64) + 0.0).tobytes())
        )

    @property
    def bound(self) -> Bound | None:
        """The number of violated dominators times log 2, if no margin can be negative."""
        if self.margin is not None and (callable(self.margin) or np.min(self.margin) < 0):
            return None
        metric = DominationError(ties="worst", empty=0.0)

        def lower(y: Floats, scores: Floats, groups: Groups) -> Floats:
            # The metric is the share of dominators that are violated; the bound is their number.
            y = self.layer(y)
            share = metric.per_query(y, scores, groups)
            lowest = np.full(groups.n_queries, np.inf)
            query = groups.query_of_rows()
            np.minimum.at(lowest, query, y)
            dominating = np.bincount(query, weights=y > lowest[query], minlength=groups.n_queries)
            # An outscored document has a term with exponent >= 0, and log(1 + e^0) = log 2.
            return math.log(2) * share * dominating

        return Bound(metric, lower, "log 2 x the number of violated dominators")

    def lipschitz(self, m: int) -> float:
        """Twice the number of dominators, which is less than m."""
        return 2.0 * max(m - 1, 0)

    def prepare(
        self,
        y: Floats,
        groups: Groups,
        *,
        draw: int = 0,
        n_jobs: int | None = None,
        weights: Floats | None = None,
    ) -> PreparedDomination:
        """Sort the labels into layers and lay out the margins."""
        threads = n_threads(n_jobs)
        return PreparedDomination(y, self.layer(y), groups, self.margin, threads, weights)

    def layer(self, y: Floats) -> Floats:
        """Return the layer of each label."""
        if self.layers is None:
            return y
        return np.digitize(y, self.layers).astype(np.float64)


def _check_cuts(cuts: Any) -> tuple[float, ...]:
    try:
        array = np.asarray(cuts, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(math.nan)
    if array.ndim != 1 or not np.isfinite(array).all() or (np.diff(array) <= 0).any():
        raise ValueError(f"layers must be increasing finite numbers, but is {cuts!r}.")
    return tuple(array.tolist())
