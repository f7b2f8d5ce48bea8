"""Missing values and categories of data in parts: as if they were in memory together."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np

from rankwright.data.alignment import Features
from rankwright.data.dataset import Dataset
from rankwright.data.each import EachHere
from rankwright.data.groups import Ints
from rankwright.data.missing import Missing, even_rows, filled, medians_of_samples
from rankwright.data.part_facts import are_same
from rankwright.data.parts import Parts
from rankwright.data.validation import Floats, Matrix


def fills_of_parts(parts: Parts, missing: Missing) -> Floats:
    """Return what to put in the place of missing values: what ``fills`` says of all rows together.

    The rows whose median is taken for that of all are the same, so the medians are.
    """
    known = parts.facts
    if missing == "zero":
        return np.zeros(known.n_features)
    rows, ends = even_rows(known.n_docs), np.cumsum([part.n_docs for part in known.parts])
    begins = ends - [part.n_docs for part in known.parts]
    each = [
        rows[(begin <= rows) & (rows < end)] - begin
        for begin, end in zip(begins, ends, strict=True)
    ]
    sample = parts.map(_rows_of_part, EachHere(each))
    return medians_of_samples(sample, lambda columns: parts.map(_columns_of_part, columns))


def without_categories(parts: Parts) -> Parts:
    """Return parts in which categories are told level by level, by the most frequent of all."""
    if not parts.facts.features.categories:
        return parts
    found = parts.map(Dataset.level_counts)
    counts = {name: reduce(add, (own[name] for own in found)) for name in found[0]}
    return parts.transformed(_by_levels, counts)


def without_missing(parts: Parts, fill: Floats) -> Parts:
    """Return parts with missing values filled in; the same if nothing is missing."""
    return parts.transformed(_filled_part, fill) if parts.facts.missing.any() else parts


def aligned_parts(parts: Parts, wanted: Features) -> Parts:
    """Return parts with other features: those that are wanted, in their order."""
    if are_same(parts.facts.features, wanted):
        return parts
    return parts.transformed(Dataset.aligned, wanted)


def with_indicators(parts: Parts) -> Parts:
    """Return parts with a feature more for each that lacks values in any of them."""
    lacking = np.flatnonzero(parts.facts.missing)
    return parts.transformed(Dataset.with_indicators, lacking) if len(lacking) else parts


def _rows_of_part(part: Dataset, rows: Ints) -> Matrix:
    return part.X[rows]


def _columns_of_part(part: Dataset, columns: Ints) -> Matrix:
    return part.X[:, columns]


def _by_levels(part: Dataset, counts: dict[str, Ints]) -> Dataset:
    return part.one_hot(counts=counts)


def _filled_part(part: Dataset, fill: Floats) -> Dataset:
    return part.with_features(filled(part.X, fill))
