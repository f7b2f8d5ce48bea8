"""What tree learners fit: a direction and a curvature for each document."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from numpy.typing import ArrayLike

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats
from rankwright.losses.loss import check_query_data


@runtime_checkable
class Directions(Protocol):
    """What a tree learner can fit without a loss: directions and curvatures."""

    def grad_and_hess(
        self, scores: Floats, y: Floats, groups: Groups, draw: int = 0
    ) -> tuple[Floats, Floats]:
        """Return a gradient-like direction and a positive curvature for each document."""
        ...


class WithTerms:
    """Directions of those that prepare them once for all iterations."""

    def prepare_terms(self, y: Floats, groups: Groups, *, n_jobs: int | None = None) -> Any:
        """Do once what depends on the labels only; arguments are trusted."""
        raise NotImplementedError

    def grad_and_hess(
        self,
        scores: ArrayLike,
        y: ArrayLike,
        groups: Groups | None = None,
        draw: int = 0,
        *,
        n_jobs: int | None = None,
    ) -> tuple[Floats, Floats]:
        """Return the pair that a tree learner fits; ``draw`` numbers the boosting iteration."""
        labels, values, groups = check_query_data(scores, y, groups)
        terms = self.prepare_terms(labels, groups, n_jobs=n_jobs)
        grad, hess = terms.grad_and_hess(values, draw)
        return grad, hess
