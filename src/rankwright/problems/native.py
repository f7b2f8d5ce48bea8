"""What the built-in problems share: a compiled problem that does the work."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright import _kernels
from rankwright.data.validation import Floats, check_scores
from rankwright.problems.problem import Problem

Codes = NDArray[np.int32]


class Native(Problem):
    """A problem whose methods are compiled, and whose labels are rows of numbers.

    ``encode`` turns labels into what the compiled problem reads; ``_code`` and ``_decode`` turn a
    prediction into integers and back.
    """

    n_scores: int | None  # None: as many as documents

    _compiled: _kernels.Problem | None = None

    def kernel(self, n: int) -> _kernels.Problem:
        """Return the compiled problem, for at least n documents if there are documents."""
        if self._compiled is None:
            self._compiled = self._compile(n)
        return self._compiled

    @abstractmethod
    def _compile(self, n: int) -> _kernels.Problem: ...

    def __getstate__(self) -> dict[str, Any]:
        # Compiled problems cannot be pickled, and are made again from the rest when needed.
        return {key: value for key, value in vars(self).items() if key != "_compiled"}

    @abstractmethod
    def encode(self, y: Any) -> Floats:
        """Return one label as numbers; ValueError if it is none."""

    @abstractmethod
    def _code(self, prediction: Any) -> Codes: ...

    @abstractmethod
    def _decode(self, codes: Codes) -> Any: ...

    def _scores(self, scores: ArrayLike) -> Floats:
        return check_scores(scores, self.n_scores)

    def represent(self, prediction: Any) -> Floats:
        r"""Return :math:`\mathrm{rep}(\sigma)`."""
        codes = self._code(prediction)
        return self.kernel(len(codes)).represent(codes)

    def predict(self, scores: ArrayLike, y: Any = None) -> Any:
        """Return a prediction most similar to the scores; if the label is given, the worst one."""
        t = self._scores(scores)
        label = None if y is None else self._label(y, t)
        return self._decode(self.kernel(len(t)).predict(t, label))

    def loss(self, prediction: Any, y: Any) -> float:
        """Return the loss."""
        label, codes = self.encode(y), self._code(prediction)
        if self.n_scores is None and len(label) != len(codes):
            raise ValueError(f"y has {len(label)} labels, but the prediction has {len(codes)}.")
        return self.kernel(len(codes)).loss(codes, label)

    def correct(self, y: Any, scores: ArrayLike | None = None) -> Any:
        """Return a prediction without loss; if scores are given, the one that they prefer."""
        label = self.encode(y)
        t = None if scores is None else self._scores(scores)
        if t is not None:
            self._label(y, t)
        return self._decode(self.kernel(len(label)).correct(label, t))

    def augmented(self, scores: ArrayLike, y: Any) -> Any:
        r"""Return argmax :math:`L(\sigma, y) + \langle \mathrm{rep}(\sigma), t \rangle`."""
        t = self._scores(scores)
        return self._decode(self.kernel(len(t)).augmented(t, self._label(y, t)))

    def encoded_range(self, label: Floats) -> tuple[float, float]:
        r"""Return :math:`c_L` and :math:`C_L` of a label that is already encoded."""
        return self.loss_range()

    def _label(self, y: Any, t: Floats) -> Floats:
        label = self.encode(y)
        if self.n_scores is None and len(label) != len(t):
            raise ValueError(f"y must have a label for each of {len(t)} scores, not {len(label)}.")
        return label
