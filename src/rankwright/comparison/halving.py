r"""Successive halving: on large data most trials see a sample, and the best of them see all.

A search of n trials on N training documents has rungs 0, ..., L. Rung r fits :math:`n_r` trials to
a share :math:`s_r` of the training queries:

.. math::
    n_0 = n, \quad n_{r+1} = \lceil n_r / 3 \rceil, \quad s_r = 3^{r - L}

and L is the least number with :math:`3^{-L} N` not above the limit, or with :math:`n_L = 1`. The
best third of a rung goes on to the next. The rule is the same for every model. Samples are whole
queries, chosen by their ids and the seed, and each holds the one before it; validation queries are
never sampled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from rankwright.evaluation.folds import Fold
from rankwright.metrics.metric import Metric

# Fits of so many documents take seconds: below it a sample would save little, and choose worse.
HALVE_ABOVE = 150_000
_SURVIVE = 3  # one in so many; three is what successive halving is usually run with


@dataclass(frozen=True)
class Rung:
    """So many trials on a share of the training queries."""

    n_trials: int
    share: Fraction

    def part_of(self, fold: Fold, random_state: int) -> Fold:
        """Return the fold with that share of its training queries."""
        if self.share == 1:
            return fold
        shares = (float(self.share), float(1 - self.share))
        return replace(fold, train=fold.train.split(shares, random_state)[0])


def rungs(n_docs: int, n_trials: int, halve_above: int | None) -> list[Rung]:
    """Return the rungs of a search.

    Parameters
    ----------
    n_docs : int
        Training documents.
    n_trials : int
        Trials to begin with.
    halve_above : int, optional
        Documents of the first sample, at most, where there are trials enough; None is no limit.

    Examples
    --------
    >>> [(rung.n_trials, str(rung.share)) for rung in rungs(1_000_000, 8, 150_000)]
    [(8, '1/9'), (3, '1/3'), (1, '1')]
    >>> [(rung.n_trials, str(rung.share)) for rung in rungs(100_000, 8, 150_000)]
    [(8, '1')]
    """
    numbers = [n_trials]
    while (
        halve_above is not None
        and numbers[-1] > 1
        and n_docs > halve_above * _SURVIVE ** (len(numbers) - 1)
    ):
        numbers.append(-(-numbers[-1] // _SURVIVE))
    last = len(numbers) - 1
    return [Rung(n, Fraction(1, _SURVIVE ** (last - r))) for r, n in enumerate(numbers)]


def survivors(values: Mapping[int, float], n: int, metric: Metric) -> list[int]:
    """Return the numbers of the n best trials, in their order; of equal ones the first are best."""
    sign = -1.0 if metric.higher_is_better else 1.0
    order = sorted(values, key=lambda t: (bool(np.isnan(values[t])), sign * values[t], t))
    return sorted(order[:n])


def budget_text(plan: Sequence[Rung]) -> str:
    """Say how many trials ran on how many queries.

    Examples
    --------
    >>> budget_text(rungs(1_000_000, 8, 150_000))
    '8 trials on 1/9 of the training queries, the best 3 on 1/3, the best on all'
    """
    first = plan[0]
    trials = "1 trial" if first.n_trials == 1 else f"{first.n_trials} trials"
    where = "all" if first.share == 1 else f"{first.share} of the"
    words = [f"{trials} on {where} training queries"]
    for rung in plan[1:]:
        which = "the best" if rung.n_trials == 1 else f"the best {rung.n_trials}"
        words.append(f"{which} on {'all' if rung.share == 1 else rung.share}")
    return ", ".join(words)
