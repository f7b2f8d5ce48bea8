"""The boosting loop: a tree, a look at the metric, and the decision whether to continue."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from rankwright.metrics.metric import Metric
from rankwright.showing import Brief
from rankwright.trees.machines import Machines


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


@dataclass
class Boosting:
    """A training run: when to stop, and what was seen."""

    metric: Metric
    n_estimators: int
    early_stopping_rounds: int | None
    curves: dict[str, list[float]] = field(default_factory=dict)  # empty ones of what is watched
    best: float = math.nan
    best_iteration: int = 0
    begun: bool = False  # whether there is something to better
    stop: str = "n_estimators"

    def run(self, machines: Machines, callback: Callback | None, begun: bool = False) -> None:
        """Grow trees until there are enough; an interrupt ends it as well, and is remembered.

        ``begun`` tells that there are scores before the first tree. Where no tree betters them on
        the validation queries, none is kept.
        """
        begin = time.perf_counter()
        try:
            if begun and "valid" in self.curves:
                self.best, self.begun = machines.measure()["valid"], True
            for iteration in range(1, self.n_estimators + 1):
                seen = machines.grow(iteration - 1)
                if seen is None:
                    self.stop = "no_split"
                    break
                for name, value in seen.items():
                    self.curves[name].append(value)
                on_train, on_valid = seen.get("train", math.nan), seen.get("valid", math.nan)
                self._compare(iteration, on_valid, "valid" in self.curves)
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

    def _compare(self, iteration: int, value: float, measured: bool) -> None:
        if not measured:
            self.best_iteration = iteration
            return
        gain = value - self.best if self.metric.higher_is_better else self.best - value
        if not self.begun or gain > 0:
            self.best, self.best_iteration, self.begun = value, iteration, True
