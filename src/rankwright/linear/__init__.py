"""Linear rankers."""

from rankwright.linear.linear_ranker import LinearRanker, PathPoint
from rankwright.linear.selection import AlphaChoice, choose_alpha

__all__ = ["AlphaChoice", "LinearRanker", "PathPoint", "choose_alpha"]
