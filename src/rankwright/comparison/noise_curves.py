"""Curves of rankers over levels of noise, and their differences.

Intervals and p-values are over trials, by Student's t; differences are paired by trial. Trials
share queries, so the intervals are somewhat too short for other queries of the same kind.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any, Literal

import numpy as np

from rankwright.comparison.tables import csv_text
from rankwright.comparison.views import noise_html, noise_text
from rankwright.data.corruptions import Corruption
from rankwright.data.framing import Backend, frame_of, table_named
from rankwright.data.validation import Floats
from rankwright.evaluation.significance import holm, mean_interval, t_test
from rankwright.metrics.metric import Metric
from rankwright.showing import Brief


@dataclass(frozen=True, repr=False)
class NoiseDifference(Brief):
    """Two models at one level; ``mean`` is that of ``a`` minus ``b`` over trials."""

    level: float
    a: str
    b: str
    mean: float
    low: float
    high: float
    p: float
    p_holm: float  # corrected for all levels and pairs of the study

    @property
    def significant(self) -> bool:
        """Whether the corrected p-value is below 0.05."""
        return self.p_holm < 0.05


Difference = NoiseDifference  # its name in rankwright.comparison


@dataclass(frozen=True, eq=False, repr=False)
class NoiseStudy:
    """What came of a study.

    Attributes
    ----------
    corruption : Corruption
        What was swept.
    metric : Metric
        What was measured.
    models : tuple of str
        Names, in the order of ``values``.
    levels : tuple of float
        Levels, in the order of ``values``.
    values : ndarray of shape (n_models, n_levels, n_trials)
        Mean of the metric over the test queries.
    """

    corruption: Corruption
    metric: Metric
    models: tuple[str, ...]
    levels: tuple[float, ...]
    values: Floats

    @property
    def n_trials(self) -> int:
        """Number of trials."""
        return int(self.values.shape[2])

    def curve(self, model: str) -> tuple[Floats, Floats, Floats]:
        """Return the means of a model by level, and the ends of their 95 % intervals."""
        return mean_interval(self.values[self.models.index(model)])

    def differences(self, reference: str | None = None) -> list[NoiseDifference]:
        """Return the differences of a model (the first by default) and each other, by level."""
        a = self.models[0] if reference is None else reference
        first = self.values[self.models.index(a)]
        found = []
        for b, values in zip(self.models, self.values, strict=True):
            if b == a:
                continue
            mean, low, high = mean_interval(first - values)
            for i, level in enumerate(self.levels):
                p = t_test((first - values)[i])
                found.append((level, a, b, float(mean[i]), float(low[i]), float(high[i]), p))
        corrected = holm([row[-1] for row in found]).tolist()
        return [NoiseDifference(*row, p) for row, p in zip(found, corrected, strict=True)]

    def __repr__(self) -> str:
        return noise_text(self)

    def _repr_html_(self) -> str:
        return noise_html(self)

    def to_frame(
        self, table: Literal["curves", "fits"] = "curves", *, backend: Backend | None = None
    ) -> Any:
        """Return one of its tables as a data frame.

        Parameters
        ----------
        table : {"curves", "fits"}, default "curves"
            A row for each model and level, with the mean over trials and its 95 % interval; or for
            each model, level and trial.
        backend : {"pandas", "polars", "pyarrow"}, optional
            Whose data frame it is; by default the first of them that is installed.
        """
        return frame_of(
            table_named(table, {"curves": self._curves_table, "fits": self._fits_table}), backend
        )

    def _curves_table(self) -> dict[str, Any]:
        ends = np.concatenate([np.stack(self.curve(model), axis=1) for model in self.models])
        return {
            "model": [model for model in self.models for _ in self.levels],
            "level": list(self.levels) * len(self.models),
            "mean": ends[:, 0],
            "low": ends[:, 1],
            "high": ends[:, 2],
        }

    def _fits_table(self) -> dict[str, Any]:
        n = self.n_trials
        return {
            "model": [model for model in self.models for _ in range(len(self.levels) * n)],
            "level": np.tile(np.repeat(self.levels, n), len(self.models)),
            "trial": np.tile(np.arange(n), len(self.levels) * len(self.models)),
            "value": self.values.ravel(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        return {
            "noise": self.corruption.name,
            "metric": str(self.metric),
            "trials": self.n_trials,
            "levels": list(self.levels),
            "models": {model: self._interval_lists(model) for model in self.models},
            "differences": [asdict(d) for d in self.differences()],
        }

    def _interval_lists(self, model: str) -> dict[str, list[float]]:
        ends = zip(("mean", "low", "high"), self.curve(model), strict=True)
        return {name: values.tolist() for name, values in ends}

    def to_csv(self) -> str:
        """Return a table: a row for each level and model, with its distance from the first."""
        distances = {(d.level, d.b): d for d in self.differences()}
        own = ["noise", "level", "model", "metric", "trials", "mean", "low", "high"]
        others = ["first_minus_this", "difference_low", "difference_high", "p_holm"]
        rows: list[list[Any]] = [[*own, *others]]
        for model in self.models:
            for level, *numbers in zip(self.levels, *self.curve(model), strict=True):
                row: list[Any] = [
                    self.corruption.name,
                    level,
                    model,
                    str(self.metric),
                    self.n_trials,
                ]
                row += [f"{number:.6f}" for number in numbers]
                d = distances.get((level, model))
                if d is not None:
                    row += [f"{v:.6f}" for v in (d.mean, d.low, d.high)] + [f"{d.p_holm:.4g}"]
                rows.append(row + [""] * (12 - len(row)))
        return csv_text(rows)

    def chart(self) -> Any:
        """Draw the study, see :func:`rankwright.report.noise_chart`; needs the extra report."""
        # The room upstairs, which imports this one.
        return import_module("rankwright.report").noise_chart(self)
