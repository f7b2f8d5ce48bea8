"""The data doctor: what is in a data set, and what in it will cost quality or trust."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwright.data.feature_names import feature_name, listed
from rankwright.data.groups import Groups, Ints
from rankwright.data.hashing import mix, row_keys
from rankwright.data.kinds import feature_kinds
from rankwright.data.missing import count_missing
from rankwright.data.validation import Matrix
from rankwright.data.views import description_html

if TYPE_CHECKING:
    from rankwright.data.dataset import Dataset

_QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
_MOST_NAMED = 5
_MOST_LISTED = 50


@dataclass(frozen=True)
class Finding:
    """One thing to look at."""

    name: str
    count: int
    message: str


@dataclass(frozen=True)
class Description:
    """The doctor's report on a data set.

    Attributes
    ----------
    n_docs, n_queries, n_features : int
        Sizes.
    form : str
        ``"dense float32"``, ``"sparse float64"``, ...
    density : float
        Share of cells that are not 0.
    labels : dict of float to int
        Documents by label; the most frequent ones if there are many different labels.
    list_lengths : dict of float to float
        Quantiles of the number of documents of a query.
    features : dict of str to str
        Features that have names, each with its kind: ``"0/1"``, ``"integer"``, ``"real"`` or
        ``"category"``.
    missing : dict of str to int
        Features that lack values, by name, each with the number of documents.
    findings : tuple of Finding
        Warnings, most consequential first.
    """

    n_docs: int
    n_queries: int
    n_features: int
    form: str
    density: float
    labels: dict[float, int]
    list_lengths: dict[float, float]
    features: dict[str, str]
    missing: dict[str, int]
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        return asdict(self)

    def __repr__(self) -> str:
        shown = {"min": 0.0, "median": 0.5, "max": 1.0}
        lengths = ", ".join(f"{name} {self.list_lengths[q]:g}" for name, q in shown.items())
        total = max(1, self.n_docs)
        labels = ", ".join(f"{y:g}: {n} ({n / total:.1%})" for y, n in self.labels.items())
        lines = [
            f"documents     {self.n_docs}",
            f"queries       {self.n_queries}",
            f"features      {self.n_features} ({self.form}, {self.density:.1%} not zero)",
            *self._features_by_kind(),
            *self._missing_values(),
            f"labels        {labels}",
            f"list lengths  {lengths}",
        ]
        lines += [f"warning       {finding.message}" for finding in self.findings]
        if not self.findings:
            lines.append("warnings      none")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return description_html(self)

    def _missing_values(self) -> list[str]:
        if not self.missing:
            return []
        most = sorted(self.missing, key=lambda name: -self.missing[name])
        named = [f"{n} {self.missing[n] / max(1, self.n_docs):.1%}" for n in most[:_MOST_LISTED]]
        more = len(most) - len(named)
        return [f"missing       {', '.join(named)}" + (f" and {more} more" if more else "")]

    def _features_by_kind(self) -> list[str]:
        by_kind: dict[str, list[str]] = {}
        for name, kind in self.features.items():
            by_kind.setdefault(kind, []).append(name)
        return [f"  {kind:12}{listed(names, _MOST_LISTED)}" for kind, names in by_kind.items()]


def describe(dataset: Dataset) -> Description:
    """Examine a data set; see :meth:`rankwright.Dataset.describe`."""
    X, groups = dataset.X, dataset.groups
    cells = max(1, dataset.n_docs * dataset.n_features)
    non_zero = int(X.count_nonzero()) if dataset.is_sparse else int(np.count_nonzero(X))
    values, counts = np.unique(dataset.y, return_counts=True)
    shown = np.sort(np.argsort(-counts, kind="stable")[:12])
    lengths = np.quantile(groups.sizes, _QUANTILES)
    return Description(
        n_docs=dataset.n_docs,
        n_queries=dataset.n_queries,
        n_features=dataset.n_features,
        form=f"{'sparse' if dataset.is_sparse else 'dense'} {X.dtype}",
        density=non_zero / cells,
        labels={float(values[i]): int(counts[i]) for i in shown},
        list_lengths={q: float(n) for q, n in zip(_QUANTILES, lengths, strict=True)},
        features=_kinds_by_name(dataset),
        missing=_missing_by_name(dataset),
        findings=tuple(f for f in _examine(dataset) if f.count),
    )


def _kinds_by_name(dataset: Dataset) -> dict[str, str]:
    names, categories = dataset.feature_names, dataset.features.categories
    if names is None:
        return {}
    kinds = dict(zip(names, feature_kinds(dataset.X), strict=True))
    return kinds | dict.fromkeys(categories, "category")


def _missing_by_name(dataset: Dataset) -> dict[str, int]:
    counts = count_missing(dataset.X)
    lacking = np.flatnonzero(counts).tolist()
    return {feature_name(dataset.feature_names, j): int(counts[j]) for j in lacking}


def _examine(dataset: Dataset) -> list[Finding]:
    y, groups = dataset.y, dataset.groups
    starts = groups.indptr[:-1]
    lowest, highest = np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)
    single = groups.sizes == 1
    equal = (lowest == highest) & ~single
    constant, constant_in_queries = _constant_features(dataset.X, groups)
    only_in_queries = np.flatnonzero(constant_in_queries & ~constant)
    return [
        _labels_beyond_range(y),
        Finding(
            "conflicting_duplicates",
            n_conflicts := _conflicting_duplicates(dataset),
            f"{_count(n_conflicts, 'document has', 'documents have')} the same features as another "
            "document of their query, but another label: no ranker can tell them apart.",
        ),
        Finding(
            "split_queries",
            n_split := _n_split_queries(dataset),
            f"{_count(n_split, 'query has', 'queries have')} rows that are not adjacent in the "
            "file. They were gathered; tools that take group sizes would see more queries.",
        ),
        Finding(
            "equal_labels",
            int(equal.sum()),
            f"{_count(equal.sum(), 'query has', 'queries have')} the same label on all documents "
            f"({_zeros(equal, highest)} with label 0): nothing can be learned there, and each "
            "metric has its own rule for such queries.",
        ),
        Finding(
            "single_document",
            int(single.sum()),
            f"{_count(single.sum(), 'query has', 'queries have')} a single document: there is "
            "nothing to rank.",
        ),
        Finding(
            "constant_features",
            int(constant.sum()),
            f"{_count(constant.sum(), 'feature is', 'features are')} constant "
            f"({_names(dataset, np.flatnonzero(constant))}), which tells a ranker nothing.",
        ),
        Finding(
            "query_constant_features",
            len(only_in_queries),
            f"{_count(len(only_in_queries), 'feature is', 'features are')} constant within every "
            f"query ({_names(dataset, only_in_queries)}): of use to trees, not to linear rankers.",
        ),
    ]


def _labels_beyond_range(y: NDArray[np.float64]) -> Finding:
    negative, fractions = int((y < 0).sum()), int((y != np.floor(y)).sum())
    high = int((y > 4).sum())
    parts = []
    if negative:
        parts.append(f"{negative} below 0 (refused by NDCG and ERR)")
    if fractions:
        parts.append(f"{fractions} with a fraction (refused by LightGBM and XGBoost)")
    if high:
        largest = f"{float(y.max()):g}"
        limit = "; LightGBM and XGBoost stop at 31" if y.max() > 31 else ""
        parts.append(f"{high} above 4 (at most {largest}{limit}; ERR needs max_grade={largest})")
    count = int(((y < 0) | (y != np.floor(y)) | (y > 4)).sum())
    labels = _count(count, "label is", "labels are")
    return Finding("unusual_labels", count, f"{labels} unusual: {'; '.join(parts)}.")


def _n_split_queries(dataset: Dataset) -> int:
    """Count the queries whose rows are not adjacent in the input."""
    if not dataset.gathered:
        return 0
    adjacent = np.diff(dataset.order) == 1
    first = dataset.groups.indptr[1:-1] - 1  # steps from one query to the next do not count
    adjacent[first] = True
    broken = np.flatnonzero(~adjacent)
    return len(np.unique(dataset.groups.query_of_rows()[broken]))


def _count(n: Any, one: str, many: str) -> str:
    return f"{int(n)} {one if n == 1 else many}"


def _zeros(chosen: NDArray[np.bool_], highest: NDArray[np.float64]) -> int:
    return int((chosen & (highest == 0)).sum())


def _names(dataset: Dataset, columns: Ints) -> str:
    shown = [feature_name(dataset.feature_names, c) for c in columns[:_MOST_NAMED].tolist()]
    more = len(columns) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _constant_features(X: Matrix, groups: Groups) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which features are constant, and which are so within every query."""
    if sp.issparse(X):
        return _constant_sparse_features(X, groups)
    n_features = X.shape[1]
    varies = np.zeros(n_features, dtype=bool)
    # A few queries at a time: one reduceat over everything would leave the cache.
    for begin in range(0, groups.n_queries, 64):
        indptr = groups.indptr[begin : begin + 65]
        rows, offsets = X[indptr[0] : indptr[-1]], indptr[:-1] - indptr[0]
        low = np.minimum.reduceat(rows, offsets, axis=0)
        high = np.maximum.reduceat(rows, offsets, axis=0)
        varies |= (low != high).any(axis=0)
    # A feature that is constant in every query is constant if the queries' first rows agree.
    return ~varies & (X[0] == X[groups.indptr[:-1]]).all(axis=0), ~varies


def _constant_sparse_features(
    X: Matrix, groups: Groups
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    n_features = X.shape[1]
    varies = np.zeros(n_features, dtype=bool)
    lowest, highest = np.zeros(n_features), np.zeros(n_features)
    query = np.repeat(groups.query_of_rows(), np.diff(X.indptr))
    order = np.lexsort((query, X.indices))
    feature, query, data = X.indices[order], query[order], X.data[order]
    if len(data):
        # One run for each feature and query that meet.
        new = (feature[1:] != feature[:-1]) | (query[1:] != query[:-1])
        starts = np.flatnonzero(np.append(True, new))
        low, high = np.minimum.reduceat(data, starts), np.maximum.reduceat(data, starts)
        sizes = np.diff(np.append(starts, len(data)))
        feature, partial = feature[starts], sizes < groups.sizes[query[starts]]
        low = np.where(partial, np.minimum(low, 0), low)  # the other documents have 0
        high = np.where(partial, np.maximum(high, 0), high)
        np.logical_or.at(varies, feature, low != high)
        everywhere = np.bincount(feature, minlength=n_features) == groups.n_queries
        lowest[everywhere], highest[everywhere] = np.inf, -np.inf
        with np.errstate(invalid="ignore"):  # NaN, which varies
            np.minimum.at(lowest, feature, low)
            np.maximum.at(highest, feature, high)
    return lowest == highest, ~varies


def _conflicting_duplicates(dataset: Dataset) -> int:
    """Documents with the same features as another one of their query, but not the same label."""
    keys = mix(row_keys(dataset.X)) ^ mix(dataset.groups.query_of_rows())
    ordered = np.sort(keys)
    if (ordered[1:] != ordered[:-1]).all():
        return 0  # as mostly; what follows takes more time and memory
    order = np.argsort(keys, kind="stable")
    keys, y = keys[order], dataset.y[order]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    sizes = np.diff(np.append(starts, len(keys)))
    conflict = np.minimum.reduceat(y, starts) != np.maximum.reduceat(y, starts)
    return int(sizes[conflict].sum())
