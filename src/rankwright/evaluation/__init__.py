"""Measuring models: metrics with intervals, comparisons, and whether differences are real."""

from rankwright.evaluation.bootstrap import bootstrap_interval
from rankwright.evaluation.comparing import Event, compare
from rankwright.evaluation.comparison import Comparison, Failure, Standing
from rankwright.evaluation.explain import Explanation, Reason, explain
from rankwright.evaluation.folds import Fold, read_folds, rotate, split
from rankwright.evaluation.importance import PermutationImportance, permutation_importance
from rankwright.evaluation.lineup import Entry, lineup, read_lineup
from rankwright.evaluation.measure import Evaluation, Result, evaluate
from rankwright.evaluation.noise_record import Fit
from rankwright.evaluation.noise_results import Difference, NoiseStudy
from rankwright.evaluation.noise_study import noise_study
from rankwright.evaluation.path_chart import path_chart
from rankwright.evaluation.report import write_report
from rankwright.evaluation.search import Choice, Range
from rankwright.evaluation.significance import PairedComparison, compare_pairs
from rankwright.evaluation.tuning import Study, Trial, tune

__all__ = [
    "Choice",
    "Comparison",
    "Difference",
    "Entry",
    "Evaluation",
    "Event",
    "Explanation",
    "Failure",
    "Fit",
    "Fold",
    "NoiseStudy",
    "PairedComparison",
    "PermutationImportance",
    "Range",
    "Reason",
    "Result",
    "Standing",
    "Study",
    "Trial",
    "bootstrap_interval",
    "compare",
    "compare_pairs",
    "evaluate",
    "explain",
    "lineup",
    "noise_study",
    "path_chart",
    "permutation_importance",
    "read_folds",
    "read_lineup",
    "rotate",
    "split",
    "tune",
    "write_report",
]
