"""What estimators share: the protocol of models, scikit-learn's validation, and queries.

scikit-learn's conventions say how a model is fitted and how it predicts. :class:`Model` says what
else the library asks: command line, model files, comparisons and explanations know models through
it alone. Estimators of the library derive from :class:`Ranker`, or from :class:`Model` and
:class:`Estimator` if they predict something else; any other estimator is asked through
:func:`as_model`.
"""

from __future__ import annotations

__all__ = ["Estimator", "Model", "Ranker", "as_model"]

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import validation
from sklearn.utils.validation import check_is_fitted

from rankwright.data.dataset import Dataset
from rankwright.data.feature_names import all_feature_names
from rankwright.data.foreign import plain
from rankwright.data.groups import Groups, Ints, gather
from rankwright.data.sparse import as_csr
from rankwright.data.validation import Floats, Matrix, check_qid, check_X
from rankwright.exceptions import DataError
from rankwright.losses import Loss, from_name
from rankwright.losses.names import LOSSES
from rankwright.losses.own import WithValue
from rankwright.metrics.dcg import NDCG

SCORE_METRIC = NDCG(k=10)


class Model(Protocol):
    """What the library asks of a model beyond ``fit(X, y, qid)`` and ``predict(X)``.

    Every question has an answer here, by the conventions of scikit-learn (``coef_``,
    ``feature_importances_``, ``feature_names_in_``): a class gives another one where it knows
    better.
    """

    reports_progress: ClassVar[bool] = False
    """Whether ``fit_dataset`` calls its callback while it works."""
    stops_on_request: ClassVar[bool] = False
    """Whether a true answer of that callback ends training, with a model that can be used."""
    has_path: ClassVar[bool] = False
    """Whether there is a method ``path`` over penalty weights."""

    # ---- before and after fitting ----

    def check_params(self) -> None:
        """Raise ValueError or TypeError for parameters that cannot be, without looking at data."""
        return

    def check_state(self) -> None:
        """Raise DataError unless parameters and fitted attributes, read from a file, can be."""
        try:
            self.check_params()
        except (ValueError, TypeError, ArithmeticError) as error:
            text = " ".join(str(error).split())
            raise DataError(f"the parameters cannot be: {text:.200}") from None
        check_stored_names(self)

    def fit_dataset(
        self,
        dataset: Dataset,
        callback: Callable[[Any], Any] | None = None,
        *,
        valid: Dataset | None = None,
    ) -> Self:
        """Learn from a data set; the names of its features are kept as ``feature_names_``.

        Parameters
        ----------
        dataset : Dataset
            Documents with labels.
        callback : callable, optional
            Called with the progress by models that report it.
        valid : Dataset, optional
            Validation queries, for models that take them.
        """
        this: Any = self
        more = {} if valid is None else {"valid": valid}
        this.fit(dataset.X, dataset.y, dataset.qid, **more)
        store_names(self, dataset)
        return self

    def takes_valid(self) -> bool:
        """Tell whether ``fit`` watches validation queries, as an argument ``valid``."""
        this: Any = self
        return "valid" in inspect.signature(this.fit).parameters

    # ---- what a fitted model tells ----

    def loss_for(self, y: Floats) -> Loss | None:
        """Return the loss that is minimised, as it is for these labels; None if there is none."""
        return None

    def feature_names(self) -> list[str]:
        """Return the names of the features: those that were fitted, else ``feature 1``, ..."""
        this: Any = self
        names = getattr(self, "feature_names_", None)
        if names is None:
            names = getattr(self, "feature_names_in_", None)
        return all_feature_names(names, this.n_features_in_)

    def weights(self) -> Floats | None:
        """Return the weight of each feature, or None unless there is one for each."""
        coef = getattr(self, "coef_", None)
        return coef if isinstance(coef, np.ndarray) and coef.ndim == 1 else None

    def feature_strength(self) -> Floats | None:
        """Return how much each feature counts, 0 if it is not used; None if that is not known."""
        coef = getattr(self, "coef_", None)
        if coef is not None:
            by_feature = np.abs(np.asarray(coef, dtype=np.float64)).reshape(-1, np.shape(coef)[-1])
            return np.asarray(by_feature.max(axis=0, initial=0.0))
        found: Floats | None = getattr(self, "feature_importances_", None)
        return found

    def contributions(self, X: Any) -> tuple[Floats, float]:
        """Return what each feature adds to each score, and the score that they start from."""
        weights = self.weights()
        if weights is None:
            raise TypeError(
                f"model must be linear or have a method contributions, but is a {kind_of(self)}."
            )
        matrix = check_X(X if sp.issparse(X) else np.asarray(X), allow_nan=True)
        dense = matrix.toarray() if sp.issparse(matrix) else matrix
        start = float(np.sum(getattr(self, "intercept_", 0.0)))
        return np.asarray(dense * weights, dtype=np.float64), start

    def curves(self) -> dict[str, list[float]]:
        """Return what was recorded while fitting, step by step, by name."""
        recorded: Mapping[str, Mapping[str, Any]] = getattr(self, "evals_result_", {})
        return {
            f"{part} {metric}": [float(value) for value in values]
            for part, metrics in recorded.items()
            for metric, values in metrics.items()
        }

    def summary(self) -> dict[str, Any]:
        """Return what there is to tell of a fitted model in a line or two, by name."""
        this: Any = self
        params = this.get_params()
        return {name: params[name] for name in ("loss", "alpha") if name in params}

    def unscale(self, scale: Floats) -> None:
        """Turn a model of features divided by ``scale`` into one of the features as they are."""
        this: Any = self
        if getattr(self, "coef_", None) is None:
            raise TypeError(
                "a model of scaled features needs weights that can be scaled back, which "
                f"{kind_of(self)} has not."
            )
        this.coef_ = this.coef_ / scale


class PlainModel(Model):
    """Any estimator, with the answers of :class:`Model` to what it does not know."""

    def __init__(self, estimator: Any, n_features: int | None = None) -> None:
        vars(self).update(estimator=estimator, n_features=n_features)

    def __getattr__(self, name: str) -> Any:
        if name == "n_features_in_" and self.n_features is not None:
            return getattr(self.estimator, name, self.n_features)
        return getattr(self.estimator, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.estimator, name, value)

    def loss_for(self, y: Floats) -> Loss | None:
        """Return the parameter ``loss``, if it is a ranking loss."""
        return known_loss(getattr(self.estimator, "loss", None))


def as_model(estimator: Any, n_features: int | None = None) -> Model:
    """Return an estimator as the library asks it: itself, or with answers that are always safe.

    ``n_features`` is for estimators that do not say how many features they were fitted to.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> model = as_model(Ridge().fit([[1.0, 0.0], [0.0, 2.0]], [1, 0]))
    >>> model.feature_names(), model.loss_for([1, 0]), model.takes_valid()
    (['feature 1', 'feature 2'], None, False)
    """
    if Model in type(estimator).__mro__:
        known: Model = estimator
        return known
    return PlainModel(estimator, n_features)


class Estimator(BaseEstimator):
    """scikit-learn's estimator, with tags that a class declares.

    ``TAGS`` of a class are added to those of its bases.
    """

    TAGS: ClassVar[dict[str, bool]] = {"input_tags.sparse": True, "target_tags.required": True}

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what is welcome."""
        tags = super().__sklearn_tags__()
        for kind in reversed(type(self).__mro__):
            for path, value in vars(kind).get("TAGS", {}).items():
                part, _, name = path.rpartition(".")
                setattr(getattr(tags, part) if part else tags, name, value)
        return tags


class Ranker(Model, Estimator):
    """Base of the estimators whose predictions are scores of documents, with labels from 0 on."""

    TAGS: ClassVar[dict[str, bool]] = {"target_tags.positive_only": True}

    def score(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> float:
        """Return mean NDCG@10.

        Parameters
        ----------
        X, y, qid
            Documents, labels and query ids, in any order of the rows.
        """
        ranker: Any = self
        return mean_ndcg(ranker.predict(X), y, qid)


@dataclass(frozen=True)
class RankingData:
    """Training data, gathered by query."""

    X: Matrix
    y: Floats
    groups: Groups
    order: Ints | None  # input row of each row; None if nothing moved


def validate_data(estimator: Any, X: Any, *args: Any, **options: Any) -> Any:
    """Validate as scikit-learn does, after a look at what it believes.

    Sparse matrices become CSR arrays in canonical form; masks are not dropped.
    """
    missing = options.get("ensure_all_finite") == "allow-nan"
    matrix = as_csr(X) if sp.issparse(X) else plain(X, "X", allow_missing=missing)
    labels = (plain(y, "y") for y in args)
    return validation.validate_data(estimator, matrix, *labels, **options)


def check_ranking_data(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    qid: ArrayLike | None,
    *,
    reset: bool = True,
    allow_nan: bool = False,
) -> RankingData:
    """Validate what ``fit`` was given, and bring the rows of each query together.

    Sets ``n_features_in_`` and ``feature_names_in_``, or compares with them unless ``reset``.
    ``allow_nan`` is for learners that know what to do with missing values.
    """
    finite = "allow-nan" if allow_nan else True
    matrix, labels = check_rows(
        estimator, X, y, reset=reset, y_numeric=True, ensure_all_finite=finite
    )
    labels = np.asarray(labels, dtype=np.float64)
    order, groups = gather(check_qid(qid, len(labels)))
    if order is not None:
        matrix, labels = matrix[order], labels[order]
    return RankingData(matrix, labels, groups, order)


def check_rows(
    estimator: Any, X: Any, y: Any = "no_validation", *, reset: bool = True, **options: Any
) -> Any:
    """Validate what ``fit`` was given where rows are no documents of queries.

    Returns X, and y if there is one, which then has a label for each row. As for
    :func:`check_ranking_data`, ``reset`` tells a first call; ``options`` are scikit-learn's.
    """
    if reset:
        forget_names(estimator)
    return validate_data(
        estimator,
        X,
        y,
        accept_sparse="csr",
        dtype=[np.float32, np.float64],
        order="C",
        reset=reset,
        **options,
    )


def check_features(estimator: Any, X: Any, *, allow_nan: bool = False) -> Matrix:
    """Validate what ``predict`` was given."""
    check_is_fitted(estimator)
    return validate_data(
        estimator,
        X,
        accept_sparse="csr",
        dtype=[np.float32, np.float64],
        reset=False,
        ensure_all_finite="allow-nan" if allow_nan else True,
    )


def finite_scores(scores: Any, first_row: int = 0) -> Floats:
    """Return scores as float64; raise if products of very large features and weights overflowed."""
    result = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(result).all():
        row = first_row + int(np.argwhere(~np.isfinite(result))[0, 0])
        raise ValueError(f"the score of row {row} is not finite: scale the features.")
    return result


def check_fitted_array(model: Any, name: str, shape: tuple[int, ...]) -> None:
    """Raise unless a model that was read from a file has this array of finite float64."""
    array = getattr(model, name, None)
    if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.shape != shape:
        raise DataError(f"{name} must be an array of float64 of shape {shape}.")
    if not np.isfinite(array).all():
        raise DataError(f"{name} must be finite.")


def mean_ndcg(scores: Floats, y: ArrayLike, qid: ArrayLike | None) -> float:
    """Return mean NDCG@10, the ``score`` of every ranker; higher is better."""
    labels = np.asarray(y, dtype=np.float64)
    order, groups = gather(check_qid(qid, len(labels)))
    if order is not None:
        labels, scores = labels[order], scores[order]
    return SCORE_METRIC.mean(labels, scores, groups)


def store_names(model: Any, dataset: Dataset) -> None:
    """Keep the feature names of a data set; an array does not carry them, as a frame does."""
    if dataset.feature_names is not None:
        model.feature_names_ = list(dataset.feature_names)


def forget_names(model: Any) -> None:
    """Drop the names of an earlier data set."""
    vars(model).pop("feature_names_", None)


def check_stored_names(model: Any) -> None:
    """Raise unless ``feature_names_``, read from a file, is a text for each feature, or missing."""
    names, n = getattr(model, "feature_names_", None), model.n_features_in_
    if names is None:
        return
    if type(names) is not list or len(names) != n or {type(name) for name in names} != {str}:
        raise DataError(f"feature_names_ must be {n} texts.")


def known_loss(loss: Any) -> Loss | None:
    """Return a loss by name or as it is; None for what is no loss, such as ``"lambdarank"``."""
    if isinstance(loss, str):
        return from_name(loss) if loss in LOSSES else None
    has_value = isinstance(loss, WithValue)
    return loss if has_value else None


def kind_of(model: Any) -> str:
    """Return the name of a model's class."""
    return type(model.estimator if isinstance(model, PlainModel) else model).__name__
