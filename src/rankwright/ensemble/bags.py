r"""Bags of queries: which queries a member of an ensemble learns from, and how often.

A bootstrap draws as many queries as there are, with replacement. Here the number of times that a
query is drawn is :math:`N_q \sim \mathrm{Poisson}(1)` on its own,

.. math:: P(N_q = k) = \frac{e^{-1}}{k!},

so that it is a function of seed, member and query id alone, whatever the order of the queries and
whichever others there are. It is the weight of the query's loss. A share of the queries is those
with the lowest lots, and so a function of the query id and of one threshold; from data in parts,
each part computes the weights of its own documents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankwright.data.dataset import Dataset
from rankwright.data.groups import Groups
from rankwright.data.parts import Parts
from rankwright.data.streams import query_uniforms
from rankwright.data.validation import Floats
from rankwright.inputs import WeightColumn, part_data
from rankwright.parameters import Rule, number

Mask: TypeAlias = NDArray[np.bool_]

_PURPOSE = 0xBA6  # a stream of its own among those of a seed
_MOST = 20  # draws of a query; the chance of more is below 1e-19, less than the lots tell apart
_POISSON = np.cumsum([math.exp(-1) / math.factorial(k) for k in range(_MOST)])
_SHARE = number("a number in (0, 1)", lambda value: 0 < value < 1)
BAG = Rule(
    "'queries', a share of them in (0, 1)",
    lambda value: value == "queries" if isinstance(value, str) else _SHARE.holds(value),
)


@dataclass(frozen=True)
class Bag:
    """The queries that a member learns from, as a function of their ids.

    Attributes
    ----------
    kind : {"queries"}, float or None
        A bootstrap; a share of the queries, each once; or all of them once.
    random_state, member : int
        Seed, and the member's number.
    last : float
        Of a share: queries whose lot is at most this are in it.
    spare : float or None
        The lot of the query that is in a bag which would be empty without it.
    """

    kind: str | float | None
    random_state: int
    member: int
    last: float = 0.0
    spare: float | None = None

    def lots(self, groups: Groups) -> Floats:
        """Return the lot of each query."""
        return query_uniforms(groups, self.random_state, _PURPOSE, self.member)

    def weights(self, groups: Groups, given: Floats | None = None) -> Floats:
        """Return how often each query is in the bag, times its own weight; 1 by default."""
        own = np.ones(groups.n_queries) if given is None else given
        return own if self.kind is None else self._times(self.lots(groups)) * own

    def _times(self, lots: Floats) -> Floats:
        if isinstance(self.kind, str):
            times = np.searchsorted(_POISSON, lots, side="right").astype(np.float64)
        else:
            times = (lots <= self.last).astype(np.float64)
        return times if self.spare is None else np.where(lots == self.spare, 1.0, times)

    def settled(self, lots: Floats, counts: Mask) -> Bag:
        """Return the same bag, given the lots of all queries and which of them have a weight.

        A share takes the lowest lots. At least one query that has a weight is in the bag.
        """
        bag = self
        if self.kind is not None and not isinstance(self.kind, str):
            n = max(1, round(self.kind * len(lots)))
            bag = replace(bag, last=float(np.partition(lots, n - 1)[n - 1]))
        if bag._times(lots)[counts].any() or not counts.any():
            return bag
        return replace(bag, spare=float(lots[counts].max()))


@dataclass(frozen=True)
class BagOfParts:
    """A bag as weights of the documents of a part.

    Attributes
    ----------
    bag : Bag
        The bag of all parts.
    given : str, callable or None
        The queries' own weights.
    """

    bag: Bag
    given: WeightColumn | None

    def __call__(self, part: Dataset) -> Floats:
        """Return a weight for each document of a part."""
        data = part_data(part, None, self.given)
        return np.repeat(self.bag.weights(data.groups, data.weight_of_queries), data.groups.sizes)


def bag_weights(
    groups: Groups,
    bag: str | float | None,
    random_state: int,
    member: int,
    given: Floats | None = None,
) -> Floats:
    """Return the weight of each query for a member: how often it is in the bag, times its own.

    ``bag`` is a kind of :class:`Bag`; ``given`` are the weights of the queries, 1 by default.
    """
    drawn = Bag(bag, random_state, member)
    if bag is not None:
        drawn = drawn.settled(drawn.lots(groups), _has_weight(groups, given))
    return drawn.weights(groups, given)


def bag_of_parts(bag: Bag, parts: Parts, given: WeightColumn | None) -> WeightColumn | None:
    """Return a bag of the queries of all parts as weights of the documents of each."""
    if bag.kind is None:
        return given
    lots, counts = zip(*parts.map(_lots_of_part, bag, given), strict=True)
    return BagOfParts(bag.settled(np.concatenate(lots), np.concatenate(counts)), given)


def _lots_of_part(part: Dataset, bag: Bag, given: WeightColumn | None) -> tuple[Floats, Mask]:
    data = part_data(part, None, given)
    return bag.lots(data.groups), _has_weight(data.groups, data.weight_of_queries)


def _has_weight(groups: Groups, given: Floats | None) -> Mask:
    return np.ones(groups.n_queries, dtype=bool) if given is None else given > 0
