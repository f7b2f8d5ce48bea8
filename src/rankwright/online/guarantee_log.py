"""Loss so far beside what theory guarantees."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from rankwright.exceptions import DataError
from rankwright.online.base import OnlineLearner
from rankwright.online.comparator import DualComparator
from rankwright.online.ledger import Ledger
from rankwright.online.log_state import (
    VERSION,
    StateReader,
    as_comparator_given,
    as_count,
    as_flag,
    as_float,
    as_guarantee,
    as_totals,
    plain_comparator,
    plain_guarantee,
    plain_number,
)
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

    Works with every online learner that has a guarantee (``why_no_guarantee``). The first call of
    :meth:`partial_fit` fixes where the rounds begin: with a learner that has seen nothing, or with
    one that was fitted before, to which the bound of the rounds since then is as valid
    (:mod:`rankwright.theory.warm`).

    Parameters
    ----------
    comparator : array-like, DualComparator or fitted learner
        What to compare with, known beforehand and of the form of the learner's weights: a vector
        for rankers and :class:`WidrowHoff`, weights and thresholds in one vector for
        :class:`PRank`, prototypes for :class:`MulticlassPerceptron`. With a kernel, a
        :class:`DualComparator`. A fitted learner stands for what predicts in it now, its
        ``as_comparator()``; it may be the one that goes on.
    keep_entries : bool, default True
        Whether ``entries`` has all entries, or just the last one: then memory stays as it is, over
        any number of rounds.

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

    What a fitted ranker loses from now on, against what it would lose if it learned no more:

    >>> log = GuaranteeLog(ranker, keep_entries=False)
    >>> ranker = log.partial_fit(ranker, X, y, qid)
    >>> log.guarantee.name, log.entries[-1].ratio <= 1
    ('Misordered update, warm start', True)
    >>> log = GuaranteeLog.from_state(log.state())  # as from a file
    >>> ranker = log.partial_fit(ranker, X, y, qid)
    >>> log.entries[-1].n_rounds
    60
    """

    def __init__(
        self, comparator: ArrayLike | DualComparator | OnlineLearner, *, keep_entries: bool = True
    ) -> None:
        self.comparator: Any = comparator
        self.keep_entries = keep_entries
        self.entries: list[LogEntry] = []
        self._ledger = Ledger(comparator)
        if isinstance(comparator, OnlineLearner):
            # As it is now; a kernel must be that of the learner which is compared.
            self.comparator = comparator.as_comparator()
            dual = isinstance(self.comparator, DualComparator)
            self._ledger = Ledger(copy.copy(comparator) if dual else self.comparator)
        self._guarantee: Guarantee | None = None
        self._n_before: int | None = None
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
            The same in all calls, or what was loaded from a file in its place.
        X, y, qid
            As for its ``partial_fit``.
        classes : array-like of shape (n_classes,), optional
            All labels there will be, as for the ``partial_fit`` of learners of classes; looked at
            in the first call. Other learners take none.
        """
        if not isinstance(learner, OnlineLearner):
            raise TypeError(f"learner must be an online learner, but is {learner!r}.")
        seen = learner.n_rounds_ if learner.has_begun else 0
        before = seen if self._n_before is None else self._n_before
        if seen != before + self._n_rounds:
            raise ValueError(
                f"learner must have seen the {before + self._n_rounds} rounds at which this log "
                f"stopped, but has seen {seen}: log all rounds, or begin another log."
            )
        learner._check_announced(classes)
        learner.partial_fit_rounds(X, y, qid, self._ledger, classes)
        self._n_before, self._n_rounds = before, learner.n_rounds_ - before
        self._guarantee = learner.guarantee(self._ledger)
        loss, bound = self._guarantee.terms["loss"], self._guarantee.value
        if not self.keep_entries:
            self.entries.clear()
        self.entries.append(LogEntry(self._n_rounds, loss, bound))
        return learner

    def to_dict(self) -> dict[str, list[float]]:
        """Return rounds, losses, bounds and ratios as lists."""
        return {
            "n_rounds": [entry.n_rounds for entry in self.entries],
            "loss": [entry.loss for entry in self.entries],
            "bound": [entry.bound for entry in self.entries],
            "ratio": [entry.ratio for entry in self.entries],
        }

    def state(self) -> dict[str, Any]:
        """Return all that the log knows, as plain values for JSON; :meth:`from_state` reads it.

        A log that goes on from its state, in another process, gives the same bits as one that never
        stopped. It holds no learner: that is saved beside it.
        """
        entries = [[e.n_rounds, plain_number(e.loss), plain_number(e.bound)] for e in self.entries]
        totals = self._ledger.totals.items()
        return {
            "version": VERSION,
            "comparator": plain_comparator(self.comparator),
            "keep_entries": self.keep_entries,
            "n_before": self._n_before,
            "n_rounds": self._n_rounds,
            "totals": {name: plain_number(value) for name, value in totals},
            "entries": entries,
            "guarantee": plain_guarantee(self._guarantee),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> GuaranteeLog:
        """Return the log whose :meth:`state` this is; raise DataError if it can be none's.

        Parameters
        ----------
        state : dict
            What :meth:`state` returned, also after JSON.
        """
        read = StateReader(state).read
        if read("version", "a whole number", as_count) != VERSION:
            raise DataError(f"the state of a log must have version {VERSION}, but has another.")
        comparator = read("comparator", "weights, or points and coef", as_comparator_given)
        log = cls(comparator, keep_entries=read("keep_entries", "true or false", as_flag))
        log._n_before = read(
            "n_before", "a number of rounds", lambda n: None if n is None else as_count(n)
        )
        log._n_rounds = read("n_rounds", "a number of rounds", as_count)
        log._ledger.totals = read("totals", "numbers by name", as_totals)
        log._ledger.has_start = log._n_before is not None
        log.entries = read(
            "entries",
            "rounds, losses and bounds",
            lambda rows: [LogEntry(as_count(n), as_float(a), as_float(b)) for n, a, b in rows],
        )
        log._guarantee = read("guarantee", "a guarantee or null", as_guarantee)
        begun = [log._n_before is not None, log._guarantee is not None, bool(log.entries)]
        last = log.entries[-1].n_rounds if log.entries else 0
        if len(set(begun)) > 1 or last != log._n_rounds:
            raise DataError("the state of a log must be of one log, but its parts do not agree.")
        return log

    def __repr__(self) -> str:
        if not self.entries:
            return "no rounds yet"
        last = self.entries[-1]
        return (
            f"{last.n_rounds} rounds: {self.guarantee.quantity} {last.loss:.6g}, at most "
            f"{last.bound:.6g} ({last.ratio:.1%})"
        )
