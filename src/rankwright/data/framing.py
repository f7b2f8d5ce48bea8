"""Results as data frames: of pandas, polars or Arrow, whichever is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwright.data.tables import import_frames

Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]
_BACKENDS = ("pandas", "polars", "pyarrow")  # the first that is installed


def frame_of(columns: Mapping[str, Any], backend: Backend | None = None) -> Any:
    """Return columns as a data frame.

    Parameters
    ----------
    columns : mapping of str to array-like
        Values by the name of their column.
    backend : {"pandas", "polars", "pyarrow"}, optional
        Whose data frame it is; by default pandas', else polars', else an Arrow table, whichever is
        installed.

    Examples
    --------
    >>> frame_of({"qid": ["a", "b"], "ndcg": [0.5, 1.0]}, "polars").shape
    (2, 2)
    """
    installed = (name for name in _BACKENDS if find_spec(name) is not None)
    chosen = next(installed, "pyarrow") if backend is None else backend
    if chosen not in _BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(_BACKENDS)}, but is {backend!r}.")
    if chosen == "pyarrow":
        import_frames(chosen)  # which an extra installs
    elif find_spec(chosen) is None:
        raise ImportError(f"backend={chosen!r} needs it. Install it with: pip install {chosen}")
    given = {name: _as_column(values) for name, values in columns.items()}
    return import_frames("narwhals").from_dict(given, backend=chosen).to_native()


def table_named(name: str, tables: Mapping[str, Callable[[], Mapping[str, Any]]]) -> Any:
    """Return the columns of one of an object's tables."""
    if name not in tables:
        raise ValueError(f"table must be one of {', '.join(tables)}, but is {name!r}.")
    return tables[name]()


def _as_column(values: Any) -> Any:
    """Return numbers as an array, texts as a list: each library has types of its own for them."""
    column = np.asarray(values)
    return column if column.dtype.kind in "biuf" else column.tolist()
