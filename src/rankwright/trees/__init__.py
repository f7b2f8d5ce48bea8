"""Boosted trees: LightGBM grows them, our losses say where to."""

from rankwright.trees.boosted_ranker import BoostedRanker
from rankwright.trees.boosting import BoostingProgress

__all__ = ["BoostedRanker", "BoostingProgress"]
