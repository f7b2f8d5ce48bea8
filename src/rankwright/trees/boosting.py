"""The boosting loop: a tree, a look at the metric, and the decision whether to continue."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from rankwright.data.groups import Groups
from rankwright.data.validation import Floats
from rankwright.metrics.metric import Columns, Metric
from rankwright.showing import Brief

if TYPE_CHECKING:
    from lightgbm import Booster


@dataclass(frozen=True, repr=False)
class BoostingProgress(Brief):
    """How far a fit has come.

    Attributes
    ----------
    iteration, n_estimators : int
        Trees grown, and trees to grow at most.
    metric : str
        What is measured.
    train, valid : float
        The metric on training and validation queries; NaN where it is not measured.
    best : float
        Its best value on the validation queries so far, or NaN.
    best_iteration : int
        Trees of the best model so far, the first of equals; all of them without validation queries.
    seconds : float
        Since the first tree was begun.
    """

    iteration: int
    n_estimators: int
    metric: str
    train: float
    valid: float
    best: float
    best_iteration: int
    seconds: float

    @property
    def seconds_left(self) -> float:
        """Time that the other trees would take."""
        return self.seconds / self.iteration * (self.n_estimators - self.iteration)

    @property
    def total(self) -> int:
        """Trees to grow at most, for progress bars."""
        return self.n_estimators

    def __str__(self) -> str:
        parts = [f"tree {self.iteration} of {self.n_estimators}"]
        values = (("train", self.train), ("valid", self.valid))
        seen = [f"{value:.4f} ({name})" for name, value in values if not math.isnan(value)]
        if seen:
            parts.append(f"{self.metric} {', '.join(seen)}")
        if not math.isnan(self.best):
            parts.append(f"best {self.best:.4f} at {self.best_iteration}")
        minutes, seconds = divmod(round(self.seconds_left), 60)
        parts.append(f"{minutes}:{seconds:02} left")
        return ", ".join(parts)


Callback: TypeAlias = Callable[[BoostingProgress], object]  # a true answer stops


@dataclass(frozen=True)
class Watched:
    """Queries on which the metric is measured after each tree."""

    name: str
    y: Floats
    groups: Groups
    columns: Columns


@dataclass
class Boosting:
    """A training run: when to stop, and what was seen."""

    metric: Metric
    n_estimators: int
    early_stopping_rounds: int | None
    n_jobs: int | None
    curves: dict[str, list[float]] = field(default_factory=dict)
    best: float = math.nan
    best_iteration: int = 0
    begun: bool = False  # whether there is something to better
    stop: str = "n_estimators"

    def run(
        self,
        booster: Booster,
        objective: Any,
        train: Watched | None,
        valid: Watched | None,
        callback: Callback | None,
        begin_with: Floats | None = None,
    ) -> None:
        """Grow trees until there are enough; an interrupt ends it as well, and is remembered.

        ``begin_with`` are scores of the validation queries before the first tree. Where no tree
        betters them, none is kept.
        """
        self.curves = {w.name: [] for w in (train, valid) if w is not None}
        if begin_with is not None and valid is not None:
            self.best = self._measure(valid, begin_with)
            self.begun = True
        begin = time.perf_counter()
        try:
            for iteration in range(1, self.n_estimators + 1):
                if booster.update(fobj=objective):
                    self.stop = "no_split"
                    break
                on_train = self._look(booster.eval_train, train)
                on_valid = self._look(booster.eval_valid, valid)
                self._compare(iteration, on_valid, valid is not None)
                if callback is not None:
                    seconds = time.perf_counter() - begin
                    progress = BoostingProgress(
                        iteration,
                        self.n_estimators,
                        str(self.metric),
                        on_train,
                        on_valid,
                        self.best,
                        self.best_iteration,
                        seconds,
                    )
                    if callback(progress):
                        self.stop = "interrupted"
                        break
                rounds = self.early_stopping_rounds
                if rounds is not None and iteration - self.best_iteration >= rounds:
                    self.stop = "early_stopping"
                    break
        except KeyboardInterrupt:
            self.stop = "ctrl-c"

    def _look(self, evaluate: Callable[..., Any], watched: Watched | None) -> float:
        """Measure; LightGBM hands its scores to a function only."""
        if watched is None:
            return math.nan

        def measure(scores: Floats, _: Any) -> tuple[str, float, bool]:
            return "metric", self._measure(watched, scores), self.metric.higher_is_better

        value = float(evaluate(feval=measure)[0][2])
        self.curves[watched.name].append(value)
        return value

    def _measure(self, watched: Watched, scores: Floats) -> float:
        return self.metric.mean(
            watched.y, scores, watched.groups, columns=watched.columns, n_jobs=self.n_jobs
        )

    def _compare(self, iteration: int, value: float, measured: bool) -> None:
        if not measured:
            self.best_iteration = iteration
            return
        gain = value - self.best if self.metric.higher_is_better else self.best - value
        if not self.begun or gain > 0:
            self.best, self.best_iteration, self.begun = value, iteration, True
