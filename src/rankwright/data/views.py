"""A data set as a text, as a notebook shows it, and as a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankwright.data.categories import decoded
from rankwright.data.columns import DOC_ID
from rankwright.data.feature_names import listed
from rankwright.data.framing import Backend, frame_of
from rankwright.exceptions import DataError
from rankwright.html import Html, Number, bar, boxed, headed, noted, span_of, tabled
from rankwright.showing import and_more, counted

if TYPE_CHECKING:
    from rankwright.data.dataset import Dataset
    from rankwright.data.doctor import Description

_MOST_LABELS = 12
_ROWS, _COLUMNS = 5, 8  # of the documents that a notebook shows
_MOST_NAMES = 30


class DatasetViews:
    """How a :class:`Dataset` shows itself."""

    def __repr__(self: Any) -> str:
        form = "sparse" if self.is_sparse else "dense"
        return f"Dataset({_sizes(self)}, {form} {self.X.dtype})"

    def _repr_html_(self: Any) -> str:
        return _dataset_html(self)

    def to_frame(self: Any, *, backend: Backend | None = None) -> Any:
        """Return a data frame with a row for each document, in the order of the input.

        Columns are ``qid``, ``label``, ``doc_id`` if there are any, the columns that are kept, and
        the features, which without names become ``f1``, ``f2``, ... A sparse matrix becomes dense.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Whose data frame it is; by default the first of them that is installed.

        Examples
        --------
        >>> import rankwright as rw
        >>> ds = rw.Dataset([[1.5], [2.5]], [0, 1], qid=["a", "b"], feature_names=["price"])
        >>> frame = ds.to_frame(backend="polars")
        >>> frame.columns
        ['qid', 'label', 'price']
        >>> rw.from_frame(frame)
        Dataset(2 documents, 2 queries, 1 feature, dense float64)
        """
        columns = columns_for_frame(self)
        kept = {name: self.restore(values) for name, values in self.kept.items()}
        given = {name: columns.pop(name) for name in ("qid", "label", DOC_ID) if name in columns}
        return frame_of(given | {k: v for k, v in kept.items() if k not in columns} | columns,
                        backend)  # fmt: skip


def _sizes(of: Any) -> str:
    words = {"document": "documents", "query": "queries", "feature": "features"}
    numbers = (of.n_docs, of.n_queries, of.n_features)
    return ", ".join(counted(n, *pair) for n, pair in zip(numbers, words.items(), strict=True))


def columns_for_frame(
    dataset: Dataset, label: str = "label", qid: str = "qid", doc_id: str = DOC_ID
) -> dict[str, Any]:
    """Return labels, ids and features by the names of columns, in the order of the input."""
    X = dataset.X.toarray() if dataset.is_sparse else dataset.X
    names = dataset.feature_names or [f"f{j + 1}" for j in range(dataset.n_features)]
    taken = {label, qid, doc_id} & set(names)  # reading would take it for what it is called
    if taken:
        raise DataError(f"features must not be named {listed(sorted(taken))}.")
    columns: dict[str, Any] = {label: dataset.restore(dataset.y), qid: dataset.restore(dataset.qid)}
    if dataset.doc_ids is not None:
        columns[doc_id] = dataset.restore(dataset.doc_ids)
    X = dataset.restore(X)
    for j, name in enumerate(names):
        levels = dataset.features.categories.get(name)
        columns[name] = X[:, j] if levels is None else decoded(X[:, j], levels)
    return columns


def _dataset_html(dataset: Dataset) -> str:
    values, counts = np.unique(dataset.y, return_counts=True)
    shown = np.sort(np.argsort(-counts, kind="stable")[:_MOST_LABELS]).tolist()
    labels = {float(values[i]): int(counts[i]) for i in shown}
    return boxed(
        headed(repr(dataset)),
        _label_bars(labels, dataset.n_docs, len(values)),
        noted(_listed_names("features", dataset.feature_names or [])),
        noted(_listed_names("kept", list(dataset.kept))),
        _first_rows(dataset),
    )


def _label_bars(labels: dict[float, int], n_docs: int, n_labels: int) -> Html:
    span = span_of([float(n) for n in labels.values()], zero=True)
    rows = [
        [Number(f"{y:g}"), Number(f"{n:,}"), Number(f"{n / max(1, n_docs):.1%}"), bar(n, span)]
        for y, n in labels.items()
    ]
    return tabled(["label", "documents", "", ""], rows, max(n_labels, len(rows)))


def _listed_names(what: str, names: list[str]) -> str:
    if not names:
        return ""
    more = and_more(len(names), _MOST_NAMES)
    return f"{what}: {', '.join(names[:_MOST_NAMES])}{' ' + more if more else ''}"


def _first_rows(dataset: Dataset) -> Html:
    n, m = min(_ROWS, dataset.n_docs), min(_COLUMNS, dataset.n_features)
    X = dataset.X[:n, :m]
    X = X.toarray() if dataset.is_sparse else X
    names = dataset.feature_names or [f"feature {j + 1}" for j in range(dataset.n_features)]
    columns: dict[str, list[Any]] = {"qid": dataset.qid[:n].tolist(), "label": list(dataset.y[:n])}
    if dataset.doc_ids is not None:
        columns["doc_id"] = dataset.doc_ids[:n].tolist()
    columns |= {f"{name} (kept)": values[:n].tolist() for name, values in dataset.kept.items()}
    for j, name in enumerate(names[:m]):
        levels = dataset.features.categories.get(name)
        columns[name] = list(X[:, j] if levels is None else decoded(X[:, j], levels))
    rows = [[_cell(values[i]) for values in columns.values()] for i in range(n)]
    if dataset.n_features > m:
        rows = [[*row, "..."] for row in rows]
    heads = [*columns, *([f"{dataset.n_features - m} more"] if dataset.n_features > m else [])]
    return tabled(heads, rows, dataset.n_docs)


def _cell(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return Number("" if np.isnan(value) else f"{value:.6g}")
    return Number(value) if isinstance(value, int) else "" if value is None else str(value)


def description_html(found: Description) -> str:
    """Return the doctor's report: sizes, labels, list lengths, and what to look at."""
    lengths = found.list_lengths
    spread = ", ".join(f"{share:.0%} {n:g}" for share, n in lengths.items())
    missing = [f"{name} {n / max(1, found.n_docs):.1%}" for name, n in found.missing.items()]
    features = [[name, kind] for name, kind in found.features.items()]
    return boxed(
        headed(_sizes(found), f"{found.form}, {found.density:.1%} not zero"),
        _label_bars(found.labels, found.n_docs, len(found.labels)),
        noted(f"list lengths: {spread}"),
        noted(_listed_names("missing", missing)),
        tabled(["feature", "kind"], features) if features else "",
        *(noted(f"Warning: {finding.message}") for finding in found.findings),
        "" if found.findings else noted("No warnings."),
    )
