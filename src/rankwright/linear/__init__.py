"""Linear rankers."""

from rankwright.linear.domination_rank import DominationRank
from rankwright.linear.formula import feature_names, formula, strongest_features
from rankwright.linear.linear_ranker import LinearRanker
from rankwright.linear.path_point import PathPoint
from rankwright.linear.selection import AlphaChoice, choose_alpha
from rankwright.linear.theorem import generalization_of
from rankwright.linear.topics import TopicRankers

__all__ = [
    "AlphaChoice",
    "DominationRank",
    "LinearRanker",
    "PathPoint",
    "TopicRankers",
    "choose_alpha",
    "feature_names",
    "formula",
    "generalization_of",
    "strongest_features",
]
