"""Sparse matrices of others, which are not believed.

SciPy takes the arrays of a matrix as they come, and its compiled code, ours and LightGBM's read and
write where their indices point. SciPy is loaded by whoever makes such a matrix, and not before.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rankwright import _kernels

if TYPE_CHECKING:
    import scipy.sparse as sp

_COMPRESSED = ("csr", "csc", "bsr")


def is_sparse(X: Any) -> bool:
    """Tell whether this is a sparse matrix of SciPy; without SciPy there is none."""
    if type(X) is np.ndarray:
        return False
    scipy_sparse = sys.modules.get("scipy.sparse")
    return scipy_sparse is not None and bool(scipy_sparse.issparse(X))


def as_csr(X: Any, name: str = "X") -> sp.csr_array:
    """Return a sparse matrix as a CSR array in canonical form, which shares its arrays if it can.

    A ValueError tells which row (of a CSC matrix: column) leads out of the matrix.
    """
    if X.ndim != 2:
        raise ValueError(f"{name} must have 2 dimensions, but has shape {X.shape}.")
    import scipy.sparse as sp

    if X.format == "csr":
        matrix, canonical = _checked_csr(X, name)
    else:
        matrix = sp.csr_array(_convertible(X, name))
        canonical = matrix.has_canonical_format
    if not canonical:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _checked_csr(X: Any, name: str) -> tuple[sp.csr_array, bool]:
    """Return a CSR matrix without spare room behind its entries, and whether it is canonical.

    The flags that it carries are not looked at: they are as old as its first use.
    """
    indices, indptr, canonical = _check_compressed(X, name, X.shape[0], X.shape[1])
    import scipy.sparse as sp

    n = int(indptr[-1])
    matrix = sp.csr_array((np.ascontiguousarray(X.data[:n]), indices[:n], indptr), shape=X.shape)
    matrix.has_canonical_format = canonical
    return matrix, canonical


def _convertible(X: Any, name: str) -> Any:
    """Return a matrix of another format that SciPy can be trusted with."""
    if X.format in _COMPRESSED:
        n_lines, n_places = X.shape if X.format == "bsr" else X.shape[::-1]
        height, width = X.blocksize if X.format == "bsr" else (1, 1)
        _check_compressed(X, name, n_lines // height, n_places // width)
        return X
    if X.format == "lil" and list(map(len, X.rows)) != list(map(len, X.data)):
        raise ValueError(f"{name} must have as many columns as values in each of its lists.")
    if X.format != "coo":
        X = X.tocoo()
    for which, places, size in zip(("row", "column"), X.coords, X.shape, strict=True):
        _check_array(places, f"{name}'s {which}s", len(X.data))
        if len(places) and not (places.min() >= 0 and places.max() < size):
            wrong = int(np.argmax((places < 0) | (places >= size)))
            raise ValueError(
                f"{name} has {size} {which}s, but its entry {wrong} is in {which} {places[wrong]}."
            )
    return X


def _check_compressed(
    X: Any, name: str, n_lines: int, n_places: int
) -> tuple[NDArray[Any], NDArray[Any], bool]:
    """Return indices and offsets, of one type; and whether indices increase within each line."""
    _check_array(X.indices, f"{name}.indices", len(X.data))
    if X.data.ndim != (3 if X.format == "bsr" else 1):
        raise ValueError(f"{name}.data must be one number an entry, but has shape {X.data.shape}.")
    _check_array(X.indptr, f"{name}.indptr", n_lines + 1)
    dtype = np.int32 if X.indices.dtype == X.indptr.dtype == np.int32 else np.int64
    indices: Any = np.ascontiguousarray(X.indices, dtype=dtype)
    indptr: Any = np.ascontiguousarray(X.indptr, dtype=dtype)
    line, canonical = _kernels.check_csr(indices, indptr, n_places)
    if line >= 0:
        _refuse_line(
            name, "column" if X.format == "csc" else "row", line, indices, indptr, n_places
        )
    return indices, indptr, canonical


def _check_array(array: Any, name: str, length: int) -> None:
    kind = array.dtype.kind if isinstance(array, np.ndarray) else ""
    if kind not in ("i", "u") or array.shape != (length,):
        what = f"{array.dtype} of shape {array.shape}" if kind else type(array).__name__
        raise ValueError(f"{name} must be {length} integers, but is {what}.")


def _refuse_line(
    name: str, which: str, line: int, indices: Any, indptr: Any, n_places: int
) -> NoReturn:
    begin, end = int(indptr[line]), int(indptr[line + 1])
    if (line == 0 and begin != 0) or not begin <= end <= len(indices):
        raise ValueError(
            f"{name}.indptr must start with 0, never decrease and end with at most {len(indices)}, "
            f"the number of entries, but {which} {line} goes from {begin} to {end}."
        )
    other = "row" if which == "column" else "column"
    part = indices[begin:end]
    wrong = part[(part < 0) | (part >= n_places)][0]
    raise ValueError(
        f"{name} has {n_places} {other}s, but an entry of {which} {line} is in {other} {wrong}."
    )
