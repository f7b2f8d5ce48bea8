"""Values by query in files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwright.data.files import PathLike, suffix
from rankwright.data.validation import Floats
from rankwright.data.writing import write_text


def write_values(path: PathLike, query_ids: NDArray[Any], columns: Mapping[str, Floats]) -> None:
    """Write columns beside the ids of queries: tab-separated, or as JSON arrays (``.json``)."""
    ids, names = query_ids.tolist(), list(columns)
    values = [columns[name].tolist() for name in names]
    if suffix(path) == ".json":
        data = {"qid": ids} | {
            name: [None if np.isnan(v) else v for v in column]
            for name, column in zip(names, values, strict=True)
        }
        text = json.dumps(data) + "\n"
    else:
        rows = ["\t".join(["qid", *names])]
        rows += ["\t".join(map(str, row)) for row in zip(ids, *values, strict=True)]
        text = "\n".join(rows) + "\n"
    write_text(path, text)
