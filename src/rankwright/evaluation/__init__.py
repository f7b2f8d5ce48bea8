"""Measuring models: metrics with intervals, whether differences are real, and why they are."""

import importlib
import typing

from rankwright.evaluation.bootstrap import bootstrap_interval
from rankwright.evaluation.explain import Explanation, Reason, explain
from rankwright.evaluation.folds import Fold, read_folds, rotate, split
from rankwright.evaluation.importance import PermutationImportance, permutation_importance
from rankwright.evaluation.measure import Evaluation, Result, evaluate
from rankwright.evaluation.significance import PairedComparison, compare_pairs

__all__ = [
    "Evaluation",
    "Explanation",
    "Fold",
    "PairedComparison",
    "PermutationImportance",
    "Reason",
    "Result",
    "bootstrap_interval",
    "compare_pairs",
    "evaluate",
    "explain",
    "permutation_importance",
    "read_folds",
    "rotate",
    "split",
]

# What was here before it got a room of its own, upstairs; the old names still work.
_MOVED = {
    "rankwright.comparison": (
        "Choice",
        "Comparison",
        "Difference",
        "Entry",
        "Event",
        "Failure",
        "Fit",
        "NoiseStudy",
        "Range",
        "Standing",
        "Study",
        "Trial",
        "compare",
        "lineup",
        "noise_study",
        "read_lineup",
        "tune",
    ),
    "rankwright.report": ("path_chart", "write_report"),
}


def __getattr__(name: str) -> typing.Any:
    for package, names in _MOVED.items():
        if name in names:
            return getattr(importlib.import_module(package), name)
    raise AttributeError(f"module 'rankwright.evaluation' has no attribute {name!r}")
