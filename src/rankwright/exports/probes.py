r"""Rows that tell whether an engine has a model right.

For every split there is a row that reaches it: from the root on, each value that would leave the
path is put on the border, :math:`c` to go left and the next number to go right, or made missing. Of
this row there are versions in which the split's own feature is

.. math:: c,\ c^+,\ c^-,\ 0,\ -0.0,\ \pm K,\ \text{missing},\ \pm\text{max},
    \text{ the least and the largest of the data},

with :math:`c` the largest number that goes left, and :math:`c^\pm` its neighbours. Rows are a
function of the trees, the type of the numbers and the data, so that they can be made again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.exports.rules import NUMBERS, Linear, Rules, Trees
from rankwright.trees.forest import ZERO

_LINEAR_ROWS = 2000  # random rows; there are no borders to look for


def probe_blocks(
    rules: Rules, number: str, data: NDArray[Any] | None, most: int | None
) -> Iterator[NDArray[Any]]:
    """Yield probe rows in blocks, without duplicates; at most ``most``, spread over all of them.

    Rows of the data, if there are any, come first.
    """
    dtype = NUMBERS[number]
    seen: set[int] = set()
    sample = np.zeros((0, rules.n_features), dtype) if data is None else data.astype(dtype)
    blocks = [_spread(sample, 0, len(sample), most)]
    begin, zeros = 0, np.zeros(rules.n_features, dtype)
    if rules.trees is not None:
        values = _values(rules.trees, number, sample)
        total = values.size
        for k in range(rules.trees.n_trees):
            if rules.trees.nodes(k):
                start = sample[k % len(sample)] if len(sample) else zeros
                rows = _versions(rules.trees, number, k, start, values)
                yield from _new([*blocks, _spread(rows, begin, total, most)], seen)
                blocks, begin = [], begin + len(rows)
    if rules.linear is not None:
        rows = _linear_rows(rules.linear, dtype)
        blocks.append(_spread(rows, 0, len(rows), most))
    yield from _new(blocks, seen)


def _spread(rows: NDArray[Any], begin: int, total: int, most: int | None) -> NDArray[Any]:
    """Return those of rows ``begin``, ... of ``total`` that are among ``most`` of them."""
    if most is None or total <= most:
        return rows
    at = np.arange(begin, begin + len(rows))
    # i -> floor(i most / total) goes up by one at each row that is kept
    return rows[(at + 1) * most // total > at * most // total]


def _new(blocks: list[NDArray[Any]], seen: set[int]) -> Iterator[NDArray[Any]]:
    for rows in blocks:
        keep = np.zeros(len(rows), dtype=bool)
        for i, row in enumerate(np.ascontiguousarray(rows)):
            key = hash(row.tobytes())
            if key not in seen:
                seen.add(key)
                keep[i] = True
        if keep.any():
            yield rows[keep]


def _values(trees: Trees, number: str, sample: NDArray[Any]) -> NDArray[Any]:
    """Return the values of the split's feature, a row for each split."""
    dtype = NUMBERS[number]
    c, most = trees.cuts[number], dtype(np.finfo(dtype).max)
    same = np.ones_like(c)
    finite = np.clip(c, -most, most)  # all numbers go left of an infinite threshold
    columns = [finite, np.nextafter(finite, most), np.nextafter(finite, -most)]
    for value in (0.0, -0.0, ZERO, -ZERO, np.nan, most, -most):
        columns.append(dtype(value) * same)
    if len(sample):
        with np.errstate(all="ignore"):
            for bound in (np.fmin, np.fmax):
                columns.append(bound.reduce(sample, axis=0)[trees.forest.feature])
    return np.stack(columns, axis=1).astype(dtype)


def _versions(
    trees: Trees, number: str, tree: int, start: NDArray[Any], values: NDArray[Any]
) -> NDArray[Any]:
    """Return rows that reach each split of a tree, with the values of its feature."""
    nodes = trees.nodes(tree)
    reaching = _reaching(trees, number, tree, start)
    n_values = values.shape[1]
    rows = np.repeat(reaching, n_values, axis=0)
    feature = np.repeat(trees.forest.feature[nodes.start : nodes.stop], n_values)
    rows[np.arange(len(rows)), feature] = values[nodes.start : nodes.stop].ravel()
    return rows


def _reaching(trees: Trees, number: str, tree: int, start: NDArray[Any]) -> NDArray[Any]:
    """Return a row for each split of a tree that reaches it, where one can."""
    forest, nodes, c = trees.forest, trees.nodes(tree), trees.cuts[number]
    rows = np.tile(start, (len(nodes), 1))
    # What is still open to each feature on the way: (low, high], and whether it may be missing.
    limits: list[dict[int, tuple[Any, Any, bool]]] = [{} for _ in nodes]
    low, high = start.dtype.type(-np.inf), start.dtype.type(np.inf)
    for place, node in enumerate(nodes):
        feature, border = int(forest.feature[node]), c[node]
        below, above, missing = limits[place].get(feature, (low, high, True))
        for child, left in ((int(forest.left[node]), True), (int(forest.right[node]), False)):
            if child < 0:
                continue
            open_to = (
                below if left else max(below, border),
                min(above, border) if left else above,
                missing and bool(trees.nan_left[node]) == left,
            )
            rows[child] = rows[place]
            rows[child, feature] = _inside(rows[place, feature], *open_to)
            limits[child] = {**limits[place], feature: open_to}
    return rows


def _inside(value: Any, low: Any, high: Any, missing: bool) -> Any:
    """Return a value of (low, high], or a missing one: the given one, if it is of these."""
    if low < value <= high or (np.isnan(value) and missing):
        return value
    if low >= high:  # no number: missing, or no row at all gets there
        return value.dtype.type(np.nan)
    if np.isfinite(high):
        return high
    above = np.nextafter(low, value.dtype.type(np.inf))
    return above if np.isfinite(above) else value.dtype.type(0)


def _linear_rows(linear: Linear, dtype: Any) -> NDArray[Any]:
    """Return rows of many sizes, some sparse, and with missing values where they are allowed."""
    rng = np.random.default_rng(0)
    n = linear.weights.shape[1]
    n_rows = max(min(_LINEAR_ROWS, 20_000_000 // n), 8)
    rows = rng.normal(size=(n_rows, n)) * 10.0 ** rng.integers(-3, 4, (n_rows, 1))
    rows[rng.random(rows.shape) < rng.choice([0, 0.5, 0.95], (n_rows, 1))] = 0.0
    rows[1:4] = 1.0, ZERO, -0.0
    if linear.fill is not None:
        rows[rng.random(rows.shape) < rng.choice([0, 0.3], (n_rows, 1))] = np.nan
        rows[4] = np.nan
    return rows.astype(dtype)
