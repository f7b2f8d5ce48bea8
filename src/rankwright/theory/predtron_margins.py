"""Margins of Predtron: what the bounds ask of a comparator."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwright.problems.problem import Problem
from rankwright.showing import Brief

# Relative to the sum of all |t|, which no similarity exceeds: |rep| = 1. Correct predictions of
# equal similarity are sums in another order, and must not look different.
_ROUNDING = 1e-12


@dataclass(frozen=True, repr=False)
class PredtronMargin(Brief):
    r"""The margin of scores on a label, or the least over several.

    Attributes
    ----------
    weak : float
        :math:`\min_{\sigma \in \Sigma_y} \langle\mathrm{rep}(\sigma), t\rangle
        - \max_{\sigma \notin \Sigma_y} \langle\mathrm{rep}(\sigma), t\rangle`: what updates with
        the prediction need. Infinite if every prediction is correct.
    compatible : bool
        Whether the most similar predictions are exactly the correct ones, :math:`\Sigma_y`.
    """

    weak: float
    compatible: bool

    @property
    def strict(self) -> float:
        """The weak margin if the scores are compatible, as Theorem 1 needs it; else -infinity.

        Rankings with tied labels have no compatible scores but those that tie as well (P5), and the
        error-set loss has none at all (P6).
        """
        return self.weak if self.compatible else -math.inf


def predtron_margin(problem: Problem, scores: ArrayLike, y: Any) -> PredtronMargin:
    """Return the margin of scores on one label.

    Parameters
    ----------
    problem : Problem
        The task; it needs a method ``extremes``.
    scores : array-like
        t.
    y
        The label.

    Examples
    --------
    >>> from rankwright.problems import Ranking
    >>> ranking = Ranking(representation="-i")
    >>> predtron_margin(ranking, [3.0, 2.9, 0.0, 0.0], [1, 1, 0, 0]).weak > 0
    True
    >>> predtron_margin(ranking, [3.0, 2.9, 0.0, 0.0], [1, 1, 0, 0]).strict  # 3 and 2.9 differ
    -inf
    """
    t = np.ascontiguousarray(scores, dtype=np.float64)
    least, most, wrong = problem.extremes(t, y)
    size = _ROUNDING * float(np.abs(t).sum())
    return PredtronMargin(least - wrong, most - least <= size and least > wrong)


def predtron_margins(
    problem: Problem, scores: Iterable[ArrayLike], labels: Iterable[Any]
) -> PredtronMargin:
    """Return the least margin over examples; divide it by the norm of the weights."""
    margins = [predtron_margin(problem, t, y) for t, y in zip(scores, labels, strict=True)]
    return PredtronMargin(
        min((margin.weak for margin in margins), default=math.inf),
        all(margin.compatible for margin in margins),
    )
