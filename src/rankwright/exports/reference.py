"""The model that an engine has, as a model of the library: what the engine must say.

Of trees it is a :class:`rankwright.trees.BoostedRanker` with the exported leaves and thresholds; of
a linear model the model itself, with the engine's arithmetic.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from rankwright.data.validation import Floats
from rankwright.exports.lightgbm_text import lightgbm_text
from rankwright.exports.rules import Rules
from rankwright.exports.targets.target import Rows, Target, Verdicts
from rankwright.scoring.rules import (
    OrdinalClassRule,
    RoundingRule,
    ScoreRule,
    ScoringRule,
    ThresholdRule,
)
from rankwright.scoring.scorer import Scorer
from rankwright.trees.rule import TreeRule


def grid_model(model: Any, rules: Rules, target: Target) -> Any:
    """Return the model whose predictions are the engine's, bit for bit."""
    grid = copy.deepcopy(model)
    if rules.trees is not None:
        if target.leaves == "own" and rules.trees.leaf is rules.trees.forest.leaf_value:
            return grid
        grid.model_text_ = lightgbm_text(rules.trees, target.number)
        grid.n_iter_ = rules.trees.n_trees + (rules.trees.shift != 0)
    elif target.arithmetic != "lanes":
        grid.arithmetic_ = target.arithmetic
    return grid


class Reference:
    """Scores and labels by the library."""

    def __init__(self, model: Any, rules: Rules) -> None:
        self.scorer, self.labels = Scorer.from_model(model), rules.labels

    def __call__(self, X: Rows) -> Verdicts:
        """Return what the model says of rows."""
        scores = _scores_by_rule(self.scorer, X)
        if self.labels is None:
            return Verdicts(scores)
        # What is predicted, not what the form in between makes of scores: that is in question.
        labels, inverse = np.unique(self.scorer.predict(X), return_inverse=True)
        places = [self.labels.classes.index(label) for label in labels.tolist()]
        return Verdicts(scores, np.array(places, dtype=np.int64)[inverse])


def _scores_by_rule(scorer: Scorer, X: Rows) -> Floats:
    rule: ScoringRule = scorer.rule
    if isinstance(rule, TreeRule):
        return rule.predict(scorer.intake, X)
    assert isinstance(rule, ScoreRule | ThresholdRule | RoundingRule | OrdinalClassRule)
    scores = rule.sums.scores_of(scorer.intake, X)
    return scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 1 else np.asarray(scores)
