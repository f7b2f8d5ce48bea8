"""The state of a log as plain values, exact: what JSON writes, it reads back to the same bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from rankwright.data.validation import finite_numbers
from rankwright.exceptions import DataError
from rankwright.online.comparator import DualComparator
from rankwright.theory.guarantee import Guarantee

VERSION = 1
T = TypeVar("T")


def plain_number(value: float) -> float | str:
    """Return a number as JSON can hold it: an infinite one as a text."""
    if isinstance(value, Integral):
        return int(value)
    return float(value) if math.isfinite(value) else str(float(value))


def plain_comparator(u: Any) -> dict[str, Any]:
    """Return a comparator as plain values."""
    if not isinstance(u, DualComparator):
        return {"weights": finite_numbers("the comparator", u).tolist()}
    points = u.points
    if not isinstance(points, np.ndarray) or points.dtype.kind not in "fiu":
        raise ValueError(
            "a log has a state if the points of its comparator are an array of numbers, but they "
            f"are a {type(points).__name__}: pass an array."
        )
    rest = None if u.thresholds is None else np.asarray(u.thresholds, dtype=np.float64).tolist()
    return {
        "points": points.tolist(),
        "type": points.dtype.name,
        "n_features": points.shape[1] if points.ndim == 2 else None,
        "coef": np.asarray(u.coef, dtype=np.float64).tolist(),
        "n_scores": np.shape(u.coef)[1] if np.ndim(u.coef) == 2 else None,
        "thresholds": rest,
    }


def plain_guarantee(guarantee: Guarantee | None) -> dict[str, Any] | None:
    """Return a guarantee as plain values."""
    if guarantee is None:
        return None
    terms = {name: plain_number(value) for name, value in guarantee.terms.items()}
    return guarantee.to_dict() | {"value": plain_number(guarantee.value), "terms": terms}


class StateReader:
    """Reads the values of a state; raises DataError for what cannot be."""

    def __init__(self, state: Any) -> None:
        if not isinstance(state, dict):
            raise DataError(f"the state of a log must be a dict, but is a {type(state).__name__}.")
        self._state = state

    def read(self, name: str, what: str, make: Callable[[Any], T]) -> T:
        """Return what is made of a value, which must be ``what``."""
        try:
            return make(self._state[name])
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            fault = "has another" if name in self._state else "has none"
            raise DataError(
                f"the state of a log must have {name}, {what}, but {fault}. Was it changed?"
            ) from None


def as_number(value: Any) -> float:
    """Return a number that :func:`plain_number` wrote, of its own type."""
    if isinstance(value, str) and value in ("inf", "-inf"):
        return float(value)
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(value)
    return value  # type: ignore[no-any-return]


def as_float(value: Any) -> float:
    """Return a float; JSON written elsewhere may hold a whole number as an integer."""
    return float(as_number(value))


def as_count(value: Any) -> int:
    """Return a whole number >= 0."""
    if type(value) is not int or value < 0:
        raise ValueError(value)
    return value


def as_flag(value: Any) -> bool:
    """Return True or False."""
    if type(value) is not bool:
        raise ValueError(value)
    return value


def as_totals(value: Any) -> dict[str, float]:
    """Return the totals of a ledger."""
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise ValueError(value)
    return {name: as_float(total) for name, total in value.items()}


def as_comparator_given(value: Any) -> Any:
    """Return a comparator as it was given."""
    if "weights" in value:
        return finite_numbers("weights", value["weights"])
    shape = (-1,) if value["n_features"] is None else (-1, as_count(value["n_features"]))
    kind = np.dtype(value["type"])
    if kind.kind not in "fiu":
        raise ValueError(kind)
    n, width = len(value["points"]), value["n_scores"]
    points = np.array(value["points"], dtype=kind).reshape(shape if n else (0, *shape[1:]))
    coef = finite_numbers("coef", value["coef"])
    if width is not None:
        coef = coef.reshape(n, as_count(width))
    return DualComparator(points, coef, value["thresholds"])


def as_guarantee(value: Any) -> Guarantee | None:
    """Return a guarantee that :func:`plain_guarantee` wrote."""
    if value is None:
        return None
    name, quantity, formula = (value[text] for text in ("name", "quantity", "formula"))
    if not all(isinstance(text, str) for text in (name, quantity, formula)):
        raise ValueError(value)
    terms = {str(term): as_number(number) for term, number in value["terms"].items()}
    return Guarantee(name, quantity, formula, as_float(value["value"]), terms)
