"""What the package shows."""

from rankwright.trees.boosted_ranker import BoostedRanker
from rankwright.trees.boosting import BoostingProgress

__all__ = ["BoostedRanker", "BoostingProgress"]
