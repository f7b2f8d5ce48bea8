"""What a forest of scores can do, however it was grown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from rankwright.data.dataset import Dataset, check_is_dataset
from rankwright.data.missing import filled
from rankwright.data.parts import Parts
from rankwright.data.validation import Floats, Matrix
from rankwright.estimator import Ranker
from rankwright.inputs import WeightColumn, check_features, check_part_weights, check_parts
from rankwright.scaling import Moments, measured
from rankwright.trees import model_text
from rankwright.trees.additive import Additive
from rankwright.trees.engine import read_booster
from rankwright.trees.forest import Forest, ForestScorer
from rankwright.trees.rule import LinearPart, TreeRule, check_linear_part, compiled_forest

if TYPE_CHECKING:
    from lightgbm import Booster


class ForestRanker(Ranker):
    """Base of rankers whose scores are sums over trees, kept as LightGBM's text.

    Attributes
    ----------
    model_text_ : str
        The trees.
    n_iter_ : int
        How many there are.
    """

    TAGS: ClassVar[dict[str, bool]] = {"input_tags.allow_nan": True}
    n_jobs: int | None
    model_text_: str
    linear_spread_: Floats

    def predict(
        self,
        X: Any,
        *,
        n_trees: int | None = None,
        top_k: int | None = None,
        qid: ArrayLike | None = None,
    ) -> Floats:
        """Return scores; a larger one ranks higher.

        Sums over trees are LightGBM's own, bit for bit. All bits are the same whatever the number
        of threads and the documents that are scored with a document.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_docs, n_features)
            Documents; NaN is a missing value.
        n_trees : int, optional
            Use the first trees only.
        top_k : int, optional
            Score the best documents only: so many of them have the scores that they have without
            it, of equal ones the first rows, and all others ``-inf``. A document is left as soon as
            the trees to come cannot lift it among the best.
        qid : array-like of shape (n_docs,), optional
            Queries, each with its own ``top_k`` best; None is one query.
        """
        rule, matrix = self._rule(), self._features(X)
        return rule.scores(matrix, n_trees, top_k, qid)

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Yield the scores by the first tree, by the first two, and so on."""
        return self._rule().staged(self._features(X))

    def contributions(self, X: Any) -> tuple[Floats, float]:
        r"""Return what each feature adds to each score (SHAP values), and what they start from.

        A row sums to its score minus the second value, the mean score of the training documents.
        Who knows the features :math:`S` of a document alone follows it where a tree asks for one of
        them, and elsewhere takes both ways, weighted by the training documents that took them; with
        :math:`v(S)` the score so expected, and :math:`n` features,

        .. math::
            c_j = \sum_{S \not\ni j} \frac{|S|!\,(n - 1 - |S|)!}{n!}
            \bigl(v(S \cup \{j\}) - v(S)\bigr).

        They are LightGBM's ``pred_contrib`` up to rounding, the same bits whatever the number of
        threads and the documents that are explained with a document.
        """
        return self._rule().contributions(self._features(X))

    def importance(self, kind: str | None = None) -> Floats:
        """Return the importance of each feature.

        Parameters
        ----------
        kind : {"gain", "split", "deviation"}, optional
            By how much its splits lowered the loss, as LightGBM reckons it, how many there are, or
            by how much the feature moves scores: :math:`|w_j|` times its standard deviation in the
            linear part, and what :meth:`rankwright.trees.forest.Forest.deviations` says of the
            trees. The first two see the trees alone; by default ``"gain"``, and ``"deviation"``
            for models with a linear part. For the share of NDCG that hangs on a feature see
            :func:`rankwright.evaluation.permutation_importance`.
        """
        check_is_fitted(self)
        linear = vars(self).get("linear_coef_")
        if kind is None:
            kind = "gain" if linear is None else "deviation"
        if kind not in ("gain", "split", "deviation"):
            raise ValueError(f"kind must be 'gain', 'split' or 'deviation', but is {kind!r}.")
        forest = self._scorer().forest
        if kind != "deviation":
            return forest.importance(kind)
        by_trees = forest.deviations()
        return by_trees if linear is None else by_trees + np.abs(linear) * self.linear_spread_

    @property
    def feature_importances_(self) -> Floats:
        """Importance of each feature: by gain, or by deviation if there is a linear part."""
        return self.importance()

    @property
    def booster_(self) -> Booster:
        """The trees as LightGBM's Booster, with the names of the features and their categories.

        For SHAP, LightGBM's plots and whatever else takes one; made anew each time. LightGBM allows
        neither spaces nor any of ``"[]{},:`` in a name: they become ``_``, with a warning. It
        holds trees alone: a model with a linear part is more than its trees, and has none.
        """
        check_is_fitted(self)
        if "linear_coef_" in vars(self):
            raise AttributeError(
                "booster_ would lack the linear part of this model. Its trees alone are "
                "model_text_; rankwright.distill makes a model of trees alone."
            )
        return read_booster(model_text.named(self.model_text_, self.features()))[0]

    def keep_additive(self, found: Additive, X: Matrix | Parts) -> None:
        """Keep a sum of both parts as what is fitted to documents X."""
        for name in ("linear_coef_", "linear_intercept_", "linear_fill_", "linear_spread_"):
            self.__dict__.pop(name, None)
        if found.coef is not None:
            self.__dict__.update(found.linear_state())
            spread = _moments_of(X, found.fill).deviations()
            # Few digits, which do not depend on the order in which rows are added up.
            self.linear_spread_ = spread.astype(np.float32).astype(np.float64)
        self.model_text_, self.n_iter_ = found.text, found.n_trees

    def checked_valid(self, valid: Dataset | None) -> Dataset | None:
        """Return validation queries with the features of the training data."""
        if valid is None:
            return None
        check_is_dataset(valid)
        return valid.aligned(replace(self.features(), owner="X"), "valid")

    def checked_parts(
        self,
        parts: Parts,
        valid: Parts | None,
        weights: tuple[WeightColumn | None, WeightColumn | None],
        machines: int | None,
    ) -> Parts:
        """Return parts to learn from; what cannot be learned from them is refused."""
        self.check_params()
        self.check_takes_parts(parts, machines)
        self.check_watched(valid)
        check_part_weights(parts, *weights)
        return check_parts(self, parts, allow_nan=True)

    def _rule(self) -> TreeRule:
        return TreeRule(self._scorer(), self.n_jobs, LinearPart.of(vars(self)))

    def _features(self, X: Any) -> Matrix:
        return check_features(self, X, allow_nan=True)

    def _scorer(self) -> ForestScorer:
        check_is_fitted(self)
        text = self.model_text_
        compiled: tuple[str, ForestScorer] | None = vars(self).get("_compiled")
        if compiled is None or compiled[0] is not text:  # nothing else tells of a replaced text
            compiled = text, ForestScorer(Forest.from_text(text, self.n_features_in_))
            self._compiled = compiled
        return compiled[1]

    def __getstate__(self) -> dict[str, Any]:
        """Return what pickles and copies hold: the trees as text."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_compiled"}

    def check_state(self) -> None:
        """Raise unless a model that was read from a file can be one."""
        super().check_state()
        check_linear_part(vars(self))
        scorer = compiled_forest(vars(self))  # it tells if there is no text
        self._compiled = self.model_text_, scorer

    def __sklearn_is_fitted__(self) -> bool:
        """Say whether there are trees; a fit that was interrupted early leaves none."""
        return hasattr(self, "model_text_")


def _moments_of(X: Matrix | Parts, fill: Floats | None) -> Moments:
    """Return the moments of features with what stands for their missing values."""
    if isinstance(X, Parts):
        return reduce(Moments.joined, X.map(_moments_of_part, fill))
    return measured(X if fill is None else filled(X, fill))


def _moments_of_part(part: Dataset, fill: Floats | None) -> Moments:
    return _moments_of(part.X, fill)
