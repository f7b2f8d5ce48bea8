"""Arrays of other libraries that numpy would read wrongly.

A missing value must not become another one: the mask of a masked array is dropped by
``np.asarray``, and an Arrow column of categories gives its last one for a missing one.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray


def plain(values: Any, name: str, *, allow_missing: bool = False) -> Any:
    """Return what ``np.asarray`` reads as it is meant; most things are returned as they are.

    Parameters
    ----------
    values : object
        What the caller was given.
    name : str
        Its name in messages.
    allow_missing : bool, default False
        Return masked numbers as NaN; else they are an error.
    """
    if isinstance(values, list | tuple) and any(isinstance(v, np.ma.MaskedArray) for v in values):
        values = np.ma.array(values)
    if isinstance(values, np.ma.MaskedArray):
        return _unmasked(values, name, allow_missing)
    if type(values).__module__.partition(".")[0] == "pyarrow":
        return without_dictionaries(values)
    return values


def _unmasked(values: np.ma.MaskedArray[Any, Any], name: str, allow_missing: bool) -> NDArray[Any]:
    mask = np.ma.getmaskarray(values)
    if not mask.any():
        return np.asarray(values.data)
    if allow_missing and values.dtype.kind in "biuf":
        dtype = values.dtype if values.dtype.kind == "f" else np.float64
        return np.where(mask, np.nan, values.data).astype(dtype)
    row, *column = np.argwhere(mask)[0].tolist()
    place = f"row {row}, column {column[0]}" if column else f"row {row}"
    raise ValueError(f"{name} must not be missing, but {place} is masked.")


def without_dictionaries(values: Any) -> Any:
    """Return an Arrow array or table with dictionary columns as their values.

    Its buffers are looked at first: the indices of a dictionary may lead out of it.
    """
    arrow: Any = sys.modules["pyarrow"]
    is_dictionary = arrow.types.is_dictionary
    try:
        if isinstance(values, arrow.Table):
            values.validate(full=True)
            for i, column in enumerate(values.columns):
                if is_dictionary(column.type):
                    decoded = column.cast(column.type.value_type)
                    values = values.set_column(i, values.column_names[i], decoded)
        elif isinstance(values, arrow.Array | arrow.ChunkedArray):
            values.validate(full=True)
            if is_dictionary(values.type):
                return values.cast(values.type.value_type)
    except arrow.ArrowException as error:
        raise ValueError(f"Arrow: {' '.join(str(error).split())}") from None
    return values
