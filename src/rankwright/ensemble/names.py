"""What the package shows."""

from rankwright.ensemble.ensemble_ranker import EnsembleRanker
from rankwright.ensemble.telling import EnsembleProgress

__all__ = ["EnsembleProgress", "EnsembleRanker"]
