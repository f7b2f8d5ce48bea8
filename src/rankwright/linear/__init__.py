"""Linear rankers."""

from rankwright.linear.linear_ranker import LinearRanker, PathPoint

__all__ = ["LinearRanker", "PathPoint"]
