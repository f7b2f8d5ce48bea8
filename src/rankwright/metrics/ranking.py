"""Labels in the order of the scores: sorted once, used by every metric."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from rankwright import _kernels
from rankwright.data.groups import Groups
from rankwright.data.validation import Floats, check_scores, check_y
from rankwright.threads import n_threads


class Ranking:
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
    """

    def __init__(
        self,
        y: ArrayLike,
        scores: ArrayLike,
        groups: Groups | None = None,
        *,
        depth: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.y: Floats = check_y(y)
        values = check_scores(scores, len(self.y))
        self.groups = Groups.one_query(len(self.y)) if groups is None else groups
        if self.groups.n_rows != len(self.y):
            raise ValueError(
                f"groups must cover the {len(self.y)} rows of y, but cover {self.groups.n_rows}."
            )
        self.depth = depth
        self.n_threads = n_threads(n_jobs)
        everything = max(1, len(self.y))
        self.kernel = _kernels.Ranking(
            self.y, values, self.groups.indptr, depth or everything, self.n_threads
        )
        row = self.kernel.bad_row
        if row >= 0:
            raise ValueError(f"scores must be finite, but row {row} is {values[row]}.")

    @cached_property
    def longest(self) -> int:
        """Size of the longest query."""
        return int(self.groups.sizes.max(initial=0))

    def require_labels(self, metric: str, highest: float, hint: str) -> None:
        """Raise unless all labels lie between 0 and ``highest``."""
        if len(self.y) == 0:
            return
        for row in (int(np.argmin(self.y)), int(np.argmax(self.y))):
            label = float(self.y[row])
            if not 0 <= label <= highest:
                raise ValueError(
                    f"{metric} needs labels from 0 to {highest:g}, but row {row} has {label:g}. "
                    f"{hint}"
                )
