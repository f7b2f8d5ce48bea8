"""The one place that loads LightGBM, when it is first needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import scipy.sparse as sp

from rankwright.data.validation import Matrix

if TYPE_CHECKING:
    from lightgbm import Booster

QUIET = {"verbosity": -1}


def new_booster(
    params: dict[str, Any], X: Matrix, valid: Matrix | None, **fields: Any
) -> Booster | None:
    """Return a booster without trees, or None if no feature can be split.

    ``fields`` are what LightGBM's own losses need.
    """
    from lightgbm import Booster, Dataset

    train = Dataset(as_lightgbm_takes_it(X), params=params, **fields).construct()
    if not any(train.feature_num_bin(j) > 1 for j in range(X.shape[1])):
        return None  # LightGBM takes that for a fault
    booster = Booster(params, train)
    if valid is not None:
        other = Dataset(as_lightgbm_takes_it(valid), params=params, reference=train)
        booster.add_valid(other, "valid")
    return booster


def load_booster(text: str) -> Booster:
    """Return the booster of a text that was checked."""
    from lightgbm import Booster

    with errors():
        return Booster(model_str=text)


def as_lightgbm_takes_it(X: Matrix) -> Any:
    """Return the features; of the sparse forms it knows matrices only."""
    return sp.csr_matrix(X) if sp.issparse(X) else X


@contextmanager
def errors() -> Iterator[None]:
    """Turn LightGBM's errors into ours, in one line."""
    from lightgbm.basic import LightGBMError

    try:
        yield
    except LightGBMError as error:
        raise ValueError(f"LightGBM: {' '.join(str(error).split())}") from None
