"""Predtron for sets of labels."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import type_of_target

from rankwright.data.validation import Floats
from rankwright.online.base import Given
from rankwright.online.parameters import parametrized
from rankwright.online.votes import Bools
from rankwright.predtron.label_matrix import PredtronOfLabels, dense
from rankwright.predtron.rounds import Mode
from rankwright.problems.multilabel import Multilabel
from rankwright.problems.native import Native
from rankwright.scoring.decisions import is_one_label, named_sets, predicted_codes
from rankwright.scoring.state import check_label_names
from rankwright.theory.links import NormName


@parametrized
class PredtronMultilabel(ClassifierMixin, PredtronOfLabels):
    r"""A classifier that predicts a set of labels for each row.

    .. math::
        \mathrm{pred}(x) = \{j : (W x)_j > 0\}

    Parameters
    ----------
    loss : {"hamming", "subset", "error_set"}, default "hamming"
        Labels that differ; whether any differs; pairs of a label that is missing and one that is
        too many. See :class:`~rankwright.problems.Multilabel`.
    mode : {"augmented", "predicted", "loss_driven"}, default "predicted"
        The update, see :class:`~rankwright.predtron.Predtron`. ``"augmented"`` with the Hamming
        loss also pushes labels that are right, but not by a margin.
    @norm
    @voting majority
    @rows

    Attributes
    ----------
    classes_ : ndarray
        The labels: the numbers of y's columns. If y is a vector, there is one label, and these are
        the two values of y, the first for rows without it.
    n_labels_ : int
        How many they are.
    @weights

    Examples
    --------
    >>> X = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> model = PredtronMultilabel(n_epochs=20).fit(X, [[1, 0], [0, 1], [1, 1]])
    >>> model.predict(X).tolist()
    [[1, 0], [0, 1], [1, 1]]
    """

    VOTES: ClassVar[bool] = True
    loss: str = "hamming"
    mode: Mode = "predicted"
    norm: NormName = "l2"
    _: KW_ONLY
    fit_intercept: bool = True

    def decision_function(self, X: Any) -> Floats:
        """Return the scores of the labels; a vector if y was one.

        Of votes, the share of those for a label less that of those against it.
        """
        scores = self._scores_or_majority(X)
        return scores[:, 0] if self._is_vector else scores

    @property
    def _is_vector(self) -> bool:
        return is_one_label(self.classes_, self.n_labels_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return which labels each row has, 1 or 0; for a vector y, its values."""
        # By votes too a label is there if its number is positive: a tie is none.
        scores = self._scores_or_majority(X)
        codes = predicted_codes(self._problem(), scores, self.n_labels_)
        return named_sets(codes, self.classes_, self.n_labels_)

    def _scores_or_majority(self, X: Any) -> Floats:
        if not self._votes:
            return self._decision(X)
        problem, n = self._problem(), self.n_labels_

        def ballots(scores: Floats, _: slice) -> Bools:
            return np.asarray(predicted_codes(problem, scores, n) > 0)

        votes = self._count_votes(X, ballots, n)
        return np.asarray((2 * votes - self.n_rounds_) / max(self.n_rounds_, 1))

    def score(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the share of rows whose labels are all right, by weight; ``qid`` is ignored."""
        return float(super().score(X, dense(y), sample_weight))

    def _columns(self, labels: NDArray[Any], given: Given) -> NDArray[Any]:
        if labels.ndim == 2:
            if given.first:
                self.classes_ = np.arange(labels.shape[1])
            return labels
        # How these messages begin is what scikit-learn's own checks look for.
        kind = type_of_target(labels, input_name="y")
        if kind not in ("binary", "multiclass"):
            raise ValueError(f"Unknown label type: {kind}. y must be a matrix of ones and zeros.")
        known = given.classes if given.first else self.classes_
        classes = np.unique(labels if known is None else np.asarray(known))
        if kind == "multiclass" or (known is not None and len(classes) != 2):
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass. "
                "For several labels pass a matrix, a column for each."
            )
        if len(classes) != 2:
            raise ValueError("y must have two values, but has one class.")
        if not np.isin(labels, classes).all():
            raise ValueError(f"y must hold the classes {classes.tolist()}.")
        texts = classes.dtype.kind == "O" and all(isinstance(label, str) for label in classes)
        self.classes_ = classes.astype(str) if texts else classes
        return np.asarray(labels == classes[1])[:, None]

    def _problem(self) -> Native:
        return Multilabel(self.n_labels_, self.loss)

    def _encode(self, labels: NDArray[Any]) -> Floats:
        wrong = ~np.isin(labels, (0, 1))
        if wrong.any():
            row, column = (int(i[0]) for i in np.nonzero(wrong))
            raise ValueError(
                f"y must hold 1 for labels that a row has and 0 for others, but row {row}, column "
                f"{column} is {labels[row, column]!r}."
            )
        return labels.astype(np.float64)

    def check_state(self) -> None:
        """Raise unless what was read from a file can be a fitted learner."""
        super().check_state()
        check_label_names(vars(self), self.n_labels_)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that labels are there or not."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        return tags
