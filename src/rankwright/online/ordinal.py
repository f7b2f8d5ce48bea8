"""Online learners that predict one of a set of ordered labels, one document at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright.data.groups import Ints
from rankwright.data.validation import Floats, Matrix
from rankwright.estimator import finite_scores, mean_score
from rankwright.exceptions import DataError
from rankwright.inputs import check_features, check_rows
from rankwright.online.base import Given, LearnerOfClasses
from rankwright.online.kernel_form import KernelForm
from rankwright.online.means import Names, Variant, WeightForm


@dataclass(frozen=True)
class OrdinalData:
    """Documents and their ranks: places of their labels, from 0."""

    X: Matrix
    ranks: Ints
    groups: None = None  # a round is a row,
    order: None = None  # and rows stay where they are


class OrdinalLearner(KernelForm, WeightForm, LearnerOfClasses):
    """Base of the learners that predict one of a set of ordered labels.

    A round is a document, its loss the distance of the predicted from the true label, counted in
    labels. Labels may be numbers, which are ordered by themselves, or texts, whose order is given
    by ``classes``, worst first. ``qid`` is accepted, and not looked at.

    The weights of a learner, whatever they are, stand in one vector ``iterate_``; ``_publish``
    makes the attributes of it that users know.
    """

    _names: ClassVar[Names] = Names("iterate_", "iterate_sum_", always=True)
    classes: ArrayLike | None = None
    variant: Variant | None = None
    classes_: NDArray[Any]

    def score(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the negative mean absolute error, a weighted mean with weights of the rows.

        Of texts, errors are in labels.
        """
        predicted, labels = self.predict(X), np.asarray(y)
        if self.classes_.dtype.kind == "U":
            predicted, labels = self._ranks(predicted), self._ranks(labels)
        errors = np.abs(predicted.astype(np.float64) - labels.astype(np.float64))
        return -mean_score(errors, sample_weight)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels."""
        matrix = check_features(self, X)
        labels: NDArray[Any] = self.classes_[self._predict_ranks(matrix)]
        return labels

    def decision_function(self, X: Any) -> Floats:
        """Return what labels are decided by."""
        return self._scores(check_features(self, X))

    # ---- labels ----

    def _find_classes(self, y: ArrayLike, classes: ArrayLike | None) -> NDArray[Any]:
        if classes is None:
            return np.unique(_plain(y, "y"))
        given = _plain(classes, "classes")
        if len(np.unique(given)) != len(given) or len(given) == 0:
            raise ValueError(f"classes must be different labels, worst first, but are {given!r}.")
        if given.dtype.kind in "iuf" and (np.diff(given) < 0).any():
            raise ValueError(f"classes must be sorted if they are numbers, but are {given!r}.")
        return given

    def _ranks(self, y: ArrayLike) -> Ints:
        labels = _plain(y, "y")
        places = np.argsort(self.classes_)
        found = np.searchsorted(self.classes_, labels, sorter=places)
        ranks: Ints = places[np.minimum(found, len(places) - 1)].astype(np.int64)
        unknown = np.flatnonzero(self.classes_[ranks] != labels)
        if len(unknown):
            row = int(unknown[0])
            raise ValueError(
                f"every label must be one of the {len(self.classes_)} classes, but row {row} has "
                f"{labels[row].item()!r}. Pass classes with all labels, worst first."
            )
        return ranks

    def _check_data(self, given: Given) -> OrdinalData:
        matrix, labels = check_rows(self, given.X, given.y, reset=given.first)
        if given.first:
            announced = self.classes if given.classes is None else given.classes
            self.classes_ = self._find_classes(labels, announced)
        return OrdinalData(matrix, self._ranks(labels))

    def _n_rounds(self, data: Any) -> int:
        return len(data.ranks)

    # ---- weights ----

    def _mean(self) -> Variant:
        return "averaged" if self.variant_ == "averaged" else "last"

    def _scores(self, X: Matrix) -> Floats:
        """Return one number for each document, which is what most decide by."""
        if self.kernel is None:
            return finite_scores(self._linear_scores(X))
        return self._kernel_scores(X)[:, 0]

    def _linear_scores(self, X: Matrix) -> Any:
        return X @ self.coef_

    def _predict_ranks(self, X: Matrix) -> Ints:
        raise NotImplementedError

    def check_state(self) -> None:
        """Raise unless what was read from a file can be a fitted learner."""
        super().check_state()
        classes = getattr(self, "classes_", None)
        if (
            not isinstance(classes, np.ndarray)
            or classes.ndim != 1
            or len(classes) == 0
            or classes.dtype.kind not in "fiuU"
            or len(np.unique(classes)) != len(classes)
        ):
            raise DataError("classes_ must be different labels, worst first.")


def _plain(labels: ArrayLike, name: str) -> NDArray[Any]:
    """Return labels as numbers or texts."""
    array = np.asarray(labels)
    if array.dtype.kind == "b":
        array = array.astype(np.int64)
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            array = array.astype(str)
    if array.ndim != 1 or array.dtype.kind not in "iufU":
        raise ValueError(
            f"{name} must be a vector of numbers or texts, but has shape {array.shape} and type "
            f"{array.dtype}."
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"{name} must not contain NaN or infinity, but row {row} does.")
    return array
