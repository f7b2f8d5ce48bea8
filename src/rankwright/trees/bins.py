r"""The documents whose values tell where the bins of a feature end.

Of many documents, a sample does. A document is in it by a number drawn for it,

.. math:: u = \mathrm{hash}(\text{seed}, \text{query id}, \text{position in the query}),

of which the lowest are taken: the same documents whatever the order of the queries, and however
they are cut into parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwright.data.dataset import Dataset
from rankwright.data.groups import Groups, Ints
from rankwright.data.parts import Parts
from rankwright.data.streams import uniforms
from rankwright.data.validation import Floats, Matrix

_STREAM = 0x62696E73  # a purpose of its own, whatever else has the seed


def sample_size(params: dict[str, Any]) -> int:
    """Return how many documents bins are made of, at most."""
    return int(params.get("bin_construct_sample_cnt", 200_000))


def sample_rows(groups: Groups, size: int, seed: int) -> Ints:
    """Return the rows of the sample, by what was drawn for them."""
    return _lowest(uniforms(groups, seed, _STREAM), size)


def sample_of_parts(parts: Parts, size: int, seed: int) -> Matrix:
    """Return the features of the sample of all parts, by what was drawn for its documents."""
    last = float(np.sort(np.concatenate(parts.map(_lowest_lots, size, seed)))[:size][-1])
    lots = parts.map(_lots_up_to, last, seed)
    order = np.argsort(np.concatenate(lots), kind="stable")[:size]
    found = parts.tell(_rows_up_to, last, seed)
    if parts.facts.is_sparse:
        return sp.vstack(list(found))[order]
    places = np.full(sum(map(len, lots)), -1)
    places[order] = np.arange(len(order))
    sample = np.empty((len(order), parts.facts.n_features), dtype=parts.facts.dtype)
    begin = 0
    for rows in found:  # each goes to its place at once: there is one part of them at a time
        own = places[begin : begin + len(rows)]
        sample[own[own >= 0]] = rows[own >= 0]
        begin += len(rows)
    return sample


def _lowest_lots(part: Dataset, size: int, seed: int) -> Floats:
    drawn = uniforms(part.groups, seed, _STREAM)
    return drawn[_lowest(drawn, size)]


def _lots_up_to(part: Dataset, last: float, seed: int) -> Floats:
    drawn = uniforms(part.groups, seed, _STREAM)
    return drawn[drawn <= last]


def _rows_up_to(part: Dataset, last: float, seed: int) -> Any:
    return part.X[np.flatnonzero(uniforms(part.groups, seed, _STREAM) <= last)]


def _lowest(drawn: Floats, size: int) -> Ints:
    rows: NDArray[Any] = np.arange(len(drawn))
    if size < len(drawn):
        rows = np.argpartition(drawn, size - 1)[:size]
    ordered: Ints = rows[np.argsort(drawn[rows], kind="stable")]
    return ordered
