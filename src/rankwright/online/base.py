"""What online learners share: rounds, epochs and streams."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from rankwright.data.groups import Ints
from rankwright.data.validation import Floats
from rankwright.exceptions import DataError
from rankwright.inputs import RankingData, check_ranking_data
from rankwright.online.ledger import Ledger, add_in_order
from rankwright.online.settings import LearnerSettings
from rankwright.online.standardize import Standardized
from rankwright.scoring.state import check_rounds
from rankwright.theory.guarantee import Guarantee


@dataclass(frozen=True)
class Rounds:
    """What happened in some rounds.

    Attributes
    ----------
    losses : ndarray of shape (n_rounds,)
        Loss of each round, before its update.
    n_updates : int
        Rounds that changed the learner.
    terms : dict of str to ndarray of shape (n_rounds,)
        What else the learner's guarantee needs to know of each round.
    """

    losses: Floats
    n_updates: int
    terms: dict[str, Floats] = field(default_factory=dict)


@dataclass(frozen=True)
class Given:
    """What ``fit`` or ``partial_fit`` was given."""

    X: Any
    y: Any
    qid: ArrayLike | None
    first: bool  # whether the learner has seen nothing yet
    classes: ArrayLike | None = None
    sample_weight: ArrayLike | None = None
    query_weight: ArrayLike | None = None


class OnlineLearner(LearnerSettings, Standardized):
    """Base of the online learners.

    A learner meets its data in rounds, one query (or one document) each: it predicts, suffers a
    loss, and updates. ``fit`` starts afresh and passes ``n_epochs`` times over the data;
    ``partial_fit`` continues with more of it. ``fit`` of a learner made by :meth:`paper` is one
    pass of its paper's algorithm.

    To add a learner, derive from this class, or from
    :class:`~rankwright.online.OnlineLinearRanker` if it has one weight for each feature. Store
    ``n_epochs``, ``shuffle`` and ``random_state`` with your own parameters in ``__init__``, and
    write

    - ``check_params()``: raise ValueError for a parameter that cannot be (call ``super()``'s);
    - ``_begin(data, whole)``: set the fitted attributes of a learner that has seen nothing;
      ``whole`` tells whether ``data`` is all there will be (``fit``) or a first piece;
    - ``_prepare(data)``: do once what does not depend on the learner's state, and return it;
    - ``_learn(task, order, comparator)``: the rounds named by ``order``, on what ``_prepare``
      returned; update the fitted attributes and return :class:`Rounds`;
    - if there is a guarantee, ``_charge(task, order, rounds, ledger)`` and ``guarantee(ledger)``;
      ``any_start`` and ``_note_start(ledger)``, if it holds for weights that are not 0;
    - ``predict``, ``score``, and ``check_state`` for model files (call ``super()``'s).

    Everything the learner needs to continue must be in fitted attributes that are numbers, arrays
    or lists of them: then model files, checkpoints and ``partial_fit`` after loading work by
    themselves.

    Attributes
    ----------
    n_rounds_ : int
        Rounds so far.
    n_updates_ : int
        Rounds that changed the learner.
    cumulative_loss_ : float
        Sum of the losses of all rounds, each before its update.
    """

    PAPER: ClassVar[dict[str, Any]] = {"n_epochs": 1, "shuffle": False, "standardize": False}
    takes_weights: ClassVar[bool] = False
    """Whether ``_learn`` looks at ``data.weights`` and ``data.weight_of_queries``."""
    any_start: ClassVar[bool] = False
    """Whether the guarantee, if there is one, also holds for rounds that begin with any weights."""
    n_rounds_: int
    n_updates_: int
    cumulative_loss_: float

    def fit(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> Self:
        """Learn from scratch, in ``n_epochs`` passes over the data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_docs, n_features)
            Features.
        y : array-like of shape (n_docs,)
            Labels. For rankers larger is better; for learners of several labels y is a matrix, with
            a column for each.
        qid : array-like of shape (n_docs,), optional
            Query ids in any order; None is one query. Learners of labels and classes do not look at
            it: their rounds are rows.
        """
        self.fit_rounds(X, y, qid)
        if self.n_updates_ == 0:
            self._warn_of_no_update()
        return self

    def partial_fit(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> Self:
        """Continue learning, in one pass over these data in their order.

        Parameters
        ----------
        X, y, qid
            As for :meth:`fit`; whole queries. All calls must have the same features.
        """
        self.partial_fit_rounds(X, y, qid)
        return self

    def bound(self, u: Any, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> Guarantee:
        """Return what theory guarantees on these data, against a comparator.

        A fresh learner with the same parameters replays ``fit``; ``terms["loss"]`` is what it
        loses, which is at most the bound's value.

        Parameters
        ----------
        u : array-like
            The comparator: of the form of this learner's own weights, for features as they are.
            With a kernel: a number for each row of X in place of one for each feature, a
            :class:`~rankwright.online.DualComparator`, or a learner fitted with the kernel.
            Where the learner standardizes, the guarantee is about the scaled features, and so are
            its terms: the radius, and the length and the margin of u.
        X, y, qid
            As for :meth:`fit`.
        """
        return self._replayed(u, X, y, qid)

    def _replayed(
        self, u: Any, X: Any, y: Any, qid: ArrayLike | None, **weights: ArrayLike | None
    ) -> Guarantee:
        """Return the guarantee of a fresh learner that does what ``fit`` does."""
        learner: Self = clone(self)
        ledger = Ledger(learner._comparator_for(u, X))
        learner.fit_rounds(X, y, qid, ledger, **weights)
        return learner.guarantee(ledger)

    def _comparator_for(self, u: Any, X: Any) -> Any:
        """Return the comparator of :meth:`bound`."""
        return u

    def why_no_guarantee(self) -> str | None:
        """Return why the rounds to come have no guarantee, in one line; None if they have one.

        Of a learner that has begun: the rounds from now on, as :class:`GuaranteeLog` looks at them.
        """
        name = type(self).__name__
        if type(self).guarantee is OnlineLearner.guarantee:
            return f"{name} has no guarantee."
        if vars(self).get("n_updates_", 0) and not self.any_start:
            return f"the guarantee of {name} is about runs from the start, but it has begun."
        return self._no_guarantee() or None

    def require_guarantee(self) -> None:
        """Raise unless the rounds to come have a guarantee."""
        reason = self.why_no_guarantee()
        if reason is not None:
            none = type(self).guarantee is OnlineLearner.guarantee
            raise TypeError(reason) if none else ValueError(reason)

    @property
    def cut_free(self) -> bool:
        """Whether ``partial_fit`` gives the same bits wherever a stream is cut into pieces.

        Said of a learner that has begun: scales, steps and labels may be those of its first piece.
        """
        return True

    def as_comparator(self) -> Any:
        """Return what predicts in this fitted learner, as a comparator of other runs.

        Of the form that :meth:`bound` and :class:`GuaranteeLog` take, for features as they are. If
        the weights of all rounds vote, the last of them.
        """
        raise TypeError(f"{type(self).__name__} has no weights to compare with.")

    # ---- what guarantees and streams are built on ----

    def fit_rounds(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        ledger: Ledger | None = None,
        **weights: ArrayLike | None,
    ) -> list[Rounds]:
        """Do what :meth:`fit` does, and tell what happened in each epoch.

        ``weights`` are the ``sample_weight`` and ``query_weight`` of rankers.
        """
        self.check_params()
        data = self._check_data(Given(X, y, qid, first=True, **weights))
        self.settle(whole=True)
        self._begin_scale(data.X, whole=True)
        data = self._data_in_scale(data)
        self._begin(data, whole=True)
        self._begin_rounds()
        task = self._prepare(data)
        return [self._run(task, self._order(data, epoch), ledger) for epoch in range(self.n_epochs)]

    def partial_fit_rounds(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        ledger: Ledger | None = None,
        classes: ArrayLike | None = None,
        **weights: ArrayLike | None,
    ) -> Rounds:
        """Do what :meth:`partial_fit` does, and tell what happened.

        ``classes`` are all labels there will be, for learners that predict one of them.
        """
        first = not self.has_begun
        self.check_params()
        data = self._check_data(Given(X, y, qid, first, classes, **weights))
        if first:
            if not self.__dict__.pop("_is_settled", False):
                self.settle(whole=False)
            self._begin_scale(data.X, whole=False)
        data = self._data_in_scale(data)
        if first:
            self._begin(data, whole=False)
            self._begin_rounds()
        return self._run(self._prepare(data), np.arange(self._n_rounds(data)), ledger)

    @property
    def has_begun(self) -> bool:
        """Whether the learner has seen anything."""
        return "n_rounds_" in vars(self)

    def _begin_rounds(self) -> None:
        self.n_rounds_, self.n_updates_, self.cumulative_loss_ = 0, 0, 0.0

    def _run(self, task: Any, order: Ints, ledger: Ledger | None) -> Rounds:
        if ledger is not None:
            ledger.enter(self)
        rounds = self._learn(task, order, None if ledger is None else ledger.comparator)
        if ledger is not None:
            ledger.add("loss", rounds.losses)
            self._charge(task, order, rounds, ledger)
        self.n_rounds_ += len(order)
        self.n_updates_ += rounds.n_updates
        self.cumulative_loss_ = add_in_order(self.cumulative_loss_, rounds.losses)
        return rounds

    def _order(self, data: Any, epoch: int) -> Ints:
        n = self._n_rounds(data)
        if not self.shuffle:
            return np.arange(n)
        # A stream for each epoch: an order does not depend on how many were drawn before.
        seed = 0 if self.random_state is None else int(self.random_state)
        return np.random.default_rng([seed, epoch]).permutation(n)

    # ---- what learners define ----

    def check_params(self) -> None:
        """Raise for parameters that cannot be."""
        super().check_params()

    def _check_announced(self, classes: ArrayLike | None) -> None:
        """Raise for classes that ``partial_fit`` would not take, or that it needs."""
        if classes is not None:
            raise TypeError(
                f"classes are for learners that predict one of them, not for "
                f"{type(self).__name__}: leave them out."
            )

    def _warn_of_no_update(self) -> None:
        """Warn where a learner that learned nothing is of no use: rankers are not."""

    def _check_data(self, given: Given) -> Any:
        """Return what ``_begin`` and ``_prepare`` are given; raise for data that cannot be."""
        return check_given(self, given)

    def _n_rounds(self, data: RankingData) -> int:
        """Return how many rounds the data are: queries, unless a learner says otherwise."""
        return data.groups.n_queries

    def _begin(self, data: Any, whole: bool) -> None:
        raise NotImplementedError

    def _prepare(self, data: Any) -> Any:
        return data

    def _learn(self, task: Any, order: Ints, comparator: Any) -> Rounds:
        raise NotImplementedError

    def _charge(self, task: Any, order: Ints, rounds: Rounds, ledger: Ledger) -> None:
        """Keep what the guarantee needs of these rounds."""
        raise TypeError(f"{type(self).__name__} has no guarantee.")

    def guarantee(self, ledger: Ledger) -> Guarantee:
        """Return the bound of the rounds so far."""
        raise TypeError(f"{type(self).__name__} has no guarantee.")

    def _no_guarantee(self) -> str:
        """Return why there is no guarantee with these parameters, if there is none."""
        return ""

    def _note_start(self, ledger: Ledger) -> None:
        """Tell a ledger where its rounds begin, if the guarantee asks for it."""

    def check_state(self) -> None:
        """Raise unless parameters and fitted attributes, read from a file, can be a learner's."""
        super().check_state()
        for name in ("n_rounds_", "n_updates_"):
            check_rounds(vars(self), name)
        if type(getattr(self, "cumulative_loss_", None)) is not float:
            raise DataError("cumulative_loss_ must be a number.")

    def summary(self) -> dict[str, Any]:
        """Return rounds, updates and loss so far."""
        return {
            **super().summary(),
            "rounds": self.n_rounds_,
            "updates": self.n_updates_,
            "cumulative_loss": self.cumulative_loss_,
        }


class LearnerOfClasses(OnlineLearner):
    """Base of the learners whose labels may be announced before they are seen."""

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
            As for :meth:`fit`. All calls must have the same features.
        classes : array-like of shape (n_classes,), optional
            All labels there will be, or the names of y's columns; looked at in the first call, and
            not changed afterwards. Labels with an order are given worst first.
        """
        self._check_announced(classes)
        self.partial_fit_rounds(X, y, qid, classes=classes)
        return self

    def _check_announced(self, classes: ArrayLike | None) -> None:
        """Raise if the first call must have classes, and has none."""


def check_step(learner: Any) -> None:
    """Raise unless ``eta_``, read from a file, can be a step."""
    eta = getattr(learner, "eta_", None)
    if type(eta) is not float or not (math.isfinite(eta) and eta > 0):
        raise DataError("eta_ must be a positive number.")


def check_given(learner: Any, given: Given) -> RankingData:
    """Return what a ranker was given, gathered by query, with weights."""
    weights = given.sample_weight, given.query_weight
    data = check_ranking_data(learner, given.X, given.y, given.qid, *weights, reset=given.first)
    if data.weights is not None and not learner.takes_weights:
        raise TypeError(
            f"{type(learner).__name__} learns without weights: leave out sample_weight and "
            "query_weight."
        )
    return data
