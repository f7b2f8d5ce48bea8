"""What Predtron's learners of rows with several labels share."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwright.data.sparse import as_csr
from rankwright.data.validation import Floats
from rankwright.inputs import check_rows
from rankwright.online.base import Given, LearnerOfClasses
from rankwright.predtron.learner import PredtronLearner
from rankwright.predtron.rounds import PredtronData
from rankwright.scoring.state import check_n_labels


class PredtronOfLabels(PredtronLearner, LearnerOfClasses):
    """Base of the learners whose labels are a matrix, a column for each label."""

    TAGS: ClassVar[dict[str, bool]] = {"target_tags.multi_output": True}
    n_labels_: int

    def decision_function(self, X: Any) -> Floats:
        """Return the scores of the labels."""
        return self._decision(X)

    def _n_scores(self, data: PredtronData) -> int:
        return self.n_labels_

    def _n_fitted_scores(self) -> int:
        return self.n_labels_

    def _check_data(self, given: Given) -> PredtronData:
        y, classes = given.y, given.classes
        if classes is not None and np.ndim(y) == 2 and len(np.asarray(classes)) != np.shape(y)[1]:
            raise ValueError("classes must name the columns of y.")
        matrix, found = check_rows(self, given.X, dense(y), reset=given.first, multi_output=True)
        labels = self._columns(np.asarray(found), given)
        if given.first:
            self.n_labels_ = int(labels.shape[1])
        if labels.shape[1] != self.n_labels_:
            raise ValueError(
                f"y must have {self.n_labels_} columns, one for each label, but has "
                f"{labels.shape[1]}."
            )
        return PredtronData(matrix, np.ascontiguousarray(self._encode(labels)), None)

    def _columns(self, labels: NDArray[Any], given: Given) -> NDArray[Any]:
        """Return labels as a matrix; raise if they cannot be one."""
        raise NotImplementedError

    def _encode(self, labels: NDArray[Any]) -> Floats:
        """Return labels as the problem's kernel reads them."""
        raise NotImplementedError

    def check_state(self) -> None:
        """Raise unless what was read from a file can be a fitted learner."""
        check_n_labels(vars(self))
        self._check_problem()
        super().check_state()


def dense(y: Any) -> Any:
    """Return labels as an array, if they are a sparse matrix."""
    return as_csr(y, "y").toarray() if sp.issparse(y) else y
