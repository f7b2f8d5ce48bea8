"""Sets of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright import _kernels
from rankwright.data.validation import Floats
from rankwright.problems.native import Codes, Native

LOSSES = ("hamming", "subset", "error_set")


class Multilabel(Native):
    r"""Subsets of m labels.

    .. math::
        \mathrm{rep}(\sigma) = \frac{1}{\sqrt m}
        \Bigl(\sum_{j \in \sigma} e_j - \sum_{j \notin \sigma} e_j\Bigr), \qquad
        \mathrm{pred}(t) = \{j : t_j > 0\}

    Losses, with their surrogates where these are closed forms (:math:`y_j = \pm 1`):

    - ``"hamming"``: :math:`|\sigma \triangle y|`, and
      :math:`\sum_j \max(0, 1 - 2 y_j t_j/\sqrt m)`,
    - ``"subset"``: :math:`[\sigma \ne y]`,
    - ``"error_set"``: pairs of a label of y that is missing and one not of y that is predicted,
      :math:`|y \setminus \sigma|\,|\sigma \setminus y|`.

    Every argmax is O(m), or O(m log m) for ``"error_set"``. A warning about that loss: it is 0 for
    subsets and for supersets of y, so that no scores are compatible with it in the sense that
    Theorem 1 needs.

    Parameters
    ----------
    n_labels : int
        m.
    loss : {"hamming", "subset", "error_set"}, default "hamming"
        The loss.

    Examples
    --------
    >>> problem = Multilabel(3)
    >>> problem.predict([0.5, -1.0, 2.0]).tolist()
    [1, 0, 1]
    >>> problem.loss([1, 0, 1], [1, 1, 0])
    2.0
    """

    def __init__(self, n_labels: int, loss: str = "hamming") -> None:
        if n_labels < 1:
            raise ValueError(f"n_labels must be at least 1, but is {n_labels!r}.")
        if loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(LOSSES)}, but is {loss!r}.")
        self.n_labels = self.n_scores = int(n_labels)
        self.loss_name = loss

    def _compile(self, n: int) -> _kernels.Problem:
        return _kernels.LabelsProblem(self.n_labels, self.loss_name)

    def encode(self, y: Any) -> Floats:
        """Return a set as zeros and ones."""
        bits = np.ascontiguousarray(y, dtype=np.float64)
        if bits.shape != (self.n_labels,) or not np.isin(bits, (0.0, 1.0)).all():
            raise ValueError(f"a set must be {self.n_labels} zeros and ones, not {y!r}.")
        return bits

    def _code(self, prediction: Any) -> Codes:
        return self.encode(prediction).astype(np.int32)

    def _decode(self, codes: Codes) -> NDArray[np.int64]:
        return codes.astype(np.int64)

    def extremes(self, scores: ArrayLike, y: Any) -> tuple[float, float, float]:
        """Return the similarities that margins are made of."""
        t, bits = self._scores(scores), self.encode(y)
        flips = 2 * np.where(bits > 0, t, -t)  # what it costs to flip a label away from y
        own, unit = float(flips.sum() / 2), 1 / np.sqrt(self.n_labels)
        free = float(np.maximum(-flips, 0).sum())  # gained by all flips that gain
        # The most similar wrong set: all flips that gain or, if none does, the cheapest one.
        if self.loss_name != "error_set":
            wrong = own + (free if (flips <= 0).any() else -flips.min())
            return own * unit, own * unit, float(wrong * unit)
        # Correct are subsets and supersets of y: flips on one side only; wrong ones need both.
        sides = flips[bits > 0], flips[bits == 0]
        least = own - max(float(np.maximum(side, 0).sum()) for side in sides)
        most = own + max(float(np.maximum(-side, 0).sum()) for side in sides)
        # y empty or full: every set is a subset or a superset of it, and nothing is wrong.
        if not (len(sides[0]) and len(sides[1])):
            return least * unit, most * unit, -np.inf
        wrong = own + free - sum(max(float(side.min()), 0.0) for side in sides)
        return least * unit, most * unit, wrong * unit

    def loss_range(self, y: Any = None) -> tuple[float, float]:
        r"""Return :math:`c_L` and :math:`C_L`."""
        if self.loss_name == "subset":
            return 1.0, 1.0
        if self.loss_name == "hamming":
            return 1.0, float(self.n_labels)
        # All n labels of y missing, all others predicted: n (m - n), the most for n = m/2.
        n = self.n_labels // 2 if y is None else int(self.encode(y).sum())
        most = float(n * (self.n_labels - n))
        return (1.0 if most else np.inf), most
