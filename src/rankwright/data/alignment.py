"""Columns in the order of other names: a table is read by its names, and never by position alone.

Features without names are known by their numbers, from 1 on as in LETOR files; so are columns that
are called ``f1``, ``feature 1`` or, as LightGBM does, ``Column_0``. Where one side has names and
the other has numbers, nothing but the position is left, and a warning says so.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.categories import Categories
from rankwright.data.feature_names import feature_name, listed
from rankwright.data.sparse import as_csr, is_sparse
from rankwright.data.validation import Matrix
from rankwright.exceptions import DataError, DataWarning

_NUMBERED = re.compile(r"(f|feature |Column_)(0|[1-9][0-9]{0,8})")


@dataclass(frozen=True)
class Features:
    """The features of a model, a file or a data set.

    Attributes
    ----------
    n : int
        How many.
    names : sequence of str, optional
        Their names, if they have any.
    owner : str
        Whose they are, for messages.
    open_ended : bool
        Whether there may be more, which are all 0: a LETOR file does not tell its width.
    categories : mapping of str to sequence of str
        Those that are categories, with their levels (:mod:`rankwright.data.categories`).
    """

    n: int
    names: Sequence[str] | None = None
    owner: str = "the data"
    open_ended: bool = False
    categories: Categories = field(default_factory=dict)

    def keys(self) -> list[int] | list[str]:
        """Return what columns are recognised by: numbers from 1 on, or names."""
        if self.names is None:
            return list(range(1, self.n + 1))
        found = [_NUMBERED.fullmatch(name) for name in self.names]
        numbers = [int(m[2]) + (m[1] == "Column_") for m in found if m is not None]
        # Only a LETOR file says what its 0 is: there is a feature 0 before feature 1.
        counted = 0 not in numbers or all(name.startswith("feature ") for name in self.names)
        if len(numbers) == self.n == len(set(numbers)) and counted:
            return numbers
        return list(self.names)


def columns_for(wanted: Features, given: Features) -> NDArray[np.int64] | None:
    """Return the column of each wanted feature, -1 where it counts 0; None if nothing moves.

    Raises DataError for features that are missing. Warns of columns that nobody wants, of features
    beyond the end of a LETOR file, and of columns that had to be taken by position.

    Examples
    --------
    >>> model = Features(2, ["title", "age"], "the model")
    >>> columns_for(model, Features(2, ["age", "title"])).tolist()
    [1, 0]
    """
    if wanted.names is None and given.names is None and wanted.n == given.n:
        return None  # as most data are; there may be a million features
    keys, there = wanted.keys(), given.keys()
    if _are_names(keys) != _are_names(there) and wanted.names and given.names:
        keys, there = list(wanted.names), list(given.names)  # f1, f2 of f0, f1, f2
    one_side = _are_names(keys) != _are_names(there)
    fixed = given.names is None and not given.open_ended
    if (one_side or fixed) and wanted.n != given.n:
        raise DataError(
            f"there must be the {wanted.n} features of {wanted.owner}, but there are {given.n}."
        )
    if one_side:
        _warn_of_positions(wanted, given)
        return None
    place: dict[Any, int] = {key: column for column, key in enumerate(there)}
    missing = [column for column, key in enumerate(keys) if key not in place]
    if missing and not given.open_ended:
        raise DataError(
            f"there must be all {wanted.n} features of {wanted.owner}, but "
            f"{_named(wanted, missing)} {'is' if len(missing) == 1 else 'are'} missing."
        )
    if missing:
        _warn_of(
            f"{given.n} of the {wanted.n} features of {wanted.owner}; the others count 0.", given
        )
    if len(there) > len(keys) - len(missing):
        known = set(keys)
        extra = [column for column, key in enumerate(there) if key not in known]
        _warn_of(
            f"{_named(given, extra)} {'is' if len(extra) == 1 else 'are'} not looked at: "
            f"{wanted.owner} has no such feature{'' if len(extra) == 1 else 's'}.",
            given,
        )
    columns = np.array([place.get(key, -1) for key in keys], dtype=np.int64)
    unmoved = len(columns) == given.n and (columns == np.arange(given.n)).all()
    return None if unmoved else columns


def take_columns(X: Matrix, columns: NDArray[np.int64] | None) -> Matrix:
    """Return these columns of features; column -1 is 0."""
    if columns is None:
        return X
    n, width = X.shape
    if is_sparse(X):
        import scipy.sparse as sp

        behind = np.full(max(0, len(columns) - width), -1)
        if np.array_equal(columns, np.append(np.arange(width), behind)):
            return sp.csr_array((X.data, X.indices, X.indptr), shape=(n, len(columns)))
        wide = sp.csr_array((X.data, X.indices, X.indptr), shape=(n, width + 1))
        return as_csr(wide[:, np.where(columns < 0, width, columns)])
    if (columns >= 0).all():
        return np.ascontiguousarray(X[:, columns])
    result = np.zeros((n, len(columns)), dtype=X.dtype)
    known = np.flatnonzero(columns >= 0)
    result[:, known] = X[:, columns[known]]
    return result


def move_rows(X: Matrix, order: NDArray[np.int64]) -> Matrix:
    """Bring the rows of a matrix into an order, a few columns at a time: there is no second one."""
    for begin in range(0, X.shape[1], 2):
        columns = X[:, begin : begin + 2]
        columns[...] = np.take(columns, order, axis=0)
    return X


def _are_names(keys: Sequence[object]) -> bool:
    return bool(keys) and isinstance(keys[0], str)


def _warn_of_positions(wanted: Features, given: Features) -> None:
    """Warn where one side has names, and the other has numbers."""
    named = given if _are_names(given.keys()) else wanted
    _warn_of(
        f"columns are taken by position, since only {named.owner} has names for them: feature 1 is "
        f"{feature_name(named.names, 0)!r}, and so on.",
        given,
    )


def _warn_of(message: str, given: Features) -> None:
    warnings.warn(f"{given.owner}: {message}", DataWarning, stacklevel=2)


def _named(features: Features, columns: Sequence[int]) -> str:
    return listed([feature_name(features.names, column) for column in columns])
