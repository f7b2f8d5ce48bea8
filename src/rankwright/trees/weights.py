"""Weights of documents and queries, in the order of the gathered rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array

from rankwright.data.validation import Floats
from rankwright.inputs import RankingData


def gathered_weights(
    data: RankingData, sample_weight: ArrayLike | None, query_weight: ArrayLike | None
) -> tuple[Floats | None, Floats | None]:
    """Return the weight of each row, and that of each query."""
    by_row = _checked_weights(data, sample_weight, "sample_weight")
    of_query = _checked_weights(data, query_weight, "query_weight")
    if of_query is None:
        return by_row, None
    first = of_query[data.groups.indptr[:-1]]
    differs = of_query != np.repeat(first, data.groups.sizes)
    if differs.any():
        row = int(np.argmax(differs))
        row = row if data.order is None else int(data.order[row])
        raise ValueError(
            "query_weight must be the same in all rows of a query, but row "
            f"{row} differs from the first one of its query. Use sample_weight."
        )
    return by_row, first


def row_weights(
    data: RankingData, doc_weights: Floats | None, query_weights: Floats | None
) -> Floats | None:
    """Return the product of both by row, for LightGBM's own losses."""
    if query_weights is None:
        return doc_weights
    of_row: Floats = np.repeat(query_weights, data.groups.sizes)
    return of_row if doc_weights is None else of_row * doc_weights


def _checked_weights(data: RankingData, weights: ArrayLike | None, name: str) -> Floats | None:
    if weights is None:
        return None
    values: Floats = check_array(
        weights, ensure_2d=False, ensure_min_samples=0, dtype=np.float64, input_name=name
    )
    n = len(data.y)
    if values.ndim == 0:
        values = np.full(n, float(values))
    if values.shape != (n,):
        raise ValueError(f"{name} must have {n} numbers, one per row, not shape {values.shape}.")
    if values.min() < 0:
        raise ValueError(f"{name} must not be negative, but has {values.min():g}.")
    if values.max() == 0:
        raise ValueError(f"{name} must not be zero everywhere.")
    return values if data.order is None else values[data.order]
