"""Runs of boosting, from one start or from two of which the better is kept."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rankwright.data.validation import Floats
from rankwright.metrics.metric import Metric
from rankwright.trees.boosting import Boosting, Callback
from rankwright.trees.grafting import Graft
from rankwright.trees.shared_bins import shared_bins

Trees = TypeVar("Trees")
_ENDED = ("ctrl-c", "interrupted", "machine_lost")  # someone has had enough


@dataclass(frozen=True)
class Start:
    """What boosting begins with: scores of the training and of the validation documents.

    Attributes
    ----------
    train, valid : ndarray or None
        The scores; None for 0, without validation queries, or if documents are in parts.
    base : Graft or None
        Where they come from, if the model is to have it.
    """

    train: Floats | None = None
    valid: Floats | None = None
    base: Graft | None = None

    @property
    def begun(self) -> bool:
        """Whether there are scores before the first tree."""
        return self.train is not None or self.base is not None


class Runs(ABC, Generic[Trees]):
    """Data and parameters of a fit, which may be grown from several starts.

    Parameters
    ----------
    ranker : BoostedRanker
        The parameters.
    metric : Metric
        What is measured.
    """

    def __init__(self, ranker: Any, metric: Metric) -> None:
        self.ranker, self.metric = ranker, metric

    @abstractmethod
    def start_from(self, base: Any) -> Start:
        """Fit the base, and return a start."""

    @abstractmethod
    def grow(self, start: Start, callback: Callback | None) -> tuple[Trees, Boosting]:
        """Return the trees, of which there may be none, and how they grew."""

    def chosen(self, start: Start, callback: Callback | None) -> tuple[Start, Trees, Boosting]:
        """Grow from the base that the parameters name; of "auto", from the better one.

        ``start`` is for a model without a base. Whoever ends the first run, or an interrupt of the
        second one, ends both; what is best so far is kept.
        """
        base = self.ranker.base
        if not isinstance(base, str) or base != "auto":
            start = start if base is None else self.start_from(base)
            return (start, *self.grow(start, callback))
        with shared_bins():
            trees, boosting = self.grow(start, callback)
            if boosting.stop in _ENDED:
                return start, trees, boosting
            try:
                other = self.start_from("linear")
                grown, run = self.grow(other, callback)
            except KeyboardInterrupt:  # before its first tree
                boosting.stop = "ctrl-c"
                return start, trees, boosting
        sign = 1.0 if self.metric.higher_is_better else -1.0
        # NaN: there was nothing to split, and so nothing was measured.
        if math.isnan(boosting.best) or sign * run.best > sign * boosting.best:
            return other, grown, run
        if run.stop in _ENDED:
            boosting.stop = run.stop
        return start, trees, boosting
