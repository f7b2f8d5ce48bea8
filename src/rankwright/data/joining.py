"""Data sets that become one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwright.data.dataset import Dataset
from rankwright.data.texts import join_ids, join_texts
from rankwright.exceptions import DataError


def join_datasets(parts: Mapping[str, Dataset], *, repeated: str = "error") -> Dataset:
    """Return the queries of several data sets with the same features as one.

    Parameters
    ----------
    parts : mapping of str to Dataset
        Data sets by name; of one feature set, in one order.
    repeated : {"error", "first"}
        What happens to a query whose id is in an earlier part too: raise, or leave it out.
    """
    names, datasets = list(parts), list(parts.values())
    ids = [part.groups.names for part in datasets]
    if any(found.dtype.kind != "i" for found in ids):
        ids = [join_texts([found]) for found in ids]
    chosen = []
    for i, dataset in enumerate(datasets):
        seen = np.zeros(dataset.n_queries, dtype=bool)
        for name, earlier in zip(names[:i], ids[:i], strict=True):
            same = np.isin(ids[i], earlier)
            if same.any() and repeated == "error":
                raise DataError(
                    f"{name} and {names[i]} must have different queries, but query "
                    f"{ids[i][same].tolist()[0]!r} is in both."
                )
            seen |= same
        if not seen.all():
            chosen.append(dataset.select(~seen) if seen.any() else dataset)
    return chosen[0] if len(chosen) == 1 else _concatenated(chosen)


def _concatenated(parts: list[Dataset]) -> Dataset:
    sparse = any(part.is_sparse for part in parts)
    Xs: Any = [part.X for part in parts]
    X = sp.csr_array(sp.vstack(Xs)) if sparse else np.concatenate(Xs)
    y = np.concatenate([part.y for part in parts])
    qid = join_ids([part.qid for part in parts])
    docs = [part.doc_ids for part in parts if part.doc_ids is not None]
    named = join_texts(docs) if len(docs) == len(parts) else None
    return Dataset.from_checked(X, y, qid, parts[0].features, named)
