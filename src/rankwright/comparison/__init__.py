"""Rankers side by side: compared, tuned, and tried on data that gets worse.

The way of ``rankwright compare train.txt --test test.txt``: ``cli/compare`` reads the options,
``evaluation/folds`` the data; :mod:`~rankwright.comparison.compare` asks for each model and fold,
through ``executors``, for what ``trial`` finds, and keeps it with ``store``; ``result`` measures
and tests, ``report`` draws. ``tune`` and ``noise_study`` stand on the same executors, trial and
store.
"""

from rankwright.comparison.compare import compare
from rankwright.comparison.entries import Entry, lineup, read_lineup
from rankwright.comparison.noise_curves import Difference, NoiseStudy
from rankwright.comparison.noise_study import Fit, noise_study
from rankwright.comparison.result import Comparison, Failure
from rankwright.comparison.shipping import NothingHeldError, Shipped, export_best
from rankwright.comparison.space import Choice, Range
from rankwright.comparison.study import Study, Trial
from rankwright.comparison.trial import Event
from rankwright.comparison.tune import tune
from rankwright.evaluation.contest import Standing

__all__ = [
    "Choice",
    "Comparison",
    "Difference",
    "Entry",
    "Event",
    "Failure",
    "Fit",
    "NoiseStudy",
    "NothingHeldError",
    "Range",
    "Shipped",
    "Standing",
    "Study",
    "Trial",
    "compare",
    "export_best",
    "lineup",
    "noise_study",
    "read_lineup",
    "tune",
]
