r"""The form between models and engines: what a model computes, and nothing of how it was made.

A score is a sum of trees, a weighted sum of features, or both; labels are decided by thresholds or
by the largest of several scores. Every writer starts from here, so that what LightGBM means by its
text is settled once (see :mod:`rankwright.trees.forest`):

- a document goes left iff :math:`x \le \mathrm{cut}(t)`, compared as numbers of its own type;
- where a missing value goes is said of every split: as 0 does, where training met none;
- zeros that are missing (``zero_as_missing``) are taken where they go where 0 would go anyway;
- an infinite threshold sends all numbers left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankwright.data.groups import Ints
from rankwright.data.validation import Floats
from rankwright.exports.refusals import Refusal
from rankwright.scoring.rules import (
    OrdinalClassRule,
    RoundingRule,
    ScoreRule,
    ScoringRule,
    ThresholdRule,
)
from rankwright.scoring.scorer import Scorer
from rankwright.scoring.sums import KernelSum, Sums, WeightedSum
from rankwright.trees.forest import (
    IN_SET,
    NAN_IS_ZERO,
    NAN_LEFT,
    ZERO_LEFT,
    ZERO_RIGHT,
    Forest,
    cut,
)
from rankwright.trees.rule import TreeRule

T = TypeVar("T")
NUMBERS: dict[str, Any] = {"float32": np.float32, "float64": np.float64}
"""The types that engines read features as."""


@dataclass(frozen=True, eq=False)
class Trees:
    """A sum of trees: one leaf of each.

    Nodes and leaves stand as in :class:`rankwright.trees.forest.Forest`, from which this is.

    Attributes
    ----------
    forest : Forest
        Where nodes and leaves are, and what training told of them.
    cuts : dict
        For each type of :data:`NUMBERS`, the largest number that goes left at each split.
    nan_left : ndarray of bool
        Where a missing value goes at each split.
    leaf : ndarray of shape (n_leaves,)
        What each leaf adds.
    shift : float, default 0.0
        What is added to every score.
    """

    forest: Forest
    cuts: dict[str, NDArray[Any]]
    nan_left: NDArray[np.bool_]
    leaf: Floats
    shift: float = 0.0

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return self.forest.n_trees

    @property
    def nan_is_zero(self) -> NDArray[np.bool_]:
        """Whether a missing value goes where 0 goes, at each split."""
        return np.asarray(self.nan_left == (self.cuts["float64"] >= 0))

    def borders(self) -> Floats:
        """Return the float32 after each cut, for engines in which what is below goes left.

        For infinity it is 1e39, which they read as one: JSON has none.
        """
        with np.errstate(over="ignore"):
            after = np.nextafter(self.cuts["float32"], np.float32(np.inf))
        return np.asarray(np.minimum(after.astype(np.float64), 1e39))

    def largest(self) -> Floats:
        """Return the largest leaf of each tree, by size."""
        return np.maximum.reduceat(np.abs(self.leaf), self.forest.leaf_begin[:-1])

    def smallest(self) -> Floats:
        """Return the smallest leaf of each tree."""
        return np.minimum.reduceat(self.leaf, self.forest.leaf_begin[:-1])

    def nodes(self, tree: int) -> range:
        """Return the nodes of a tree, the root first; none, if it is one leaf."""
        begin = self.forest.node_begin
        return range(int(begin[tree]), int(begin[tree + 1]))

    def folded(self, tree: int, leaf: Callable[[int], T], node: Callable[[int, T, T], T]) -> T:
        """Return what is made of a tree from its leaves up to its root.

        ``leaf`` is told the leaf, ``node`` the node and what was made of its children: counted
        through all trees. Trees may be chains of any depth, hence no function calls itself.
        """
        forest = self.forest
        begin, first = int(forest.node_begin[tree]), int(forest.leaf_begin[tree])
        made: dict[int, T] = {}

        def of(child: int) -> T:
            return made.pop(begin + child) if child >= 0 else leaf(first + ~child)

        for i in reversed(self.nodes(tree)):  # children are later than their parents
            made[i] = node(i, of(int(forest.left[i])), of(int(forest.right[i])))
        return of(0 if made else ~0)

    def depths(self) -> Ints:
        """Return how many nodes are above each node."""
        forest, found = self.forest, np.zeros(len(self.nan_left), dtype=np.int64)
        for k in range(self.n_trees):
            for i in self.nodes(k):
                for child in (int(forest.left[i]), int(forest.right[i])):
                    if child >= 0:
                        found[forest.node_begin[k] + child] = found[i] + 1
        return found


@dataclass(frozen=True, eq=False)
class Linear:
    """Weighted sums of features.

    Attributes
    ----------
    weights : ndarray of shape (n_scores, n_features)
        One score, unless the largest of several decides.
    bias : ndarray of shape (n_scores,)
        What is added in the end.
    fill : ndarray of shape (n_features,), optional
        What stands for a missing value; None if there must be none.
    """

    weights: Floats
    bias: Floats
    fill: Floats | None = None


@dataclass(frozen=True, eq=False)
class Labels:
    """What scores decide.

    Attributes
    ----------
    classes : tuple
        The labels, worst first.
    thresholds : ndarray, optional
        The label is the number of thresholds that the score has reached; without any, that of the
        largest score, of equal ones the first.
    """

    classes: tuple[Any, ...]
    thresholds: Floats | None = None

    def of(self, scores: Floats) -> Ints:
        """Return the places of the labels."""
        if self.thresholds is None:
            return np.asarray(scores.argmax(axis=1), dtype=np.int64)
        return self.thresholds.searchsorted(scores, "right").astype(np.int64)


@dataclass(frozen=True, eq=False)
class Rules:
    """What a model computes.

    Attributes
    ----------
    kind : str
        The class of the model.
    names : tuple of str
        What the engine calls the features.
    trees : Trees, optional
        The sum of trees.
    linear : Linear, optional
        The weighted sums.
    labels : Labels, optional
        What the scores decide; None if they are what is wanted.
    """

    kind: str
    names: tuple[str, ...]
    trees: Trees | None = None
    linear: Linear | None = None
    labels: Labels | None = None

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return len(self.names)

    def used(self) -> list[int]:
        """Return the features that scores depend on, by their places."""
        used = np.zeros(self.n_features, dtype=bool)
        if self.trees is not None:
            used[self.trees.forest.feature] = True
        if self.linear is not None:
            used |= self.linear.weights.any(axis=0)
        return [int(j) for j in np.flatnonzero(used)]

    def named(self, names: tuple[str, ...]) -> Rules:
        """Return the same with other names of the features."""
        return replace(self, names=names)


def own_names(model: Any) -> list[str]:
    """Return the names of the features of a fitted model: ``f1``, ``f2``, ... if it has none."""
    fitted = vars(model)
    names = fitted.get("feature_names_in_")
    if names is None:
        return [f"f{j + 1}" for j in range(fitted["n_features_in_"])]
    return [str(name) for name in names]


def rules_of(model: Any) -> Rules:
    """Return what a fitted model of the library computes; a Refusal if no engine could.

    Features without names are ``f1``, ``f2``, ... as in LETOR files.
    """
    scorer, names = Scorer.from_model(model), own_names(model)
    rule, fill = scorer.rule, scorer.intake.fill
    if isinstance(rule, TreeRule):
        return _of_tree_rule(rule, scorer.kind, tuple(names))
    return Rules(
        scorer.kind, tuple(names), linear=_linear(rule, scorer.kind, fill), labels=_labels(rule)
    )


def _of_tree_rule(rule: TreeRule, kind: str, names: tuple[str, ...]) -> Rules:
    """Return trees, and the linear part that is added to them, if there is one."""
    forest, part = rule.scorer.forest, rule.linear
    if part is None:
        return Rules(kind, names, trees=plain_trees(forest))
    linear = _weighted(part.sums, kind, part.fill)
    # Boosting may keep no tree at all: then it is a linear model, which more engines hold.
    nothing = len(forest.leaf_value) == 1 and forest.leaf_value[0] == 0
    return Rules(kind, names, trees=None if nothing else plain_trees(forest), linear=linear)


def plain_trees(forest: Forest) -> Trees:
    """Return a forest as all engines could have it; a Refusal for what none has."""
    if (forest.missing == IN_SET).any():
        raise Refusal(
            "categories",
            "splits by categories cannot be exported",
            "train on numbers, for example one column of 0 and 1 for each category",
        )
    zero_left = forest.threshold >= 0
    zero_is_missing = np.isin(forest.missing, (ZERO_LEFT, ZERO_RIGHT))
    away = zero_is_missing & ((forest.missing == ZERO_LEFT) != zero_left)
    if away.any():
        raise Refusal(
            "zero_as_missing",
            f"{np.count_nonzero(away)} of {len(away)} splits send 0 to the other side than the "
            "numbers around it, as zero_as_missing allows, which no engine can",
            "train without zero_as_missing",
        )
    nan_left = np.isin(forest.missing, (NAN_LEFT, ZERO_LEFT))
    cuts = {name: cut(forest.threshold, dtype) for name, dtype in NUMBERS.items()}
    return Trees(
        forest,
        cuts,
        np.where(forest.missing == NAN_IS_ZERO, zero_left, nan_left),
        forest.leaf_value,
    )


def _linear(rule: ScoringRule, kind: str, fill: Floats | None) -> Linear:
    if not isinstance(rule, ScoreRule | ThresholdRule | RoundingRule | OrdinalClassRule):
        raise Refusal(
            "model",
            f"{kind} predicts what no engine has: neither a score nor an ordered label",
            "export a ranker, PRank, WidrowHoff or PredtronOrdinal",
        )
    return _weighted(rule.sums, kind, fill)


def _weighted(sums: Sums, kind: str, fill: Floats | None) -> Linear:
    """Return weighted sums as all engines could have them; a Refusal for what none has."""
    if isinstance(sums, KernelSum):
        raise Refusal(
            "kernel",
            f"{kind} with a kernel compares documents with its support, which no engine can",
            "train it without a kernel",
        )
    if not isinstance(sums, WeightedSum):
        raise Refusal(
            "grid",
            f"this {kind} adds as an engine does: it was written beside an export",
            "export the model that it was made of",
        )
    weights = np.atleast_2d(sums.coef)
    bias = np.zeros(len(weights)) if sums.intercept is None else np.atleast_1d(sums.intercept)
    return Linear(weights, bias.astype(np.float64), fill)


def _labels(rule: ScoringRule) -> Labels | None:
    if isinstance(rule, ThresholdRule):
        return Labels(tuple(rule.classes.tolist()), rule.thresholds)
    if isinstance(rule, RoundingRule):
        return Labels(tuple(rule.classes.tolist()), _half_way(len(rule.classes)))
    if isinstance(rule, OrdinalClassRule):
        # Two classes have one score, and the second is for what is above 0.
        above = np.array([np.nextafter(0.0, 1.0)]) if len(rule.classes) == 2 else None
        return Labels(tuple(rule.classes.tolist()), above)
    return None


def _half_way(n_ranks: int) -> Floats:
    """Return the smallest scores that are rounded to ranks 2, 3, ..., of ranks from 1 on."""
    found = []
    for rank in range(2, n_ranks + 1):
        least = rank - 0.5
        while np.nextafter(least, -np.inf) + 0.5 >= rank:
            least = float(np.nextafter(least, -np.inf))
        found.append(least)
    return np.array(found)


Leaves = Literal["own", "grid", "nearest"]
