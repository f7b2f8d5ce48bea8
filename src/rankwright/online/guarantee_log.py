"""Loss so far beside what theory guarantees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from rankwright.online.base import Ledger, OnlineLearner
from rankwright.online.comparator import DualComparator
from rankwright.showing import Brief
from rankwright.theory.guarantee import Guarantee

Learner = TypeVar("Learner", bound=OnlineLearner)


@dataclass(frozen=True, repr=False)
class LogEntry(Brief):
    """Where a learner stood after some rounds.

    Attributes
    ----------
    n_rounds : int
        Rounds that were logged.
    loss : float
        What the guarantee bounds, so far.
    bound : float
        The bound of these rounds; infinite where it says nothing.
    """

    n_rounds: int
    loss: float
    bound: float

    @property
    def ratio(self) -> float:
        """Loss over bound: at most 1."""
        # Also where the bound is 0: what was not exceeded was kept.
        if self.loss == 0:
            return 0.0
        return self.loss / self.bound if self.bound > 0 else math.inf


class GuaranteeLog:
    r"""Feeds a learner and writes down its loss beside its bound.

    .. math::
        \mathrm{ratio}_T = \frac{\text{loss of the rounds } 1..T}{\text{bound of the rounds } 1..T}
        \le 1

    Works with every online learner that has a guarantee and has seen nothing yet: the bounds speak
    of runs from the start.

    Parameters
    ----------
    comparator : array-like or DualComparator
        What to compare with, known beforehand and of the form of the learner's weights: a vector
        for rankers and :class:`WidrowHoff`, weights and thresholds in one vector for
        :class:`PRank`, prototypes for :class:`MulticlassPerceptron`. With a kernel, a
        :class:`DualComparator`.

    Attributes
    ----------
    entries : list of LogEntry
        One for each call of :meth:`partial_fit`.
    guarantee : Guarantee
        The bound of the rounds so far, with its terms.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwright.online import SLAMPerceptron
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y, qid = (X[:, 0] > 0.5), np.repeat(np.arange(30), 10)
    >>> log, ranker = GuaranteeLog(comparator=[1.0, 0.0, 0.0]), SLAMPerceptron()
    >>> for q in range(30):
    ...     ranker = log.partial_fit(ranker, X[qid == q], y[qid == q], qid[qid == q])
    >>> log.entries[-1].loss == ranker.cumulative_loss_ <= log.entries[-1].bound
    True
    """

    def __init__(self, comparator: ArrayLike | DualComparator) -> None:
        self.comparator = comparator
        self.entries: list[LogEntry] = []
        self._ledger = Ledger(comparator)
        self._guarantee: Guarantee | None = None
        self._n_rounds = 0

    @property
    def guarantee(self) -> Guarantee:
        """The bound of the rounds so far, with its terms."""
        if self._guarantee is None:
            raise ValueError("there is no bound before the first partial_fit.")
        return self._guarantee

    def partial_fit(
        self,
        learner: Learner,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> Learner:
        """Let the learner continue, as by its own ``partial_fit``, and log it.

        Parameters
        ----------
        learner : online learner
            The same in all calls.
        X, y, qid
            As for its ``partial_fit``.
        classes : array-like of shape (n_classes,), optional
            All labels there will be, as for the ``partial_fit`` of learners of classes; looked at
            in the first call. Other learners take none.
        """
        if not isinstance(learner, OnlineLearner):
            raise TypeError(f"learner must be an online learner, but is {learner!r}.")
        seen = learner.n_rounds_ if learner.has_begun else 0
        if seen != self._n_rounds:
            raise ValueError(
                f"learner must have seen the {self._n_rounds} rounds of this log and no others, "
                f"but has seen {seen}."
            )
        learner._check_announced(classes)
        learner.partial_fit_rounds(X, y, qid, self._ledger, classes)
        self._n_rounds = learner.n_rounds_
        self._guarantee = learner.guarantee(self._ledger)
        self.entries.append(
            LogEntry(self._n_rounds, self._guarantee.terms["loss"], self._guarantee.value)
        )
        return learner

    def to_dict(self) -> dict[str, list[float]]:
        """Return rounds, losses, bounds and ratios as lists."""
        return {
            "n_rounds": [entry.n_rounds for entry in self.entries],
            "loss": [entry.loss for entry in self.entries],
            "bound": [entry.bound for entry in self.entries],
            "ratio": [entry.ratio for entry in self.entries],
        }

    def __repr__(self) -> str:
        if not self.entries:
            return "no rounds yet"
        last = self.entries[-1]
        return (
            f"{last.n_rounds} rounds: {self.guarantee.quantity} {last.loss:.6g}, at most "
            f"{last.bound:.6g} ({last.ratio:.1%})"
        )
