"""Predtron for classes: with costs, with an option to reject, in order."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from rankwright.data.groups import Ints
from rankwright.data.validation import Floats
from rankwright.exceptions import DataError
from rankwright.inputs import check_rows
from rankwright.online.base import Given, LearnerOfClasses
from rankwright.online.ordered_labels import OrderedLabels
from rankwright.online.parameters import parametrized
from rankwright.online.votes import Bools, for_one, median
from rankwright.predtron.learner import PredtronLearner
from rankwright.predtron.rounds import MODES, PredtronData, check_mode
from rankwright.problems.native import Native
from rankwright.scoring.decisions import (
    class_codes,
    named_classes,
    plurality,
    predicted_codes,
    problem_of_classes,
    problem_of_ranks,
)
from rankwright.theory.links import NormName


class PredtronOfClasses(PredtronLearner, LearnerOfClasses):
    """What the two learners of classes share: labels in, labels out."""

    VOTES: ClassVar[bool] = True
    classes_: NDArray[Any]

    def _check_announced(self, classes: ArrayLike | None) -> None:
        if classes is None and not self.has_begun:
            raise ValueError("the first call of partial_fit needs classes: all there will be.")

    def decision_function(self, X: Any) -> Floats:
        """Return scores: one for each class, or a single one for two classes on a line.

        Of votes, their shares: of each class, or of the second class less that of the first.
        """
        if self._votes:
            shares, n_scores = self._votes_on(X) / max(self.n_rounds_, 1), self._n_fitted_scores()
            return shares[:, 1] - shares[:, 0] if n_scores == 1 else shares[:, :n_scores]
        scores = self._decision(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return classes."""
        if self._votes:
            return self._named(self._elected(self._votes_on(X)))
        rejects = vars(self).get("reject") is not None
        return self._named(class_codes(self._decision(X), self._problem if rejects else None))

    def _votes_on(self, X: Any) -> Floats:
        """Return the votes of each class, and of the option to reject behind them."""
        problem, n = self._problem(), self._n_options()

        def ballots(scores: Floats, _: slice) -> Bools:
            return for_one(predicted_codes(problem, scores, 1)[..., 0], n)

        return self._count_votes(X, ballots, n)

    def _n_options(self) -> int:
        return len(self.classes_)

    def _elected(self, votes: Floats) -> Ints:
        return plurality(votes)

    def _named(self, codes: NDArray[np.integer[Any]]) -> NDArray[Any]:
        return np.asarray(self.classes_[codes])

    def _problem(self) -> Native:
        raise NotImplementedError

    def _announced(self, given: Given) -> ArrayLike | None:
        """Return the classes that there will be, as the caller says."""
        return given.classes

    def _find_classes(self, y: Any, announced: ArrayLike | None) -> NDArray[Any]:
        """Return all classes, in their order: those of y, if none are announced."""
        raise NotImplementedError

    def _ranks(self, y: Any) -> Ints:
        """Return the places of labels among the classes, from 0."""
        raise NotImplementedError

    def _check_data(self, given: Given) -> PredtronData:
        if given.classes is not None and not given.first:
            announced = self._find_classes([], given.classes)
            if not np.array_equal(announced, self.classes_):
                raise ValueError(
                    f"classes must be those of the first call, {self.classes_.tolist()}, but are "
                    f"{announced.tolist()}."
                )
        matrix, labels = check_rows(self, given.X, given.y, reset=given.first)
        if given.first:
            self.classes_ = self._find_classes(labels, self._announced(given))
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs two classes or more, but has one class: "
                f"{self.classes_.tolist()}."
            )
        return PredtronData(matrix, self._ranks(labels).astype(np.float64)[:, None], None)

    def _n_fitted_scores(self) -> int:
        return int(self._problem().n_scores or 1)

    def check_state(self) -> None:
        """Raise unless what was read from a file can be a fitted learner."""
        classes = getattr(self, "classes_", None)
        if not isinstance(classes, np.ndarray) or classes.ndim != 1 or len(classes) < 2:
            raise DataError("classes_ must be two or more classes.")
        self._check_problem()
        super().check_state()


@parametrized
class PredtronClassifier(ClassifierMixin, PredtronOfClasses):
    r"""A classifier with any costs and an option to reject.

    .. math::
        \mathrm{pred}(x) = \arg\max_k (W x)_k, \quad\text{or reject if }
        \beta_y \le \max_k L(k, y) + (W x)_k - (W x)_y \text{ for all } y

    For the 0-1 loss that is to reject if the two largest scores are within :math:`1 - \beta`.
    Two classes without an option to reject are on a line: one score, whose sign predicts
    (:class:`~rankwright.problems.Binary`); otherwise each class has a score
    (:class:`~rankwright.problems.Multiclass`). The update is that of
    :class:`~rankwright.predtron.Predtron`.

    Parameters
    ----------
    loss : array-like of shape (K,) or (K, K), optional
        What mistakes cost, in the order of ``classes_``: one cost for each true class, or a matrix
        by prediction and true class with zeros on its diagonal. By default every mistake costs 1.
    reject : float or array-like of shape (K,), optional
        What it costs to reject, for each true class if there are several. None is no such option.
    reject_label : int or str, optional
        What ``predict`` returns for rejected rows: by default -1 for classes that are numbers,
        ``"reject"`` for texts.
    mode : {"auto", "augmented", "predicted", "loss_driven"}, default "auto"
        The update. ``"auto"`` is ``"augmented"`` with an option to reject, for which scores must
        be on the scale of the losses; ``"loss_driven"`` with costs; and ``"predicted"`` otherwise.
    @norm
    @voting plurality
    @rows

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    @weights

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [0.2, 1.0], [1.0, 0.1], [0.9, 0.0]])
    >>> y = np.array(["ham", "ham", "spam", "spam"])
    >>> model = PredtronClassifier(n_epochs=5).fit(X, y)
    >>> model.predict(X).tolist(), model.score(X, y)
    (['ham', 'ham', 'spam', 'spam'], 1.0)
    """

    loss: ArrayLike | None = None
    reject: float | ArrayLike | None = None
    _: KW_ONLY
    reject_label: int | str | None = None
    mode: str = "auto"
    norm: NormName = "l2"
    fit_intercept: bool = True

    def score(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the share of rows whose class is right, by weight; ``qid`` is ignored."""
        return float(super().score(X, y, sample_weight))

    def _find_classes(self, y: Any, announced: ArrayLike | None) -> NDArray[Any]:
        return _unique(np.asarray(y if announced is None else announced))

    def _ranks(self, y: Any) -> Ints:
        check_classification_targets(y)
        # A label beyond the last class is clipped into the range, and then found to be another one.
        codes: Ints = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        wrong = self.classes_[codes] != y
        if wrong.any():
            raise ValueError(
                f"y must hold the classes {self.classes_.tolist()}, but row "
                f"{int(np.argmax(wrong))} has {y[wrong][0]!r}."
            )
        return codes

    def _mode(self) -> str:
        if self.mode != "auto":
            return self.mode
        # To reject compares scores with costs, and only augmented updates put them on one scale.
        if self.reject is not None:
            return "augmented"
        return "predicted" if self.loss is None else "loss_driven"

    def check_params(self) -> None:
        """Raise for parameters that cannot be."""
        if self.mode not in ("auto", *MODES):
            raise ValueError(f"mode must be auto or one of {', '.join(MODES)}, not {self.mode!r}.")
        if self.reject is not None and self._mode() != "augmented":
            raise ValueError(
                f"reject needs mode='augmented', but mode is {self.mode!r}: other updates leave "
                "the scale of the scores open."
            )
        super().check_params()

    def _problem(self) -> Native:
        return problem_of_classes(len(self.classes_), self.loss, self.reject)

    def _n_options(self) -> int:
        return len(self.classes_) + (self.reject is not None)

    def _named(self, codes: NDArray[np.integer[Any]]) -> NDArray[Any]:
        return named_classes(codes, self.classes_, self.reject, self.reject_label)

    def check_state(self) -> None:
        """Raise unless what was read from a file can be a fitted classifier."""
        super().check_state()
        if not (self.classes_[:-1] < self.classes_[1:]).all():
            raise DataError("classes_ must be in increasing order.")


@parametrized
class PredtronOrdinal(OrderedLabels, PredtronOfClasses):
    r"""A classifier of ordered classes that pays for distance.

    .. math::
        \mathrm{pred}(x) = \arg\max_k (W x)_k, \qquad L(k, y) = |k - y|

    where classes count from 0, worst first. It has a score for each class, unlike
    :class:`~rankwright.online.PRank`, which has one score and thresholds.

    Parameters
    ----------
    mode : {"augmented", "predicted", "loss_driven"}, optional
        The update, see :class:`~rankwright.predtron.Predtron`. ``"predicted"`` takes no notice of
        distances. By default a learner that begins with ``fit`` is augmented, which is the best of
        them, and one that begins with ``partial_fit``, or has a budget, is driven by its losses,
        for which it needs no step.
    @classes
    @norm
    @voting median
    @rows

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, worst first.
    @weights

    Examples
    --------
    >>> X = [[0.1], [0.2], [1.1], [0.9], [2.2], [1.9]]
    >>> stars = PredtronOrdinal(n_epochs=100).fit(X, [1, 1, 2, 2, 3, 3])
    >>> stars.predict(X).tolist()
    [1, 1, 2, 2, 3, 3]
    """

    LEFT_OPEN: ClassVar[dict[str, tuple[Any, Any]]] = {"mode": ("augmented", "loss_driven")}
    mode: str | None = None
    norm: NormName = "l2"
    _: KW_ONLY
    classes: ArrayLike | None = None
    fit_intercept: bool = True

    def _mode(self) -> str:
        # Before it is settled: what it would be in `fit`.
        return self.mode or str(vars(self).get("mode_", self._mode_of_fit()))

    def _mode_of_fit(self) -> str:
        return "augmented" if self.budget is None else "loss_driven"

    def settle(self, whole: bool) -> None:
        """Decide what was left open: with a budget, updates are driven by losses."""
        super().settle(whole)
        if self.mode is None and whole:
            self.mode_ = self._mode_of_fit()

    def check_params(self) -> None:
        """Raise for parameters that cannot be."""
        check_mode(self.mode or MODES[0])
        super().check_params()

    def _elected(self, votes: Floats) -> Ints:
        return median(votes)

    def _check_announced(self, classes: ArrayLike | None) -> None:
        pass  # as for PRank: the labels of the first piece, if there are no others

    def _problem(self) -> Native:
        return problem_of_ranks(len(self.classes_))

    def check_state(self) -> None:
        """Raise unless what was read from a file can be a fitted learner."""
        self._check_ordered()
        super().check_state()


def _unique(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the classes, sorted; texts as texts."""
    unique = np.unique(labels)
    texts = unique.dtype.kind == "O" and all(isinstance(label, str) for label in unique)
    return unique.astype(str) if texts else unique
