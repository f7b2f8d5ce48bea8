"""What Predtron needs to know about a prediction task."""

from __future__ import annotations

from types import MethodType
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from rankwright.data.validation import Floats


class Problem(Protocol):
    r"""A prediction task: how scores become predictions, and what predictions cost.

    .. math::
        \mathrm{pred}(t) = \arg\max_\sigma \langle \mathrm{rep}(\sigma), t \rangle, \qquad
        \|\mathrm{rep}(\sigma)\|_2 = 1

    Labels and predictions may be anything, and need not be of one kind. Write the first four
    methods for a task of your own; ``augmented`` is needed by mode ``"augmented"`` alone, and
    ``loss_range`` by its default step and by bounds. A task with few predictions is a
    :class:`Finite` problem, which has all methods.
    """

    def represent(self, prediction: Any) -> Floats:
        r"""Return :math:`\mathrm{rep}(\sigma)`, a vector of length 1."""
        ...

    def predict(self, scores: Floats, y: Any = None) -> Any:
        """Return a prediction most similar to the scores.

        If the label is given, one with the largest loss among them, so that a tie counts as a
        mistake.
        """
        ...

    def loss(self, prediction: Any, y: Any) -> float:
        """Return the loss, 0 exactly for correct predictions."""
        ...

    def correct(self, y: Any, scores: Floats | None = None) -> Any:
        """Return a prediction without loss; if scores are given, one that they prefer."""
        ...

    def augmented(self, scores: Floats, y: Any) -> Any:
        r"""Return argmax :math:`L(\sigma, y) + \langle \mathrm{rep}(\sigma), t \rangle`."""
        raise NotImplementedError(
            f"{type(self).__name__} has no augmented(scores, y), which mode='augmented' needs. "
            "Choose mode 'predicted' or 'loss_driven'."
        )

    def loss_range(self, y: Any = None) -> tuple[float, float]:
        r"""Return :math:`c_L` and :math:`C_L`: the smallest loss above 0, and the largest.

        If the label is given, for that label alone.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no loss_range(y), which tells the smallest and the largest "
            "loss. Pass eta."
        )

    def extremes(self, scores: Floats, y: Any) -> tuple[float, float, float]:
        """Return the three similarities that margins are made of.

        The least and the largest of a correct prediction, and the largest of a wrong one.
        """
        raise NotImplementedError(f"{type(self).__name__} has no extremes(scores, y).")


def method_of(problem: Problem, name: str) -> Any:
    """Return a method of a problem; one that it does not have says what it would be needed for."""
    found = getattr(problem, name, None)
    return MethodType(getattr(Problem, name), problem) if found is None else found


def surrogate(problem: Problem, scores: ArrayLike, y: Any) -> float:
    r"""Return Predtron's surrogate of the loss.

    .. math::
        \phi(t, y) = \max_\sigma L(\sigma, y)
        - \langle \mathrm{rep}(\sigma_y) - \mathrm{rep}(\sigma), t \rangle
        \ge L(\mathrm{pred}(t), y)

    with :math:`\sigma_y` = ``problem.correct(y)``. It is convex in the scores; a subgradient is
    :math:`\mathrm{rep}(\tilde\sigma) - \mathrm{rep}(\sigma_y)`, :math:`\tilde\sigma` =
    ``problem.augmented(scores, y)``.

    Examples
    --------
    >>> from rankwright.problems import Multiclass, surrogate
    >>> surrogate(Multiclass(3), [2.0, 1.5, 0.0], y=1)  # the multiclass hinge: 1 + 2 - 1.5
    1.5
    """
    t = np.ascontiguousarray(scores, dtype=np.float64)
    # correct(y) without the scores: sigma_y must not move with t, or phi is no longer a maximum of
    # linear functions and convexity is lost.
    best = problem.augmented(t, y)
    difference = problem.represent(problem.correct(y)) - problem.represent(best)
    return float(problem.loss(best, y) - difference @ t)
