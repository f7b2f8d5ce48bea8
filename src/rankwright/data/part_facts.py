"""What is known of data in parts before anything is learned from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwright.data.alignment import Features
from rankwright.data.arrays import fingerprint
from rankwright.data.dataset import Dataset
from rankwright.data.feature_names import listed
from rankwright.data.groups import Ints
from rankwright.data.missing import count_missing
from rankwright.exceptions import DataError
from rankwright.showing import Brief


@dataclass(frozen=True, repr=False)
class PartFacts(Brief):
    """What is known of one part.

    Attributes
    ----------
    name : str
        The file, or what else tells it from other parts.
    n_docs, n_queries : int
        How many.
    fingerprint : str
        A hash of its features, labels and query ids (:func:`rankwright.data.arrays.fingerprint`).
    features : Features
        How many features there are, their names, and which of them are categories.
    is_sparse : bool
        Whether ``X`` is a CSR array.
    dtype : str
        Type of the features, ``"float32"`` or ``"float64"``.
    missing : ndarray of shape (n_features,)
        How many values each feature lacks.
    labels : dict of float to int
        How many documents have each label.
    has_preferences : bool
        Whether a query has documents with different labels.
    """

    name: str
    n_docs: int
    n_queries: int
    fingerprint: str
    features: Features
    is_sparse: bool
    dtype: str
    missing: Ints
    labels: dict[float, int]
    has_preferences: bool


def measure_part(part: Dataset, name: str) -> PartFacts:
    """Return what is known of a part."""
    values, counts = np.unique(part.y, return_counts=True)
    return PartFacts(
        name,
        part.n_docs,
        part.n_queries,
        fingerprint(part),
        part.features,
        part.is_sparse,
        str(part.X.dtype),
        count_missing(part.X),
        dict(zip(values.tolist(), counts.tolist(), strict=True)),
        part.groups.has_preferences(part.y),
    )


@dataclass(frozen=True, repr=False)
class Facts(Brief):
    """What is known of all parts, which have the same features in the same form.

    Attributes
    ----------
    parts : tuple of PartFacts
        Each part, in order; at least one.
    """

    parts: tuple[PartFacts, ...]

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return sum(part.n_docs for part in self.parts)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return sum(part.n_queries for part in self.parts)

    @property
    def features(self) -> Features:
        """The features of every part; categories have one list of levels."""
        return self.parts[0].features

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.features.n

    @property
    def is_sparse(self) -> bool:
        """Whether features are CSR arrays."""
        return self.parts[0].is_sparse

    @property
    def dtype(self) -> str:
        """Type of the features."""
        return self.parts[0].dtype

    @property
    def missing(self) -> Ints:
        """How many values each feature lacks, over all parts."""
        counts: Ints = np.sum([part.missing for part in self.parts], axis=0, dtype=np.int64)
        return counts

    @property
    def labels(self) -> dict[float, int]:
        """How many documents have each label, by increasing label."""
        counts: dict[float, int] = {}
        for part in self.parts:
            for label, n in part.labels.items():
                counts[label] = counts.get(label, 0) + n
        return dict(sorted(counts.items()))

    @property
    def has_preferences(self) -> bool:
        """Whether a query has documents with different labels."""
        return any(part.has_preferences for part in self.parts)

    @property
    def n_bytes(self) -> int:
        """Bytes of the features, were they dense and in memory."""
        return self.n_docs * self.n_features * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Form:
    """What the features of all parts must be alike in."""

    features: Features
    dtype: str
    is_sparse: bool

    def is_that_of(self, part: PartFacts) -> bool:
        """Tell whether a part has this form already."""
        kind = (part.dtype, part.is_sparse)
        return are_same(part.features, self.features) and kind == (self.dtype, self.is_sparse)


def are_same(a: Features, b: Features) -> bool:
    """Tell whether features have the same names, and categories the same levels."""
    names = [None if one.names is None else list(one.names) for one in (a, b)]
    levels = [{name: list(found) for name, found in one.categories.items()} for one in (a, b)]
    return a.n == b.n and names[0] == names[1] and levels[0] == levels[1]


def common_form(parts: Sequence[PartFacts]) -> Form:
    """Return the form that all parts can have; a DataError names one that cannot.

    Columns are those of the first part, in its order; categories have the levels of all parts, in
    the order of the alphabet.
    """
    first = parts[0]
    for part in parts:
        _check_same_columns(first, part)
    levels: dict[str, list[str]] = {}
    for name in first.features.categories:
        found = {level for part in parts for level in part.features.categories[name]}
        levels[name] = sorted(found)
    names = None if first.features.names is None else list(first.features.names)
    features = Features(
        first.features.n,
        names,
        open_ended=first.features.open_ended,
        categories=levels,
    )
    dtype = np.result_type(*(np.dtype(part.dtype) for part in parts))
    return Form(features, str(dtype), first.is_sparse)


def in_form(part: Dataset, form: Form) -> Dataset:
    """Return a part with its features in the common form."""
    aligned = part.aligned(form.features)
    X: Any = aligned.X if str(aligned.X.dtype) == form.dtype else aligned.X.astype(form.dtype)
    return aligned.with_features(X)


def _check_same_columns(first: PartFacts, part: PartFacts) -> None:
    given, wanted = part.features, first.features
    if (given.names is None) != (wanted.names is None) or part.is_sparse != first.is_sparse:
        raise DataError(
            f"parts must be alike, but {first.name} is {_what(first)}, and this one {_what(part)}.",
            path=part.name,
        )
    if given.names is None or wanted.names is None:
        if given.n != wanted.n:
            raise DataError(
                f"parts must have the same number of features, but {first.name} has {wanted.n}, "
                f"and this one {given.n}.",
                path=part.name,
            )
        return
    lacks = [name for name in wanted.names if name not in set(given.names)]
    more = [name for name in given.names if name not in set(wanted.names)]
    if lacks or more:
        which = f"lacks {listed(lacks)}" if lacks else f"has {listed(more)} too"
        raise DataError(
            f"parts must have the same features, but this one {which}, other than {first.name}. "
            "Columns of texts, and empty ones, are left out: name the features (features=, "
            "--features), of which some may be empty.",
            path=part.name,
        )
    if set(given.categories) != set(wanted.categories):
        other = min(set(given.categories) ^ set(wanted.categories))
        raise DataError(
            f"parts must have the same categories, but {other!r} is one in only one of this part "
            f"and {first.name}.",
            path=part.name,
        )


def _what(part: PartFacts) -> str:
    names = "without names" if part.features.names is None else "with names"
    return f"{'sparse' if part.is_sparse else 'dense'}, {names}"
