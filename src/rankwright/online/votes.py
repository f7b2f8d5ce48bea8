r"""Votes: each weights of a run predict, and have as many votes as rounds that they survived.

With :math:`w_t` the weights after round t, a class has
:math:`\sum_t [\mathrm{pred}(w_t, x) = k]` votes, and a label of a set
:math:`\sum_t [j \in \mathrm{pred}(w_t, x)]`. Between two updates the weights stay, so that these
are sums over the updates; the scores under all weights are running sums over them,

.. math::
    f_t(x) = \sum_{i : \text{born}_i \le t} c_i\, K(x_i, x).

What decides is the plurality of classes, the first of those that have most votes (the option to
reject stands behind the classes); the median of ordered classes, the first that has half of the
votes with those below it; and the majority on each label of a set, which is there if it has more
votes than it lacks. Where a prediction is a score, as in rankers, nobody can vote, and ``"voted"``
is the mean of the directions of the weights (:mod:`rankwright.online.means`).

The cost is that of updates times documents, in blocks that bound the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankwright.data.groups import Ints
from rankwright.data.validation import Floats, Matrix
from rankwright.scoring.kernels import Kernel
from rankwright.scoring.sums import finite_scores

Bools: TypeAlias = NDArray[np.bool_]
# Scores of documents under all weights: yields the first of them, and documents x weights x scores.
History: TypeAlias = Callable[[Matrix], Iterator[tuple[int, Floats]]]
# Turns such scores, and the numbers of their weights, into documents x weights x options.
Ballots: TypeAlias = Callable[[Floats, slice], Bools]
UPDATES = 256  # whose scores are made at once
_CELLS = 1 << 21


def survived(born: Ints, n_rounds: int) -> Floats:
    """Return how many rounds the weights before the first update held, and those after each."""
    return np.diff(np.concatenate([[1], born, [n_rounds + 1]])).astype(np.float64)


def linear_history(kernel: Kernel, points: Floats, coef: Floats) -> History:
    """Return the running sums over updates of one document each."""

    def scores_of(rows: Matrix) -> Iterator[tuple[int, Floats]]:
        scores = np.zeros((rows.shape[0], 1, coef.shape[1]))
        yield 0, scores
        for begin in range(0, len(coef), UPDATES):
            part = slice(begin, begin + UPDATES)
            products = kernel(rows, points[part])[:, :, None] * coef[part]
            # From the last sums on: added one after the other, whatever the blocks.
            scores = np.cumsum(np.concatenate([scores[:, -1:], products], axis=1), axis=1)
            yield begin + 1, scores[:, 1:]

    return scores_of


def count_votes(
    X: Matrix,
    in_scale: Callable[[Matrix], Matrix],
    history: History,
    votes: Floats,
    ballots: Ballots,
    width: int,
) -> Floats:
    """Return how many votes each option has, documents by options.

    Parameters
    ----------
    X : matrix
        Documents as they are.
    in_scale : callable
        Makes them what the learner sees.
    history : callable
        Their scores under all weights.
    votes : ndarray
        What :func:`survived` returns.
    ballots : callable
        Tells what scores vote for.
    width : int
        Scores or options, whichever are more.
    """
    counts, size = [], max(1, _CELLS // (UPDATES * width))
    for begin in range(0, max(X.shape[0], 1), size):
        rows, total = in_scale(X[begin : begin + size]), np.zeros(1)
        for first, scores in history(rows):
            finite_scores(scores, begin)
            which = slice(first, first + scores.shape[1])
            # Whole numbers, exact in any order.
            total = total + np.einsum("rwo,w->ro", ballots(scores, which), votes[which])
        counts.append(total)
    return np.concatenate(counts)


def for_one(chosen: NDArray[np.integer[Any]], n_options: int) -> Bools:
    """Return ballots with one option each."""
    return np.asarray(chosen[..., None] == np.arange(n_options))


def median(votes: Floats) -> Ints:
    """Return the first option that, with those before it, has half of the votes."""
    running = np.cumsum(votes, axis=1)
    return np.asarray((2 * running >= running[:, -1:]).argmax(axis=1), dtype=np.int64)
