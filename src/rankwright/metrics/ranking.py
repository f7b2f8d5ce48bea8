"""Labels in the order of the scores: sorted once, used by every metric."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rankwright import _kernels
from rankwright.data.groups import Groups
from rankwright.data.lazy import lazy
from rankwright.data.validation import Floats, check_scores, check_y
from rankwright.threads import n_threads


class RankedLabels:
    """The labels of each query, best score first, with the blocks of tied scores.

    Parameters
    ----------
    y : array-like of shape (n_docs,)
        Labels.
    scores : array-like of shape (n_docs,)
        Scores, larger first; they must be finite.
    groups : Groups, optional
        Row ranges of the queries; None is one query.
    depth : int, optional
        Ranks that need to be in order; all by default. Fewer save time.
    n_jobs : int, optional
        Threads. The result does not depend on them.
    judged : tuple of (labels, Groups), optional
        All labels that are known, where the ranking has not all of them: a run finds some
        documents only. Query by query, as ``groups``.
    """

    def __init__(
        self,
        y: ArrayLike,
        scores: ArrayLike,
        groups: Groups | None = None,
        *,
        depth: int | None = None,
        n_jobs: int | None = None,
        judged: tuple[Floats, Groups] | None = None,
    ) -> None:
        # Whether they are finite is left to the kernel, which reads every value anyway: checking
        # here would be one more pass over the memory.
        self.y: Floats = check_y(y, finite=False)
        values = check_scores(scores, len(self.y), finite=False)
        self.groups = Groups.one_query(len(self.y)) if groups is None else groups
        self.groups.require_rows(len(self.y))
        self.depth = depth
        self.judged = judged
        self.n_threads = n_threads(n_jobs)
        everything = max(1, len(self.y))
        self.kernel = _kernels.Ranking(
            self.y, values, self.groups.indptr, depth or everything, self.n_threads
        )
        # Asked before anything else: a NaN has no place in an order, and what the kernel says of
        # the other rows is then meaningless too.
        row = self.kernel.bad_label
        if row >= 0:
            raise ValueError(f"y must be finite, but row {row} is {self.y[row]}.")
        row = self.kernel.bad_score
        if row >= 0:
            raise ValueError(f"scores must be finite, but row {row} is {values[row]}.")

    @lazy
    def longest(self) -> int:
        """Size of the longest query."""
        return int(self.groups.sizes.max(initial=0))

    def counts(self, threshold: float) -> tuple[Floats, Floats]:
        """Return for each query how many documents are relevant, and how many are not."""
        y, groups = (self.y, self.groups) if self.judged is None else self.judged
        up_to = np.append(0.0, np.cumsum(y >= threshold))
        relevant = up_to[groups.indptr[1:]] - up_to[groups.indptr[:-1]]
        return relevant, groups.sizes - relevant

    def require_labels(self, metric: str, highest: float, hint: str) -> None:
        """Raise unless all labels lie between 0 and ``highest``."""
        # The kernel met the extremes while sorting; the row is only looked for to be named.
        if self.kernel.lowest_label < 0:
            row = int(np.argmin(self.y))
        elif self.kernel.highest_label > highest:
            row = int(np.argmax(self.y))
        else:
            return
        raise ValueError(
            f"{metric} needs labels from 0 to {highest:g}, but row {row} has {self.y[row]:g}. "
            f"{hint}"
        )
