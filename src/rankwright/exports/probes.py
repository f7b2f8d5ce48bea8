r"""Rows that tell whether an engine has a model right.

For every split there is a row that reaches it: from the root on, each value that would leave the
path is put on the border, :math:`c` to go left and the next number to go right, or made missing. Of
this row there are versions in which the split's own feature is

.. math:: c,\ c^+,\ c^-,\ 0,\ -0.0,\ \pm K,\ \text{missing},\ \pm\text{max},
    \text{ the least and the largest of the data},

with :math:`c` the largest number that goes left, and :math:`c^\pm` its neighbours. Where a linear
part is added, values are kept so small that its sum is finite. Rows are a function of the model,
the type of the numbers and the data, so that they can be made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.exports.gaps import without_tiny
from rankwright.exports.rules import NUMBERS, Linear, Rules, Trees
from rankwright.exports.targets.target import Gap
from rankwright.trees.forest import ZERO

_LINEAR_ROWS = 2000  # random rows; there are no borders to look for
_LINEAR_CELLS = 2_000_000
_CELLS = 1 << 22  # numbers of a block of rows, at most


def probe_blocks(
    rules: Rules,
    number: str,
    data: NDArray[Any] | None,
    most: int | None,
    present: frozenset[str] = frozenset(),
    gaps: Sequence[Gap] = (),
) -> Iterator[NDArray[Any]]:
    """Yield probe rows in blocks, without duplicates; at most ``most``, spread over all of them.

    Rows of the data, if there are any, come first; they are at most half of these. No row lacks a
    feature that is always present, and none has a value of a gap between 0 and what the library
    takes for it.
    """
    always = [j for j, name in enumerate(rules.names) if name in present]
    blocks = (
        without_tiny(rows, rules.names, gaps) for rows in _all_rows(rules, number, data, most)
    )
    for rows in _new(blocks):
        possible = rows[~np.isnan(rows[:, always]).any(axis=1)] if always else rows
        if len(possible):
            yield possible


def _all_rows(
    rules: Rules, number: str, data: NDArray[Any] | None, most: int | None
) -> Iterator[NDArray[Any]]:
    dtype = NUMBERS[number]
    sample = np.zeros((0, rules.n_features), dtype) if data is None else data.astype(dtype)
    before = [sample] if len(sample) else []
    if rules.linear is not None:
        before.append(_linear_rows(rules.linear, dtype))
    for i, rows in enumerate(before):
        is_last = rules.trees is None and i == len(before) - 1
        part = _spread(rows, 0, len(rows), most if is_last else most and (most + 1) // 2)
        most = most and most - len(part)
        yield part
    if rules.trees is not None:
        for rows in _tree_rows(rules.trees, number, sample, most):
            yield rows if rules.linear is None else _summed(rows, rules.linear)


def _tree_rows(
    trees: Trees, number: str, sample: NDArray[Any], most: int | None
) -> Iterator[NDArray[Any]]:
    """Yield rows for the splits of each tree; each tree starts from another row of the data."""
    values = _values(trees, number, sample)
    starts = sample if len(sample) else np.zeros((1, sample.shape[1]), sample.dtype)
    grown = [k for k in range(trees.n_trees) if trees.nodes(k)]
    if not grown:
        yield starts[:1]  # leaves alone: any row tells
    begin = 0
    for i, k in enumerate(grown):
        reaching = _reaching(trees, number, k, starts[i % len(starts)])
        step = max(1, _CELLS // (values.shape[1] * sample.shape[1]))
        for first in range(0, len(reaching), step):
            nodes = trees.nodes(k)[first : first + step]
            rows = _versions(trees, nodes, reaching[first : first + step], values)
            yield _spread(rows, begin, values.size, most)
            begin += len(rows)


def _spread(rows: NDArray[Any], begin: int, total: int, most: int | None) -> NDArray[Any]:
    """Return those of rows ``begin``, ... of ``total`` that are among ``most`` of them."""
    if most is None or total <= most:
        return rows
    at = np.arange(begin, begin + len(rows))
    # i -> floor(i most / total) goes up by one at each row that is kept
    return rows[(at + 1) * most // total > at * most // total]


def _new(blocks: Iterable[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    """Yield of each block the rows that were not seen before, if there are any."""
    seen: set[int] = set()
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
    trees: Trees, nodes: range, reaching: NDArray[Any], values: NDArray[Any]
) -> NDArray[Any]:
    """Return the rows that reach some splits of a tree, with the values of their features."""
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
    with np.errstate(over="ignore"):
        above = np.nextafter(low, value.dtype.type(np.inf))
    return above if np.isfinite(above) else value.dtype.type(0)


def _summed(rows: NDArray[Any], linear: Linear) -> NDArray[Any]:
    """Return those rows of trees that a linear part takes, too: its products must be finite."""
    sizes = np.abs(linear.weights).max(axis=0)
    # Half of the largest double for all products, so that the bias and leaves find room, too.
    most = np.finfo(np.float64).max / (2 * len(sizes)) / np.maximum(sizes, 1.0)
    with np.errstate(over="ignore"):
        limits = np.minimum(most, float(np.finfo(rows.dtype).max)).astype(rows.dtype)
    rows = np.clip(rows, -limits, limits)
    return rows if linear.fill is not None else rows[~np.isnan(rows).any(axis=1)]


def _linear_rows(linear: Linear, dtype: Any) -> NDArray[Any]:
    """Return rows of many sizes, some sparse, and with missing values where they are allowed."""
    rng = np.random.RandomState(0)  # the same in all versions of NumPy
    n = linear.weights.shape[1]
    n_rows = max(min(_LINEAR_ROWS, _LINEAR_CELLS // n), 8)
    rows = rng.normal(size=(n_rows, n)) * 10.0 ** rng.randint(-3, 4, (n_rows, 1))
    rows[rng.random_sample(rows.shape) < rng.choice([0, 0.5, 0.95], (n_rows, 1))] = 0.0
    rows[1:4] = [[1.0], [ZERO], [-0.0]]
    if linear.fill is not None:
        rows[rng.random_sample(rows.shape) < rng.choice([0, 0.3], (n_rows, 1))] = np.nan
        rows[4] = np.nan
    return rows.astype(dtype)
