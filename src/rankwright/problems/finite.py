"""Tasks with few predictions: everything by looking at each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rankwright.data.validation import Floats
from rankwright.problems.problem import Problem


class Finite(Problem):
    """A task of your own with few predictions, given by a list of them.

    Parameters
    ----------
    predictions : sequence
        All predictions.
    represent : callable
        From a prediction to its vector; it is divided by its length.
    loss : callable
        From a prediction and a label to a loss of at least 0.

    Examples
    --------
    Three classes of a tree, where mistakes within a branch cost half:

    >>> branch = {"cat": 0, "dog": 0, "oak": 1}
    >>> animals = Finite(
    ...     ["cat", "dog", "oak"],
    ...     represent=lambda name: [name == "cat", name == "dog", name == "oak"],
    ...     loss=lambda name, y: 0 if name == y else 0.5 if branch[name] == branch[y] else 1,
    ... )
    >>> animals.predict([0.5, 1.0, 0.9]), animals.augmented([0.5, 1.0, 0.9], "cat")
    ('dog', 'oak')
    """

    def __init__(
        self,
        predictions: Sequence[Any],
        represent: Callable[[Any], Any],
        loss: Callable[[Any, Any], float],
    ) -> None:
        self.predictions = list(predictions)
        if not self.predictions:
            raise ValueError("predictions must not be empty.")
        vectors = np.array([represent(sigma) for sigma in self.predictions], dtype=np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if vectors.ndim != 2 or not (np.isfinite(lengths) & (lengths > 0)).all():
            raise ValueError("represent must return finite vectors of one size that are not 0.")
        self.vectors: Floats = vectors / lengths
        self._loss = loss

    def _losses(self, y: Any) -> Floats:
        losses = np.array([self._loss(sigma, y) for sigma in self.predictions], dtype=np.float64)
        if not (losses >= 0).all() or losses.min() > 0:
            raise ValueError(f"losses must be at least 0, and 0 for one prediction; label {y!r}.")
        return losses

    def _best(self, first: Floats, then: Floats | None = None) -> Any:
        """Return the prediction with the largest value; ties by the second value, then the list."""
        top = np.flatnonzero(first == first.max())
        return self.predictions[int(top[0] if then is None else top[np.argmax(then[top])])]

    def represent(self, prediction: Any) -> Floats:
        """Return the vector of a prediction, of length 1."""
        vector: Floats = self.vectors[self.predictions.index(prediction)]
        return vector

    def predict(self, scores: Floats, y: Any = None) -> Any:
        """Return the prediction most similar to the scores; ties by loss, then by the list."""
        # Zero weights tie everything: if ties were settled in its favour, a learner that updates on
        # mistakes would never make the first one.
        return self._best(self.vectors @ scores, None if y is None else self._losses(y))

    def loss(self, prediction: Any, y: Any) -> float:
        """Return the loss."""
        return float(self._loss(prediction, y))

    def correct(self, y: Any, scores: Floats | None = None) -> Any:
        """Return a prediction without loss; if scores are given, the one that they prefer."""
        similarity = np.zeros(len(self.predictions)) if scores is None else self.vectors @ scores
        return self._best(np.where(self._losses(y) == 0, similarity, -np.inf))

    def augmented(self, scores: Floats, y: Any) -> Any:
        """Return the prediction with the largest sum of loss and similarity."""
        losses = self._losses(y)
        return self._best(losses + self.vectors @ scores, losses)

    def extremes(self, scores: Floats, y: Any) -> tuple[float, float, float]:
        """Return the similarities that margins are made of."""
        similarity, wrong = self.vectors @ scores, self._losses(y) > 0
        right = similarity[~wrong]
        return float(right.min()), float(right.max()), float(similarity[wrong].max(initial=-np.inf))

    def loss_range(self, y: Any = None) -> tuple[float, float]:
        """Return the smallest loss above 0 and the largest, for a label."""
        if y is None:
            raise ValueError("a Finite problem does not know its labels: pass y.")
        losses = self._losses(y)
        positive = losses[losses > 0]
        return (float(positive.min()), float(positive.max())) if len(positive) else (np.inf, 0.0)
