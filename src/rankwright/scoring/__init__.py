"""Scores of fitted models, with NumPy and the kernels alone."""

from rankwright.scoring.loading import load
from rankwright.scoring.scorer import Scorer

__all__ = ["Scorer", "load"]
