"""Cumulative loss beside its bound, as a line of few points however long a learner has learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rankwright.serve.page.overview import LossLine
from rankwright.serve.records import LearnerRecord, Mark
from rankwright.serve.store.interface import Store

MOST_POINTS = 300
_ALL = 1_000  # events over which every mark is read


class LossPoint(NamedTuple):
    """Where a learner stood."""

    learned: int
    loss: float
    bound: float | None


class ThinLine:
    """Points at even distances of learned events, thinned as they become many.

    A point is kept if it is at least ``step`` events behind the last one that was kept; when there
    are too many, the step is doubled. So the line never grows, and every mark is looked at once.
    """

    def __init__(self, most: int = MOST_POINTS) -> None:
        self._most = most
        self._step = 1
        self._points: list[LossPoint] = []
        self._position = 0

    def extend(self, marks: Sequence[Mark]) -> None:
        """Take further steps of the learner, in their order."""
        for mark in marks:
            self._position = max(self._position, mark.position)
            self._keep(LossPoint(mark.learned, mark.loss, mark.bound))
            while len(self._points) >= self._most:
                self._step *= 2
                points, self._points = self._points, []
                for point in points:
                    self._keep(point)

    def _keep(self, point: LossPoint) -> None:
        if not self._points or point.learned - self._points[-1].learned >= self._step:
            self._points.append(point)

    def read(self, store: Store, learner: LearnerRecord) -> None:
        """Read on in the store, up to where the learner is.

        Over a long way only marks at even distances are read, so that it never takes long.
        """
        way = learner.position - self._position
        if way <= _ALL:
            self.extend(store.marks(learner.model_id, self._position, _ALL))
            return
        begin = self._position
        for i in range(self._most):
            after = max(self._position, begin + i * way // self._most)
            self.extend(store.marks(learner.model_id, after, 1))

    def line(self, learner: LearnerRecord) -> LossLine:
        """Return the line, up to where the learner is now."""
        points = [point for point in self._points if point.learned < learner.learned]
        if learner.learned:
            points.append(LossPoint(learner.learned, learner.loss, learner.bound))
        return LossLine(
            [point.learned for point in points],
            [point.loss for point in points],
            [point.bound for point in points],
        )
