r"""Rankers as sums: one weighted sum of features and one forest.

.. math:: s(x) = w \cdot \tilde x + b + \sum_t T_t(x)

Multiples and sums of such scores are such scores again: weights are added, trees stand one behind
the other. Where the terms put different numbers :math:`f_k` in the place of a missing value, their
sum has :math:`\sum_k w_k f_k / \sum_k w_k`, which adds what they add together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwright.data.validation import Floats, Matrix
from rankwright.scoring.rules import ScoreRule
from rankwright.scoring.scorer import Scorer
from rankwright.scoring.sums import WeightedSum
from rankwright.showing import Brief
from rankwright.trees import model_text
from rankwright.trees.forest import Forest, ForestScorer
from rankwright.trees.rule import LinearPart, TreeRule


@dataclass(frozen=True, eq=False, repr=False)
class Additive(Brief):
    """A weighted sum of features, and trees.

    Attributes
    ----------
    n_features : int
        How many features there are.
    coef : ndarray of shape (n_features,), optional
        Weights of the linear part; None if there is none.
    intercept : float
        What is added to every score.
    fill : ndarray of shape (n_features,), optional
        What stands for a missing value in the linear part.
    text : str
        The trees, in LightGBM's text form; a single leaf of 0 if there are none.
    """

    n_features: int
    coef: Floats | None = None
    intercept: float = 0.0
    fill: Floats | None = None
    text: str = ""

    def __post_init__(self) -> None:
        if not self.text:
            object.__setattr__(self, "text", model_text.one_leaf(self.n_features))

    @classmethod
    def of(cls, model: Any) -> Additive:
        """Return what a fitted ranker of the library computes; TypeError if it is no such sum."""
        scorer = Scorer.from_model(model)
        rule, n = scorer.rule, scorer.n_features
        if isinstance(rule, TreeRule):
            part = rule.linear
            if part is None:
                return cls(n, text=model.model_text_)
            assert isinstance(part.sums, WeightedSum)
            coef, intercept = part.sums.coef, part.sums.intercept
            return cls(n, coef, float(intercept or 0), part.fill, model.model_text_)
        sums = rule.sums if isinstance(rule, ScoreRule) else None
        if not isinstance(sums, WeightedSum):
            raise TypeError(
                f"a ranker must be a weighted sum of features or of trees here, but {scorer.kind} "
                "is none: take a linear one, without a kernel, or BoostedRanker."
            )
        intercept = float(np.sum(sums.intercept or 0.0))
        return cls(n, sums.coef.reshape(-1), intercept, scorer.intake.fill)

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        forest = Forest.from_text(self.text, self.n_features)
        nothing = len(forest.leaf_value) == 1 and forest.leaf_value[0] == 0
        return 0 if nothing else forest.n_trees

    def scaled(self, factor: float) -> Additive:
        """Return the scores multiplied by a number."""
        return summed([(self, factor)])

    def scores(self, X: Matrix, n_jobs: int | None = None) -> Floats:
        """Return the score of each row."""
        scorer = ForestScorer(Forest.from_text(self.text, self.n_features))
        linear = LinearPart.of({**self.linear_state(), "n_jobs": n_jobs})
        return TreeRule(scorer, n_jobs, linear).scores(X)

    def linear_state(self) -> dict[str, Any]:
        """Return the fitted attributes of a model with this linear part, if there is one."""
        if self.coef is None:
            return {}
        found = {"linear_coef_": self.coef, "linear_intercept_": self.intercept}
        return found if self.fill is None else {**found, "linear_fill_": self.fill}


def summed(terms: Sequence[tuple[Additive, float]]) -> Additive:
    """Return the sum of some scores, each multiplied by a number."""
    n_features = terms[0][0].n_features
    linear = [term for term, _ in terms if term.coef is not None]
    text = model_text.joined_texts([(term.text, factor) for term, factor in terms])
    if not linear:
        return Additive(n_features, text=text)
    weights = np.array([f * term.coef for term, f in terms if term.coef is not None])
    intercept = float(sum(f * term.intercept for term, f in terms))
    coef = np.asarray(weights.sum(axis=0))
    return Additive(n_features, coef, intercept, _common_fill(linear, weights), text)


def _common_fill(terms: list[Additive], weights: Floats) -> Floats | None:
    """Return what adds for a missing value what all terms add for it together."""
    if any(term.fill is None for term in terms):
        return None
    fills = np.array([term.fill for term in terms])
    if (fills == fills[0]).all():
        return np.asarray(fills[0])
    total, added = weights.sum(axis=0), (weights * fills).sum(axis=0)
    lost = (total == 0) & (added != 0)
    if lost.any():
        raise ValueError(
            f"feature {int(np.argmax(lost)) + 1} has weights whose sum is 0, and different numbers "
            "in the place of missing values: fit the rankers to the same data."
        )
    return np.asarray(np.divide(added, total, out=fills[0].copy(), where=total != 0))
