"""How much of a metric hangs on each feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwright.data.dataset import Dataset
from rankwright.data.framing import Backend, frame_of
from rankwright.data.groups import Groups
from rankwright.data.streams import uniforms
from rankwright.data.validation import Floats, Matrix
from rankwright.evaluation.views import importance_html
from rankwright.metrics.metric import Metric
from rankwright.metrics.on_data import mean_on
from rankwright.metrics.parsing import MetricLike, parse


@dataclass(frozen=True, eq=False, repr=False)
class PermutationImportance:
    """By how much a metric gets worse when a feature is shuffled.

    Attributes
    ----------
    metric : Metric
        What is measured.
    value : float
        The metric with the features as they are.
    drops : ndarray of shape (n_features, n_repeats)
        By how much it is worse with the feature shuffled.
    feature_names : list of str
        Names of the features that were shuffled.
    """

    metric: Metric
    value: float
    drops: Floats
    feature_names: list[str]

    @property
    def mean(self) -> Floats:
        """Mean drop of each feature."""
        return np.asarray(self.drops.mean(axis=1))

    @property
    def std(self) -> Floats:
        """Standard deviation of each feature's drop over the repeats."""
        return np.asarray(self.drops.std(axis=1))

    def __repr__(self) -> str:
        order = np.argsort(-self.mean, kind="stable")[:10].tolist()
        width = max(len(self.feature_names[j]) for j in order)
        lines = [f"{self.metric} {self.value:.4f}; with a feature shuffled within its query:"]
        lines += [
            f"  {self.feature_names[j]:{width}}  {-self.mean[j]:+.4f} ± {self.std[j]:.4f}"
            for j in order
        ]
        if len(self.drops) > len(order):
            lines.append(f"  ... and {len(self.drops) - len(order)} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return importance_html(self)

    def to_frame(self, *, backend: Backend | None = None) -> Any:
        """Return a data frame with a row for each feature, the largest drop first.

        ``backend`` is "pandas", "polars" or "pyarrow"; by default the first that is installed.
        """
        order = np.argsort(-self.mean, kind="stable")
        names = [self.feature_names[j] for j in order.tolist()]
        columns = {"feature": names, "drop": self.mean[order], "std": self.std[order]}
        return frame_of(columns, backend)


def permutation_importance(
    model: Any,
    dataset: Dataset,
    metric: MetricLike = "ndcg@10",
    *,
    n_repeats: int = 5,
    random_state: int = 0,
    features: Sequence[int] | None = None,
) -> PermutationImportance:
    """Shuffle each feature within its queries, and see by how much a metric gets worse.

    A shuffle over all rows would also take away what a feature says about the query, and make
    documents that no query has. Within a query the documents stay plausible, and a feature that is
    the same for all documents of a query, and so cannot rank them by itself, is left as it is.

    Parameters
    ----------
    model : object with ``predict``
        A fitted model.
    dataset : Dataset
        Documents with labels, best those that the model was not fitted on. The features of the
        model are found by their names.
    metric : str, Metric or function, default "ndcg@10"
        What to measure.
    n_repeats : int, default 5
        Shuffles of each feature.
    random_state : int, default 0
        Seed; a shuffle depends on it, the feature, the repeat and the query's id only.
    features : sequence of int, optional
        Columns to shuffle, counted from 0 in the order of the model's features; all by default.

    Examples
    --------
    >>> import rankwright as rw
    >>> data = rw.data.make_mslr_like(n_queries=60, n_features=4, mean_docs=20)
    >>> train, test = data.split((0.7, 0.3))
    >>> model = rw.LinearRanker("listnet", standardize=True).fit(train.X, train.y, train.qid)
    >>> found = rw.evaluation.permutation_importance(model, test)
    >>> found.drops.shape
    (4, 5)
    """
    from rankwright.estimator import as_model

    if n_repeats < 1:
        raise ValueError(f"n_repeats must be a positive integer, but is {n_repeats!r}.")
    measure, asked = parse(metric), as_model(model, dataset.n_features)
    dataset = asked.align(dataset)
    value = mean_on(measure, dataset, asked.predict_aligned(dataset))
    sign = 1.0 if measure.higher_is_better else -1.0
    tried = range(dataset.n_features) if features is None else list(features)
    drops = np.zeros((len(tried), n_repeats))
    changing = _Columns(dataset.X)
    for row, j in enumerate(tried):
        column = changing.column(j)
        for repeat in range(n_repeats):
            shuffled = column[_shuffled(dataset.groups, random_state, j, repeat)]
            if not np.array_equal(shuffled, column, equal_nan=True):
                changed = dataset.with_features(changing.replaced(j, shuffled))
                found = mean_on(measure, dataset, asked.predict_aligned(changed))
                drops[row, repeat] = sign * (value - found)
                drops[row, repeat] = sign * (value - found)
        changing.replaced(j, column)
    names = dataset.feature_names or asked.feature_names()
    return PermutationImportance(measure, value, drops, [names[j] for j in tried])


def _shuffled(groups: Groups, *path: int) -> NDArray[np.int64]:
    """Return for each row the row of its query whose value it gets."""
    return np.lexsort((uniforms(groups, *path), groups.query_of_rows()))


class _Columns:
    """A copy of the features in which one column at a time is another."""

    def __init__(self, X: Matrix) -> None:
        self.sparse = bool(sp.issparse(X))
        self.matrix = X.tocsc() if self.sparse else X.copy()

    def column(self, j: int) -> NDArray[Any]:
        if self.sparse:
            return np.asarray(self.matrix[:, [j]].toarray()).ravel()
        return np.asarray(self.matrix[:, j]).copy()

    def replaced(self, j: int, values: NDArray[Any]) -> Matrix:
        """Return the features with that column: a dense array until the next one is asked for."""
        if not self.sparse:
            self.matrix[:, j] = values
            return self.matrix
        old, rows = self.matrix, np.flatnonzero(values)
        begin, end = old.indptr[j], old.indptr[j + 1]
        data = np.concatenate([old.data[:begin], values[rows], old.data[end:]])
        indices = np.concatenate([old.indices[:begin], rows, old.indices[end:]])
        indptr = old.indptr.copy()
        indptr[j + 1 :] += len(rows) - (end - begin)
        return sp.csc_array((data, indices, indptr), shape=old.shape).tocsr()
