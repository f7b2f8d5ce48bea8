"""Labels with an order: which they are, and how far a prediction is off."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright.data.groups import Ints
from rankwright.online.base import Given
from rankwright.score import mean_score
from rankwright.scoring.state import check_labels


class OrderedLabels:
    """Mixin of the learners that predict one of a set of ordered labels.

    Labels may be numbers, in whatever steps, which are ordered by themselves; texts, whose order is
    given by ``classes``, worst first; or ordered categories of pandas and polars, which have one.
    """

    classes: ArrayLike | None = None
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
        learner: Any = self
        predicted, labels = learner.predict(X), plain_labels(y, "y")
        if len(labels) != len(predicted):
            raise ValueError(
                f"y must have a label for each row of X, but has {len(labels)} for "
                f"{len(predicted)} rows."
            )
        if "U" in (self.classes_.dtype.kind, labels.dtype.kind):
            predicted, labels = self._ranks(predicted), self._ranks(labels)
        errors = np.abs(predicted.astype(np.float64) - labels.astype(np.float64))
        return -mean_score(errors, sample_weight)

    def _announced(self, given: Given) -> ArrayLike | None:
        """Return the labels that there will be: as told, or as categories that have an order."""
        announced = self.classes if given.classes is None else given.classes
        return ordered_categories(given.y) if announced is None else announced

    def _find_classes(self, y: ArrayLike, announced: ArrayLike | None) -> NDArray[Any]:
        """Return all labels, worst first."""
        if announced is not None:
            return _checked(announced)
        known = np.unique(plain_labels(y, "y"))
        if known.dtype.kind == "U":
            raise ValueError(
                f"texts as labels need classes, all of them, worst first, but there are none, and "
                f"{', '.join(map(repr, known[:3].tolist()))} have no order of their own."
            )
        return known

    def _ranks(self, y: ArrayLike) -> Ints:
        """Return the places of labels, from 0."""
        labels = plain_labels(y, "y")
        kinds = ["texts" if a.dtype.kind == "U" else "numbers" for a in (self.classes_, labels)]
        if kinds[0] != kinds[1]:
            raise ValueError(f"y must be {kinds[0]}, as the classes are, but is {kinds[1]}.")
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

    def _check_ordered(self) -> None:
        """Raise unless ``classes_``, read from a file, can be labels."""
        check_labels(vars(self))


def _checked(classes: ArrayLike) -> NDArray[Any]:
    given = plain_labels(classes, "classes")
    labels, counts = np.unique(given, return_counts=True)
    if counts.max(initial=0) != 1:
        found = "there are none"
        if len(given):
            found = f"{labels[counts.argmax()].item()!r} comes {counts.max()} times"
        raise ValueError(f"classes must be different labels, worst first, but {found}.")
    if given.dtype.kind in "iuf" and (np.diff(given) < 0).any():
        at = int(np.argmax(np.diff(given) < 0))
        raise ValueError(
            f"classes must be sorted if they are numbers, but {given[at + 1]} comes after "
            f"{given[at]}."
        )
    return given


def ordered_categories(y: Any) -> Any:
    """Return the categories of a vector, if they are in order: pandas' ordered, polars' Enum."""
    kind = getattr(y, "dtype", None)
    ordered = getattr(kind, "ordered", False) is True or type(kind).__name__ == "Enum"
    return np.asarray(kind.categories) if ordered else None  # type: ignore[union-attr]


def plain_labels(labels: ArrayLike, name: str) -> NDArray[Any]:
    """Return labels as numbers or texts."""
    array = np.asarray(labels)
    if array.dtype.kind == "b":
        array = array.astype(np.int64)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.dtype.kind == "O" and any(isinstance(label, str) for label in array.flat):
        array = array.astype(str)  # also of texts that look like numbers
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
