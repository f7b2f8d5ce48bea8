"""What ``fit`` and ``predict`` are given: scikit-learn's validation, queries, names of features.

The columns of a data frame are found by their names. scikit-learn would refuse another order of
the columns, and warn of every array that comes to a model fitted to a frame.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import validation
from sklearn.utils.validation import check_is_fitted

from rankwright.data.alignment import Features
from rankwright.data.categories import Categories
from rankwright.data.dataset import Dataset
from rankwright.data.each import EachHere
from rankwright.data.foreign import plain
from rankwright.data.groups import Groups, Ints, gather
from rankwright.data.kept import kept_numbers
from rankwright.data.missing import Missing, filled, fills
from rankwright.data.part_values import fills_of_parts, without_categories, without_missing
from rankwright.data.parts import Parts, check_are_parts
from rankwright.data.sparse import as_csr
from rankwright.data.validation import (
    Floats,
    Matrix,
    check_qid,
    check_some_weights,
    check_weights,
    no_weights_error,
)
from rankwright.exceptions import DataError, DataWarning
from rankwright.scoring.frames import align_frame, as_rows, column_names, refuse_texts
from rankwright.scoring.given import Intake, check_width, refuse_values
from rankwright.scoring.sums import one_each, sums_of

# Far above any data; kernels of such numbers, added up over any stream, are numbers still.
_LARGEST = 1e30
_FINITE = sys.float_info.max
# Documents of a query, above which a forgotten qid is likelier than a list so long: runs of TREC
# have 1,000, the longest list of MSLR-WEB30K 1,251.
_LONGEST_LIST = 2000

WeightColumn: TypeAlias = str | Callable[[Dataset], Floats]
"""Weights of the documents of a part: a column that is kept beside the features, or a function of
the part, as pure and importable as those of :class:`~rankwright.data.parts.Parts`. What a function
returns may be 0 everywhere in a part."""


@dataclass(frozen=True)
class RankingData:
    """Training data, gathered by query."""

    X: Matrix
    y: Floats
    groups: Groups
    order: Ints | None  # input row of each row; None if nothing moved
    sample_weight: Floats | None = None  # of each row; None if all are 1
    query_weight: Floats | None = None  # of each row's query; None if all are 1

    @property
    def weights(self) -> Floats | None:
        """What the term of each row in its query's loss is multiplied by; None if all are 1."""
        documents, queries = self.sample_weight, self.query_weight
        if documents is None or queries is None:
            return queries if documents is None else documents
        return documents * queries

    @property
    def weight_of_queries(self) -> Floats | None:
        """The weight of each query; None if all are 1."""
        return None if self.query_weight is None else self.query_weight[self.groups.indptr[:-1]]

    def by_query_id(self) -> RankingData:
        """Return the queries in the order of their ids' hashes, which is nobody's.

        Sums over queries in another order differ in their last bits.
        """
        order, groups = np.argsort(self.groups.keys, kind="stable"), self.groups
        ends = np.append(0, np.cumsum(groups.sizes[order]))
        return self.some_rows(groups.rows_of(order), Groups(ends, groups.names[order]))

    def rows_of_queries(self, rows: Ints) -> RankingData:
        """Return some of the rows, by increasing position: each query is still one range."""
        query = self.groups.query_of_rows()[rows]
        indptr = np.searchsorted(query, np.arange(self.groups.n_queries + 1))
        return self.some_rows(rows, Groups(indptr, self.groups.ids))

    def some_rows(self, rows: Ints, groups: Groups) -> RankingData:
        """Return some of the rows, with the groups that they have."""
        a, c = self.sample_weight, self.query_weight
        return RankingData(
            self.X[rows],
            self.y[rows],
            groups,
            rows if self.order is None else self.order[rows],
            None if a is None else a[rows],
            None if c is None else c[rows],
        )


def check_ranking_data(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    qid: ArrayLike | None,
    sample_weight: ArrayLike | None = None,
    query_weight: ArrayLike | None = None,
    *,
    reset: bool = True,
    allow_nan: bool = False,
) -> RankingData:
    """Validate what ``fit`` was given, and bring the rows of each query together.

    Sets ``n_features_in_`` and ``feature_names_in_``, or compares with them unless ``reset``.
    ``allow_nan`` is for learners that know what to do with missing values. Weights are one number
    per row; those of a query are the same in all its rows.
    """
    finite = "allow-nan" if allow_nan else True
    matrix, labels = check_rows(
        estimator, X, y, reset=reset, y_numeric=True, ensure_all_finite=finite
    )
    labels = np.asarray(labels, dtype=np.float64)
    if qid is None and len(labels) > _LONGEST_LIST:
        warnings.warn(
            f"all {len(labels)} rows are taken as one query, since there is no qid. Pass the query "
            "of each row as qid; if it is one indeed, qid=numpy.zeros(len(y), int) says so.",
            DataWarning,
            stacklevel=levels_up(),
        )
    order, groups = gather(check_qid(qid, len(labels)))
    if order is not None:
        matrix, labels = matrix[order], labels[order]
    documents = gathered_weights(sample_weight, "sample_weight", groups, order)
    queries = gathered_weights(query_weight, "query_weight", groups, order)
    if queries is not None:
        _check_same_in_query(queries, groups, order)
    return RankingData(matrix, labels, groups, order, documents, queries)


def check_parts(estimator: Any, parts: Parts, *, allow_nan: bool = False) -> Parts:
    """Validate data in parts as :func:`check_ranking_data` does data in memory.

    Returns parts without what the estimator does not take: categories are told level by level, and
    missing values are filled in. Each of the two takes another pass over the parts.
    """
    check_are_parts(parts)
    missing = vars(estimator).get("missing", "error")
    takes_missing = allow_nan or missing != "error"
    if not getattr(estimator, "takes_categories", False):
        parts = without_categories(parts)
    known = parts.facts
    estimator.n_features_in_ = known.n_features
    _know_features(estimator, known.features.names, known.features.categories)
    intake = Intake(type(estimator).__name__, vars(estimator))
    most = _FINITE if allow_nan else _LARGEST
    names = [part.name for part in known.parts]
    parts.map(_refuse_values_of_part, EachHere(names), intake, takes_missing, most)
    if missing != "error":
        estimator.fill_ = fills_of_parts(parts, missing)
        parts = without_missing(parts, estimator.fill_)
    return parts


def _refuse_values_of_part(
    part: Dataset, name: str, intake: Intake, takes_missing: bool, most: float
) -> None:
    try:
        refuse_values(intake, part.X, takes_missing, most)
    except ValueError as error:
        raise DataError(str(error), path=name) from None


def part_data(
    part: Dataset,
    sample_weight: WeightColumn | None = None,
    query_weight: WeightColumn | None = None,
) -> RankingData:
    """Return a part as training data, with its weights."""
    groups = part.groups
    documents = _weights_of(part, sample_weight, "sample_weight")
    queries = _weights_of(part, query_weight, "query_weight")
    if queries is not None:
        _check_same_in_query(queries, groups, None)
    X = as_csr(part.X) if part.is_sparse else part.X
    return RankingData(X, part.y, groups, None, documents, queries)


def check_part_weights(
    parts: Parts, sample_weight: WeightColumn | None, query_weight: WeightColumn | None
) -> None:
    """Raise for columns of weights that are wrong; in some of the parts all may be 0."""
    for name, column in (("sample_weight", sample_weight), ("query_weight", query_weight)):
        if column is None or callable(column):
            continue
        if not isinstance(column, str):
            raise TypeError(
                f"{name} must be the name of a column from parts, but is a "
                f"{type(column).__name__}. Keep it beside the features: read_parts(..., "
                "keep=[...])."
            )
        files = EachHere(part.name for part in parts.facts.parts)
        if not any(parts.map(_part_has_weight, files, column, name)):
            raise no_weights_error(name)


def _part_has_weight(part: Dataset, path: str, column: str, name: str) -> bool:
    try:
        found = part_data(part, **{name: column}).weights
    except ValueError as error:
        raise DataError(str(error), path=path) from None
    return found is None or bool(found.any())


def _weights_of(part: Dataset, column: WeightColumn | None, name: str) -> Floats | None:
    if column is None:
        return None
    given = kept_numbers(part.kept, column, name) if isinstance(column, str) else column(part)
    return _unless_ones(check_some_weights(given, name, part.n_docs))


def levels_up() -> int:
    """Return the level, for a warning of the caller, of the line that called into the library."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(__package__):
        level, frame = level + 1, frame.f_back
    return level


def gathered_weights(
    weights: ArrayLike | None,
    name: str,
    groups: Groups,
    order: Ints | None,
) -> Floats | None:
    """Return the weights of the gathered rows; None if all are 1, so that these change no bit."""
    if weights is None:
        return None
    values = _unless_ones(check_weights(weights, name, groups.n_rows))
    return values if values is None or order is None else values[order]


def _unless_ones(weights: Floats) -> Floats | None:
    return None if (weights == 1).all() else weights


def _check_same_in_query(weights: Floats, groups: Groups, order: Ints | None) -> None:
    first = groups.indptr[:-1][groups.query_of_rows()]
    differs = weights != weights[first]
    if differs.any():
        at = int(np.argmax(differs))
        row, other = (at, first[at]) if order is None else (order[at], order[first[at]])
        raise ValueError(
            f"query_weight must be the same in all rows of a query, but row {row} has "
            f"{weights[at]:g} and row {other} of the same query {weights[first[at]]:g}. Use "
            "sample_weight for weights of documents."
        )


def check_rows(estimator: Any, X: Any, *y: Any, reset: bool = True, **options: Any) -> Any:
    """Validate what ``fit`` was given where rows are no documents of queries.

    Returns X, and y if there is one, which then has a label for each row. As for
    :func:`check_ranking_data`, ``reset`` tells a first call; ``options`` are scikit-learn's.
    """
    compared = options.get("ensure_all_finite") == "allow-nan"  # trees multiply no values
    most = _FINITE if compared else _LARGEST
    return _validate(estimator, X, *y, reset=reset, most=most, **options)


def check_features(estimator: Any, X: Any, *, allow_nan: bool = False) -> Matrix:
    """Validate what ``predict`` was given."""
    return _intake(estimator, allow_nan).rows(X)


def scored(estimator: Any, X: Any) -> Floats:
    """Return a score for each row that ``predict`` was given: a weighted sum, or one of kernels."""
    intake = _intake(estimator)
    return one_each(sums_of(intake.state), intake, X)


def all_scores(estimator: Any, X: Any) -> Floats:
    """Return the scores of each row that ``predict`` was given."""
    intake = _intake(estimator)
    return sums_of(intake.state).scores_of(intake, X)


def _intake(estimator: Any, allow_nan: bool = False) -> Intake:
    """Return what a fitted estimator takes."""
    state = vars(estimator)
    if "n_features_in_" not in state:  # scikit-learn's look takes longer than scores of a query
        check_is_fitted(estimator)
    return Intake(type(estimator).__name__, state, allow_nan)


def known_features(estimator: Any) -> Features:
    """Return the features that an estimator was fitted to."""
    if not hasattr(estimator, "n_features_in_"):
        check_is_fitted(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        names = [str(name) for name in names]
    categories = getattr(estimator, "categories_", {})
    owner = f"this {type(estimator).__name__}"
    return Features(estimator.n_features_in_, names, owner, categories=categories)


def set_names(estimator: Any, names: Any) -> None:
    """Keep the names of the features, or that there are none."""
    if names is None:
        vars(estimator).pop("feature_names_in_", None)
    else:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def _validate(
    estimator: Any, X: Any, *y: Any, reset: bool, most: float = _FINITE, **options: Any
) -> Any:
    """Validate as scikit-learn does, after a look at what it believes.

    Sparse matrices become CSR arrays in canonical form; masks are not dropped.
    """
    missing = vars(estimator).get("missing", "error")  # a parameter of those that fill them in
    takes_missing = missing != "error" or options.get("ensure_all_finite") == "allow-nan"
    names, categories = None, {}
    if isinstance(X, Dataset):
        if not reset:
            X = X.aligned(known_features(estimator))
        elif not getattr(estimator, "takes_categories", False):
            X = X.one_hot()
        names, categories = X.feature_names, X.features.categories
        X = X.X
    if sp.issparse(X):
        X = as_csr(X)
    elif not isinstance(X, np.ndarray) or isinstance(X, np.ma.MaskedArray):
        X = plain(X, "X", allow_missing=takes_missing)
        columns = column_names(X)
        if columns is not None:
            names = columns
            X = as_rows(X if reset else align_frame(X, names, known_features(estimator)))
        refuse_texts(X)
    # C order, whatever comes: products of another layout differ in their last bits.
    options |= {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}
    options |= {"estimator": estimator, "ensure_all_finite": False}
    if y:
        (labels,) = (plain(label, "y") for label in y)
        matrix, *others = validation.check_X_y(X, labels, **options)
    else:
        matrix, others = validation.check_array(X, input_name="X", **options), []
    if reset:
        estimator.n_features_in_ = matrix.shape[1]
    check_width(matrix.shape[1], estimator.n_features_in_, type(estimator).__name__)
    if reset:
        _know_features(estimator, names, categories)
    intake = Intake(type(estimator).__name__, vars(estimator))
    refuse_values(intake, matrix, takes_missing, most)
    if missing != "error":
        matrix = _without_missing(estimator, matrix, missing, reset)
    return (matrix, *others) if y else matrix


def _know_features(estimator: Any, names: Any, categories: Categories) -> None:
    """Keep names and categories of the features, and nothing of another fit."""
    set_names(estimator, names)
    for name in ("categories_", "arithmetic_", "fill_"):  # or of an engine
        estimator.__dict__.pop(name, None)
    if categories:
        estimator.categories_ = {name: list(levels) for name, levels in categories.items()}


def _without_missing(estimator: Any, X: Matrix, missing: Missing, reset: bool) -> Matrix:
    """Fill in missing values: those of ``fit`` tell with what."""
    if reset:
        estimator.fill_ = fills(X, missing)
    elif "fill_" not in vars(estimator):
        raise ValueError("missing was changed after fit: fit again to know what to fill in.")
    return filled(X, estimator.fill_)
