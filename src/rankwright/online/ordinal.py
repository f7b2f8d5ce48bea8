"""Online learners that predict one of a set of ordered labels, one document at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from rankwright.data.groups import Ints
from rankwright.data.validation import Floats, Matrix
from rankwright.inputs import check_rows, scored
from rankwright.online.base import Given, LearnerOfClasses
from rankwright.online.kernel_bounds import KernelBounds
from rankwright.online.means import Names, Variant, WeightForm
from rankwright.online.ordered_labels import OrderedLabels


@dataclass(frozen=True)
class OrdinalData:
    """Documents and their ranks: places of their labels, from 0."""

    X: Matrix
    ranks: Ints
    groups: None = None  # a round is a row,
    order: None = None  # and rows stay where they are


class OrdinalLearner(OrderedLabels, KernelBounds, WeightForm, LearnerOfClasses):
    """Base of the learners that predict one of a set of ordered labels.

    A round is a document, its loss the distance of the predicted from the true label, counted in
    labels (:class:`~rankwright.online.ordered_labels.OrderedLabels`). ``qid`` is accepted, and not
    looked at.

    The weights of a learner, whatever they are, stand in one vector ``iterate_``; ``_publish``
    makes the attributes of it that users know.
    """

    _names: ClassVar[Names] = Names("iterate_", "iterate_sum_", always=True)
    variant: Variant | None = None

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels."""
        ranks = self._predict_ranks(X)  # first: it looks whether this is fitted
        labels: NDArray[Any] = self.classes_[ranks]
        return labels

    def decision_function(self, X: Any) -> Floats:
        """Return what labels are decided by."""
        return self._scores(X)

    def _check_data(self, given: Given) -> OrdinalData:
        matrix, labels = check_rows(self, given.X, given.y, reset=given.first)
        if given.first:
            self.classes_ = self._find_classes(labels, self._announced(given))
        return OrdinalData(matrix, self._ranks(labels))

    def _n_rounds(self, data: Any) -> int:
        return len(data.ranks)

    # ---- weights ----

    def _mean(self) -> Variant:
        return "averaged" if self.variant_ == "averaged" else "last"

    def _scores(self, X: Any) -> Floats:
        """Return one number for each document, which is what most decide by."""
        return scored(self, X)

    def _predict_ranks(self, X: Any) -> Ints:
        raise NotImplementedError

    def check_state(self) -> None:
        """Raise unless what was read from a file can be a fitted learner."""
        super().check_state()
        self._check_ordered()
