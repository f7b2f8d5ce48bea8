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
    lots = parts.map(_lowest_lots, size, seed)
    last = np.sort(np.concatenate(lots))[:size][-1]
    found = parts.map(_rows_up_to, float(last), seed)
    order = np.argsort(np.concatenate([drawn for drawn, _ in found]), kind="stable")
    stacked = sp.vstack if sp.issparse(found[0][1]) else np.concatenate
    return stacked([rows for _, rows in found])[order[:size]]


def _lowest_lots(part: Dataset, size: int, seed: int) -> Floats:
    drawn = uniforms(part.groups, seed, _STREAM)
    return drawn[_lowest(drawn, size)]


def _rows_up_to(part: Dataset, last: float, seed: int) -> tuple[Floats, Any]:
    drawn = uniforms(part.groups, seed, _STREAM)
    rows = np.flatnonzero(drawn <= last)
    return drawn[rows], part.X[rows]


def _lowest(drawn: Floats, size: int) -> Ints:
    rows: NDArray[Any] = np.arange(len(drawn))
    if size < len(drawn):
        rows = np.argpartition(drawn, size - 1)[:size]
    ordered: Ints = rows[np.argsort(drawn[rows], kind="stable")]
    return ordered
