"""Predtron for rows with several labels: which they are, and in which order."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import type_of_target

from rankwright import _kernels
from rankwright.data.groups import Groups
from rankwright.data.sparse import as_csr
from rankwright.data.validation import Floats
from rankwright.estimator import SCORE_METRIC, check_rows
from rankwright.exceptions import DataError
from rankwright.online.dual import KernelLike
from rankwright.online.linear import Variant
from rankwright.online.predtron_learner import Mode, PredtronData, PredtronLearner
from rankwright.problems.multilabel import Multilabel
from rankwright.problems.native import Native
from rankwright.problems.ranking import Ranking, Representation
from rankwright.theory.links import NormName


class LabelsLearner(PredtronLearner):
    """What the two learners of label matrices share."""

    TAGS: ClassVar[dict[str, bool]] = {"target_tags.multi_output": True}

    n_labels_: int

    def fit(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> Self:
        """Learn from scratch, in ``n_epochs`` passes over the data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Features.
        y : array-like or sparse matrix of shape (n_rows, n_labels)
            Which labels a row has.
        qid : ignored
            Rows are rounds; it is here for the interface that all learners share.
        """
        self.__dict__.pop("n_labels_", None)
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
        classes : array-like of shape (n_labels,), optional
            Names of the labels, which are the columns of y; only their number is looked at.
        """
        if classes is not None and np.ndim(y) == 2 and len(np.asarray(classes)) != np.shape(y)[1]:
            raise ValueError("classes must name the columns of y.")
        return super().partial_fit(X, y, qid)

    def decision_function(self, X: Any) -> Floats:
        """Return the scores of the labels."""
        return self._decision(X)

    def _n_scores(self, data: PredtronData) -> int:
        return self.n_labels_

    def _n_fitted_scores(self) -> int:
        return self.n_labels_

    def _check_data(self, X: Any, y: ArrayLike, qid: ArrayLike | None, first: bool) -> PredtronData:
        dense = _dense(y)
        matrix, given = check_rows(self, X, dense, reset=first, multi_output=True)
        labels = self._columns(np.asarray(given))
        if first:
            self.n_labels_ = int(labels.shape[1])
        if labels.shape[1] != self.n_labels_:
            raise ValueError(
                f"y must have {self.n_labels_} columns, one for each label, but has "
                f"{labels.shape[1]}."
            )
        return PredtronData(matrix, np.ascontiguousarray(self._encode(labels)), None)

    def _columns(self, labels: NDArray[Any]) -> NDArray[Any]:
        return labels[:, None] if labels.ndim == 1 else labels

    def _encode(self, labels: NDArray[Any]) -> Floats:
        raise NotImplementedError

    def check_state(self) -> None:
        """Raise unless what was read from a file can be a fitted learner."""
        n = getattr(self, "n_labels_", None)
        if type(n) is not int or n < 1:
            raise DataError("n_labels_ must be a positive integer.")
        try:
            self._problem()
        except (TypeError, ValueError) as error:
            raise DataError(str(error)) from None
        super().check_state()


class PredtronMultilabel(ClassifierMixin, LabelsLearner):
    r"""A classifier that predicts a set of labels for each row.

    .. math::
        \mathrm{pred}(x) = \{j : (W x)_j > 0\}

    Parameters
    ----------
    loss : {"hamming", "subset", "error_set"}, default "hamming"
        Labels that differ; whether any differs; pairs of a label that is missing and one that is
        too many. See :class:`~rankwright.problems.Multilabel`.
    mode : {"augmented", "predicted", "loss_driven"}, default "predicted"
        The update, see :class:`~rankwright.online.Predtron`. ``"augmented"`` with the Hamming loss
        also pushes labels that are right, but not by a margin.
    norm, variant, eta, radius, fit_intercept
        As for :class:`PredtronClassifier`.
    kernel, gamma, degree, coef0
        As for :class:`PredtronClassifier`.
    n_epochs, shuffle, random_state
        As for :class:`PredtronClassifier`.

    Attributes
    ----------
    classes_ : ndarray
        The labels: the numbers of y's columns. If y is a vector, there is one label, and these are
        the two values of y, the first for rows without it.
    n_labels_ : int
        How many they are.
    coef_, intercept_, n_rounds_, n_updates_, cumulative_loss_
        As for :class:`PredtronClassifier`.

    Examples
    --------
    >>> X = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> model = PredtronMultilabel(n_epochs=20).fit(X, [[1, 0], [0, 1], [1, 1]])
    >>> model.predict(X).tolist()
    [[1, 0], [0, 1], [1, 1]]
    """

    def __init__(
        self,
        loss: str = "hamming",
        mode: Mode = "predicted",
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
        self.loss = loss
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

    classes_: NDArray[Any]

    def fit(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> Self:
        """Learn from scratch; y is a matrix of ones and zeros, or a vector of two values."""
        self.__dict__.pop("classes_", None)
        return super().fit(X, y, qid)

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Continue learning; if y is a vector, the first call needs its values as ``classes``."""
        if not hasattr(self, "n_rounds_"):
            self.__dict__.pop("classes_", None)
            if classes is not None and np.ndim(y) == 1:
                self.classes_ = np.unique(np.asarray(classes))
        return super().partial_fit(X, y, qid, classes)

    def decision_function(self, X: Any) -> Floats:
        """Return the scores of the labels; a vector if y was one."""
        scores = self._decision(X)
        return scores[:, 0] if self._is_vector else scores

    @property
    def _is_vector(self) -> bool:
        return self.n_labels_ == 1 and len(self.classes_) == 2

    def predict(self, X: Any) -> NDArray[Any]:
        """Return which labels each row has, 1 or 0; for a vector y, its values."""
        scores = np.ascontiguousarray(self._decision(X))
        codes = np.empty(scores.shape, dtype=np.int32)
        _kernels.predict_all(self._problem().kernel(1), scores, codes)
        if not self._is_vector:
            return codes.astype(np.int64)
        named: NDArray[Any] = self.classes_[codes[:, 0]]
        return named

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of rows whose labels are all right."""
        return float(super().score(X, _dense(y), sample_weight))

    def _columns(self, labels: NDArray[Any]) -> NDArray[Any]:
        if labels.ndim == 2:
            if not hasattr(self, "classes_"):
                self.classes_ = np.arange(labels.shape[1])
            return labels
        kind = type_of_target(labels, input_name="y")
        known = hasattr(self, "classes_")
        if kind not in ("binary", "multiclass"):
            raise ValueError(f"Unknown label type: {kind}. y must be a matrix of ones and zeros.")
        if kind == "multiclass" or (known and len(self.classes_) != 2):
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass. "
                "For several labels pass a matrix, a column for each."
            )
        classes = self.classes_ if known else np.unique(labels)
        if len(classes) != 2:
            raise ValueError("y must have two values, but has one class.")
        if not np.isin(labels, classes).all():
            raise ValueError(f"y must hold the classes {classes.tolist()}.")
        texts = classes.dtype.kind == "O" and all(isinstance(label, str) for label in classes)
        self.classes_ = classes.astype(str) if texts else classes
        return np.asarray(labels == classes[1])[:, None]

    def _problem(self) -> Native:
        return Multilabel(self.n_labels_, self.loss)

    def _encode(self, labels: NDArray[Any]) -> Floats:
        wrong = ~np.isin(labels, (0, 1))
        if wrong.any():
            row, column = (int(i[0]) for i in np.nonzero(wrong))
            raise ValueError(
                f"y must hold 1 for labels that a row has and 0 for others, but row {row}, column "
                f"{column} is {labels[row, column]!r}."
            )
        return labels.astype(np.float64)

    def check_state(self) -> None:
        """Raise unless what was read from a file can be a fitted learner."""
        super().check_state()
        classes = getattr(self, "classes_", None)
        vector = self.n_labels_ == 1 and isinstance(classes, np.ndarray) and classes.shape == (2,)
        if not isinstance(classes, np.ndarray) or not (
            vector or np.array_equal(classes, np.arange(self.n_labels_))
        ):
            raise DataError("classes_ must be the numbers of the labels, or two values.")

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that labels are there or not."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        return tags


class PredtronLabelRanker(LabelsLearner):
    r"""A ranker of labels: for each row, the labels that it probably has come first.

    .. math::
        \mathrm{pred}(x) = \text{labels by decreasing } (W x)_j

    Parameters
    ----------
    loss : {"ndcg", "precision@K"}, default "ndcg"
        See :class:`~rankwright.problems.Ranking`.
    representation : {"-i", "-i^1.1", "-i^2", "1/i", "dcg"} or callable, default "-i"
        f: how ranks become vectors.
    mode : {"augmented", "predicted", "loss_driven"}, default "predicted"
        The update, see :class:`~rankwright.online.Predtron`.
    smallest_loss : float, optional
        :math:`c_L` of ``"augmented"``: ``fit`` measures it, ``partial_fit`` needs it or ``eta``.
    norm, variant, eta, radius, fit_intercept
        As for :class:`PredtronClassifier`.
    kernel, gamma, degree, coef0
        As for :class:`PredtronClassifier`.
    n_epochs, shuffle, random_state
        As for :class:`PredtronClassifier`.

    Attributes
    ----------
    n_labels_ : int
        Labels.
    coef_, intercept_, n_rounds_, n_updates_, cumulative_loss_
        As for :class:`PredtronClassifier`.

    Examples
    --------
    >>> X = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> y = [[1, 0, 0], [0, 1, 0], [1, 1, 0]]
    >>> PredtronLabelRanker(n_epochs=10).fit(X, y).rank(X)[:, 2].tolist()  # the label nobody has
    [3, 3, 3]
    """

    TAGS: ClassVar[dict[str, bool]] = {"target_tags.single_output": False}

    def __init__(
        self,
        loss: str = "ndcg",
        representation: Representation = "-i",
        mode: Mode = "predicted",
        norm: NormName = "l2",
        *,
        variant: Variant = "last",
        eta: float | None = None,
        radius: float | None = None,
        smallest_loss: float | None = None,
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
        self.representation = representation
        self.mode = mode
        self.norm = norm
        self.variant = variant
        self.eta = eta
        self.radius = radius
        self.smallest_loss = smallest_loss
        self.fit_intercept = fit_intercept
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def predict(self, X: Any) -> Floats:
        """Return the scores of the labels; a larger one ranks higher."""
        return self._decision(X)

    def rank(self, X: Any) -> NDArray[np.int64]:
        """Return the rank of each label, from 1, equal scores in the order of the columns."""
        scores = np.ascontiguousarray(self._decision(X))
        codes = np.empty(scores.shape, dtype=np.int32)
        _kernels.predict_all(self._problem().kernel(self.n_labels_), scores, codes)
        return codes.astype(np.int64) + 1

    def score(self, X: Any, y: ArrayLike) -> float:
        """Return mean NDCG@10 over the rows."""
        scores = self.predict(X)
        labels = np.asarray(_dense(y), dtype=np.float64).reshape(len(scores), -1)
        groups = Groups(np.arange(len(scores) + 1) * labels.shape[1])
        return SCORE_METRIC.mean(labels.ravel(), scores.ravel(), groups)

    def _columns(self, labels: NDArray[Any]) -> NDArray[Any]:
        if labels.ndim == 1:
            raise ValueError("y must be a matrix with a column for each label, but is a vector.")
        return labels

    def _problem(self) -> Native:
        return Ranking(self.loss, self.representation)

    def check_params(self) -> None:
        """Raise for parameters that cannot be."""
        self._problem()
        super().check_params()

    def _encode(self, labels: NDArray[Any]) -> Floats:
        flat = self._problem().encode(labels.astype(np.float64).ravel())
        return flat.reshape(labels.shape)


def _dense(y: Any) -> Any:
    return as_csr(y, "y").toarray() if sp.issparse(y) else y
