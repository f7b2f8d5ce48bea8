"""The scores of all documents as one vector, wherever the documents are."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rankwright.data.each import Each, EachHere, itself
from rankwright.data.validation import Floats

_DEEPEST = 3  # a step between two points: s + t (r - s)


class Scores:
    """One number for each document, share by share: scores, or gradients by them.

    They can be added, subtracted and scaled; what is inside is for the shares. A formula is
    computed when its value is needed, at once, by the operations as they are written; a formula of
    formulas, which would grow from step to step, is computed before it is used.

    Parameters
    ----------
    each : Each or sequence of ndarray
        The numbers of each share.
    """

    __array_ufunc__ = None  # a numpy number times scores is our product

    def __init__(self, each: Each | Sequence[Floats]) -> None:
        self._each: Each | None = EachHere(each) if isinstance(each, Sequence) else each
        self._formula: tuple[Callable[[Any, Any], Any], Any, Any] | None = None
        self._depth = 0  # of the formula

    @classmethod
    def of(cls, function: Callable[[Any, Any], Any], a: Any, b: Any) -> Scores:
        """Return ``function(a, b)`` of scores or numbers, to be computed when it is needed."""
        terms = [term for term in (a, b) if isinstance(term, Scores)]
        for term in terms:
            if term._depth == _DEEPEST:
                term.each  # noqa: B018 - which computes it
        scores = cls.__new__(cls)
        scores._each, scores._formula = None, (function, a, b)
        scores._depth = 1 + max(term._depth for term in terms)
        return scores

    @property
    def each(self) -> Each:
        """The numbers, where the shares are."""
        if self._each is None:
            leaves: list[Each] = []
            plan = self._plan(leaves)
            self._each = leaves[0].map(_compute, plan, *leaves[1:])
            self._formula, self._depth = None, 0
        return self._each

    def _plan(self, leaves: list[Each]) -> Any:
        """Return what to compute, with known values as their places among the leaves."""
        if self._formula is None:
            assert self._each is not None
            places = [i for i, leaf in enumerate(leaves) if leaf is self._each]
            if not places:
                leaves.append(self._each)
            return _Leaf(places[0] if places else len(leaves) - 1)
        function, *terms = self._formula
        plans = (term._plan(leaves) if isinstance(term, Scores) else term for term in terms)
        return function, *plans

    def __add__(self, other: Scores) -> Scores:
        return Scores.of(operator.add, self, other)

    def __sub__(self, other: Scores) -> Scores:
        return Scores.of(operator.sub, self, other)

    def __rmul__(self, factor: float) -> Scores:
        return Scores.of(operator.mul, factor, self)

    def dot(self, other: Scores) -> float:
        """Return the inner product."""
        return float(sum(self.each.tell(_dot, other.each)))

    def size(self) -> float:
        """Return the sum of their sizes."""
        return float(sum(self.each.tell(_sum_of_sizes)))

    @property
    def parts(self) -> list[Floats]:
        """The numbers, brought here."""
        return list(self.each.tell(itself))


class _Leaf(int):
    """A known value of a formula, by its place."""


def _compute(first: Any, plan: Any, *others: Any) -> Any:
    if isinstance(plan, _Leaf):
        return (first, *others)[plan]
    if not isinstance(plan, tuple):
        return plan
    function, *terms = plan
    return function(*(_compute(first, term, *others) for term in terms))


def _dot(a: Floats, b: Floats) -> float:
    return float(a @ b)


def _sum_of_sizes(part: Floats) -> float:
    return float(np.abs(part).sum())
