"""Measuring models: metrics with intervals, and whether differences are real."""

from rankwright.evaluation.bootstrap import bootstrap_interval
from rankwright.evaluation.measure import Evaluation, Result, evaluate
from rankwright.evaluation.significance import PairedComparison, compare_pairs

__all__ = [
    "Evaluation",
    "PairedComparison",
    "Result",
    "bootstrap_interval",
    "compare_pairs",
    "evaluate",
]
