r"""Parameters to try: spaces, and the points in them.

Trial t of a space with d dimensions is the point

.. math::
    u_t = (s + t \, \varphi_d^{-(1, \ldots, d)}) \bmod 1

of an additive recurrence: :math:`\varphi_d` is the positive root of
:math:`\varphi^{d+1} = \varphi + 1`, :math:`s` a random shift made of the seed. Any number of trials
covers the space evenly, and trial t is the same however many follow.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from rankwright.comparison.store import json_value


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise ValueError("a choice needs at least one value.")

    def at(self, u: float) -> Any:
        """Return the value at u in [0, 1)."""
        return self.values[min(int(u * len(self.values)), len(self.values) - 1)]


@dataclass(frozen=True)
class Range:
    """A number between ``low`` and ``high``: real or whole, evenly or by its logarithm."""

    low: float
    high: float
    log: bool = False
    integer: bool = False

    def __post_init__(self) -> None:
        numbers = [type(value) in (int, float) for value in (self.low, self.high)]
        if not all(numbers) or not (-math.inf < self.low <= self.high < math.inf):
            raise ValueError(
                f"a range must go from a low to a high number, but is {self.low!r} to "
                f"{self.high!r}."
            )
        if self.log and self.low <= 0:
            raise ValueError(f"a range by logarithm must be above 0, but begins at {self.low!r}.")
        if self.integer and (self.low != int(self.low) or self.high != int(self.high)):
            raise ValueError(
                f"a range of integers must have whole ends, but has {self.low!r} and {self.high!r}."
            )

    def at(self, u: float) -> float | int:
        """Return the number at u in [0, 1)."""
        # A whole number owns the interval from itself to the next.
        low, high = float(self.low), float(self.high) + self.integer
        if self.log:
            value = math.exp(math.log(low) + u * (math.log(high) - math.log(low)))
        else:
            value = low + u * (high - low)
        if self.integer:
            return min(max(int(value), int(self.low)), int(self.high))
        # Few digits are easier to read, and to type again.
        return min(max(float(f"{value:.3g}"), self.low), self.high)


Dimension: TypeAlias = Choice | Range
Space: TypeAlias = Mapping[str, Dimension]


def draw_parameters(space: Space, trial: int, random_state: int = 0) -> dict[str, Any]:
    """Return the parameters of a trial, counted from 0.

    Examples
    --------
    >>> space = {"alpha": Range(1e-4, 1.0, log=True), "penalty": Choice(("l1", "l2"))}
    >>> for trial in range(3):
    ...     print(draw_parameters(space, trial))
    {'alpha': 0.0353, 'penalty': 'l1'}
    {'alpha': 0.00369, 'penalty': 'l2'}
    {'alpha': 0.000386, 'penalty': 'l1'}
    """
    d = len(space)
    root = 2.0
    for _ in range(64):  # x = (1 + x)^(1 / (d + 1)) converges to the root
        root = (1.0 + root) ** (1.0 / (d + 1))
    shift = np.random.default_rng(random_state).random(d).tolist()
    return {
        name: dimension.at((shift[i] + trial * root ** -(i + 1)) % 1.0)
        for i, (name, dimension) in enumerate(space.items())
    }


def from_plain(params: Mapping[str, Any], space: Space) -> dict[str, Any]:
    """Return parameters that were written as JSON; what it cannot hold is there as its text.

    Examples
    --------
    >>> from_plain({"size": [3, 4]}, {"size": Choice(((1, 2), (3, 4)))})
    {'size': (3, 4)}
    """
    found = dict(params)
    for name, dimension in space.items():
        if isinstance(dimension, Choice) and name in found:
            known = {repr(json_value(value)): value for value in dimension.values}
            found[name] = known.get(repr(found[name]), found[name])
    return found


def parse_space(given: Mapping[str, Any]) -> dict[str, Dimension]:
    """Return the space that a TOML table describes.

    A list is a choice; a table with ``low``, ``high`` and perhaps ``log`` and ``integer`` a range.

    Examples
    --------
    >>> parse_space({"alpha": {"low": 0.1, "high": 10, "log": True}})
    {'alpha': Range(low=0.1, high=10, log=True, integer=False)}
    >>> parse_space({"penalty": ["l1", "l2"]})
    {'penalty': Choice(values=('l1', 'l2'))}
    """
    space: dict[str, Dimension] = {}
    for name, value in given.items():
        if isinstance(value, Choice | Range):
            space[name] = value
        elif isinstance(value, Mapping) and {"low", "high"} <= set(value) <= _RANGE_KEYS:
            space[name] = Range(**value)
        elif isinstance(value, Sequence) and not isinstance(value, str) and len(value):
            space[name] = Choice(tuple(value))
        else:
            raise ValueError(
                f"what to search for {name} must be a list of values, or low and high with "
                f"perhaps log and integer, but is {value!r}."
            )
    return space


def parse_dimension(text: str) -> tuple[str, Dimension]:
    """Return name and dimension of ``NAME=A,B,C``, ``NAME=LOW..HIGH`` or ``NAME=LOW..HIGH:log``.

    Whole ends make a range of integers; ``:float`` makes it one of reals.

    Examples
    --------
    >>> parse_dimension("alpha=1e-4..1.0:log")
    ('alpha', Range(low=0.0001, high=1.0, log=True, integer=False))
    >>> parse_dimension("loss=xendcg,listnet")
    ('loss', Choice(values=('xendcg', 'listnet')))
    """
    name, equals, value = text.partition("=")
    if not (name.isidentifier() and equals and value):
        raise ValueError(
            f"what to search must be NAME=LOW..HIGH, NAME=LOW..HIGH:log or NAME=A,B,C, but is "
            f"{text!r}."
        )
    ends, _, flags = value.partition(":")
    low, dots, high = ends.partition("..")
    if not dots:
        return name, Choice(tuple(literal(part) for part in value.split(",")))
    options = set(flags.split(":")) - {""}
    numbers = literal(low), literal(high)
    if not options <= {"log", "float"} or any(type(n) not in (int, float) for n in numbers):
        raise ValueError(
            f"a range must be LOW..HIGH, and perhaps :log or :float, but is {value!r}."
        )
    whole = all(type(n) is int for n in numbers) and "float" not in options
    try:
        return name, Range(*numbers, log="log" in options, integer=whole)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def literal(text: str) -> Any:
    """Return the Python value that a text denotes, or the text itself.

    ``true`` and ``false`` are taken as in TOML and JSON.
    """
    if text in ("true", "false"):
        return text == "true"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


_RANGE_KEYS = {"low", "high", "log", "integer"}
