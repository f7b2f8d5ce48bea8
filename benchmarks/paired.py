"""Models on the same splits of the same data: quality, time, and differences with intervals.

All models learn from one split before the next is drawn, so that slow changes of the machine meet
all of them. A difference is that of two models on the same split; its interval is the 95 % interval
of Student's t over the splits. Splits share rows, so that the interval is rather too short: what it
calls even is even.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from benchmarks.harness import RESULTS

N_SPLITS, TEST_SHARE = 10, 1 / 3
Makers = dict[str, Callable[[], Any]]
# Model, features and labels of the test part: figures by name.
Judge = Callable[[Any, Any, Any], dict[str, float]]
Runs = dict[str, dict[str, list[float]]]


@dataclass(frozen=True)
class Difference:
    """What one model has less another on the same splits."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, ours: list[float], theirs: list[float]) -> Difference:
        """Return the mean difference and its interval."""
        found = np.subtract(ours, theirs)
        half = float(student.ppf(0.975, len(found) - 1) * found.std(ddof=1) / np.sqrt(len(found)))
        return cls(float(found.mean()), float(found.mean()) - half, float(found.mean()) + half)

    def verdict(self, larger_is_better: bool) -> str:
        """Return whether ours is better, worse or even."""
        if self.low <= 0 <= self.high:
            return "even"
        return "better" if (self.low > 0) == larger_is_better else "worse"

    def __str__(self) -> str:
        return f"{self.mean:+.4f} [{self.low:+.4f}, {self.high:+.4f}]"


def run_models(models: Makers, X: Any, y: Any, judge: Judge) -> Runs:
    """Return the figures and the seconds of training of all models on all splits."""
    found: Runs = {name: {"seconds": []} for name in models}
    n_test = round(TEST_SHARE * len(y))
    for split in range(N_SPLITS):
        order = np.random.default_rng(split).permutation(len(y))
        # Rows stay in the order of the data: who needs another one must shuffle.
        test, train = np.sort(order[:n_test]), np.sort(order[n_test:])
        for name, make in models.items():
            model = make()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # labels that no training row has, iterations
                begin = time.perf_counter()
                model.fit(X[train], y[train])
                found[name]["seconds"].append(time.perf_counter() - begin)
                for figure, value in judge(model, X[test], y[test]).items():
                    found[name].setdefault(figure, []).append(value)
    return found


def quality_table(sets: dict[str, Runs], figures: dict[str, str]) -> list[str]:
    """Return the lines of a table: models by sets and figures, means over the splits."""
    lines = [
        f"| set | model | {' | '.join(figures.values())} | training, ms |",
        f"|---|---|{'--:|' * (len(figures) + 1)}",
    ]
    for name, runs in sets.items():
        for model, values in runs.items():
            cells = [
                f"{np.mean(values[figure]):.4f}" if figure in values else "–" for figure in figures
            ]
            cells.append(f"{1000 * np.median(values['seconds']):.1f}")
            lines.append(f"| {name} | {model} | {' | '.join(cells)} |")
    return lines


def difference_table(
    sets: dict[str, Runs],
    pairs: list[tuple[str, str]],
    figure: str,
    text: str,
    larger_is_better: bool,
) -> list[str]:
    """Return the lines of a table: pairs of models by sets, difference, verdict, ratio of times."""
    lines = [
        f"| set | ours less the other | difference in {text} | ours is | their time over ours |",
        "|---|---|---|---|--:|",
    ]
    for name, runs in sets.items():
        for ours, theirs in pairs:
            if ours not in runs or theirs not in runs:
                continue
            found = Difference.of(runs[ours][figure], runs[theirs][figure])
            ratio = np.median(np.divide(runs[theirs]["seconds"], runs[ours]["seconds"]))
            lines.append(
                f"| {name} | {ours} less {theirs} | {found} | {found.verdict(larger_is_better)} "
                f"| {ratio:.1f} |"
            )
    return lines


def write_results(name: str, method: str, sets: dict[str, Runs], text: str) -> None:
    """Write all figures, and the tables."""
    RESULTS.mkdir(exist_ok=True)
    record = {"method": method, "splits": N_SPLITS, "sets": sets}
    Path(RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1, allow_nan=False) + "\n")
    Path(RESULTS / f"{name}.md").write_text(text + "\n")
    print(text)
