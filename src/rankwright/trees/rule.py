r"""The scoring rule of forests, which needs NumPy and the kernels alone.

A score is a sum over trees and, of a model that has a linear part, a weighted sum beside it:

.. math:: s(x) = \sum_t T_t(x) + (w \cdot \tilde x + b)

where :math:`\tilde x` has a fixed number in the place of each missing value. The trees are summed
first, in their order; what is in brackets is added in the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from rankwright.data.groups import gather
from rankwright.data.missing import filled
from rankwright.data.sparse import is_sparse
from rankwright.data.validation import Floats, Matrix, check_count, check_qid
from rankwright.exceptions import DataError
from rankwright.scoring.given import Intake
from rankwright.scoring.rules import ScoringRule
from rankwright.scoring.state import State, check_floats
from rankwright.scoring.sums import InOrderSum, WeightedSum, check_arithmetic
from rankwright.threads import n_threads
from rankwright.trees.forest import Forest, ForestScorer


@dataclass(frozen=True)
class LinearPart:
    """A weighted sum beside trees.

    Attributes
    ----------
    sums : WeightedSum or InOrderSum
        The weights, with what is added to every score.
    fill : ndarray of shape (n_features,), optional
        What stands for missing values here; the trees see them as they are. None if there must be
        none.
    """

    sums: WeightedSum | InOrderSum
    fill: Floats | None = None

    @classmethod
    def of(cls, state: State) -> Self | None:
        """Return the linear part of a model, or None if it has none."""
        if "linear_coef_" not in state:
            return None
        weights = {
            "coef_": state["linear_coef_"],
            "intercept_": state.get("linear_intercept_", 0.0),
            "fit_intercept": True,
            "n_jobs": state.get("n_jobs"),
        }
        if "arithmetic_" in state:
            in_order = InOrderSum.of({**weights, "arithmetic_": state["arithmetic_"]})
            return cls(in_order, state.get("linear_fill_"))
        return cls(WeightedSum.of(weights), state.get("linear_fill_"))

    def scores(self, X: Matrix) -> Floats:
        """Return the weighted sum of each row."""
        return self.sums.scores(self.filled_in(X))

    def filled_in(self, X: Matrix) -> Matrix:
        """Return rows with what stands for their missing values; raise if nothing does."""
        if self.fill is not None:
            return filled(X, self.fill)
        values = X.data if is_sparse(X) else X
        if np.isnan(values).any():
            raise ValueError(
                "X has missing values, which the linear part of this model cannot take. Fit with a "
                "base that has missing='median'."
            )
        return X

    def contributions(self, X: Matrix) -> tuple[Floats, float]:
        """Return what each feature adds to each row, and what is added to all."""
        rows: Any = self.filled_in(X)
        dense = rows.toarray() if is_sparse(rows) else rows
        start = 0.0 if self.sums.intercept is None else float(self.sums.intercept)
        return np.asarray(dense * self.sums.coef, dtype=np.float64), start


@dataclass(frozen=True)
class TreeRule(ScoringRule):
    """A sum over trees for each row, and a weighted sum where the model has one."""

    takes_missing: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ("n_trees", "top_k", "qid")
    scorer: ForestScorer
    n_jobs: int | None = None
    linear: LinearPart | None = None

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the rule of boosted trees."""
        check_linear_part(state)
        return cls(compiled_forest(state), state.get("n_jobs"), LinearPart.of(state))

    def predict(self, intake: Intake, X: Any, **options: Any) -> Floats:
        """Return scores."""
        return self.scores(intake.rows(X), **options)

    def scores(
        self,
        X: Matrix,
        n_trees: int | None = None,
        top_k: int | None = None,
        qid: ArrayLike | None = None,
    ) -> Floats:
        """Return scores by the first trees; of the best rows of each query, if they are enough."""
        threads = n_threads(self.n_jobs)
        if top_k is None:
            if qid is not None:
                raise ValueError("qid is for top_k: scores do not depend on the query.")
            return self._with_linear(self.scorer.scores(X, n_trees, threads=threads), X)
        check_count("top_k", top_k)
        top_k = min(top_k, X.shape[0])
        rows, groups = gather(check_qid(qid, X.shape[0]))
        if rows is not None:
            X = X[rows]
        added = None if self.linear is None else self.linear.scores(X)
        best = self.scorer.top(X, top_k, groups.indptr, n_trees, added, threads=threads)
        if rows is None:
            return best
        scores = np.empty(len(rows))
        scores[rows] = best
        return scores

    def staged(self, X: Matrix) -> Iterator[Floats]:
        """Yield the scores by the first tree, by the first two, and so on."""
        added = None if self.linear is None else self.linear.scores(X)
        for sums in self.scorer.staged(X):
            yield sums if added is None else sums + added

    def contributions(self, X: Matrix) -> tuple[Floats, float]:
        """Return what each feature adds to each score, by both parts, and what they start from."""
        by_trees, mean = self.scorer.contributions(X, threads=n_threads(self.n_jobs))
        if self.linear is None:
            return by_trees, mean
        by_weights, start = self.linear.contributions(X)
        return by_trees + by_weights, mean + start

    def _with_linear(self, sums: Floats, X: Matrix) -> Floats:
        return sums if self.linear is None else sums + self.linear.scores(X)


def check_linear_part(state: State) -> None:
    """Raise unless the linear part of a model that was read from a file can be one."""
    if "linear_coef_" not in state:
        for name in ("linear_intercept_", "linear_fill_", "linear_spread_"):
            if name in state:
                raise DataError(f"{name} is for models with linear_coef_.")
        return
    shape = (state["n_features_in_"],)
    check_floats(state, "linear_coef_", shape)
    check_floats(state, "linear_spread_", shape)
    if (state["linear_spread_"] < 0).any():
        raise DataError("linear_spread_ must be numbers >= 0.")
    if "linear_fill_" in state:
        check_floats(state, "linear_fill_", shape)
    intercept = state.get("linear_intercept_", 0.0)
    if type(intercept) is not float or not np.isfinite(intercept):
        raise DataError("linear_intercept_ must be a number.")
    if "arithmetic_" in state:
        check_arithmetic({**state, "coef_": state["linear_coef_"]})


def compiled_forest(state: State) -> ForestScorer:
    """Return the trees of a model; DataError unless its text is that of so many."""
    scorer = ForestScorer(Forest.from_text(state.get("model_text_"), state["n_features_in_"]))
    forest = scorer.forest
    n_trees = 0 if len(forest.leaf_value) == 1 and forest.leaf_value[0] == 0 else scorer.n_trees
    if state.get("n_iter_") not in (n_trees, scorer.n_trees):
        raise DataError(f"n_iter_ must be {scorer.n_trees}, the number of trees.")
    return scorer
