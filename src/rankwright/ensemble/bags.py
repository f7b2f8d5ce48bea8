r"""Bags of queries: which queries a member of an ensemble learns from, and how often.

A bootstrap draws as many queries as there are, with replacement. Here the number of times that a
query is drawn is :math:`N_q \sim \mathrm{Poisson}(1)` on its own,

.. math:: P(N_q = k) = \frac{e^{-1}}{k!},

so that it is a function of seed, member and query id alone, whatever the order of the queries and
whichever others there are. It is the weight of the query's loss.
"""

from __future__ import annotations

import math

import numpy as np

from rankwright.data.groups import Groups
from rankwright.data.streams import query_uniforms
from rankwright.data.validation import Floats
from rankwright.parameters import Rule, number

_PURPOSE = 0xBA6  # a stream of its own among those of a seed
_MOST = 20  # draws of a query; the chance of more is below 1e-19, less than the lots tell apart
_POISSON = np.cumsum([math.exp(-1) / math.factorial(k) for k in range(_MOST)])
_SHARE = number("a number in (0, 1)", lambda value: 0 < value < 1)
BAG = Rule(
    "'queries', a share of them in (0, 1)",
    lambda value: value == "queries" if isinstance(value, str) else _SHARE.holds(value),
)


def bag_weights(
    groups: Groups,
    bag: str | float | None,
    random_state: int,
    member: int,
    given: Floats | None = None,
) -> Floats:
    """Return the weight of each query for a member: how often it is in the bag, times its own.

    Parameters
    ----------
    groups : Groups
        The queries.
    bag : {"queries"}, float or None
        A bootstrap; a share of the queries, each once; or all of them once.
    random_state, member : int
        Seed, and the member's number.
    given : ndarray of shape (n_queries,), optional
        Weights of the queries; 1 by default. At least one query that has one is in the bag.
    """
    own = np.ones(groups.n_queries) if given is None else given
    if bag is None:
        return own
    lots = query_uniforms(groups, random_state, _PURPOSE, member)
    if isinstance(bag, str):
        times = np.searchsorted(_POISSON, lots, side="right").astype(np.float64)
    else:
        times = np.zeros(groups.n_queries)
        times[np.argsort(lots, kind="stable")[: max(1, round(bag * groups.n_queries))]] = 1.0
    if not (times * own).any():
        times[np.argmax(np.where(own > 0, lots, -1.0))] = 1.0
    return times * own
