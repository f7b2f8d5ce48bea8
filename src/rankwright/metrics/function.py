"""Metrics of one's own: a plain function of the labels and scores of one query."""

from __future__ import annotations

import inspect
import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats
from rankwright.metrics.metric import Columns, Empty, OwnFunction, RowMetric, check_convention
from rankwright.metrics.names import is_metric


@dataclass(frozen=True, init=False, eq=False, repr=False)
class FunctionMetric(RowMetric):
    r"""A metric that a function computes, query by query: :math:`f(y, s)`.

    The function gets the labels and the scores of the documents of one query, two arrays of
    float64 in the order of the rows, which it must not change, and returns a number. NaN means that
    it is undefined on the query. What to do with tied scores is left to it.

    A function itself is good wherever a metric is; this class gives it another name, or says that
    less is better.

    Parameters
    ----------
    function : callable
        ``function(labels, scores)`` of one query.
    name : str, optional
        Its name in tables and files; that of the function by default. A lambda needs one.
    higher_is_better : bool, default True
        Whether larger values are better.
    empty : "skip" or float, default "skip"
        Value of a query where the function returns NaN.

    Examples
    --------
    >>> def best_on_top(labels, scores):
    ...     return labels[scores.argmax()] == labels.max()
    >>> FunctionMetric(best_on_top).per_query([0, 2, 1], [0.1, 0.7, 0.2])
    array([1.])
    """

    function: OwnFunction
    empty: Empty = "skip"

    def __init__(
        self,
        function: OwnFunction,
        name: str | None = None,
        *,
        higher_is_better: bool = True,
        empty: Empty = "skip",
    ) -> None:
        _check_function(function)
        name = _own_name(function) if name is None else name
        if not isinstance(name, str) or not name.isprintable() or name != name.strip() or not name:
            raise ValueError(f"the name of a metric must be one line of text, but is {name!r}.")
        if is_metric(name):
            raise ValueError(f"{name!r} is a metric of the library: give yours another name.")
        if not isinstance(higher_is_better, bool):
            raise TypeError(f"higher_is_better must be True or False, but is {higher_is_better!r}.")
        check_convention(name, "empty", empty)
        # Of other metrics name and direction belong to the class; of this one, to the value.
        vars(self).update(
            function=function, name=name, higher_is_better=higher_is_better, empty=empty
        )

    def of_rows(self, y: Floats, scores: Floats, groups: Groups, columns: Columns) -> Floats:
        """Return the metric of each query."""
        labels, values = _locked(y), _locked(scores)
        found = np.array(
            [self._value(labels[rows], values[rows], q, groups) for q, rows in enumerate(groups)],
            dtype=np.float64,
        )
        return np.where(np.isnan(found), self.undefined, found)

    def _value(self, labels: Floats, scores: Floats, q: int, groups: Groups) -> float:
        if len(labels) == 0:
            return math.nan
        try:
            value: Any = self.function(labels, scores)
        except Exception as error:
            told = " ".join(str(error).split()) or "no message"
            hint = " Labels and scores are not to be changed: copy them." if _is_write(told) else ""
            raise ValueError(
                f"{self.name} failed on query {_query(groups, q)}: {type(error).__name__}: "
                f"{told:.300}.{hint}"
            ) from error
        if not isinstance(value, numbers.Real | np.bool_):
            what = f"array of shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)
        elif math.isinf(value):
            what = repr(float(value))
        else:
            return float(value)
        raise ValueError(
            f"{self.name} must return a finite number, or NaN to skip a query, but returned "
            f"{what:.100} for query {_query(groups, q)}."
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionMetric) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.function, self.name))

    def __repr__(self) -> str:
        given = vars(self)
        told = [f"{name}={value!r}" for name, value in given.items() if name != "function"]
        return f"FunctionMetric({_own_name(self.function, '...')}, {', '.join(told)})"

    def __str__(self) -> str:
        return self.name


def _check_function(function: Any) -> None:
    if isinstance(function, type):
        raise TypeError(
            f"a metric must be text, a Metric or a function, but is the class "
            f"{function.__name__}: call it, {function.__name__}()."
        )
    if not callable(function):
        raise TypeError(f"function must be callable, but is {function!r}.")
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):  # of a builtin, which says nothing
        return
    try:
        signature.bind(None, None)
    except TypeError:
        raise TypeError(
            f"{_own_name(function, 'a metric')} must take two arguments, labels and scores, but is "
            f"called as {_own_name(function, 'f')}{signature}."
        ) from None


def _own_name(function: Any, otherwise: str | None = None) -> str:
    name = getattr(function, "__name__", "<nothing>")
    if "<" not in name:
        return str(name)
    if otherwise is None:
        raise ValueError(
            "a metric that is a lambda, or has no name, must be given one: "
            "FunctionMetric(function, name='...')."
        )
    return otherwise


def _locked(values: Floats) -> Floats:
    """Return a view that cannot be written to."""
    view = values.view()
    view.flags.writeable = False
    return view


def _is_write(text: str) -> bool:
    return "read-only" in text


def _query(groups: Groups, q: int) -> str:
    return str(groups.names[q : q + 1].tolist()[0])
