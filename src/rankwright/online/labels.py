"""Online learners that predict one of a set of ordered labels, one document at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright import _kernels
from rankwright.data.groups import Ints
from rankwright.data.validation import Floats, Matrix
from rankwright.estimator import check_features, check_fitted_array, check_rows
from rankwright.exceptions import DataError
from rankwright.online.base import OnlineLearner
from rankwright.online.dual import BLOCK, Expansion, KernelForm
from rankwright.online.linear import Variant


@dataclass(frozen=True)
class LabelData:
    """Documents and their ranks: places of their labels, from 0."""

    X: Matrix
    ranks: Ints
    order: None = None  # rows stay where they are


class OnlineLabeler(KernelForm, OnlineLearner):
    """Base of the learners that predict labels.

    A round is a document, its loss the distance of the predicted from the true label, counted in
    labels. Labels may be numbers, which are ordered by themselves, or texts, whose order is given
    by ``classes``, worst first. ``qid`` is accepted, and not looked at.

    The weights of a learner, whatever they are, stand in one vector ``iterate_`` (and
    ``iterate_sum_`` for their mean); ``_publish`` makes the attributes of it that users know.
    """

    classes: ArrayLike | None = None
    variant: Variant = "last"

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Continue learning, in one pass over these data in their order.

        Parameters
        ----------
        X, y, qid
            As for :meth:`fit`.
        classes : array-like, optional
            All labels, worst first; looked at in the first call. By default the parameter
            ``classes``, or the labels of the first call.
        """
        self._given_classes = classes
        try:
            self.partial_fit_rounds(X, y, qid)
        finally:
            del self._given_classes
        return self

    def score(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> float:
        """Return the negative mean absolute error; of texts, in labels."""
        predicted, labels = self.predict(X), np.asarray(y)
        if self.classes_.dtype.kind == "U":
            predicted, labels = self._ranks(predicted), self._ranks(labels)
        return -float(np.mean(np.abs(predicted.astype(np.float64) - labels.astype(np.float64))))

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

    def _check_data(self, X: Any, y: ArrayLike, qid: ArrayLike | None, first: bool) -> LabelData:
        matrix, labels = check_rows(self, X, y, reset=first)
        if first:
            given = getattr(self, "_given_classes", None)
            self.classes_ = self._find_classes(labels, self.classes if given is None else given)
        return LabelData(matrix, self._ranks(labels))

    def _n_rounds(self, data: Any) -> int:
        return len(data.ranks)

    # ---- weights ----

    def _begin_weights(self, n: int) -> None:
        self.iterate_, self.since_ = np.zeros(n), 0
        self.iterate_sum_ = np.zeros(n if self.variant == "averaged" else 0)

    @contextmanager
    def _iterate(self) -> Iterator[_kernels.Iterate]:
        """Yield the weights for a native kernel; then publish them."""
        mean = "averaged" if self.variant == "averaged" else "last"
        iterate = _kernels.Iterate(
            self.iterate_, self.iterate_sum_, mean, self.n_rounds_, self.since_
        )
        yield iterate
        self.since_ = iterate.since
        mean_weights = self.iterate_.copy()
        if mean == "averaged":
            mean_weights -= self.iterate_sum_ / max(iterate.round, 1)
        self._publish(mean_weights)

    def _publish(self, weights: Floats) -> None:
        raise NotImplementedError

    def _scores(self, X: Matrix) -> Floats:
        raise NotImplementedError

    def _predict_ranks(self, X: Matrix) -> Ints:
        raise NotImplementedError

    def _dual_rounds(self, data: LabelData, order: Ints, expansion: Expansion) -> Iterator[Any]:
        """Yield, document by document, its round, place in the block, rank and scores."""
        t = self.n_rounds_
        for begin in range(0, len(order), BLOCK):
            rows = order[begin : begin + BLOCK]
            expansion.open(data.X, rows, data.order)
            for place, row in enumerate(rows.tolist()):
                t += 1
                yield t, place, int(data.ranks[row]), expansion.scores[place]

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

    def _check_weights(self, n: int) -> None:
        """Raise unless the weights, read from a file, have this size."""
        check_fitted_array(self, "iterate_", (n,))
        check_fitted_array(self, "iterate_sum_", (n if self.variant == "averaged" else 0,))
        since = getattr(self, "since_", None)
        if type(since) is not int or not 0 <= since <= self.n_rounds_:
            raise DataError("since_ must be one of the rounds so far.")


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
