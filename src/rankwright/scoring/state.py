"""What a model is, as numbers by name: its parameters and its fitted attributes.

``vars(model)`` is such a state, and so is what a model file holds. Whoever reads one from a file
checks it here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankwright.exceptions import DataError

State: TypeAlias = Mapping[str, Any]


def check_floats(state: State, name: str, shape: tuple[int, ...]) -> None:
    """Raise unless a state that was read from a file has this array of finite float64."""
    array = state.get(name)
    if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.shape != shape:
        raise DataError(f"{name} must be an array of float64 of shape {shape}.")
    if not np.isfinite(array).all():
        raise DataError(f"{name} must be finite.")


def check_whole(state: State, name: str, size: int) -> NDArray[np.int64]:
    """Return so many integers; raise unless a state that was read from a file has them."""
    array = state.get(name)
    if not isinstance(array, np.ndarray) or array.dtype != np.int64 or array.shape != (size,):
        raise DataError(f"{name} must be {size} integers.")
    return array


def check_rounds(state: State, name: str) -> None:
    """Raise unless a number of rounds, read from a file, can be one."""
    value = state.get(name)
    # So far below 2^63 that no stream can make a kernel's counter overflow.
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise DataError(f"{name} must be an integer >= 0, but is {value!r:.50}.")


def check_labels(state: State) -> int:
    """Return how many labels there are; raise unless ``classes_`` can be labels, worst first."""
    classes = state.get("classes_")
    if (
        not isinstance(classes, np.ndarray)
        or classes.ndim != 1
        or len(classes) == 0
        or classes.dtype.kind not in "fiuU"
        or len(np.unique(classes)) != len(classes)
    ):
        raise DataError("classes_ must be different labels, worst first.")
    return len(classes)


def check_thresholds(state: State, n_labels: int) -> None:
    """Raise unless thresholds, read from a file, can be those of so many labels."""
    check_floats(state, "thresholds_", (n_labels - 1,))
    if (np.diff(state["thresholds_"]) < 0).any():
        raise DataError("thresholds_ must not decrease.")


def check_label_names(state: State, n_labels: int) -> None:
    """Raise unless ``classes_``, read from a file, can be the names of so many labels."""
    classes = state.get("classes_")
    vector = n_labels == 1 and isinstance(classes, np.ndarray) and classes.shape == (2,)
    if not isinstance(classes, np.ndarray) or not (
        vector or np.array_equal(classes, np.arange(n_labels))
    ):
        raise DataError("classes_ must be the numbers of the labels, or two values.")


def check_n_labels(state: State) -> int:
    """Return how many labels a learner of several has; raise unless a file can say so."""
    n = state.get("n_labels_")
    if type(n) is not int or n < 1:
        raise DataError("n_labels_ must be a positive integer.")
    return n


def settled(state: State, name: str) -> Any:
    """Return what a parameter was when fitting began: it may have been left open."""
    return state.get(f"{name}_", state.get(name))


def has_intercept(state: State) -> bool:
    """Tell whether the model has an intercept."""
    return bool(state.get("fit_intercept_", state.get("fit_intercept", "intercept_" in state)))
