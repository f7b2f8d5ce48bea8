"""The kernel of coordinate descent, on an objective and in terms of scores."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp

from rankwright import _kernels
from rankwright.data.groups import Ints
from rankwright.data.validation import Floats, Matrix
from rankwright.losses.prepared import DescentSpec, WithDescent, shift_of
from rankwright.penalties import ElasticNet
from rankwright.solvers.objective import Objective

Step = Literal["newton", "range", "thesis"]


class Descent:
    """Moves of single weights; the kernel's scores are those of the loss less its shift."""

    def __init__(self, objective: Objective, step: Step) -> None:
        share = objective.whole
        assert isinstance(share.prepared, WithDescent)
        self.kernel = _kernel(share.prepared.descent_spec(objective.n_queries), share.X, step)
        shift = shift_of(share.prepared)
        self.shift: Floats | float = 0.0 if shift is None else shift

    def start(self, scores: Floats) -> None:
        """Take all sums afresh, at given scores."""
        self.kernel.start(scores - self.shift)

    def scores(self) -> Floats:
        """Return the scores after the moves: in float64, whatever the features are in."""
        return np.asarray(self.kernel.scores() + self.shift, dtype=np.float64)

    def sweep(self, features: Ints, penalty: ElasticNet, w: Floats) -> tuple[float, int]:
        """Move weights in ``w``, one after the other; return the violation found, and the moves."""
        return self.kernel.sweep(features, penalty.l1, penalty.l2, w)

    def slopes(self, features: Ints) -> Floats:
        """Return derivatives of the mean loss."""
        return self.kernel.slopes(features)

    def promises(self, penalty: ElasticNet, w: Floats) -> tuple[Floats, Floats]:
        """Return by how much each weight's own move lowers the objective at least; violations."""
        decrease, violation = np.empty(len(w)), np.empty(len(w))
        self.kernel.promises(np.arange(len(w)), penalty.l1, penalty.l2, w, decrease, violation)
        return decrease, violation


def _kernel(spec: DescentSpec, X: Matrix, step: Step) -> _kernels.Descent:
    if sp.issparse(X):
        columns = sp.csc_array(X)
        columns.sum_duplicates()  # and sorts the rows of each column
        return _kernels.sparse_descent(spec, columns.data, columns.indices, columns.indptr, step)
    # A column at a time: by columns in memory.
    return _kernels.dense_descent(spec, np.ascontiguousarray(X.T), step)
