"""Online learners: one query or document at a time, with guarantees."""

from rankwright.online.multiclass_perceptron import MulticlassPerceptron
from rankwright.online.online_ranker import OnlineRanker
from rankwright.online.prank import PRank
from rankwright.online.slam_perceptron import SLAMPerceptron
from rankwright.online.widrow_hoff import WidrowHoff

__all__ = ["MulticlassPerceptron", "OnlineRanker", "PRank", "SLAMPerceptron", "WidrowHoff"]
