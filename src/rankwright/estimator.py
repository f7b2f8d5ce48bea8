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
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from rankwright.adapters import (
    chooses_by_name,
    encoded_texts,
    keep_names_of,
    predicted,
    query_arguments,
    rows_for,
)
from rankwright.data.alignment import Features
from rankwright.data.categories import check_categories
from rankwright.data.dataset import Dataset
from rankwright.data.feature_names import all_feature_names
from rankwright.data.missing import filled
from rankwright.data.parts import Parts
from rankwright.data.validation import Floats, Matrix, check_X
from rankwright.exceptions import DataError, DataWarning
from rankwright.inputs import known_features, levels_up, scored, set_names
from rankwright.losses import Loss, from_name
from rankwright.losses.names import LOSSES
from rankwright.losses.own import WithValue
from rankwright.parameters import check_parameters
from rankwright.refitting import Refitted
from rankwright.score import mean_ndcg
from rankwright.scoring.state import check_floats
from rankwright.scoring.sums import check_arithmetic


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
    takes_categories: ClassVar[bool] = False
    """Whether it learns from codes of categories, and not level by level."""
    part_bytes: ClassVar[tuple[float, ...]] = (0, 0)
    """What ``fit_parts`` takes beside one part: bytes in any case, bytes a document, and which
    share of the features."""

    # ---- before and after fitting ----

    def check_params(self) -> None:
        """Raise ValueError or TypeError for parameters that cannot be, without looking at data.

        Parameters are known by their names (:mod:`rankwright.parameters`); a class looks at what it
        alone understands, after calling this.
        """
        check_parameters(self)

    def check_state(self) -> None:
        """Raise DataError unless parameters and fitted attributes, read from a file, can be."""
        try:
            self.check_params()
        except (ValueError, TypeError, ArithmeticError) as error:
            text = " ".join(str(error).split())
            raise DataError(f"the parameters cannot be: {text:.200}") from None
        if vars(self).get("missing", "error") != "error":
            this: Any = self
            check_fitted_array(self, "fill_", (this.n_features_in_,))
        if "categories_" in vars(self):
            check_categories(vars(self)["categories_"], self.features().names)
        check_arithmetic(vars(self))

    def fit_dataset(
        self,
        dataset: Dataset,
        callback: Callable[[Any], Any] | None = None,
        *,
        valid: Dataset | None = None,
    ) -> Self:
        """Learn from a data set; the names of its features are kept as ``feature_names_in_``.

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
        dataset = self.encoded(dataset)
        more = self.query_arguments(dataset)
        if valid is not None:
            more["valid"] = valid
        this.fit(self.rows(dataset), dataset.y, **more)
        self.keep_names(dataset)
        return self

    def fit_parts(
        self,
        parts: Parts,
        valid: Parts | None = None,
        callback: Callable[[Any], Any] | None = None,
    ) -> Self:
        """Learn from data in parts of whole queries, which need not fit into memory."""
        raise TypeError(
            f"{kind_of(self)} learns from data in memory only; LinearRanker, DominationRank and "
            "BoostedRanker learn from parts."
        )

    def check_takes_parts(self) -> None:
        """Raise for parameters with which nothing can be learned from data in parts."""
        return

    def takes_parts(self) -> bool:
        """Tell whether it learns from data in parts."""
        return type(self).fit_parts is not Model.fit_parts

    def rows(self, dataset: Dataset) -> Any:
        """Return the features of a data set as ``fit`` and ``predict`` take them."""
        return dataset.X

    def query_arguments(self, dataset: Dataset) -> dict[str, Any]:
        """Return the arguments of ``fit`` that tell which documents belong to which query."""
        return {"qid": dataset.qid}

    def encoded(self, dataset: Dataset) -> Dataset:
        """Return the data set as it is fitted to: its categories level by level, as 0 or 1."""
        return dataset if self.takes_categories else dataset.one_hot()

    def keep_names(self, dataset: Dataset) -> None:
        """Keep the names of the features, which an array does not carry."""
        set_names(self, dataset.feature_names)

    def warn_if_it_ranks_nothing(self, reason: str) -> None:
        """Warn of a fitted model that gives all documents the same score."""
        strength = self.feature_strength()
        if strength is not None and not strength.any():
            warnings.warn(
                f"this model ranks nothing: {reason}",
                DataWarning,
                stacklevel=levels_up(),
            )

    def takes_valid(self) -> bool:
        """Tell whether ``fit`` watches validation queries, as an argument ``valid``."""
        this: Any = self
        return "valid" in inspect.signature(this.fit).parameters

    # ---- what a fitted model tells ----

    def grown(self) -> dict[str, Any]:
        """Return parameters with which a fit without validation queries ends where this one did."""
        return {}

    def loss_for(self, y: Floats) -> Loss | None:
        """Return the loss that is minimised, as it is for these labels; None if there is none."""
        return None

    def features(self) -> Features:
        """Return how many features were fitted, and their names if they had any."""
        return known_features(self)

    def feature_names(self) -> list[str]:
        """Return the names of the features: those that were fitted, else ``feature 1``, ..."""
        known = self.features()
        return all_feature_names(known.names, known.n)

    def align(
        self, dataset: Dataset, *, path: str | None = None, name: str | None = None
    ) -> Dataset:
        """Return a data set with the features of this model, found by their names.

        Missing values are filled in as the model does.

        Parameters
        ----------
        dataset : Dataset
            Documents.
        path, name : str, optional
            Where the data and the model come from, for messages.
        """
        known = self.features()
        found = dataset.aligned(known if name is None else replace(known, owner=name), path)
        return found.with_features(self.filled_in(found.X))

    def filled_in(self, X: Matrix) -> Matrix:
        """Return features with what the model puts in the place of missing values."""
        fill = None if vars(self).get("missing") == "error" else vars(self).get("fill_")
        return X if fill is None else filled(X, fill)

    def predict_dataset(self, dataset: Dataset) -> Any:
        """Return what :meth:`predict` says of the documents, whatever the order of the columns."""
        return self.predict_aligned(self.align(dataset))

    def predict_aligned(self, dataset: Dataset) -> Any:
        """Return what :meth:`predict` says of documents that have the features of this model."""
        return predicted(self, self.rows(dataset))

    def linear_weights(self) -> Floats | None:
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
        weights = self.linear_weights()
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
        found = {name: params[name] for name in ("loss", "alpha") if name in params}
        return found | ({"scale": "standardized features"} if "scale_" in vars(self) else {})


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

    def check_params(self) -> None:
        """Do nothing: what its parameters must be is for the estimator to say."""

    def query_arguments(self, dataset: Dataset) -> dict[str, Any]:
        """Return the arguments that the signature of the estimator's ``fit`` has for them."""
        return query_arguments(self.estimator, dataset)

    def rows(self, dataset: Dataset) -> Any:
        """Return the features as a matrix, or as a frame where columns are chosen by name."""
        return rows_for(self.estimator, dataset)

    def keep_names(self, dataset: Dataset) -> None:
        """Keep the names in a pipeline; others would warn of arrays, which they were fitted to."""
        keep_names_of(self.estimator, dataset.feature_names)

    def encoded(self, dataset: Dataset) -> Dataset:
        """Refuse categories that no column is chosen for: their levels would not be found again."""
        if dataset.features.categories and not chooses_by_name(self.estimator):
            first = min(dataset.features.categories)
            raise TypeError(f"{kind_of(self)} takes no categories, such as {first!r}.")
        return dataset

    def features(self) -> Features:
        """Return the features that the estimator says it was fitted to."""
        known = replace(known_features(self), owner=f"this {kind_of(self)}")
        return replace(known, categories=encoded_texts(self.estimator))

    def align(
        self, dataset: Dataset, *, path: str | None = None, name: str | None = None
    ) -> Dataset:
        """Return a data set with the features of the estimator, if it knows their names."""
        if self.features().names is None:
            return dataset
        return super().align(dataset, path=path, name=name)

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


class Estimator(Refitted, BaseEstimator):
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
        if vars(self).get("missing", "error") != "error":
            tags.input_tags.allow_nan = True
        return tags


class Ranker(Model, Estimator):
    """Base of the estimators whose predictions are scores of documents, with labels from 0 on."""

    TAGS: ClassVar[dict[str, bool]] = {"target_tags.positive_only": True}

    def predict(self, X: Any) -> Floats:
        """Return scores; a larger one ranks higher."""
        return scored(self, X)

    def score(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        r"""Return mean NDCG@10, :math:`\sum_q c_q \mathrm{NDCG}_q / \sum_q c_q`.

        Parameters
        ----------
        X, y, qid
            Documents, labels and query ids, in any order of the rows.
        sample_weight : array-like of shape (n_docs,), optional
            Weights; :math:`c_q` is their mean over the documents of the query. 1 by default.
        """
        return mean_ndcg(self.predict(X), y, qid, sample_weight)


def check_fitted_array(model: Any, name: str, shape: tuple[int, ...]) -> None:
    """Raise unless a model that was read from a file has this array of finite float64."""
    check_floats(vars(model), name, shape)


def known_loss(loss: Any) -> Loss | None:
    """Return a loss by name or as it is; None for what is no loss, such as ``"lambdarank"``."""
    if isinstance(loss, str):
        return from_name(loss) if loss in LOSSES else None
    has_value = isinstance(loss, WithValue)
    return loss if has_value else None


def kind_of(model: Any) -> str:
    """Return the name of a model's class."""
    return type(model.estimator if isinstance(model, PlainModel) else model).__name__
