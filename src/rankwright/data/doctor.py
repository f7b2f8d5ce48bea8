"""The data doctor: what is in a data set, and what in it will cost quality or trust."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwright.data.feature_names import feature_name, listed
from rankwright.data.groups import Ints
from rankwright.data.kinds import KINDS
from rankwright.data.signs import Signs, signs_of
from rankwright.data.views import description_html

if TYPE_CHECKING:
    from rankwright.data.dataset import Dataset
    from rankwright.data.parts import Parts

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
    return description_of(signs_of(dataset))


def describe_parts(parts: Parts) -> Description:
    """Examine data in parts, as if they were one data set."""
    return description_of(reduce(Signs.joined, parts.map(signs_of)))


def description_of(signs: Signs) -> Description:
    """Return what there is to tell of what was seen."""
    features = signs.features
    cells = max(1, signs.n_docs * features.n)
    labels = sorted(signs.labels)
    counts = np.array([signs.labels[label] for label in labels])
    shown = np.sort(np.argsort(-counts, kind="stable")[:12]).tolist()
    lengths = np.quantile(signs.sizes, _QUANTILES)
    lacking = np.flatnonzero(signs.missing).tolist()
    return Description(
        n_docs=signs.n_docs,
        n_queries=len(signs.sizes),
        n_features=features.n,
        form=signs.form,
        density=signs.non_zero / cells,
        labels={labels[i]: int(counts[i]) for i in shown},
        list_lengths={q: float(n) for q, n in zip(_QUANTILES, lengths, strict=True)},
        features=_kinds_by_name(signs),
        missing={feature_name(features.names, j): int(signs.missing[j]) for j in lacking},
        findings=tuple(f for f in _examine(signs) if f.count),
    )


def _kinds_by_name(signs: Signs) -> dict[str, str]:
    names, categories = signs.features.names, signs.features.categories
    if names is None:
        return {}
    kinds = {name: KINDS[kind] for name, kind in zip(names, signs.kinds, strict=True)}
    return kinds | dict.fromkeys(categories, "category")


def _examine(signs: Signs) -> list[Finding]:
    constant = np.flatnonzero(signs.constant)
    only_in_queries = np.flatnonzero(signs.query_constant & ~signs.constant)
    names = signs.features.names
    return [
        _labels_beyond_range(signs.labels),
        Finding(
            "conflicting_duplicates",
            signs.conflicts,
            f"{_count(signs.conflicts, 'document has', 'documents have')} the same features as "
            "another document of their query, but another label: no ranker can tell them apart.",
        ),
        Finding(
            "split_queries",
            signs.split,
            f"{_count(signs.split, 'query has', 'queries have')} rows that are not adjacent in the "
            "file. They were gathered; tools that take group sizes would see more queries.",
        ),
        Finding(
            "equal_labels",
            signs.equal,
            f"{_count(signs.equal, 'query has', 'queries have')} the same label on all documents "
            f"({signs.equal_zero} with label 0): nothing can be learned there, and each "
            "metric has its own rule for such queries.",
        ),
        Finding(
            "single_document",
            signs.single,
            f"{_count(signs.single, 'query has', 'queries have')} a single document: there is "
            "nothing to rank.",
        ),
        Finding(
            "constant_features",
            len(constant),
            f"{_count(len(constant), 'feature is', 'features are')} constant "
            f"({_names(names, constant)}), which tells a ranker nothing.",
        ),
        Finding(
            "query_constant_features",
            len(only_in_queries),
            f"{_count(len(only_in_queries), 'feature is', 'features are')} constant within every "
            f"query ({_names(names, only_in_queries)}): of use to trees, not to linear rankers.",
        ),
    ]


def _labels_beyond_range(labels: Counter[float]) -> Finding:
    y, counts = np.array(list(labels)), np.array(list(labels.values()))
    strange = {"negative": y < 0, "fraction": y != np.floor(y), "high": y > 4}
    negative, fractions, high = (int(counts[found].sum()) for found in strange.values())
    parts = []
    if negative:
        parts.append(f"{negative} below 0 (refused by NDCG and ERR)")
    if fractions:
        parts.append(f"{fractions} with a fraction (refused by LightGBM and XGBoost)")
    if high:
        largest = f"{float(y.max()):g}"
        limit = "; LightGBM and XGBoost stop at 31" if y.max() > 31 else ""
        parts.append(f"{high} above 4 (at most {largest}{limit}; ERR needs max_grade={largest})")
    count = int(counts[np.any(list(strange.values()), axis=0)].sum())
    told = _count(count, "label is", "labels are")
    return Finding("unusual_labels", count, f"{told} unusual: {'; '.join(parts)}.")


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


def _names(names: Sequence[str] | None, columns: Ints) -> str:
    shown = [feature_name(names, c) for c in columns[:_MOST_NAMED].tolist()]
    more = len(columns) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
