"""What estimators share: scikit-learn's validation, and queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import validation
from sklearn.utils.validation import check_is_fitted

from rankwright.data.groups import Groups, Ints, gather
from rankwright.data.sparse import as_csr
from rankwright.data.validation import Floats, Matrix, check_qid
from rankwright.exceptions import DataError
from rankwright.metrics.dcg import NDCG

SCORE_METRIC = NDCG(k=10)


@dataclass(frozen=True)
class RankingData:
    """Training data, gathered by query."""

    X: Matrix
    y: Floats
    groups: Groups
    order: Ints | None  # input row of each row; None if nothing moved


def validate_data(estimator: Any, X: Any, *args: Any, **options: Any) -> Any:
    """Validate as scikit-learn does, and look at the indices of sparse matrices, which it does not.

    They become CSR arrays in canonical form.
    """
    return validation.validate_data(estimator, as_csr(X) if sp.issparse(X) else X, *args, **options)


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
    matrix, labels = validate_data(
        estimator,
        X,
        y,
        accept_sparse="csr",
        dtype=[np.float32, np.float64],
        order="C",
        y_numeric=True,
        reset=reset,
        ensure_all_finite="allow-nan" if allow_nan else True,
    )
    labels = np.asarray(labels, dtype=np.float64)
    ids = np.zeros(len(labels), dtype=np.int64) if qid is None else check_qid(qid, len(labels))
    order, groups = gather(ids)
    if order is not None:
        matrix, labels = matrix[order], labels[order]
    return RankingData(matrix, labels, groups, order)


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
    ids = np.zeros(len(labels), dtype=np.int64) if qid is None else check_qid(qid, len(labels))
    order, groups = gather(ids)
    if order is not None:
        labels, scores = labels[order], scores[order]
    return SCORE_METRIC.mean(labels, scores, groups)
