"""Predtron for classes: with costs, with an option to reject, in order."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from rankwright import _kernels
from rankwright.data.validation import Floats
from rankwright.estimator import check_rows
from rankwright.exceptions import DataError
from rankwright.online.dual import KernelLike
from rankwright.online.linear import Variant
from rankwright.online.predtron_learner import MODES, PredtronData, PredtronLearner
from rankwright.problems.classes import Binary, Multiclass, Ordinal
from rankwright.problems.native import Native
from rankwright.theory.links import NormName


class ClassLearner(ClassifierMixin, PredtronLearner):
    """What the two learners of classes share: labels in, labels out."""

    classes_: NDArray[Any]

    def fit(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> Self:
        """Learn from scratch, in ``n_epochs`` passes over the data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Classes: numbers or texts.
        qid : ignored
            Rows are rounds; it is here for the interface that all learners share.
        """
        self.__dict__.pop("classes_", None)
        return super().fit(X, y, qid)

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Continue learning, in one pass over these rows in their order.

        Parameters
        ----------
        X, y, qid
            As for :meth:`fit`.
        classes : array-like of shape (n_classes,), optional
            All classes there will be; needed in the first call, and not changed afterwards.
        """
        first = not hasattr(self, "n_rounds_")
        if classes is None and first:
            raise ValueError("the first call of partial_fit needs classes: all there will be.")
        if classes is not None:
            unique = _unique(np.asarray(classes))
            if not first and not np.array_equal(unique, self.classes_):
                raise ValueError(
                    f"classes must be those of the first call, {self.classes_.tolist()}, but are "
                    f"{unique.tolist()}."
                )
            self.classes_ = unique
        return super().partial_fit(X, y, qid)

    def decision_function(self, X: Any) -> Floats:
        """Return scores: one for each class, or a single one for two classes on a line."""
        scores = self._decision(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return classes."""
        scores = np.ascontiguousarray(self._decision(X))
        codes = np.empty((len(scores), 1), dtype=np.int32)
        _kernels.predict_all(self._problem().kernel(1), scores, codes)
        return self._named(codes[:, 0])

    def _named(self, codes: NDArray[np.int32]) -> NDArray[Any]:
        return self.classes_[codes]

    def _problem(self) -> Native:
        raise NotImplementedError

    def _check_data(self, X: Any, y: ArrayLike, qid: ArrayLike | None, first: bool) -> PredtronData:
        matrix, labels = check_rows(self, X, y, reset=first)
        check_classification_targets(labels)
        if not hasattr(self, "classes_"):
            self.classes_ = _unique(labels)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs two classes or more, but has one class: "
                f"{self.classes_.tolist()}."
            )
        codes = np.searchsorted(self.classes_, labels).clip(max=len(self.classes_) - 1)
        wrong = self.classes_[codes] != labels
        if wrong.any():
            raise ValueError(
                f"y must hold the classes {self.classes_.tolist()}, but row "
                f"{int(np.argmax(wrong))} has {labels[wrong][0]!r}."
            )
        return PredtronData(matrix, codes.astype(np.float64)[:, None], None)

    def _n_fitted_scores(self) -> int:
        return int(self._problem().n_scores or 1)

    def check_state(self) -> None:
        """Raise unless what was read from a file can be a fitted learner."""
        classes = getattr(self, "classes_", None)
        if (
            not isinstance(classes, np.ndarray)
            or classes.ndim != 1
            or len(classes) < 2
            or not (classes[:-1] < classes[1:]).all()
        ):
            raise DataError("classes_ must be two or more classes in increasing order.")
        try:
            self._problem()
        except (TypeError, ValueError) as error:
            raise DataError(str(error)) from None
        super().check_state()


class PredtronClassifier(ClassLearner):
    r"""A classifier with any costs and an option to reject.

    .. math::
        \mathrm{pred}(x) = \arg\max_k (W x)_k, \quad\text{or reject if }
        \beta_y \le \max_k L(k, y) + (W x)_k - (W x)_y \text{ for all } y

    For the 0-1 loss that is to reject if the two largest scores are within :math:`1 - \beta`.
    Two classes without an option to reject are on a line: one score, whose sign predicts
    (:class:`~rankwright.problems.Binary`); otherwise each class has a score
    (:class:`~rankwright.problems.Multiclass`). The update is that of
    :class:`~rankwright.online.Predtron`.

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
    norm : {"l2", "l1", "group", "trace"}, default "l2"
        The norm of margins, see :class:`~rankwright.online.Predtron`.
    variant : {"last", "averaged", "voted"}, default "last"
        Which weights predict.
    eta, radius : float, optional
        Step, and largest length of a row (with a 1 for the intercept), for ``"augmented"``; ``fit``
        measures what is None, ``partial_fit`` needs one of them.
    fit_intercept : bool, default True
        Add a feature that is always 1.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, optional
        Kernel form.
    gamma, degree, coef0
        Of the kernel.
    n_epochs : int, default 1
        Passes over the data in ``fit``.
    shuffle : bool, default False
        Take the rows in a random order, another in each pass.
    random_state : int, optional
        Seed of that order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    coef_ : ndarray of shape (n_scores, n_features)
        Weights; absent with a kernel.
    intercept_ : ndarray of shape (n_scores,)
        Weights of the feature that is always 1.
    n_rounds_, n_updates_ : int
        Rows so far, and those that led to an update.
    cumulative_loss_ : float
        Sum of the losses of the predictions, each before its update.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [0.2, 1.0], [1.0, 0.1], [0.9, 0.0]])
    >>> y = np.array(["ham", "ham", "spam", "spam"])
    >>> model = PredtronClassifier(n_epochs=5).fit(X, y)
    >>> model.predict(X).tolist(), model.score(X, y)
    (['ham', 'ham', 'spam', 'spam'], 1.0)
    """

    def __init__(
        self,
        loss: ArrayLike | None = None,
        reject: float | ArrayLike | None = None,
        *,
        reject_label: int | str | None = None,
        mode: str = "auto",
        norm: NormName = "l2",
        variant: Variant = "last",
        eta: float | None = None,
        radius: float | None = None,
        fit_intercept: bool = True,
        kernel: KernelLike | None = None,
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        n_epochs: int = 1,
        shuffle: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.loss = loss
        self.reject = reject
        self.reject_label = reject_label
        self.mode = mode
        self.norm = norm
        self.variant = variant
        self.eta = eta
        self.radius = radius
        self.fit_intercept = fit_intercept
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _mode(self) -> str:
        if self.mode != "auto":
            return self.mode
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
        n = len(self.classes_)
        matrix = None if self.loss is None else np.asarray(self.loss, dtype=np.float64)
        if matrix is not None and matrix.ndim == 1:
            if len(matrix) != n:
                raise ValueError(f"loss must have a cost for each of {n} classes.")
            matrix = np.where(np.eye(n, dtype=bool), 0.0, matrix)  # by true class: columns
        if n == 2 and self.reject is None:
            problem = Multiclass(2, matrix)  # checks the costs
            return Binary((float(problem.matrix[1, 0]), float(problem.matrix[0, 1])))
        return Multiclass(n, matrix, self.reject, rule="surrogate")

    def _named(self, codes: NDArray[np.int32]) -> NDArray[Any]:
        if self.reject is None:
            return self.classes_[codes]
        label: Any = self.reject_label
        if label is None:
            label = "reject" if self.classes_.dtype.kind in "UO" else -1
        if label in self.classes_.tolist():
            raise ValueError(
                f"reject_label must be none of the classes, but is {label!r}. Pass another one."
            )
        return np.append(self.classes_, np.array([label]))[codes]


class PredtronOrdinal(ClassLearner):
    r"""A classifier of ordered classes that pays for distance.

    .. math::
        \mathrm{pred}(x) = \arg\max_k (W x)_k, \qquad L(k, y) = |k - y|

    where classes count from 0 in increasing order. It has a score for each class, unlike
    :class:`~rankwright.online.PRank`, which has one score and thresholds.

    Parameters
    ----------
    mode : {"augmented", "predicted", "loss_driven"}, default "loss_driven"
        The update, see :class:`~rankwright.online.Predtron`. ``"predicted"`` takes no notice of
        distances.
    norm, variant, eta, radius, fit_intercept
        As for :class:`PredtronClassifier`.
    kernel, gamma, degree, coef0
        As for :class:`PredtronClassifier`.
    n_epochs, shuffle, random_state
        As for :class:`PredtronClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes in increasing order.
    coef_, intercept_, n_rounds_, n_updates_, cumulative_loss_
        As for :class:`PredtronClassifier`.

    Examples
    --------
    >>> X = [[0.1], [0.2], [1.1], [0.9], [2.2], [1.9]]
    >>> stars = PredtronOrdinal(n_epochs=100).fit(X, [1, 1, 2, 2, 3, 3])
    >>> stars.predict(X).tolist()
    [1, 1, 2, 2, 3, 3]
    """

    def __init__(
        self,
        mode: str = "loss_driven",
        norm: NormName = "l2",
        *,
        variant: Variant = "last",
        eta: float | None = None,
        radius: float | None = None,
        fit_intercept: bool = True,
        kernel: KernelLike | None = None,
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        n_epochs: int = 1,
        shuffle: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.mode = mode
        self.norm = norm
        self.variant = variant
        self.eta = eta
        self.radius = radius
        self.fit_intercept = fit_intercept
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _problem(self) -> Native:
        n = len(self.classes_)
        return Binary() if n == 2 else Ordinal(n)


def _unique(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the classes, sorted; texts as texts."""
    unique = np.unique(labels)
    texts = unique.dtype.kind == "O" and all(isinstance(label, str) for label in unique)
    return unique.astype(str) if texts else unique
