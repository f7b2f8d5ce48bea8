"""Measuring models: metrics with intervals."""

from rankwright.evaluation.bootstrap import bootstrap_interval
from rankwright.evaluation.measure import Evaluation, Result, evaluate

__all__ = ["Evaluation", "Result", "bootstrap_interval", "evaluate"]
