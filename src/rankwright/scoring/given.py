"""What ``predict`` is given, as rows of numbers: the one way of estimators and of scorers.

Arrays need NumPy alone. A sparse matrix comes with SciPy loaded by whoever made it; narwhals is
loaded for a data frame, whose columns are found by their names.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwright import _kernels
from rankwright.data.alignment import Features
from rankwright.data.feature_names import feature_name
from rankwright.data.foreign import plain
from rankwright.data.missing import filled
from rankwright.data.sparse import as_csr, is_sparse
from rankwright.data.validation import Floats, Matrix, first_place

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


# A tuple, as every call of an estimator makes one: a frozen dataclass would take twice as long.
class Intake(NamedTuple):
    """What a fitted model takes.

    Attributes
    ----------
    kind : str
        The model's class.
    state : mapping
        Its parameters and fitted attributes, by name.
    allow_nan : bool
        Whether it takes missing values as they are.
    """

    kind: str
    state: Mapping[str, Any]
    allow_nan: bool = False

    @property
    def features(self) -> Features:
        """The features that the model was fitted to."""
        names = self.state.get("feature_names_in_")
        if names is not None:
            names = [str(name) for name in names]
        return Features(
            self.state["n_features_in_"],
            names,
            f"this {self.kind}",
            categories=self.state.get("categories_", {}),
        )

    @property
    def fill(self) -> Floats | None:
        """What stands for missing values; None if nothing does."""
        if self.state.get("missing", "error") == "error":
            return None
        if "fill_" not in self.state:
            raise ValueError("missing was changed after fit: fit again to know what to fill in.")
        fill: Floats = self.state["fill_"]
        return fill

    def rows(self, X: Any, look: bool = True) -> Matrix:
        """Return features as a C-ordered array or CSR array of float32 or float64.

        As many as the model has, all finite but for missing values that it takes; unless ``look``,
        for who will see of an array whether all are.
        """
        if self._is_plain(X):
            if look:
                refuse_values(self, X, self.allow_nan)
            return X
        takes_missing = self.allow_nan or self.state.get("missing", "error") != "error"
        matrix = self._matrix(X, takes_missing)
        check_width(matrix.shape[1], self.state["n_features_in_"], self.kind)
        refuse_values(self, matrix, takes_missing)
        fill = self.fill
        return matrix if fill is None else filled(matrix, fill)

    def _is_plain(self, X: Any) -> bool:
        """Tell whether nothing but the values of X can be wrong, and nothing is to be done."""
        # In the order of their costs: one query is scored in two microseconds.
        return (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype in _FLOATS
            and X.flags.c_contiguous
            and X.shape[1] == self.state["n_features_in_"]
            and X.shape[0] > 0
            and self.state.get("missing", "error") == "error"
        )

    def _matrix(self, X: Any, takes_missing: bool) -> Matrix:
        if type(X) is np.ndarray:
            return as_floats(X)
        if _is_dataset(X):
            X = X.aligned(self.features).X
        elif not is_sparse(X):
            X = plain(X, "X", allow_missing=takes_missing)
            if has_rows_of_entries(X):
                X = _as_scipy(X)
            elif not isinstance(X, np.ndarray | list | tuple):
                from rankwright.scoring.frames import aligned_numbers

                X = aligned_numbers(X, self.features)
        return as_floats(as_csr(X) if is_sparse(X) else X)


def as_floats(X: Any) -> Matrix:
    """Return rows of numbers as float32 or float64, in C order; raise if there are none."""
    if is_sparse(X):
        matrix = X if X.dtype in _FLOATS else X.astype(np.float64)
    else:
        array = _array_of(X)
        dtype = array.dtype if array.dtype in _FLOATS else np.float64
        try:
            # C order, whatever comes: products of another layout differ in their last bits.
            matrix = np.asarray(array, dtype=dtype, order="C")
        except (TypeError, ValueError) as error:
            raise type(error)(f"X must hold numbers, but does not: {error}.") from None
    if matrix.ndim != 2:
        raise ValueError(
            f"X must have 2 dimensions, but has shape {matrix.shape}. Reshape your data: one "
            "document is X.reshape(1, -1)."
        )
    if 0 in matrix.shape:
        what = "0 sample(s)" if matrix.shape[0] == 0 else "0 feature(s)"
        raise ValueError(
            f"X must have rows and columns, but has {what} (shape={matrix.shape}) while a minimum "
            "of 1 is required."
        )
    return matrix


def _array_of(X: Any) -> NDArray[Any]:
    try:
        array = np.asarray(X)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must hold numbers in rows of one length, but: {error}") from None
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: X has dtype {array.dtype}.")
    return array


def check_width(width: int, n_features: int, kind: str) -> None:
    """Raise unless there are as many features as the model was fitted to."""
    if width != n_features:
        raise ValueError(
            f"X has {width} features, but {kind} is expecting {n_features} features as input."
        )


def refuse_values(
    intake: Intake, X: Matrix, takes_missing: bool, most: float = sys.float_info.max
) -> None:
    """Raise for infinite values, for those above ``most``, and for missing ones.

    These only where nobody knows what to do with them.
    """
    values = X.data if is_sparse(X) else X
    largest = _kernels.largest_size(values, skip_nan=takes_missing)
    if largest <= most:
        return
    if math.isfinite(largest):
        wrong = np.abs(values) > most
    else:
        wrong = np.isinf(values) if takes_missing else ~np.isfinite(values)
    row, column = first_place(X, wrong)
    name, value = feature_name(intake.features.names, column), X[row, column]
    if np.isinf(value):
        raise ValueError(
            f"X must be finite, but row {row}, {name} is {value} (inf, or too large for "
            f"{X.dtype}). Replace it."
        )
    if np.isfinite(value):
        raise ValueError(
            f"X must be at most {most:g} in size, but row {row}, {name} is {value:g}: scale the "
            "features, or take their logarithms."
        )
    how = "Use missing='median' or 'zero', " if "missing" in intake.state else "Replace it, "
    raise ValueError(
        f"X must have no missing values, but row {row}, {name} is NaN. {how}or boosted trees, "
        "which take missing values as they are."
    )


def _is_dataset(X: Any) -> bool:
    """Tell whether this is a data set, which nobody has without the module."""
    module = sys.modules.get("rankwright.data.dataset")
    return module is not None and isinstance(X, module.Dataset)


def has_rows_of_entries(X: Any) -> bool:
    """Tell whether this has the arrays of a CSR matrix, whoever made it."""
    # A data frame may have columns of these names.
    return not hasattr(X, "columns") and all(
        hasattr(X, name) for name in ("data", "indices", "indptr", "shape")
    )


def _as_scipy(X: Any) -> Any:
    import scipy.sparse as sp

    return sp.csr_array((X.data, X.indices, X.indptr), shape=X.shape)
