"""Measuring models: metrics with intervals, whether differences are real, and why they are."""

import importlib
import typing

from rankwright.evaluation.bootstrap import bootstrap_interval
from rankwright.evaluation.contest import Contest
from rankwright.evaluation.explain import Explanation, Reason, explain
from rankwright.evaluation.folds import Fold, read_folds, rotate, split
from rankwright.evaluation.importance import PermutationImportance, permutation_importance
from rankwright.evaluation.measure import Evaluation, Result, evaluate
from rankwright.evaluation.segmented import Segment
from rankwright.evaluation.significance import PairedComparison, Pairs, compare_pairs

__all__ = [
    "Contest",
    "Evaluation",
    "Explanation",
    "Fold",
    "PairedComparison",
    "Pairs",
    "PermutationImportance",
    "Reason",
    "Result",
    "Segment",
    "bootstrap_interval",
    "compare_pairs",
    "evaluate",
    "explain",
    "permutation_importance",
    "read_folds",
    "rotate",
    "split",
]

# What was here before it got a room of its own, upstairs, can still be imported from here.
_UPSTAIRS = ("rankwright.comparison", "rankwright.report")


def __getattr__(name: str) -> typing.Any:
    for package in () if name.startswith("_") else _UPSTAIRS:
        module = importlib.import_module(package)
        if name in module.__all__:
            return getattr(module, name)
    raise AttributeError(f"module 'rankwright.evaluation' has no attribute {name!r}")
