r"""Kernel perceptrons: scores that are a sum over the documents that made updates.

.. math::
    f(x) = \sum_i c_i \, K(x_i, x)

One helper serves every learner with a kernel form. It scores a block of documents at once and keeps
those scores right while the block's own documents join the sum. Where a block ends shows in the
last bits of the scores, so the blocks are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from rankwright.data.groups import Groups, Ints
from rankwright.data.validation import Floats, Matrix
from rankwright.online.budget import Budget
from rankwright.scoring.kernels import BLOCK, Kernel

_EPS = 4 * float(np.finfo(np.float64).eps)  # of a term: its kernel, its product and its sum round


@dataclass
class Support:
    """The documents of a sum, oldest first.

    Attributes
    ----------
    points : ndarray
        Documents, or columns of a precomputed kernel.
    coef : ndarray of shape (n_points, n_scores)
        Their coefficients.
    born : ndarray of shape (n_points,)
        The rounds in which they joined.
    more : ndarray of shape (n_points, n_more)
        What else is kept of those rounds: with a budget, gains, and what is left of them.
    """

    points: Any
    coef: Floats
    born: Ints
    more: Floats


class Expansion:
    """The sum, while it grows; with a budget, as in :mod:`rankwright.online.budget`."""

    def __init__(self, kernel: Kernel, support: Support, budget: Budget | None = None) -> None:
        self.kernel = kernel
        self.budget = budget
        self._parts = [support]
        self.scores = np.empty((0, support.coef.shape[1]))

    def open(self, X: Matrix, rows: Ints, order: Ints | None) -> None:
        """Score a block of documents; ``scores`` then has a row for each."""
        support = self.support()
        self._X, self._order, block = X, order, X[rows]
        self._block = self.kernel.points(X, rows, order)
        self._gram = self.kernel(block, self._block)
        self.scores = np.zeros((len(rows), support.coef.shape[1]))
        if len(support.coef):
            self.scores += self.kernel(block, support.points) @ support.coef

    def squared_norm(self, place: int) -> float:
        """Return the kernel of a document of the block with itself."""
        return float(self._gram[place, place])

    def products(self, members: Ints, coef: Floats) -> tuple[float, float]:
        r"""Return :math:`\langle w, g \rangle` and :math:`\|g\|^2` of an update g to come."""
        gram = self._gram[np.ix_(members, members)]
        squared, sizes = float((coef * (gram @ coef)).sum()), np.abs(coef)
        # Of documents that are all but equal nothing is left but rounding, of either sign.
        rounding = _EPS * len(members) * float((sizes * (np.abs(gram) @ sizes)).sum())
        product = float((coef * self.scores[members]).sum())
        return product, 0.0 if -rounding <= squared < 0 else squared

    def add(self, members: Ints, coef: Floats, born: int, *more: float) -> None:
        """Let documents of the block join; ``coef`` has a row for each."""
        if self.budget is not None:
            self.budget.enter(more[0], self.products(members, coef)[1])
        self.scores += self._gram[:, members] @ coef
        rounds = np.full(len(members), born, dtype=np.int64)
        kept = np.tile(np.asarray(more, dtype=np.float64), (len(members), 1))
        self._parts.append(Support(self._block[members], coef, rounds, kept))
        if self.budget is not None:
            self._forget(self.budget)

    def _forget(self, budget: Budget) -> None:
        """Let the oldest rounds go while there are too many documents; the block is over then."""
        support = self.support()
        while len(support.born) > budget.size:
            n = int(np.searchsorted(support.born, support.born[0], side="right"))
            if n == len(support.born):
                raise ValueError(
                    f"budget must be at least the {n} documents of one update, but is "
                    f"{budget.size}."
                )
            points, coef = support.points[:n], support.coef[:n]
            gram = self.kernel(self.kernel.rows(self._X, points, self._order), support.points)
            # |r|^2 - 2 <w, r> of what goes, before all is multiplied.
            product = gram[:, :n] @ coef - 2 * (gram @ support.coef)
            gain, left = support.more[0].tolist()
            share = budget.leave(gain, left, float((coef * product).sum()))
            more = support.more[n:] * [1.0, share]
            support = Support(support.points[n:], share * support.coef[n:], support.born[n:], more)
        self._parts = [support]

    def support(self) -> Support:
        """Return all that is in the sum."""
        if len(self._parts) > 1:
            names = ("points", "coef", "born", "more")
            joined = [np.concatenate([getattr(p, name) for p in self._parts]) for name in names]
            self._parts = [Support(*joined)]
        return self._parts[0]


class KernelRows(Protocol):
    """Documents as learners have them: ``order`` maps them to the columns of a precomputed kernel.

    Rounds are the queries of ``groups``, or single rows without.
    """

    @property
    def X(self) -> Matrix: ...  # noqa: D102
    @property
    def groups(self) -> Groups | None: ...  # noqa: D102
    @property
    def order(self) -> Ints | None: ...  # noqa: D102


class KernelRound(NamedTuple):
    """One round, while its block is open."""

    number: int  # counted from 1, over all calls
    at: int  # query or row
    first: int  # first document, counted in the block
    scores: Floats  # of its documents: a row for each, a column for each score


def kernel_rounds(
    expansion: Expansion, data: KernelRows, order: Ints, n_before: int, *, by_ends: bool = True
) -> Iterator[KernelRound]:
    """Yield rounds in this order; what joins the sum in one is in the scores of the next."""
    number, groups = n_before, data.groups
    blocks = _blocks(order, groups, by_ends)
    if expansion.budget is not None:  # the sum is short, and all of it may change in a round
        blocks = iter(order[:, None])
    for block in blocks:
        expansion.open(data.X, block if groups is None else groups.rows_of(block), data.order)
        first = 0
        for at in block.tolist():
            number += 1
            n = 1 if groups is None else int(groups.sizes[at])
            yield KernelRound(number, at, first, expansion.scores[first : first + n])
            first += n


def learn_by_kernel(
    expansion: Expansion,
    rounds: Iterator[KernelRound],
    step: float,
    play: Callable[[int, Floats], tuple[float, Floats]],
    more: Callable[[Ints, Floats], Sequence[float]] = lambda members, coef: (),
) -> tuple[Floats, int]:
    r"""Make the rounds of a learner that moves scores by :math:`\text{step} \cdot g`.

    Parameters
    ----------
    expansion : Expansion
        The sum so far; it grows.
    rounds : iterator of KernelRound
        What :func:`kernel_rounds` yields.
    step : float
        The step.
    play : callable
        Maps query or row and scores to the loss and the direction g, of the shape of the scores; a
        direction counts if there is a loss.
    more : callable
        Maps documents and coefficients of an update to come to what else is kept of it.

    Returns
    -------
    losses : ndarray of shape (n_rounds,)
        Losses.
    n_updates : int
        Rounds with a loss.
    """
    losses, n_updates = [], 0
    for number, at, first, scores in rounds:
        loss, direction = play(at, scores)
        losses.append(loss)
        if loss > 0:
            n_updates += 1
            members = np.flatnonzero(direction.any(axis=1))
            coef = step * direction[members]
            expansion.add(first + members, coef, number, *more(first + members, coef))
    return np.array(losses, dtype=np.float64), n_updates


def _blocks(order: Ints, groups: Groups | None, by_ends: bool) -> Iterator[Ints]:
    """Cut the rounds into runs of about BLOCK rows: by where rounds end, or where they begin."""
    sizes = np.ones(len(order), dtype=np.int64) if groups is None else groups.sizes[order]
    places = np.cumsum(sizes) - (0 if by_ends else sizes)
    if len(order):
        yield from np.split(order, np.flatnonzero(np.diff(places // BLOCK)) + 1)
