"""Data frames: columns found by their names, as rows of numbers."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from rankwright.data.alignment import Features, columns_for
from rankwright.data.categories import is_derived
from rankwright.data.frames import features_of
from rankwright.exceptions import DataError


def column_names(X: Any) -> list[str] | None:
    """Return the names of a data frame's columns, if they are texts."""
    if isinstance(X, np.ndarray | list):
        return None
    if not nw.dependencies.is_into_dataframe(X):
        return None
    names = list(nw.from_native(X, eager_only=True).columns)
    texts = [isinstance(name, str) for name in names]
    if any(texts) and not all(texts):
        raise TypeError(
            "the names of X's columns must be all texts or all numbers, but some are texts and "
            "some are not. Use X.columns = X.columns.astype(str)."
        )
    return names if names and all(texts) else None


def as_rows(frame: Any) -> Any:
    """Return what scikit-learn reads as it is: of others than pandas' it makes float32."""
    if isinstance(frame, np.ndarray):
        return frame
    table = nw.from_native(frame, eager_only=True)
    return frame if table.implementation.is_pandas() else table.to_numpy()


def numbers_of(X: Any) -> Any:
    """Return the numbers of a data frame, or of whatever else it is, as an array."""
    kinds = getattr(X, "dtypes", None)
    if not nw.dependencies.is_pandas_dataframe(X) or kinds is None:
        return np.asarray(X)
    if len(kinds) and all(type(kind).__name__ == "SparseDtype" for kind in kinds):
        return X.sparse.to_coo()
    if all(isinstance(kind, np.dtype) for kind in kinds):
        return X.to_numpy()
    return X.to_numpy(dtype=np.float64, na_value=np.nan)


def refuse_texts(X: Any) -> None:
    """Raise for a data frame with a column of texts, which is no number to anybody."""
    if isinstance(X, np.ndarray | list) or not nw.dependencies.is_into_dataframe(X):
        return
    for name, kind in nw.from_native(X, eager_only=True).schema.items():
        if kind in (nw.String, nw.Categorical, nw.Enum):
            raise ValueError(
                f"X must hold numbers, but the column {name!r} holds texts or categories. Leave it "
                f"out, or make a data set: rankwright.from_frame(frame, categorical=[{name!r}])."
            )


def align_frame(frame: Any, names: list[str], wanted: Features) -> Any:
    """Return the columns that a model was fitted to, in their order."""
    if wanted.categories or any(is_derived(name, names) for name in wanted.names or ()):
        return features_of(frame, wanted).aligned(wanted, "X").X
    try:
        columns = columns_for(wanted, Features(len(names), names, "X"))
    except DataError as error:
        raise DataError(f"X: {error.message}") from None
    if columns is None:
        return frame
    return nw.from_native(frame, eager_only=True)[:, columns.tolist()].to_native()


def aligned_numbers(X: Any, wanted: Features) -> Any:
    """Return the numbers of what may be a data frame, in the columns of a model.

    An array, or a sparse matrix.
    """
    names = column_names(X)
    if names is not None:
        X = as_rows(align_frame(X, names, wanted))
    refuse_texts(X)
    return numbers_of(X)
