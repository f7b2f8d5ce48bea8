"""The one place where user input becomes arrays.

Above it there is no mathematics, below it there are no checks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwright.data.foreign import plain
from rankwright.data.sparse import as_csr, is_sparse
from rankwright.data.texts import text_array
from rankwright.exceptions import DataError

Floats: TypeAlias = NDArray[np.float64]
_MISSING = ("NoneType", "NAType", "NaTType")  # types of None, and of pandas' missing values
Matrix: TypeAlias = Any  # ndarray or scipy.sparse.csr_array, float32 or float64


def check_count(name: str, value: Any, least: int = 1, *, optional: bool = False) -> None:
    """Raise unless a parameter is an integer of at least ``least``, or None if that is allowed."""
    if optional and value is None:
        return
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        what = "a positive integer" if least == 1 else f"an integer of at least {least}"
        none = " or None" if optional else ""
        raise ValueError(f"{name} must be {what}{none}, but is {value!r}.")


def check_number(name: str, value: Any, *, positive: bool = False) -> None:
    """Raise unless a parameter is a finite number, above 0 if it must be."""
    is_number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or (positive and value <= 0):
        what = "a positive number" if positive else "a finite number"
        raise ValueError(f"{name} must be {what}, but is {value!r}.")


def finite_numbers(name: str, values: Any, hint: str = "") -> Floats:
    """Return a parameter as an array of finite numbers, of any shape; ``hint`` ends the message."""
    try:
        array = np.asarray(values, dtype=np.float64)
        fault = "" if np.isfinite(array).all() else "has NaN or infinity"
    except (TypeError, ValueError):
        fault = f"is a {type(values).__name__}"
    if values is None:
        fault = "is None"
    if fault:
        raise ValueError(f"{name} must be finite numbers, but {fault}.{hint}")
    return array


def check_X(X: Any, *, allow_nan: bool = False) -> Matrix:
    """Return features as a C-ordered array or CSR array of float32 or float64.

    float32 and float64 are kept, float16 becomes float32, everything else float64.
    """
    if is_sparse(X):
        matrix: Matrix = as_csr(X)
        _require_numbers(matrix.data, "X")
        matrix = matrix.astype(_float_type(matrix.dtype), copy=False)
        values = matrix.data
    else:
        given = _as_array(plain(X, "X", allow_missing=allow_nan), "X")
        matrix = _as_floats(given, "X", _float_type(given.dtype))
        values = matrix
    if matrix.ndim != 2:
        hint = " For one document use X[None, :]." if matrix.ndim == 1 else ""
        raise ValueError(f"X must have 2 dimensions, but has shape {matrix.shape}.{hint}")
    if not allow_nan and not _all_finite(values):
        row, column = first_place(matrix, ~np.isfinite(values))
        value = matrix[row, column]
        raise ValueError(
            f"X must be finite, but row {row}, column {column} is {value}. Replace it, or pass "
            "allow_nan=True if the learner handles missing values."
        )
    return matrix


def check_y(y: ArrayLike, n_rows: int | None = None, *, finite: bool = True) -> Floats:
    """Return labels as a float64 vector, finite unless whoever ranks them looks at that."""
    return _check_vector(y, "y", n_rows, finite)


def check_scores(
    scores: ArrayLike, n_rows: int | None = None, *, finite: bool = True, name: str = "scores"
) -> Floats:
    """Return scores as a float64 vector, finite unless whoever ranks them looks at that."""
    return _check_vector(scores, name, n_rows, finite)


def check_weights(weights: ArrayLike, name: str, n_rows: int) -> Floats:
    """Return weights as :func:`check_some_weights` does; raise if all are 0."""
    vector = check_some_weights(weights, name, n_rows)
    if n_rows and not vector.any():
        raise no_weights_error(name)
    return vector


def check_some_weights(weights: ArrayLike, name: str, n_rows: int) -> Floats:
    """Return weights as a float64 vector: finite, none negative; a number is for all rows."""
    given = _as_array(plain(weights, name), name)
    vector = _check_vector(np.repeat(given, n_rows) if given.ndim == 0 else given, name, n_rows)
    if (vector < 0).any():
        row = int(np.argmax(vector < 0))
        raise ValueError(f"{name} must not be negative, but row {row} is {vector[row]:g}.")
    return vector


def no_weights_error(name: str) -> ValueError:
    """Return the error for weights that are all 0."""
    return ValueError(
        f"{name} must not be zero everywhere, but is. Leave it out for equal weights."
    )


def check_qid(qid: ArrayLike | None, n_rows: int | None = None) -> NDArray[Any]:
    """Return query ids as a vector of int64 or of strings; None is one query of all rows."""
    if qid is None and n_rows is not None:
        return np.zeros(n_rows, dtype=np.int64)
    return _check_ids(qid, "qid", n_rows)


def check_doc_ids(doc_ids: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
    """Return document ids as a vector of strings, one per row."""
    if doc_ids is None:
        return None
    ids = _check_ids(doc_ids, "doc_ids", n_rows)
    return ids.astype(str) if ids.dtype.kind == "i" else ids


def _check_ids(given: Any, name: str, n_rows: int | None) -> NDArray[Any]:
    ids = np.asarray(plain(given, name))
    if ids.ndim != 1:
        raise ValueError(
            f"{name} must have 1 dimension, one id per row, but has shape {ids.shape}."
        )
    if n_rows is not None and len(ids) != n_rows:
        raise ValueError(f"{name} must have one id per row, {n_rows} in all, but has {len(ids)}.")
    if ids.dtype.kind in "OT":  # T: numpy's strings of variable width
        ids = _from_objects(ids.astype(object), name)
    kind = ids.dtype.kind
    if kind == "f" and np.isnan(ids).any():
        raise ValueError(f"{name} must not be missing, but row {np.argmax(np.isnan(ids))} is nan.")
    if kind == "f":
        whole = ids.astype(np.int64) if (np.abs(ids) < 2.0**63).all() else None
        if whole is None or (whole != ids).any():
            raise ValueError(
                f"{name} must be integers or strings, but holds fractions or numbers beyond 64 "
                "bits. Pass strings."
            )
        ids, kind = whole, "i"
    if kind == "S":
        ids, kind = _decoded(ids, name), "U"
    if kind == "u" and len(ids) and ids.max() >= 2**63:
        ids, kind = ids.astype(str), "U"
    if kind in "iu":
        return ids.astype(np.int64, copy=False)
    if kind not in "UO":  # O: what text_array makes of texts of very different lengths
        raise TypeError(f"{name} must be integers or strings, but has dtype {ids.dtype}.")
    return ids


def check_names(names: Sequence[str] | None, n_features: int) -> list[str] | None:
    """Return feature names as a list of distinct strings."""
    if names is None:
        return None
    result = [str(name) for name in names]
    if len(result) != n_features:
        raise ValueError(
            f"feature_names must name {n_features} features, but has {len(result)} names."
        )
    if len(set(result)) < len(result):
        twice = next(name for name in result if result.count(name) > 1)
        raise ValueError(f"feature_names must be distinct, but {twice!r} occurs twice.")
    return result


class NoDocuments(DataError):  # noqa: N818 (it is a DataError to all but those who know better)
    """There is no document at all."""


def require_rows(n_rows: int, path: str | None = None) -> None:
    """Raise if there is no document at all."""
    if n_rows == 0:
        raise NoDocuments("there must be at least one document, but there is none.", path=path)


def _float_type(dtype: np.dtype[Any]) -> type[np.floating[Any]]:
    return np.float32 if dtype in (np.float32, np.float16) else np.float64


def _as_array(values: Any, name: str) -> NDArray[Any]:
    """Return an array of numbers, or of objects that may be some."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be numbers: {error}") from None
    _require_numbers(array, name)
    return array


def _require_numbers(array: NDArray[Any], name: str) -> None:
    """Raise where numpy would read text, times or complex numbers as floats."""
    if array.dtype.kind not in "biufO":
        raise TypeError(f"{name} must be numbers, but has dtype {array.dtype}.")
    if array.dtype.kind == "O" and any(isinstance(value, str | bytes) for value in array.flat):
        raise TypeError(f"{name} must be numbers, but holds strings.")


def _as_floats(array: NDArray[Any], name: str, dtype: type[np.floating[Any]]) -> NDArray[Any]:
    try:
        return np.asarray(array, dtype=dtype, order="C")
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be numbers: {error}.") from None


def _check_vector(values: ArrayLike, name: str, n_rows: int | None, finite: bool = True) -> Floats:
    vector = _as_floats(_as_array(plain(values, name), name), name, np.float64)
    if vector.ndim != 1:
        raise ValueError(f"{name} must have 1 dimension, but has shape {vector.shape}.")
    if n_rows is not None and len(vector) != n_rows:
        raise ValueError(f"{name} must have {n_rows} values, one per row, but has {len(vector)}.")
    if finite and not _all_finite(vector):
        row = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise ValueError(f"{name} must be finite, but row {row} is {vector[row]}.")
    return vector


def _all_finite(values: NDArray[Any]) -> bool:
    # A finite sum proves it without a temporary array; an overflowing one proves nothing.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum(dtype=np.float64)) or np.isfinite(values).all())


def first_place(matrix: Matrix, wrong: NDArray[np.bool_]) -> tuple[int, int]:
    """Return row and column of the first value that is wrong; of sparse ones, stored values."""
    if is_sparse(matrix):
        entry = int(np.flatnonzero(wrong)[0])
        row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
        return row, int(matrix.indices[entry])
    row, column = np.argwhere(wrong)[0]
    return int(row), int(column)


def _decoded(ids: NDArray[Any], name: str) -> NDArray[Any]:
    try:
        return np.char.decode(ids, "utf-8")
    except UnicodeDecodeError as error:
        row = int(np.argmax(ids == error.object))
        raise ValueError(f"{name} must be UTF-8, but row {row} is {error.object!r:.50}.") from None


def _from_objects(ids: NDArray[Any], name: str) -> NDArray[Any]:
    kinds = {type(value) for value in ids.tolist()}
    if all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        try:
            return ids.astype(np.int64)
        except OverflowError:
            return ids.astype(str)
    if all(issubclass(kind, str) for kind in kinds):
        return text_array(ids.tolist())
    if all(issubclass(kind, bytes) for kind in kinds):
        return ids.astype(bytes)
    for row, value in enumerate(ids.tolist()):
        if type(value).__name__ in _MISSING or (isinstance(value, float) and math.isnan(value)):
            raise ValueError(f"{name} must not be missing, but row {row} is {value}.")
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise TypeError(f"{name} must be all integers or all strings, but holds {names}.")
