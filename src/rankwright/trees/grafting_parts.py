r"""A base that is fitted to data in parts.

Its scale is where the slope of the loss along the scores, :math:`\sum_i b_i\, g_i(c\, b)`, turns.
Each query gives its own sum, and these are added up exactly: the scale depends neither on the order
of the queries nor on how they are cut into parts.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rankwright.data.dataset import Dataset
from rankwright.data.each import Each
from rankwright.data.parts import Parts
from rankwright.data.validation import Floats
from rankwright.inputs import WeightColumn, part_data
from rankwright.linear import LinearRanker
from rankwright.linear.part_selection import alpha_by_folds, alpha_by_valid
from rankwright.metrics.metric import Metric
from rankwright.trees.additive import Additive
from rankwright.trees.grafting import N_ALPHAS, N_FOLDS, Mask, Rises, only_usable
from rankwright.trees.objective import objective_of


@dataclass(frozen=True)
class GraftInParts:
    """Training documents in parts, to which a base is fitted.

    Attributes
    ----------
    ranker : BoostedRanker
        Whose base it is.
    loss : Loss or Directions
        What its trees lower.
    parts, valid : Parts
        Training and validation queries.
    metric : Metric
        What the penalty is chosen by.
    weights : tuple of (str, callable or None)
        Weights of documents, and of queries.
    """

    ranker: Any
    loss: Any
    parts: Parts
    valid: Parts | None
    metric: Metric
    weights: tuple[WeightColumn | None, WeightColumn | None]

    def alpha_of(self, ranker: LinearRanker, usable: Mask) -> float:
        """Return the penalty that is best on validation parts, or on folds of all queries."""
        parts = self._usable(usable)
        if self.valid is None:
            return alpha_by_folds(ranker, parts, self.metric, N_FOLDS)
        return alpha_by_valid(ranker, parts, self.valid, self.metric, N_ALPHAS, self.weights)

    def fitted(self, ranker: Any, usable: Mask) -> Additive:
        """Fit a ranker, without the features that are not usable."""
        documents, queries = self.weights
        parts = self._usable(usable)
        return Additive.of(ranker.fit_parts(parts, sample_weight=documents, query_weight=queries))

    def rises(self, part: Additive) -> Rises:
        """Tell whether the loss rises along some scores, as a function of their factor."""
        along = self.parts.each(ScoresOfPart, part, self.ranker, self.loss, self.weights)
        return partial(_rises, along)

    def _usable(self, usable: Mask) -> Parts:
        return self.parts if usable.all() else self.parts.transformed(_usable_part, usable)


class ScoresOfPart:
    """The scores of a part by a base, and the loss along them."""

    def __init__(
        self,
        part: Dataset,
        base: Additive,
        ranker: Any,
        loss: Any,
        weights: tuple[WeightColumn | None, WeightColumn | None],
    ) -> None:
        self.scores = base.scores(part.X, ranker.n_jobs)
        self.objective = objective_of(ranker, loss, part_data(part, *weights))

    def slopes(self, c: float) -> Floats:
        """Return the slope of each query's loss along the scores, where they are c times these."""
        terms = self.scores * self.objective.slope(c * self.scores)
        found: Floats = np.add.reduceat(terms, self.objective.groups.indptr[:-1])
        return found


def _rises(along: Each, c: float) -> bool:
    slopes = (own.tolist() for own in along.tell(ScoresOfPart.slopes, c))
    return math.fsum(itertools.chain.from_iterable(slopes)) >= 0


def _usable_part(part: Dataset, usable: Mask) -> Dataset:
    return part.with_features(only_usable(part.X, usable))
